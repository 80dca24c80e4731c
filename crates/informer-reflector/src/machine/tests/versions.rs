//! Resource versions: what moves them, going back in time, and lists without one.

use super::*;

/// WL2; peers 8
#[test]
fn the_first_objects_of_a_watch_from_nowhere_move_no_version() {
    for unset in ["", "0"] {
        let mut rig = Rig::lists();
        rig.list();
        rig.page_ends(&ListMeta::at(unset.into()));
        let options = rig.watch();
        assert_eq!(options.resource_version, None);
        rig.opens();
        for version in [9, 3, 7] {
            assert_eq!(rig.event(EventKind::Added, version), Verdict::Apply);
            assert_eq!(rig.version(), None);
        }
        rig.event(EventKind::Modified, 12);
        assert_eq!(rig.version(), Some(12));
        rig.event(EventKind::Added, 13);
        assert_eq!(rig.version(), Some(13));
    }
}

#[test]
fn without_a_version_to_resume_from_the_state_is_fetched_anew() {
    let mut rig = Rig::lists();
    rig.list();
    rig.page_ends(&ListMeta::default());
    rig.watch_opens();
    rig.event(EventKind::Added, 9);
    rig.pass(MINUTE);
    rig.ends();
    let (options, after) = rig.timed_list();
    assert_eq!(options.resource_version, None);
    assert!(after >= SECOND / 2, "too soon: {after:?}");
}

/// peers 39
#[test]
fn an_end_marker_that_nobody_asked_for_is_a_bookmark() {
    let mut rig = Rig::watching(10);
    assert_eq!(rig.marker(15), Verdict::Apply);
    assert_eq!(rig.version(), Some(15));
    assert_eq!(rig.machine.phase(), Phase::Watching);
    assert_eq!(rig.finished().len(), 1);
}

/// RF24, RF5
#[test]
fn the_version_follows_what_was_applied() {
    let mut rig = Rig::watching(5);
    rig.event(EventKind::Added, 10);
    assert_eq!(rig.version(), Some(10));
    rig.event(EventKind::Modified, 20);
    assert_eq!(rig.version(), Some(20));
    rig.bookmark(30);
    assert_eq!(rig.version(), Some(30));
    rig.event(EventKind::Deleted, 40);
    assert_eq!(rig.version(), Some(40));
    assert_eq!(rig.event(EventKind::Unknown, 50), Verdict::Skip);
    assert_eq!(rig.version(), Some(40));
}

#[test]
fn what_did_not_reach_the_sink_does_not_move_the_version() {
    let mut rig = Rig::watching(5);
    let event = EventMeta::new(EventKind::Added, Some(10.into()));
    assert_eq!(rig.machine.handle_event(rig.now, &event), Verdict::Apply);
    assert_eq!(rig.version(), Some(5));
    rig.fails(FailureKind::Transport);
    rig.machine.handle_applied();
    assert_eq!(rig.version(), Some(5));
}

/// Many deletions of events share one version.
#[test]
fn events_of_one_version_are_all_applied() {
    let mut rig = Rig::watching(5);
    for _ in 0..3 {
        assert_eq!(rig.event(EventKind::Deleted, 9), Verdict::Apply);
    }
    assert_eq!(rig.version(), Some(9));
}

/// peers 6
#[test]
fn an_event_from_the_past_moves_no_version_and_no_object() {
    let mut rig = Rig::watching(10);
    assert_eq!(rig.event(EventKind::Modified, 8), Verdict::ApplyIfNewer);
    assert_eq!(rig.bookmark(7), Verdict::Skip);
    assert_eq!(rig.version(), Some(10));
}

#[test]
fn an_object_without_a_version_is_applied_and_moves_none() {
    let mut rig = Rig::watching(10);
    let event = EventMeta::new(EventKind::Modified, None);
    assert_eq!(rig.machine.handle_event(rig.now, &event), Verdict::Apply);
    rig.machine.handle_applied();
    assert_eq!(rig.version(), Some(10));
}

/// peers 6
#[test]
fn a_list_older_than_was_asked_for_is_not_taken() {
    let mut rig = Rig::watching(10);
    rig.fails(FailureKind::Expired);
    assert_eq!(asked(&rig.list()), Some(10));
    rig.list_ends(9);
    let (options, after) = rig.timed_list();
    assert_eq!((options.resource_version, after), (None, Duration::ZERO));
    assert_eq!(rig.finished().len(), 1);
    // The newest state is newer: no rewind.
    rig.list_ends(11);
    rig.watch();
    assert_eq!(rig.finished()[1], ReplaceEnd::new(11.into()));
}

/// k/k 107457
#[test]
fn a_newest_state_that_is_older_is_a_rewind() {
    let mut rig = Rig::watching(100);
    rig.fails(FailureKind::Expired);
    rig.list();
    rig.fails(FailureKind::TooLarge);
    rig.list();
    rig.list_ends(50);
    assert_eq!(asked(&rig.watch()), Some(50));
    assert_eq!(rig.finished()[1], ReplaceEnd::new(50.into()).rewind(true));
    let (from, to) = (ResourceVersion::from(100), ResourceVersion::from(50));
    assert!(
        rig.actions
            .contains(&Action::Notice(Notice::Rewound { from, to }))
    );
    assert_eq!(rig.machine.counts().rewinds, 1);
}

/// INV-REFL-13
#[test]
fn where_a_rewind_is_possible_known_copies_are_read_anew() {
    let mut rig = Rig::watching(100);
    rig.fails(FailureKind::Expired);
    rig.list();
    rig.fails(FailureKind::TooLarge);
    rig.list();
    let uses: Vec<_> = rig
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::List { use_known, .. } => Some(*use_known),
            _ => None,
        })
        .collect();
    assert_eq!(uses, [true, true, false]);

    let mut rig = Rig::new(ReflectorConfig::default());
    rig.streaming_list();
    rig.opens();
    rig.marker(100);
    rig.fails(FailureKind::Expired);
    rig.streaming_list();
    rig.fails(FailureKind::TooLarge);
    rig.streaming_list();
    let uses: Vec<_> = rig
        .actions
        .iter()
        .filter_map(|action| match action {
            Action::StreamingList { use_known, .. } => Some(*use_known),
            _ => None,
        })
        .collect();
    assert_eq!(uses, [true, true, false]);
}

#[test]
fn versions_that_cannot_be_compared_are_no_rewind() {
    let mut rig = Rig::lists();
    rig.list();
    rig.page_ends(&ListMeta::at("b7".into()));
    rig.watch_opens();
    rig.fails(FailureKind::Expired);
    assert_eq!(rig.list().resource_version, Some("b7".into()));
    rig.page_ends(&ListMeta::at("a1".into()));
    assert_eq!(rig.watch().resource_version, Some("a1".into()));
    assert_eq!(rig.finished()[1], ReplaceEnd::new("a1".into()));
}

/// peers 1
#[test]
fn a_version_that_lists_but_never_watches_is_left_in_the_second_round() {
    let mut rig = Rig::watching(10);
    rig.fails(FailureKind::Expired);
    assert_eq!(asked(&rig.list()), Some(10));
    // The server gives the very version that was asked for, and its watch says again that it is too old.
    rig.list_ends(10);
    rig.watch_opens();
    rig.fails(FailureKind::Expired);
    assert_eq!(rig.list().resource_version, None);
    rig.list_ends(90);
    assert_eq!(asked(&rig.watch()), Some(90));
}

/// peers 9
#[test]
fn a_quiet_kind_resumes_from_its_list() {
    let mut rig = Rig::watching(1000);
    for _ in 0..5 {
        rig.pass(6 * MINUTE);
        rig.ends();
        if rig.machine.phase() == Phase::Listing {
            // A look at the server's version alone, after two silent lives.
            assert_eq!(rig.list().limit, Some(1));
            rig.list_ends(1000);
        }
        assert_eq!(asked(&rig.watch()), Some(1000));
        rig.opens();
    }
    assert_eq!(rig.machine.counts().lists, 1);
}
