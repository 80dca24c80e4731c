//! Streaming lists and the way back to lists.

use super::*;

fn rig() -> Rig {
    Rig::new(ReflectorConfig::default())
}

/// One that is synced by a streaming list at this version.
fn synced(version: u64) -> Rig {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    rig.marker(version);
    rig
}

/// RF6, WL6, WL10; peers 37
#[test]
fn one_request_gives_the_state_and_goes_on_as_a_watch() {
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
    assert_eq!(rig.machine.phase(), Phase::Streaming);
    assert_eq!(rig.event(EventKind::Added, 7), Verdict::Collect);
    assert_eq!(rig.version(), None);
    assert_eq!(rig.marker(20), Verdict::Skip);
    rig.drain();
    assert_eq!(rig.finished(), [ReplaceEnd::new(20.into())]);
    assert_eq!(
        (rig.version(), rig.machine.phase()),
        (Some(20), Phase::Watching)
    );
    assert_eq!(rig.event(EventKind::Modified, 21), Verdict::Apply);
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
fn lists_where_the_source_or_the_user_says_so() {
    let mut rig = Rig::lists();
    rig.list();
    let mut machine = Machine::new(ReflectorConfig::default(), false, Rng::with_seed(1));
    machine.handle_start(Instant::now());
    assert_eq!(machine.phase(), Phase::Listing);
}

/// WL3, WL12
#[test]
fn nothing_is_handed_over_before_the_end_marker() {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    assert_eq!(rig.event(EventKind::Added, 7), Verdict::Collect);
    assert_eq!(rig.bookmark(9), Verdict::Skip);
    rig.drain();
    assert!(rig.finished().is_empty());
    assert_eq!(rig.version(), None);
}

/// WL7
#[test]
fn changes_within_the_first_state_belong_to_it() {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    for kind in [EventKind::Added, EventKind::Modified, EventKind::Deleted] {
        assert_eq!(rig.event(kind, 7), Verdict::Collect);
    }
    let nameless = EventMeta::new(EventKind::Added, None).named(false);
    assert_eq!(rig.machine.handle_event(rig.now, &nameless), Verdict::Skip);
    assert_eq!(rig.event(EventKind::Unknown, 9), Verdict::Skip);
    assert_eq!(rig.machine.phase(), Phase::Streaming);
}

/// WL5; peers 35
#[test]
fn a_refusal_is_followed_by_lists_for_good() {
    for open in [false, true] {
        let mut rig = rig();
        rig.streaming_list();
        if open {
            rig.opens();
        }
        rig.fails(FailureKind::Unsupported);
        let (options, after) = rig.timed_list();
        assert_eq!((options.resource_version, after), (None, Duration::ZERO));
        let reason = "the server refuses them";
        assert!(
            rig.actions
                .contains(&Action::Notice(Notice::FellBack { reason }))
        );
        rig.list_ends(10);
        rig.watch_opens();
        assert_eq!(rig.event(EventKind::Added, 11), Verdict::Apply);
        rig.fails(FailureKind::Expired);
        assert_eq!(asked(&rig.list()), Some(11));
    }
}

/// An internal error, or half a minute of silence, may pass.
#[test]
fn what_may_pass_is_followed_by_a_list_and_by_lists_for_good_the_third_time() {
    for silent in [false, true] {
        let mut rig = rig();
        for _ in 0..2 {
            rig.streaming_list();
            rig.opens();
            if !silent {
                rig.fails(FailureKind::Internal);
            }
            rig.list();
            rig.list_ends(10);
            rig.watch_opens();
            rig.fails(FailureKind::Expired);
        }
        assert!(!rig.fell_back());
        rig.streaming_list();
        rig.opens();
        if !silent {
            rig.fails(FailureKind::Internal);
        }
        rig.list();
        assert!(rig.fell_back());
        rig.list_ends(10);
        rig.watch_opens();
        rig.fails(FailureKind::Expired);
        rig.list();
    }
}

#[test]
fn a_streaming_list_that_goes_well_clears_doubts() {
    let mut rig = rig();
    for _ in 0..5 {
        rig.streaming_list();
        rig.fails(FailureKind::Internal);
        rig.list();
        rig.list_ends(20);
        rig.watch_opens();
        rig.fails(FailureKind::Expired);
        rig.streaming_list();
        rig.opens();
        rig.marker(20);
        rig.fails(FailureKind::Expired);
    }
    rig.streaming_list();
}

/// INV-REFL-5: found by the simulation.
#[test]
fn a_server_that_fails_at_a_stream_and_asks_to_wait_is_not_listed_at_once() {
    let mut rig = rig();
    rig.streaming_list();
    let failure = Failure::new(FailureKind::Internal).retry_after(2 * SECOND);
    rig.machine.handle_error(rig.now, failure);
    let (_, after) = rig.timed_list();
    assert!(after >= 2 * SECOND, "too soon: {after:?}");
}

#[test]
fn in_stream_mode_a_refusal_counts_once() {
    let mut rig = Rig::new(ReflectorConfig::default().list_mode(ListMode::Stream));
    rig.streaming_list();
    rig.fails(FailureKind::Unsupported);
    rig.list();
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(FailureKind::Expired);
    assert_eq!(asked(&rig.streaming_list()), Some(10));
}

/// WL8
#[test]
fn a_busy_or_absent_server_is_asked_again_for_the_same_streaming_list() {
    for kind in [FailureKind::Busy, FailureKind::Refused] {
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

/// A server that is out of order may be in order for lists.
#[test]
fn other_failures_are_followed_by_one_list_after_a_wait() {
    for kind in [
        FailureKind::Transport,
        FailureKind::Timeout,
        FailureKind::Unavailable,
        FailureKind::Other,
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
fn three_streams_without_an_end_marker_are_enough() {
    for broken in [false, true] {
        let mut rig = rig();
        let mut waits = Vec::new();
        for _ in 0..2 {
            rig.streaming_list();
            rig.opens();
            assert_eq!(rig.event(EventKind::Added, 7), Verdict::Collect);
            rig.pass(2 * SECOND);
            if broken {
                rig.fails(FailureKind::Transport)
            } else {
                rig.ends()
            }
            assert!(rig.drain().contains(&Action::AbortReplace));
            waits.push(rig.reach_deadline());
        }
        assert!(waits.is_sorted() && waits[0] >= SECOND / 2, "{waits:?}");
        rig.streaming_list();
        rig.opens();
        rig.ends();
        rig.list();
        rig.list_ends(10);
        rig.watch_opens();
        rig.fails(FailureKind::Expired);
        rig.list();
    }
}

/// peers 34, 35, 38
#[test]
fn thirty_seconds_without_progress_are_enough() {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    for _ in 0..10 {
        rig.pass(20 * SECOND);
        rig.machine.handle_timeout(rig.now);
        assert_eq!(rig.event(EventKind::Added, 7), Verdict::Collect);
    }
    let (_, after) = rig.timed_list();
    assert_eq!(after, 30 * SECOND);
    assert!(matches!(rig.faults()[..], [Fault::Timeout { .. }]));
}

/// A server that takes the request for an ordinary watch may have much to say, but never the end marker.
#[test]
fn changes_without_end_are_no_progress() {
    let mut rig = rig();
    rig.streaming_list();
    rig.opens();
    let start = rig.now;
    for version in 0..100 {
        rig.pass(5 * SECOND);
        rig.machine.handle_timeout(rig.now);
        if rig.machine.phase() != Phase::Streaming {
            break;
        }
        let kind = if version % 3 == 0 {
            EventKind::Added
        } else {
            EventKind::Modified
        };
        assert_eq!(rig.event(kind, version), Verdict::Collect);
    }
    assert!(rig.now - start <= 70 * SECOND, "took {:?}", rig.now - start);
    rig.list();
}

/// peers 42
#[test]
fn a_version_that_is_refused_is_left_at_once_and_then_slowly() {
    for kind in [FailureKind::Expired, FailureKind::TooLarge] {
        let mut rig = synced(10);
        rig.drain();
        rig.fails(FailureKind::Expired);
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
        rig.marker(20);
        rig.fails(FailureKind::Expired);
        assert_eq!(asked(&rig.streaming_list()), Some(20));
    }
}

#[test]
fn a_first_state_older_than_was_asked_for_is_not_taken() {
    let mut rig = synced(10);
    rig.fails(FailureKind::Expired);
    rig.streaming_list();
    rig.opens();
    rig.marker(9);
    assert_eq!(rig.streaming_list().resource_version, None);
    assert_eq!(rig.finished().len(), 1);
    rig.opens();
    rig.marker(9);
    rig.drain();
    assert_eq!(rig.finished()[1], ReplaceEnd::new(9.into()).rewind(true));
    assert_eq!(rig.machine.phase(), Phase::Watching);
}

#[test]
fn a_streaming_list_that_does_not_open_is_given_up_in_time() {
    let mut rig = rig();
    rig.streaming_list();
    let (_, after) = rig.timed_list();
    assert!(after < MINUTE, "{after:?}");
}
