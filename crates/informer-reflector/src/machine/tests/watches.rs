//! Watches: their options, and what follows each class of error.

use super::*;

/// RF23
#[test]
fn watches_request_random_timeouts_between_the_least_and_twice_that() {
    let config = ReflectorConfig::default()
        .list_mode(ListMode::List)
        .watch_timeout(SECOND);
    let mut rig = Rig::new(config);
    rig.list();
    rig.list_ends(10);
    let mut timeouts = std::collections::BTreeSet::new();
    for _ in 0..50 {
        let timeout = rig.watch().timeout.expect("a timeout");
        assert!((5 * MINUTE..10 * MINUTE).contains(&timeout), "{timeout:?}");
        timeouts.insert(timeout);
        rig.opens();
        rig.pass(MINUTE);
        rig.ends();
    }
    assert!(
        timeouts.len() > 25,
        "only {} different ones",
        timeouts.len()
    );
}

/// RF9, RF11, RF12; peers 16
#[test]
fn busy_or_absent_server_is_asked_again_for_the_same_watch() {
    for kind in [
        ErrorClass::Busy,
        ErrorClass::Refused,
        ErrorClass::Transport,
        ErrorClass::Timeout,
    ] {
        let mut rig = Rig::lists();
        rig.list();
        rig.list_ends(10);
        rig.watch();
        let mut waits = Vec::new();
        for _ in 0..20 {
            rig.fails(kind);
            let (options, after) = rig.timed_watch();
            assert_eq!(asked(&options), Some(10));
            waits.push(after);
        }
        assert!(
            waits[..4].is_sorted() && waits[0] < 2 * SECOND,
            "{kind:?}: {waits:?}"
        );
        assert!(
            waits[8..]
                .iter()
                .all(|w| *w > 20 * SECOND && *w <= 30 * SECOND),
            "{waits:?}"
        );
        assert_eq!(rig.machine.counts().lists, 1);
    }
}

/// RF11; peers 16
#[test]
fn busy_server_inside_the_stream_is_waited_for_as_long_as_it_asks() {
    let mut rig = Rig::watching(10);
    rig.event(EventType::Added, 11);
    let error = error_asking(ErrorClass::Busy, 3 * SECOND);
    rig.machine.handle_error(rig.now, error);
    let (options, after) = rig.timed_watch();
    assert_eq!(asked(&options), Some(11));
    assert!(after >= 3 * SECOND, "too soon: {after:?}");
    assert_eq!(rig.machine.counts().lists, 1);
}

/// peers 2, 3; WL11
#[test]
fn expired_watch_leads_to_one_list_that_is_not_older() {
    for open in [false, true] {
        let mut rig = Rig::lists();
        rig.list();
        rig.list_ends(10);
        rig.watch();
        if open {
            rig.opens();
            rig.event(EventType::Modified, 12);
        }
        rig.fails(ErrorClass::Expired);
        let (options, after) = rig.timed_list();
        assert_eq!(asked(&options), Some(if open { 12 } else { 10 }));
        assert!(after >= SECOND / 2, "a herd comes at once: {after:?}");
        rig.list_ends(20);
        assert_eq!(asked(&rig.watch()), Some(20));
        assert_eq!(rig.machine.counts().lists, 2);
    }
}

/// peers 13
#[test]
fn lists_whose_version_expires_at_once_are_ever_rarer() {
    let mut rig = Rig::lists();
    rig.list();
    let mut waits = Vec::new();
    for round in 1..=5 {
        rig.list_ends(round * 100);
        rig.watch_opens();
        rig.fails(ErrorClass::Expired);
        waits.push(rig.timed_list().1);
    }
    assert!(waits.is_sorted() && waits[4] >= 10 * SECOND, "{waits:?}");
}

#[test]
fn watch_from_the_future_leads_to_the_newest_state_at_once_but_only_once() {
    let mut rig = Rig::watching(750);
    rig.fails(ErrorClass::TooLarge);
    let (options, after) = rig.timed_list();
    assert_eq!((options.resource_version, after), (None, Duration::ZERO));
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(ErrorClass::TooLarge);
    let (options, after) = rig.timed_list();
    assert_eq!(options.resource_version, None);
    assert!(after >= SECOND / 2, "too soon: {after:?}");
}

/// RF13, RF26; peers 17
#[test]
fn internal_errors_are_followed_by_watches_and_then_by_a_list() {
    for kind in [ErrorClass::Internal, ErrorClass::Unavailable] {
        let mut rig = Rig::watching(10);
        for _ in 0..3 {
            rig.fails(kind);
            let (options, after) = rig.timed_watch();
            assert_eq!(asked(&options), Some(10));
            assert!(after >= SECOND / 2, "too soon: {after:?}");
            rig.opens();
        }
        rig.fails(kind);
        assert_eq!(asked(&rig.list()), Some(10));
    }
}

/// RF13
#[test]
fn internal_errors_far_apart_are_not_added_up() {
    let mut rig = Rig::watching(10);
    for _ in 0..10 {
        rig.pass(2 * MINUTE);
        rig.fails(ErrorClass::Internal);
        rig.watch_opens();
    }
    assert_eq!(rig.machine.counts().lists, 1);
}

#[test]
fn progress_clears_internal_errors() {
    let mut rig = Rig::watching(10);
    for version in 11..30 {
        rig.fails(ErrorClass::Internal);
        rig.watch_opens();
        rig.event(EventType::Modified, version);
    }
    assert_eq!(rig.machine.counts().lists, 1);
}

/// RF8
#[test]
fn other_failures_of_a_watch_lead_to_a_list_after_a_wait() {
    for kind in [
        ErrorClass::Other,
        ErrorClass::Unsupported,
        ErrorClass::NotFound,
    ] {
        let mut rig = Rig::lists();
        rig.list();
        rig.list_ends(10);
        rig.watch();
        rig.fails(kind);
        let (options, after) = rig.timed_list();
        assert_eq!(asked(&options), Some(10));
        assert!(after >= SECOND / 2, "too soon: {after:?}");
    }
}

/// peers 19
#[test]
fn list_that_works_does_not_shorten_the_waits_of_a_watch_that_does_not() {
    let mut rig = Rig::lists();
    rig.list();
    let end = rig.now + 5 * MINUTE;
    let mut rounds = 0;
    while rig.now < end {
        rig.list_ends(10);
        rig.watch();
        rig.fails(ErrorClass::Other);
        rig.list();
        rounds += 1;
    }
    assert!(rounds <= 20, "{rounds} rounds");
}

/// peers 20
#[test]
fn lasting_health_makes_the_next_wait_short() {
    let mut rig = Rig::lists();
    rig.list();
    (0..6).for_each(|_| {
        rig.fails(ErrorClass::Other);
        rig.list();
    });
    rig.list_ends(10);
    rig.watch_opens();
    rig.pass(3 * MINUTE);
    rig.fails(ErrorClass::Other);
    let (_, after) = rig.timed_list();
    assert!(after < 2 * SECOND, "{after:?}");
}

/// An object of another kind, without a name, or none at all: the event may concern any object. INV-REFL-5
#[test]
fn event_without_a_key_leads_to_a_list_and_no_loop() {
    for event_type in [EventType::Added, EventType::Modified, EventType::Deleted] {
        let mut rig = Rig::watching(10);
        let mut waits = Vec::new();
        for _ in 0..6 {
            let event = EventMeta::new(event_type, Some(11.into())).keyed(false);
            assert_eq!(rig.meta(&event), Route::Skip);
            let (options, after) = rig.timed_list();
            assert_eq!(asked(&options), Some(10));
            waits.push(after);
            rig.list_ends(10);
            rig.watch_opens();
        }
        assert!(
            waits[..4].is_sorted() && waits[5] > 20 * SECOND,
            "{waits:?}"
        );
    }
}

#[test]
fn attempts_count_failures_until_something_goes_well() {
    let mut rig = Rig::lists();
    rig.list();
    for attempts in 1..4 {
        rig.fails(ErrorClass::Refused);
        assert_eq!(rig.machine.attempts(), attempts);
        assert_eq!(rig.machine.phase(), ReflectorPhase::Waiting);
        assert!(rig.machine.retry_at().is_some());
        rig.list();
    }
    rig.list_ends(10);
    assert_eq!(rig.machine.attempts(), 0);
    assert!(rig.machine.is_synced());
}

#[test]
fn errors_are_classified_by_what_the_server_says() {
    let status = |code, reason: &str, message: &str| Status::failure(code, reason, message);
    let kind = |status: Status| ErrorClass::from(&status);
    assert_eq!(kind(status(410, "Gone", "")), ErrorClass::Expired);
    assert_eq!(kind(status(410, "Expired", "")), ErrorClass::Expired);
    assert_eq!(kind(status(0, "Expired", "")), ErrorClass::Expired);
    // RF21: a cause, or only words.
    let words = "Too large resource version: 750, current: 10";
    assert_eq!(kind(status(504, "Timeout", words)), ErrorClass::TooLarge);
    let mut cause = status(504, "Timeout", "");
    let json = r#"{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}"#;
    cause.details = serde_json::from_str(json).unwrap();
    assert_eq!(kind(cause), ErrorClass::TooLarge);
    assert_eq!(
        kind(status(504, "Timeout", "slow")),
        ErrorClass::Unavailable
    );
    assert_eq!(kind(status(429, "", "")), ErrorClass::Busy);
    assert_eq!(kind(status(422, "Invalid", "")), ErrorClass::Unsupported);
    assert_eq!(kind(status(406, "", "")), ErrorClass::Unsupported);
    assert_eq!(kind(status(500, "InternalError", "")), ErrorClass::Internal);
    assert_eq!(kind(status(0, "InternalError", "")), ErrorClass::Internal);
    assert_eq!(kind(status(503, "", "")), ErrorClass::Unavailable);
    assert_eq!(kind(status(403, "Forbidden", "")), ErrorClass::Other);
    assert_eq!(kind(status(404, "NotFound", "")), ErrorClass::NotFound);
    assert_eq!(kind(status(0, "NotFound", "")), ErrorClass::NotFound);
    assert_eq!(kind(status(302, "", "")), ErrorClass::Other);
}
