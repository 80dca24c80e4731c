//! Streaming lists and the way back to lists.

use super::*;

fn rig() -> Rig {
    Rig::new(ReflectorConfig::default())
}

/// One that is synced by a streaming list of this version.
fn synced(version: u64) -> Rig {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    rig.initial_events_end(version);
    rig
}

/// RF6, WL6, WL10; peers 37
#[test]
fn streaming_list_goes_on_as_a_watch() {
    let mut rig = rig();
    let options = rig.streaming_list();
    assert_eq!(
        (
            options.resource_version.clone(),
            options.resource_version_match
        ),
        (None, NOT_OLDER)
    );
    assert_eq!(
        (options.send_initial_events, options.allow_watch_bookmarks),
        (Some(true), true)
    );
    assert!(options.timeout.is_some());
    rig.opens();
    assert_eq!(rig.machine.phase(), ReflectorPhase::Streaming);
    assert_eq!(rig.event(EventType::Added, 7), Route::Collect);
    assert_eq!(rig.version(), None);
    assert_eq!(rig.initial_events_end(20), Route::Skip);
    rig.drain();
    assert_eq!(rig.finished(), [ListEnd::new(20.into())]);
    assert_eq!(
        (rig.version(), rig.machine.phase()),
        (Some(20), ReflectorPhase::Watching)
    );
    assert_eq!(rig.event(EventType::Modified, 21), Route::Apply);
    for _ in 0..3 {
        rig.pass(MINUTE);
        rig.ends();
        let options = rig.watch();
        assert_eq!(
            (asked(&options), options.send_initial_events),
            (Some(21), None)
        );
        assert_eq!(options.resource_version_match, None);
        rig.opens();
    }
}

/// WL1, WL4
#[test]
fn reflector_lists_where_the_source_or_the_user_says_so() {
    let mut rig = Rig::lists();
    rig.list();
    let mut machine = Machine::new(ReflectorConfig::default(), false, Rng::with_seed(1));
    machine.handle_start(Instant::now());
    assert_eq!(machine.phase(), ReflectorPhase::Listing);
}

/// WL3, WL12
#[test]
fn nothing_is_handed_over_before_the_initial_events_end() {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    assert_eq!(rig.event(EventType::Added, 7), Route::Collect);
    assert_eq!(rig.bookmark(9), Route::Skip);
    rig.drain();
    assert!(rig.finished().is_empty());
    assert_eq!(rig.version(), None);
}

/// WL7
#[test]
fn changes_among_initial_events_are_collected() {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    for kind in [EventType::Added, EventType::Modified, EventType::Deleted] {
        assert_eq!(rig.event(kind, 7), Route::Collect);
    }
    let keyless = EventMeta::new(EventType::Added, None).keyed(false);
    assert_eq!(rig.machine.handle_event(rig.now, &keyless), Route::Skip);
    assert_eq!(rig.event(EventType::Unknown, 9), Route::Skip);
    assert_eq!(rig.machine.phase(), ReflectorPhase::Streaming);
}

/// A change of any object, also of one that was listed before. INV-REFL-2, 5
#[test]
fn change_without_a_key_among_initial_events_leads_to_a_new_list() {
    for event_type in [EventType::Modified, EventType::Deleted] {
        let mut rig = rig();
        let mut waits = Vec::new();
        for round in 1..7 {
            rig.streaming_list();
            rig.opens();
            assert_eq!(rig.event(EventType::Added, 7), Route::Collect);
            let event = EventMeta::new(event_type, Some(11.into())).keyed(false);
            assert_eq!(rig.meta(&event), Route::Skip);
            assert_eq!(rig.dropped_lists(), round);
            waits.push(rig.reach_deadline());
        }
        assert!(rig.finished().is_empty());
        assert!(
            waits[..4].is_sorted() && waits[5] > 20 * SECOND,
            "{waits:?}"
        );
    }
}

/// WL5; peers 35
#[test]
fn refused_streaming_list_is_followed_by_lists_for_good() {
    for open in [false, true] {
        let mut rig = rig();
        rig.streaming_list();
        if open {
            rig.opens();
        }
        rig.fails(ErrorClass::Unsupported);
        let (options, after) = rig.timed_list();
        assert_eq!((options.resource_version, after), (None, Duration::ZERO));
        // That is an answer, not a failure to alarm people with at each start.
        let fell_back = "lists instead of streaming lists from now on: the server refuses them";
        assert_eq!(rig.reports(), [fell_back]);
        rig.list_ends(10);
        rig.watch_opens();
        assert_eq!(rig.event(EventType::Added, 11), Route::Apply);
        rig.fails(ErrorClass::Expired);
        assert_eq!(asked(&rig.list()), Some(11));
    }
}

/// An internal error, or half a minute of silence, may pass.
#[test]
fn doubtful_streaming_list_is_followed_by_a_list_and_the_third_by_lists_for_good() {
    for silent in [false, true] {
        let mut rig = rig();
        for _ in 0..2 {
            rig.streaming_list();
            rig.opens();
            if !silent {
                rig.fails(ErrorClass::Internal);
            }
            rig.list();
            rig.list_ends(10);
            rig.watch_opens();
            rig.fails(ErrorClass::Expired);
        }
        assert!(!rig.fell_back());
        rig.streaming_list();
        rig.opens();
        if !silent {
            rig.fails(ErrorClass::Internal);
        }
        rig.list();
        assert!(rig.fell_back());
        rig.list_ends(10);
        rig.watch_opens();
        rig.fails(ErrorClass::Expired);
        rig.list();
    }
}

#[test]
fn complete_streaming_list_clears_doubts() {
    let mut rig = rig();
    for _ in 0..5 {
        rig.streaming_list();
        rig.fails(ErrorClass::Internal);
        rig.list();
        rig.list_ends(20);
        rig.watch_opens();
        rig.fails(ErrorClass::Expired);
        rig.streaming_list();
        rig.opens();
        rig.initial_events_end(20);
        rig.fails(ErrorClass::Expired);
    }
    rig.streaming_list();
}

/// INV-REFL-5: found by the simulation.
#[test]
fn server_that_fails_at_a_stream_and_asks_to_wait_is_not_listed_at_once() {
    let mut rig = rig();
    rig.streaming_list();
    let error = error_asking(ErrorClass::Internal, 2 * SECOND);
    rig.machine.handle_error(rig.now, error);
    let (_, after) = rig.timed_list();
    assert!(after >= 2 * SECOND, "too soon: {after:?}");
}

#[test]
fn refusal_counts_once_in_stream_mode() {
    let mut rig = Rig::new(ReflectorConfig::default().list_mode(ListMode::Stream));
    rig.streaming_list();
    rig.fails(ErrorClass::Unsupported);
    rig.list();
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(ErrorClass::Expired);
    assert_eq!(asked(&rig.streaming_list()), Some(10));
}

/// WL8
#[test]
fn busy_or_absent_server_is_asked_again_for_the_same_streaming_list() {
    for kind in [ErrorClass::Busy, ErrorClass::Refused, ErrorClass::NotFound] {
        let mut rig = rig();
        let mut first = rig.streaming_list();
        for _ in 0..5 {
            rig.fails(kind);
            let (request, after) = rig.request();
            let Request::StreamingList(mut next) = request else {
                panic!("not {request:?}")
            };
            assert!(after >= SECOND / 2, "too soon: {after:?}");
            (first.timeout, next.timeout) = (None, None);
            assert_eq!(first, next);
        }
    }
}

/// A server that fails at streams may be in order for lists.
#[test]
fn other_failures_of_a_streaming_list_are_followed_by_one_list_after_a_wait() {
    for kind in [
        ErrorClass::Transport,
        ErrorClass::Timeout,
        ErrorClass::Unavailable,
        ErrorClass::Other,
    ] {
        let mut rig = rig();
        rig.streaming_list();
        rig.fails(kind);
        let (_, after) = rig.timed_list();
        assert!(after >= SECOND / 2, "too soon: {after:?}");
        rig.fails(kind);
        rig.streaming_list();
    }
}

/// WL9; peers 34
#[test]
fn three_streams_whose_initial_events_do_not_end_lead_to_lists() {
    for broken in [false, true] {
        let mut rig = rig();
        let mut waits = Vec::new();
        for _ in 0..2 {
            rig.streaming_list();
            rig.opens();
            assert_eq!(rig.event(EventType::Added, 7), Route::Collect);
            rig.pass(2 * SECOND);
            if broken {
                rig.fails(ErrorClass::Transport)
            } else {
                rig.ends()
            }
            assert_eq!(rig.dropped_lists(), waits.len() + 1);
            waits.push(rig.reach_deadline());
        }
        assert!(waits.is_sorted() && waits[0] >= SECOND / 2, "{waits:?}");
        rig.streaming_list();
        rig.opens();
        rig.ends();
        rig.list();
        rig.list_ends(10);
        rig.watch_opens();
        rig.fails(ErrorClass::Expired);
        rig.list();
    }
}

/// peers 34, 35, 38
#[test]
fn initial_events_time_out_after_thirty_seconds_without_progress() {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    for _ in 0..10 {
        rig.pass(20 * SECOND);
        rig.machine.handle_timeout(rig.now);
        assert_eq!(rig.event(EventType::Added, 7), Route::Collect);
    }
    let (_, after) = rig.timed_list();
    assert_eq!(after, 30 * SECOND);
    let timed_out = "streaming list timed out: no initial event within 30s";
    assert_eq!(rig.reports(), [timed_out]);
}

/// A server that takes the request for an ordinary watch may send many events, but never the end of the initial ones.
#[test]
fn changes_among_initial_events_are_no_progress() {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    let start = rig.now;
    for version in 0..100 {
        rig.pass(5 * SECOND);
        rig.machine.handle_timeout(rig.now);
        if rig.machine.phase() != ReflectorPhase::Streaming {
            break;
        }
        let kind = if version % 3 == 0 {
            EventType::Added
        } else {
            EventType::Modified
        };
        assert_eq!(rig.event(kind, version), Route::Collect);
    }
    assert!(rig.now - start <= 70 * SECOND, "took {:?}", rig.now - start);
    rig.list();
}

/// peers 42
#[test]
fn refused_version_is_left_at_once_and_then_slowly() {
    for kind in [ErrorClass::Expired, ErrorClass::TooLarge] {
        let mut rig = synced(10);
        rig.drain();
        rig.fails(ErrorClass::Expired);
        assert_eq!(asked(&rig.streaming_list()), Some(10));
        rig.fails(kind);
        let (request, after) = rig.request();
        let Request::StreamingList(options) = request else {
            panic!("not {request:?}")
        };
        assert_eq!((options.resource_version, after), (None, Duration::ZERO));
        let mut waits = Vec::new();
        for _ in 0..6 {
            rig.fails(kind);
            let (request, after) = rig.request();
            assert!(
                matches!(request, Request::StreamingList(_)),
                "not {request:?}"
            );
            waits.push(after);
        }
        assert!(
            waits[..4].is_sorted() && waits[5] > 20 * SECOND,
            "{waits:?}"
        );
        rig.opens();
        rig.initial_events_end(20);
        rig.fails(ErrorClass::Expired);
        assert_eq!(asked(&rig.streaming_list()), Some(20));
    }
}

#[test]
fn initial_events_older_than_requested_are_refused() {
    let mut rig = synced(10);
    rig.fails(ErrorClass::Expired);
    rig.streaming_list();
    rig.opens();
    rig.initial_events_end(9);
    assert_eq!(rig.streaming_list().resource_version, None);
    assert_eq!(rig.finished().len(), 1);
    rig.opens();
    rig.initial_events_end(9);
    rig.drain();
    assert_eq!(rig.finished()[1], ListEnd::new(9.into()).rewind(true));
    assert_eq!(rig.machine.phase(), ReflectorPhase::Watching);
}

#[test]
fn streaming_list_that_does_not_open_is_given_up_after_70_seconds() {
    let mut rig = rig();
    rig.streaming_list();
    let (_, after) = rig.timed_list();
    assert!(after > 70 * SECOND && after < 73 * SECOND, "{after:?}");
}
