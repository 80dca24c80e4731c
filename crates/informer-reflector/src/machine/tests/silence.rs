//! Watches that fall silent.

use super::*;

/// A watch that has a bookmark a minute.
fn with_bookmarks(version: u64) -> Rig {
    let mut rig = Rig::watching(version);
    for _ in 0..3 {
        rig.pass(MINUTE);
        rig.machine.handle_timeout(rig.now);
        rig.bookmark(version);
    }
    assert_eq!(rig.machine.phase(), ReflectorPhase::Watching);
    rig
}

/// peers 23
#[test]
fn silent_watch_with_bookmarks_is_opened_again_without_a_list() {
    let mut rig = with_bookmarks(10);
    let (options, after) = rig.timed_watch();
    assert_eq!(asked(&options), Some(10));
    assert!(after >= 70 * SECOND && after <= 75 * SECOND, "{after:?}");
    let reports = rig.reports();
    let timed_out = "watch timed out: no event or bookmark within 72s";
    assert_eq!(reports, [timed_out]);
    assert_eq!(rig.machine.counts().lists, 1);
}

/// peers 23, INV-REFL-7: a link that broke before the first bookmark.
#[test]
fn watch_that_is_silent_from_its_start_is_opened_again_without_a_list() {
    let mut rig = Rig::watching(10);
    let (options, after) = rig.timed_watch();
    assert_eq!((asked(&options), after), (Some(10), 70 * SECOND));
    assert_eq!(rig.machine.counts().lists, 1);
}

#[test]
fn watch_that_falls_silent_after_events_is_opened_again() {
    let mut rig = Rig::watching(10);
    rig.pass(5 * SECOND);
    rig.event(EventType::Modified, 11);
    let (options, after) = rig.timed_watch();
    assert_eq!((asked(&options), after), (Some(11), 70 * SECOND));
}

/// peers 23: as for `events`, or behind an old proxy.
#[test]
fn server_without_bookmarks_soon_raises_no_alarm() {
    for talks in [false, true] {
        let mut rig = Rig::watching(10);
        let (mut version, start) = (10, rig.now);
        while rig.now - start < 60 * MINUTE {
            if talks {
                // Rarely enough that each watch looks silent at first.
                version += 1;
                rig.event(EventType::Modified, version);
            }
            match rig.request().0 {
                Request::Watch(_) => rig.opens(),
                Request::List(probe) => {
                    assert_eq!(probe.limit, Some(1));
                    rig.list_ends(version);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(rig.reports().len(), 3, "three guesses, then patience");
        assert_eq!(rig.machine.counts().lists, 1);
        assert!(rig.machine.counts().watches <= 16);
    }
}

/// INV-REFL-5: no version can tell that they are in order, so each silence costs a list.
#[test]
fn silent_watches_without_versions_soon_lead_to_few_lists() {
    for bookmarks in [false, true] {
        let mut rig = Rig::lists();
        let start = rig.now;
        while rig.now - start < 3 * 60 * MINUTE {
            match rig.request().0 {
                Request::Watch(_) => {
                    rig.opens();
                    if bookmarks {
                        rig.bookmark(0);
                    }
                }
                Request::List(_) => rig.page_ends(&ListMeta::default()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(rig.version(), None);
        assert!(rig.machine.counts().lists <= 3 * 12 + 4);
    }
}

/// INV-REFL-5: whatever limit was set, with events or without.
#[test]
fn shortest_silence_timeout_neither_floods_the_server_nor_lasts() {
    for (limit, talks) in [(0, false), (0, true), (1, false), (300, true)] {
        let limit = Duration::from_millis(limit);
        let config = ReflectorConfig::default().list_mode(ListMode::List);
        let mut rig = Rig::new(config.silence_timeout(limit));
        rig.list();
        rig.list_ends(10);
        let (mut version, start) = (10, rig.now);
        let mut next_bookmark = start + MINUTE;
        let mut next_event = talks.then(|| start + 7 * SECOND);
        let mut requests = Vec::new();
        while rig.now - start < 60 * MINUTE {
            let watches = |action: &Action| matches!(action, Action::Watch { .. });
            let lists = |action: &Action| matches!(action, Action::List { .. });
            let (watch, list) = {
                let new = rig.drain();
                (new.iter().any(watches), new.iter().any(lists))
            };
            if watch {
                requests.push(rig.now);
                rig.opens();
            } else if list {
                requests.push(rig.now);
                rig.list_ends(version);
                continue;
            }
            let deadline = rig.machine.deadline().expect("a deadline");
            let next = deadline
                .min(next_bookmark)
                .min(next_event.unwrap_or(deadline));
            rig.now = rig.now.max(next);
            if next == next_bookmark {
                rig.bookmark(version);
                next_bookmark += MINUTE;
            } else if Some(next) == next_event {
                version += 1;
                rig.event(EventType::Modified, version);
                next_event = Some(next + 7 * SECOND);
            }
            rig.machine.handle_timeout(rig.now);
        }
        let busiest = requests.iter().map(|from| {
            let minute = |at: &&Instant| **at >= *from && **at < *from + MINUTE;
            requests.iter().filter(minute).count()
        });
        let busiest = busiest.max().expect("a request");
        assert!(busiest <= 40, "{busiest} requests in a minute");
        // It has learned: in the last half hour watches end by themselves, every five to ten minutes.
        let late = requests.iter().filter(|at| **at - start > 30 * MINUTE);
        let late = late.count();
        assert!(late <= 7, "{late} requests in the last half hour");
        assert_eq!(rig.machine.counts().lists, 1, "probes are no lists");
    }
}

#[test]
fn limit_follows_longer_gaps() {
    let mut rig = Rig::watching(10);
    rig.pass(200 * SECOND);
    rig.bookmark(10);
    let (_, after) = rig.timed_watch();
    assert!(after > 100 * SECOND, "{after:?}");
}

/// protocol 1.3, k/k 107457: a watch from the future is accepted and stays silent.
#[test]
fn two_silent_watches_in_a_row_lead_to_a_probe() {
    let mut rig = with_bookmarks(1000);
    rig.watch_opens();
    let probe = rig.list();
    assert_eq!((probe.resource_version, probe.limit), (None, Some(1)));
    assert_eq!(rig.machine.counts().lists, 1, "a probe is no list");
    rig.opens();
    assert_eq!(rig.machine.handle_list_item(rig.now), Route::Skip);
    rig.page_ends(&ListMeta::at(500.into()).continue_token("more"));
    let options = rig.list();
    assert_eq!(
        (options.resource_version, options.limit),
        (None, Some(5000))
    );
    rig.list_ends(500);
    assert_eq!(asked(&rig.watch()), Some(500));
    assert!(rig.finished()[1].rewind);
}

#[test]
fn probe_without_a_rewind_makes_alarms_rarer() {
    let mut rig = with_bookmarks(1000);
    rig.watch_opens();
    rig.list();
    rig.list_ends(1000);
    let (options, after) = rig.timed_watch();
    assert_eq!((asked(&options), after), (Some(1000), Duration::ZERO));
    rig.opens();
    rig.pass(2 * MINUTE);
    rig.machine.handle_timeout(rig.now);
    assert_eq!(rig.machine.phase(), ReflectorPhase::Watching);
    assert_eq!(rig.finished().len(), 1);
}

/// However patient it has become, a watch from the future is found out.
#[test]
fn two_watches_that_are_silent_to_their_end_lead_to_a_probe() {
    let mut rig = Rig::watching(1000);
    rig.pass(599 * SECOND);
    rig.bookmark(1000);
    rig.ends();
    for _ in 0..2 {
        rig.watch_opens();
        rig.pass(5 * MINUTE);
        rig.machine.handle_timeout(rig.now);
        assert_eq!(rig.machine.phase(), ReflectorPhase::Watching);
        rig.ends();
    }
    assert_eq!(rig.list().limit, Some(1));
    rig.list_ends(900);
    assert_eq!(rig.list().resource_version, None);
    rig.list_ends(900);
    assert_eq!(asked(&rig.watch()), Some(900));
    assert!(rig.finished()[1].rewind);
}

/// The server went back before the first bookmark came.
#[test]
fn two_silent_watches_without_any_bookmark_lead_to_a_probe() {
    let mut rig = Rig::watching(1000);
    rig.watch_opens();
    assert_eq!(rig.list().limit, Some(1));
    rig.list_ends(900);
    assert_eq!(rig.list().resource_version, None);
    rig.list_ends(900);
    assert_eq!(asked(&rig.watch()), Some(900));
    assert!(rig.finished()[1].rewind);
}

#[test]
fn failed_probe_is_followed_by_the_watch() {
    for silent in [false, true] {
        let mut rig = with_bookmarks(1000);
        rig.watch_opens();
        rig.list();
        if !silent {
            rig.fails(ErrorClass::Unavailable);
        }
        let (options, after) = rig.timed_watch();
        assert_eq!(asked(&options), Some(1000));
        assert!(after >= SECOND / 2, "too soon: {after:?}");
        assert_eq!(rig.dropped_lists(), 0);
    }
}

#[test]
fn silent_watch_after_one_with_events_needs_no_probe() {
    let mut rig = with_bookmarks(1000);
    rig.watch_opens();
    rig.event(EventType::Modified, 1001);
    assert_eq!(asked(&rig.watch()), Some(1001));
    rig.opens();
    rig.bookmark(1001);
    assert_eq!(asked(&rig.watch()), Some(1001));
}

/// kubernetes/kubernetes 75837: something before the server holds the response back until the first event.
#[test]
fn opening_is_as_patient_as_the_wait_for_a_bookmark() {
    let mut rig = Rig::watching(10);
    rig.pass(80 * SECOND);
    rig.bookmark(10);
    rig.ends();
    rig.watch();
    rig.pass_with_timeouts(95 * SECOND);
    assert_eq!(rig.machine.phase(), ReflectorPhase::OpeningWatch);
    rig.opens();
    rig.bookmark(10);
    assert_eq!(rig.reports(), [""; 0]);
}

/// INV-REFL-5, INV-REFL-7: the time that was waited for the response counts, so changes come without more delay.
#[test]
fn watch_that_does_not_open_is_requested_again_without_further_wait() {
    let mut rig = Rig::lists();
    rig.list();
    rig.list_ends(10);
    rig.watch();
    for _ in 0..12 {
        let (options, after) = rig.timed_watch();
        assert_eq!((asked(&options), after), (Some(10), 70 * SECOND));
    }
    let timed_out = "watch timed out: no response within 70s";
    assert_eq!(rig.reports(), [timed_out; 12]);
    // But not more often than the backoff allows.
    let config = ReflectorConfig::default().list_mode(ListMode::List);
    let mut rig = Rig::new(config.silence_timeout(SECOND));
    rig.list();
    rig.list_ends(10);
    rig.watch();
    let waits: Vec<_> = (0..12).map(|_| rig.timed_watch().1).collect();
    assert!(
        waits[..5].is_sorted() && waits[8] > 20 * SECOND,
        "{waits:?}"
    );
}
