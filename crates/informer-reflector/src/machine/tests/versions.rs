//! Resource versions: what moves them, rewinds, and lists without one.

use super::*;

/// WL2; peers 8
#[test]
fn first_objects_of_a_watch_without_version_move_no_version() {
    for unset in ["", "0"] {
        let mut rig = Rig::lists();
        rig.list();
        rig.page_ends(&ListMeta::at(unset.into()));
        let options = rig.watch();
        assert_eq!(options.resource_version, None);
        rig.opens();
        for version in [9, 3, 7] {
            assert_eq!(rig.event(EventType::Added, version), Route::Apply);
            assert_eq!(rig.version(), None);
        }
        rig.event(EventType::Modified, 12);
        assert_eq!(rig.version(), Some(12));
        rig.event(EventType::Added, 13);
        assert_eq!(rig.version(), Some(13));
    }
}

#[test]
fn watch_without_version_to_resume_from_leads_to_a_list() {
    let mut rig = Rig::lists();
    rig.list();
    rig.page_ends(&ListMeta::default());
    rig.watch_opens();
    rig.event(EventType::Added, 9);
    rig.pass(MINUTE);
    rig.ends();
    let (options, after) = rig.timed_list();
    assert_eq!(options.resource_version, None);
    assert!(after >= SECOND / 2, "too soon: {after:?}");
}

/// peers 39
#[test]
fn unexpected_initial_events_end_is_a_bookmark() {
    let mut rig = Rig::watching(10);
    assert_eq!(rig.initial_events_end(15), Route::Apply);
    assert_eq!(rig.version(), Some(15));
    assert_eq!(rig.machine.phase(), ReflectorPhase::Watching);
    assert_eq!(rig.finished().len(), 1);
}

/// RF24, RF5
#[test]
fn resume_version_moves_with_each_routed_event() {
    let mut rig = Rig::watching(5);
    rig.event(EventType::Added, 10);
    assert_eq!(rig.version(), Some(10));
    rig.event(EventType::Modified, 20);
    assert_eq!(rig.version(), Some(20));
    rig.bookmark(30);
    assert_eq!(rig.version(), Some(30));
    rig.event(EventType::Deleted, 40);
    assert_eq!(rig.version(), Some(40));
    assert_eq!(rig.event(EventType::Unknown, 50), Route::Skip);
    assert_eq!(rig.version(), Some(40));
}

/// Many deletions of events share one version.
#[test]
fn events_of_one_version_are_all_routed_to_the_sink() {
    let mut rig = Rig::watching(5);
    for _ in 0..3 {
        assert_eq!(rig.event(EventType::Deleted, 9), Route::Apply);
    }
    assert_eq!(rig.version(), Some(9));
}

/// peers 6; INV-REFL-3: a watch's order is the truth, and the sink knows the object's own version.
#[test]
fn event_with_a_lower_version_is_routed_and_never_moves_the_version_back() {
    let mut rig = Rig::watching(10);
    for event_type in [EventType::Added, EventType::Modified, EventType::Deleted] {
        assert_eq!(rig.event(event_type, 8), Route::Apply);
        assert_eq!(rig.version(), Some(10));
    }
    assert_eq!(rig.bookmark(7), Route::Skip);
    assert_eq!(rig.version(), Some(10));
    // An opaque one cannot be compared: the last received is the one to resume from.
    let opaque = EventMeta::new(EventType::Modified, Some("b64".into()));
    assert_eq!(rig.meta(&opaque), Route::Apply);
    rig.pass(MINUTE);
    rig.ends();
    assert_eq!(rig.watch().resource_version, Some("b64".into()));
}

#[test]
fn event_without_version_is_routed_and_moves_no_version() {
    let mut rig = Rig::watching(10);
    let event = EventMeta::new(EventType::Modified, None);
    assert_eq!(rig.meta(&event), Route::Apply);
    assert_eq!(rig.version(), Some(10));
}

/// peers 6
#[test]
fn list_older_than_requested_is_refused() {
    let mut rig = Rig::watching(10);
    rig.fails(ErrorClass::Expired);
    assert_eq!(asked(&rig.list()), Some(10));
    rig.list_ends(9);
    let (options, after) = rig.timed_list();
    assert_eq!((options.resource_version, after), (None, Duration::ZERO));
    assert_eq!(rig.finished().len(), 1);
    // The newest state is newer: no rewind.
    rig.list_ends(11);
    rig.watch();
    assert_eq!(rig.finished()[1], ListEnd::new(11.into()));
}

/// k/k 107457
#[test]
fn newest_state_that_is_older_is_a_rewind() {
    let mut rig = Rig::watching(100);
    rig.fails(ErrorClass::Expired);
    rig.list();
    rig.fails(ErrorClass::TooLarge);
    rig.list();
    rig.list_ends(50);
    assert_eq!(asked(&rig.watch()), Some(50));
    assert_eq!(rig.finished()[1], ListEnd::new(50.into()).rewind(true));
    let rewound = "the API server's resource versions went back from 100 to 50";
    assert!(rig.reports().iter().any(|report| report == rewound));
    assert_eq!(rig.machine.counts().rewinds, 1);
}

/// INV-REFL-13
#[test]
fn list_that_may_be_a_rewind_reuses_no_objects() {
    let mut rig = Rig::watching(100);
    rig.fails(ErrorClass::Expired);
    rig.list();
    rig.fails(ErrorClass::TooLarge);
    rig.list();
    assert_eq!(rig.reuses(), [true, true, false]);

    let mut rig = Rig::new(ReflectorConfig::default());
    rig.streaming_list();
    rig.opens();
    rig.initial_events_end(100);
    rig.fails(ErrorClass::Expired);
    rig.streaming_list();
    rig.fails(ErrorClass::TooLarge);
    rig.streaming_list();
    assert_eq!(rig.reuses(), [true, true, false]);
}

#[test]
fn opaque_versions_are_no_rewind() {
    let mut rig = Rig::lists();
    rig.list();
    rig.page_ends(&ListMeta::at("b7".into()));
    rig.watch_opens();
    rig.fails(ErrorClass::Expired);
    assert_eq!(rig.list().resource_version, Some("b7".into()));
    rig.page_ends(&ListMeta::at("a1".into()));
    assert_eq!(rig.watch().resource_version, Some("a1".into()));
    assert_eq!(rig.finished()[1], ListEnd::new("a1".into()));
}

/// peers 1
#[test]
fn version_that_lists_but_does_not_watch_is_left_in_the_second_round() {
    let mut rig = Rig::watching(10);
    rig.fails(ErrorClass::Expired);
    assert_eq!(asked(&rig.list()), Some(10));
    // The server gives the very version that was asked for, and its watch says again that it is too old.
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(ErrorClass::Expired);
    assert_eq!(rig.list().resource_version, None);
    rig.list_ends(90);
    assert_eq!(asked(&rig.watch()), Some(90));
}

/// peers 9
#[test]
fn quiet_watch_resumes_from_its_list() {
    let mut rig = Rig::watching(1000);
    for _ in 0..5 {
        rig.pass(6 * MINUTE);
        rig.ends();
        if rig.machine.phase() == ReflectorPhase::Listing {
            // A probe of the server's version, after two silent watches.
            assert_eq!(rig.list().limit, Some(1));
            rig.list_ends(1000);
        }
        assert_eq!(asked(&rig.watch()), Some(1000));
        rig.opens();
    }
    assert_eq!(rig.machine.counts().lists, 1);
}
