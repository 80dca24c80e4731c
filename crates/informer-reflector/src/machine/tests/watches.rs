//! Watches: their options, and what follows each kind of failure.

use super::*;

/// RF23
#[test]
fn watches_ask_for_random_ends_between_the_least_and_twice_that() {
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
fn a_busy_or_absent_server_is_asked_again_for_the_same_watch() {
    for kind in [
        FailureKind::Busy,
        FailureKind::Refused,
        FailureKind::Transport,
        FailureKind::Timeout,
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
fn a_busy_server_inside_the_stream_is_waited_for_as_long_as_it_asks() {
    let mut rig = Rig::watching(10);
    rig.event(EventKind::Added, 11);
    let failure = Failure::new(FailureKind::Busy).retry_after(3 * SECOND);
    rig.machine.handle_error(rig.now, failure);
    let (options, after) = rig.timed_watch();
    assert_eq!(asked(&options), Some(11));
    assert!(after >= 3 * SECOND, "too soon: {after:?}");
    assert_eq!(rig.machine.counts().lists, 1);
}

/// peers 2, 3; WL11
#[test]
fn an_expired_watch_leads_to_one_list_that_is_not_older() {
    for open in [false, true] {
        let mut rig = Rig::lists();
        rig.list();
        rig.list_ends(10);
        rig.watch();
        if open {
            rig.opens();
            rig.event(EventKind::Modified, 12);
        }
        rig.fails(FailureKind::Expired);
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
fn lists_whose_version_expires_at_once_come_ever_more_slowly() {
    let mut rig = Rig::lists();
    rig.list();
    let mut waits = Vec::new();
    for round in 1..=5 {
        rig.list_ends(round * 100);
        rig.watch_opens();
        rig.fails(FailureKind::Expired);
        waits.push(rig.timed_list().1);
    }
    assert!(waits.is_sorted() && waits[4] >= 10 * SECOND, "{waits:?}");
}

#[test]
fn a_watch_from_the_future_leads_to_the_newest_state_at_once_but_only_once() {
    let mut rig = Rig::watching(750);
    rig.fails(FailureKind::TooLarge);
    let (options, after) = rig.timed_list();
    assert_eq!((options.resource_version, after), (None, Duration::ZERO));
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(FailureKind::TooLarge);
    let (options, after) = rig.timed_list();
    assert_eq!(options.resource_version, None);
    assert!(after >= SECOND / 2, "too soon: {after:?}");
}

/// RF13, RF26; peers 17
#[test]
fn internal_errors_are_met_by_watches_first_and_by_a_list_in_the_end() {
    for kind in [FailureKind::Internal, FailureKind::Unavailable] {
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
fn internal_errors_far_apart_have_nothing_to_do_with_each_other() {
    let mut rig = Rig::watching(10);
    for _ in 0..10 {
        rig.pass(2 * MINUTE);
        rig.fails(FailureKind::Internal);
        rig.watch_opens();
    }
    assert_eq!(rig.machine.counts().lists, 1);
}

#[test]
fn progress_between_internal_errors_forgives_them() {
    let mut rig = Rig::watching(10);
    for version in 11..30 {
        rig.fails(FailureKind::Internal);
        rig.watch_opens();
        rig.event(EventKind::Modified, version);
    }
    assert_eq!(rig.machine.counts().lists, 1);
}

/// RF8
#[test]
fn other_failures_of_a_watch_wait_and_list() {
    for kind in [FailureKind::Other, FailureKind::Unsupported] {
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
fn a_list_that_works_does_not_shorten_the_waits_of_a_watch_that_does_not() {
    let mut rig = Rig::lists();
    rig.list();
    let end = rig.now + 5 * MINUTE;
    let mut rounds = 0;
    while rig.now < end {
        rig.list_ends(10);
        rig.watch();
        rig.fails(FailureKind::Other);
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
        rig.fails(FailureKind::Other);
        rig.list();
    });
    rig.list_ends(10);
    rig.watch_opens();
    rig.pass(3 * MINUTE);
    rig.fails(FailureKind::Other);
    let (_, after) = rig.timed_list();
    assert!(after < 2 * SECOND, "{after:?}");
}

/// peers 24
#[test]
fn a_watch_that_does_not_open_is_asked_for_again_without_a_list() {
    let mut rig = Rig::lists();
    rig.list();
    rig.list_ends(10);
    rig.watch();
    let (options, after) = rig.timed_watch();
    assert_eq!(asked(&options), Some(10));
    assert!(after < MINUTE, "{after:?}");
    assert!(matches!(
        rig.faults()[..],
        [Fault::Timeout {
            what: "answer to a watch",
            ..
        }]
    ));
}

#[test]
fn an_object_without_a_name_forces_a_repair_and_no_loop() {
    let mut rig = Rig::watching(10);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let event = EventMeta::new(EventKind::Added, Some(11.into())).named(false);
        assert_eq!(rig.machine.handle_event(rig.now, &event), Verdict::Skip);
        rig.machine.handle_applied();
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

#[test]
fn failures_are_counted_until_something_goes_well() {
    let mut rig = Rig::lists();
    rig.list();
    for attempts in 1..4 {
        rig.fails(FailureKind::Refused);
        assert_eq!(rig.machine.attempts(), attempts);
        assert_eq!(rig.machine.phase(), Phase::Waiting);
        assert!(rig.machine.retry_at().is_some());
        rig.list();
    }
    rig.list_ends(10);
    assert_eq!(rig.machine.attempts(), 0);
    assert!(rig.machine.is_synced());
}

#[test]
fn failures_are_sorted_by_what_the_server_says() {
    use informer_wire::{Status, StatusDetails};
    let status = |code, reason: &str, message: &str| Status::failure(code, reason, message);
    let kind = |status: Status| FailureKind::from(&status);
    assert_eq!(kind(status(410, "Gone", "")), FailureKind::Expired);
    assert_eq!(kind(status(410, "Expired", "")), FailureKind::Expired);
    assert_eq!(kind(status(0, "Expired", "")), FailureKind::Expired);
    // RF21: a cause, or only words.
    let words = "Too large resource version: 750, current: 10";
    assert_eq!(kind(status(504, "Timeout", words)), FailureKind::TooLarge);
    let mut cause = status(504, "Timeout", "");
    let json = r#"{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}"#;
    cause.details = Some(serde_json::from_str::<StatusDetails>(json).unwrap());
    assert_eq!(kind(cause), FailureKind::TooLarge);
    assert_eq!(
        kind(status(504, "Timeout", "slow")),
        FailureKind::Unavailable
    );
    assert_eq!(kind(status(429, "", "")), FailureKind::Busy);
    assert_eq!(kind(status(422, "Invalid", "")), FailureKind::Unsupported);
    assert_eq!(kind(status(406, "", "")), FailureKind::Unsupported);
    assert_eq!(
        kind(status(500, "InternalError", "")),
        FailureKind::Internal
    );
    assert_eq!(kind(status(0, "InternalError", "")), FailureKind::Internal);
    assert_eq!(kind(status(503, "", "")), FailureKind::Unavailable);
    assert_eq!(kind(status(403, "Forbidden", "")), FailureKind::Other);
    assert_eq!(kind(status(302, "", "")), FailureKind::Other);
}
