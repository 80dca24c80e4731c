//! A sink that dropped changes.

use super::*;

/// INV-REFL-5
#[test]
fn dropped_changes_lead_to_lists_that_are_ever_rarer() {
    let mut rig = Rig::watching(10);
    let mut waits = Vec::new();
    for round in 1..8 {
        assert_eq!(rig.event(EventType::Added, 10 * round + 1), Route::Apply);
        rig.machine.handle_dropped_changes(rig.now);
        let (options, after) = rig.timed_list();
        assert_eq!(asked(&options), Some(10 * round + 1));
        waits.push(after);
        rig.list_ends(10 * round + 10);
        rig.watch_opens();
    }
    assert!(waits[..4].is_sorted(), "{waits:?}");
    assert!(
        waits[0] >= SECOND / 2 && waits[6] > 20 * SECOND,
        "{waits:?}"
    );
    let dropped = |action: &Action| matches!(action, Action::Report(Report::ChangesDropped { .. }));
    assert_eq!(rig.count(dropped), 7);
    assert_eq!(rig.machine.attempts(), 0, "no request failed");
}

/// A resync may overflow the sink at any time.
#[test]
fn changes_dropped_while_waiting_or_listing_need_no_second_list() {
    let mut rig = Rig::watching(10);
    rig.fails(ErrorClass::Busy);
    for _ in 0..3 {
        rig.machine.handle_dropped_changes(rig.now);
    }
    rig.list();
    rig.machine.handle_dropped_changes(rig.now);
    let dropped = |action: &Action| matches!(action, Action::Report(Report::ChangesDropped { .. }));
    assert_eq!(rig.count(dropped), 1);
    rig.list_ends(20);
    assert_eq!(asked(&rig.watch()), Some(20));
    assert_eq!(rig.machine.counts().lists, 2);
}
