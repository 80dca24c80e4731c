//! Lists: versions, pages, expiries.

use super::*;

fn zero() -> Option<ResourceVersion> {
    Some(ResourceVersion::new("0"))
}

fn page(version: u64, token: &str) -> ListMeta {
    ListMeta::at(version.into()).continue_token(token)
}

#[test]
fn first_list_requests_the_newest_state_in_pages() {
    let mut rig = Rig::lists();
    let options = rig.list();
    assert_eq!(
        (options.resource_version, options.limit),
        (None, Some(5000))
    );
    assert_eq!(options.resource_version_match, None);
    rig.list_ends(10);
    let options = rig.watch();
    assert_eq!(
        (asked(&options), options.resource_version_match),
        (Some(10), None)
    );
    assert_eq!(
        (options.send_initial_events, options.allow_watch_bookmarks),
        (None, true)
    );
    assert_eq!(rig.finished(), [ListEnd::new(10.into())]);
}

/// RF7
#[test]
fn first_list_from_cache_requests_version_zero() {
    let mut rig = Rig::new(from_cache());
    let options = rig.list();
    assert_eq!(
        (options.resource_version, options.limit),
        (zero(), Some(5000))
    );
    rig.list_ends(10);
    assert_eq!(asked(&rig.watch()), Some(10));
}

/// PG1, PG3, RF15; peers 11, 12
#[test]
fn page_is_requested_by_its_token_alone() {
    let mut rig = Rig::new(from_cache());
    rig.list();
    rig.page_ends(&page(10, "two"));
    let second = rig.list();
    assert_eq!(second.continue_token.as_deref(), Some("two"));
    assert_eq!(
        (second.resource_version, second.resource_version_match),
        (None, None)
    );
    assert_eq!(second.limit, Some(5000));
    // Later pages have another version; the list's is that of its first page.
    rig.page_ends(&page(11, "three"));
    assert_eq!(rig.list().continue_token.as_deref(), Some("three"));
    rig.page_ends(&ListMeta::at(12.into()).continue_token(""));
    assert_eq!(asked(&rig.watch()), Some(10));
    assert_eq!(rig.finished(), [ListEnd::new(10.into())]);
}

#[test]
fn selectors_are_part_of_every_request() {
    let config = ReflectorConfig::default()
        .label_selector("a=b")
        .field_selector("c=d");
    let mut rig = Rig::new(config.list_mode(ListMode::List));
    let selects = |options: ListOptions| {
        assert_eq!(options.label_selector.as_deref(), Some("a=b"));
        assert_eq!(options.field_selector.as_deref(), Some("c=d"));
    };
    selects(rig.list());
    rig.page_ends(&page(10, "two"));
    selects(rig.list());
    rig.page_ends(&ListMeta::at(10.into()));
    selects(rig.watch());
}

/// RF16, RF18
#[test]
fn relist_requests_the_resume_version_without_a_limit() {
    let mut rig = Rig::watching(10);
    rig.event(EventType::Modified, 12);
    rig.fails(ErrorClass::Expired);
    let options = rig.list();
    assert_eq!((asked(&options), options.limit), (Some(12), None));
    assert_eq!(options.resource_version_match, None);
}

/// RF15
#[test]
fn relists_have_pages_if_configured() {
    let config = ReflectorConfig::default()
        .list_mode(ListMode::List)
        .page_size(7);
    let mut rig = Rig::new(config.page_relists(true));
    assert_eq!(rig.list().limit, Some(7));
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(ErrorClass::Expired);
    let options = rig.list();
    assert_eq!((asked(&options), options.limit), (Some(10), Some(7)));
}

#[test]
fn page_size_of_zero_means_no_pages() {
    let config = ReflectorConfig::default()
        .list_mode(ListMode::List)
        .page_size(0);
    assert_eq!(Rig::new(config).list().limit, None);
}

/// RF17
#[test]
fn relists_keep_pages_of_a_server_without_a_cache() {
    let mut rig = Rig::new(from_cache());
    rig.list();
    rig.page_ends(&page(10, "two"));
    rig.list();
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(ErrorClass::Expired);
    let options = rig.list();
    assert_eq!((asked(&options), options.limit), (Some(10), Some(5000)));
}

/// RF19
#[test]
fn expired_list_leads_to_the_newest_state_at_once() {
    let mut rig = Rig::new(from_cache());
    assert_eq!(rig.list().resource_version, zero());
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(ErrorClass::Other);
    assert_eq!(asked(&rig.list()), Some(10));
    rig.fails(ErrorClass::Expired);
    let (options, after) = rig.timed_list();
    assert_eq!((options.resource_version, after), (None, Duration::ZERO));
    // The version is left for this once only.
    rig.list_ends(20);
    rig.watch_opens();
    rig.fails(ErrorClass::Expired);
    assert_eq!(asked(&rig.list()), Some(20));
}

/// RF21; peers 5
#[test]
fn version_that_is_too_large_is_left_at_once_but_only_once() {
    let mut rig = Rig::watching(750);
    rig.fails(ErrorClass::Expired);
    assert_eq!(asked(&rig.list()), Some(750));
    rig.fails(ErrorClass::TooLarge);
    let (options, after) = rig.timed_list();
    assert_eq!((options.resource_version, after), (None, Duration::ZERO));
    for _ in 0..5 {
        rig.fails(ErrorClass::TooLarge);
        let (options, after) = rig.timed_list();
        assert_eq!(options.resource_version, None);
        assert!(after >= SECOND / 2, "too soon: {after:?}");
    }
}

/// RF20, PG2; peers 10
#[test]
fn expired_page_leads_to_one_list_without_pages() {
    let mut rig = Rig::new(from_cache());
    assert_eq!(rig.list().resource_version, zero());
    rig.page_ends(&page(10, "two"));
    rig.list();
    rig.fails(ErrorClass::Expired);
    let (options, after) = rig.timed_list();
    assert_eq!((options.resource_version, options.limit), (zero(), None));
    assert_eq!((options.continue_token, after), (None, Duration::ZERO));
    // The pages before are dropped.
    assert_eq!(rig.dropped_lists(), 1);
    rig.fails(ErrorClass::Expired);
    assert_eq!(rig.list().resource_version, None);
    rig.list_ends(10);
    assert_eq!(asked(&rig.watch()), Some(10));
}

/// INV-REFL-5; peers 10
#[test]
fn unrequested_pages_that_expire_end_in_a_wait() {
    let mut rig = Rig::lists();
    rig.list();
    for _ in 0..3 {
        rig.page_ends(&page(10, "two"));
        rig.list();
        rig.fails(ErrorClass::Expired);
        let (options, after) = rig.timed_list();
        assert_eq!((options.limit, after), (None, Duration::ZERO));
        rig.page_ends(&page(10, "two"));
        rig.list();
        rig.fails(ErrorClass::Expired);
        let (options, after) = rig.timed_list();
        assert_eq!(options.limit, Some(5000));
        assert!(after >= SECOND / 2, "too soon: {after:?}");
    }
}

#[test]
fn endless_pages_end_in_a_wait() {
    let mut rig = Rig::lists();
    rig.list();
    rig.page_ends(&page(10, "same"));
    rig.list();
    rig.page_ends(&page(10, "same"));
    let (options, after) = rig.timed_list();
    assert_eq!(options.continue_token, None);
    assert!(after >= SECOND / 2, "too soon: {after:?}");

    // Two tokens that lead to each other.
    let mut rig = Rig::lists();
    rig.list();
    for n in 0..12 {
        let _ = rig.machine.handle_list_item(rig.now);
        rig.page_ends(&page(10, if n % 2 == 0 { "tick" } else { "tock" }));
        let (options, after) = rig.timed_list();
        if options.continue_token.is_none() {
            assert!(after >= SECOND / 2, "too soon: {after:?}");
            break;
        }
        assert!(n < 11, "goes round and round");
    }
    // Ever new tokens, but never an object.
    for page_number in 0..1000 {
        rig.page_ends(&page(10, &page_number.to_string()));
        let (options, after) = rig.timed_list();
        if options.continue_token.is_none() {
            assert!(after >= SECOND, "too soon: {after:?}");
            return;
        }
    }
    panic!("followed a thousand empty pages");
}

/// peers 11
#[test]
fn empty_page_with_a_token_is_followed() {
    let mut rig = Rig::lists();
    rig.list();
    rig.page_ends(&page(10, "two"));
    assert_eq!(rig.list().continue_token.as_deref(), Some("two"));
    assert_eq!(rig.machine.handle_list_item(rig.now), Route::Collect);
    rig.page_ends(&ListMeta::at(10.into()));
    assert_eq!(asked(&rig.watch()), Some(10));
}

/// RF8; peers 19
#[test]
fn list_that_fails_for_five_minutes_is_requested_at_most_twenty_times() {
    let mut rig = Rig::lists();
    rig.list();
    let end = rig.now + 5 * MINUTE;
    let mut waits = Vec::new();
    while rig.now < end {
        rig.fails(ErrorClass::Other);
        waits.push(rig.timed_list().1);
    }
    assert!(waits.len() <= 20, "{} tries", waits.len());
    assert!(waits[..4].is_sorted(), "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= 30 * SECOND), "{waits:?}");
    rig.list_ends(10);
    assert_eq!(asked(&rig.watch()), Some(10));
}

/// peers 24; INV-REFL-7: servers give up after a minute and say why, so that is waited for.
#[test]
fn list_without_response_is_requested_again_after_75_seconds() {
    let mut rig = Rig::lists();
    rig.list();
    let (_, after) = rig.timed_list();
    assert!(after > 75 * SECOND && after < 78 * SECOND, "{after:?}");
    let reports = rig.reports();
    assert_eq!(reports, ["list timed out: no response within 75s"]);
}

/// peers 24; INV-REFL-7
#[test]
fn list_without_progress_is_requested_again_after_30_seconds() {
    let mut rig = Rig::lists();
    rig.list();
    rig.opens();
    for _ in 0..10 {
        rig.pass(29 * SECOND);
        rig.machine.handle_timeout(rig.now);
        assert_eq!(rig.machine.handle_list_item(rig.now), Route::Collect);
    }
    let (_, after) = rig.timed_list();
    assert!(after > 30 * SECOND && after < 33 * SECOND, "{after:?}");
    assert_eq!(rig.reports(), ["list timed out: no object within 30s"]);
    assert_eq!((rig.finished().len(), rig.dropped_lists()), (0, 1));
}

/// Each page has the time of a list of its own to begin.
#[test]
fn each_page_may_take_75_seconds_to_begin() {
    let mut rig = Rig::lists();
    rig.list();
    for number in 0..5 {
        rig.pass_with_timeouts(74 * SECOND);
        rig.opens();
        let _ = rig.machine.handle_list_item(rig.now);
        rig.page_ends(&page(10, &number.to_string()));
        assert!(rig.list().continue_token.is_some());
    }
    assert_eq!(rig.reports(), [""; 0]);
}

/// peers 25
#[test]
fn page_that_breaks_off_is_not_accepted() {
    let mut rig = Rig::lists();
    rig.list();
    rig.opens();
    assert_eq!(rig.machine.handle_list_item(rig.now), Route::Collect);
    rig.ends();
    let (_, after) = rig.timed_list();
    assert!(after >= SECOND / 2, "too soon: {after:?}");
    assert!(rig.finished().is_empty());
}

#[test]
fn version_that_the_server_cannot_parse_is_left() {
    let mut rig = Rig::watching(10);
    rig.fails(ErrorClass::Expired);
    assert_eq!(asked(&rig.list()), Some(10));
    rig.fails(ErrorClass::Unsupported);
    let (options, after) = rig.timed_list();
    assert_eq!(options.resource_version, None);
    assert!(after >= SECOND / 2, "too soon: {after:?}");
}
