//! Watches that end without an error.

use super::*;

/// peers 14
#[test]
fn watch_that_ends_cleanly_is_resumed_without_a_list() {
    let mut rig = Rig::watching(10);
    for version in 11..61 {
        rig.pass(2 * SECOND);
        rig.event(EventType::Modified, version);
        rig.ends();
        let (options, after) = rig.timed_watch();
        assert_eq!((asked(&options), after), (Some(version), Duration::ZERO));
        rig.opens();
    }
    let counts = rig.machine.counts();
    assert_eq!((counts.lists, counts.watches), (1, 51));
}

/// peers 9, 14
#[test]
fn long_watch_without_events_is_resumed_at_once() {
    let mut rig = Rig::watching(10);
    for _ in 0..50 {
        rig.pass(30 * SECOND);
        rig.ends();
        let (options, after) = rig.timed_watch();
        assert_eq!((asked(&options), after), (Some(10), Duration::ZERO));
        rig.opens();
    }
    assert_eq!(rig.machine.counts().lists, 1);
}

/// RF4; peers 4
#[test]
fn two_empty_watches_lead_to_a_list() {
    // At once; after what client-go takes for a good watch; after a bookmark at the same version.
    for (lived, bookmark) in [(0, false), (1100, false), (100, true), (1100, true)] {
        let mut rig = Rig::watching(10);
        let end = |rig: &mut Rig| {
            rig.pass(Duration::from_millis(lived));
            if bookmark {
                rig.bookmark(10);
            }
            rig.ends();
        };
        end(&mut rig);
        let (options, after) = rig.timed_watch();
        assert_eq!(asked(&options), Some(10));
        assert!(after >= SECOND / 2, "too soon: {after:?}");
        rig.opens();
        end(&mut rig);
        let (options, after) = rig.timed_list();
        assert_eq!(asked(&options), Some(10));
        assert!(after >= SECOND / 2, "too soon: {after:?}");
    }
}

/// peers 4
#[test]
fn empty_watches_at_a_relisted_version_lead_to_the_newest_state() {
    let mut rig = Rig::watching(10);
    let two_ends = |rig: &mut Rig| {
        rig.ends();
        rig.watch_opens();
        rig.ends();
    };
    two_ends(&mut rig);
    assert_eq!(asked(&rig.list()), Some(10));
    rig.list_ends(10);
    rig.watch_opens();
    two_ends(&mut rig);
    assert_eq!(rig.list().resource_version, None);
}

/// kube D1
#[test]
fn watch_that_opens_and_ends_at_once_is_no_hot_loop() {
    let mut rig = Rig::watching(10);
    let end = rig.now + 5 * MINUTE;
    let mut requests = 0;
    while rig.now < end {
        rig.ends();
        requests += 1;
        assert!(requests <= 20, "{requests} requests");
        match rig.request().0 {
            Request::List(_) => {
                rig.list_ends(10);
                rig.watch_opens();
            }
            Request::Watch(_) => rig.opens(),
            Request::StreamingList(_) => panic!("not configured"),
        }
    }
}

#[test]
fn short_watch_with_events_is_resumed_after_a_wait() {
    let mut rig = Rig::watching(10);
    for version in 11..20 {
        rig.event(EventType::Modified, version);
        rig.ends();
        let (options, after) = rig.timed_watch();
        assert_eq!(asked(&options), Some(version));
        assert!(after >= SECOND / 2, "too soon: {after:?}");
        rig.opens();
    }
    assert_eq!(rig.machine.counts().lists, 1);
}

/// peers 27
#[test]
fn broken_connection_is_an_end_like_any_other() {
    let mut rig = Rig::watching(10);
    rig.pass(20 * SECOND);
    rig.event(EventType::Modified, 11);
    rig.fails(ErrorClass::Transport);
    let (options, after) = rig.timed_watch();
    assert_eq!((asked(&options), after), (Some(11), Duration::ZERO));
}

#[test]
fn watch_that_outlasts_its_timeout_is_replaced_without_a_list() {
    let config = ReflectorConfig::default().list_mode(ListMode::List);
    let mut rig = Rig::new(config.silence_timeout(60 * MINUTE));
    rig.list();
    rig.list_ends(10);
    let timeout = rig.watch().timeout.unwrap();
    rig.opens();
    let (options, after) = rig.timed_watch();
    assert_eq!(asked(&options), Some(10));
    assert!(after > timeout && after <= timeout + MINUTE, "{after:?}");
    assert_eq!(rig.reports(), [""; 0]);
}

/// RF2: what is replaced is closed, once.
#[test]
fn replaced_stream_is_closed_once() {
    let mut rig = Rig::watching(10);
    rig.drain();
    rig.actions.clear();
    rig.pass(20 * SECOND);
    rig.ends();
    rig.watch();
    assert_eq!(rig.count(|action| matches!(action, Action::Close)), 1);
}
