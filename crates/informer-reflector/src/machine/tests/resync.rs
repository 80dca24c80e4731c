//! Resync: on its own timer, whatever the watches do.

use super::*;

/// Resources whose watches may lose something; client-go 6, k/k 110210
#[test]
fn a_relist_period_lists_although_the_watch_is_in_order() {
    let config = ReflectorConfig::default()
        .relist_period(10 * MINUTE)
        .silence_timeout(60 * MINUTE)
        .watch_timeout(30 * MINUTE);
    let mut rig = Rig::new(config);
    rig.streaming_list();
    rig.opens();
    rig.marker(10);
    for round in 0..3 {
        let before = rig.now;
        for _ in 0..9 {
            rig.pass(MINUTE);
            rig.machine.handle_timeout(rig.now);
            assert_eq!(rig.event(EventKind::Modified, 11 + round), Verdict::Apply);
        }
        rig.drain();
        assert_eq!(rig.machine.phase(), Phase::Watching);
        let options = rig.list();
        assert_eq!(asked(&options), Some(11 + round));
        let period = rig.now - before;
        assert!(period >= 10 * MINUTE && period <= 11 * MINUTE, "{period:?}");
        rig.list_ends(11 + round);
        rig.watch_opens();
    }
    assert!(rig.faults().is_empty());
}

fn count(rig: &Rig) -> usize {
    rig.actions
        .iter()
        .filter(|action| **action == Action::Resync)
        .count()
}

fn rig(period: Duration) -> Rig {
    let config = ReflectorConfig::default().list_mode(ListMode::List);
    Rig::new(config.resync_period(period))
}

/// RF29
#[test]
fn a_period_of_zero_means_never() {
    let mut rig = rig(Duration::ZERO);
    rig.list();
    rig.list_ends(10);
    rig.watch_opens();
    rig.pass(100 * MINUTE);
    rig.machine.handle_timeout(rig.now);
    rig.drain();
    assert_eq!(count(&rig), 0);
}

#[test]
fn short_watches_do_not_starve_it() {
    let mut rig = rig(MINUTE);
    rig.list();
    rig.list_ends(10);
    for version in 11..71 {
        rig.watch_opens();
        rig.pass(10 * SECOND);
        rig.machine.handle_timeout(rig.now);
        rig.event(EventKind::Modified, version);
        rig.ends();
    }
    rig.drain();
    assert_eq!(count(&rig), 10);
}

#[test]
fn it_goes_on_while_the_server_is_away_but_not_before_the_first_state() {
    let mut rig = rig(MINUTE);
    rig.list();
    for _ in 0..8 {
        rig.fails(FailureKind::Refused);
        rig.list();
    }
    assert!(rig.machine.attempts() == 8 && count(&rig) == 0);
    rig.list_ends(10);
    rig.watch();
    let start = rig.now;
    while rig.now - start < 10 * MINUTE {
        rig.fails(FailureKind::Refused);
        rig.watch();
    }
    assert!((9..=11).contains(&count(&rig)), "{}", count(&rig));
}

#[test]
fn what_was_missed_while_the_machine_slept_is_made_up_for_once() {
    let mut rig = rig(MINUTE);
    rig.list();
    rig.list_ends(10);
    rig.watch_opens();
    rig.pass(4 * MINUTE + SECOND);
    rig.machine.handle_timeout(rig.now);
    rig.machine.handle_timeout(rig.now);
    rig.drain();
    assert_eq!(count(&rig), 1);
}
