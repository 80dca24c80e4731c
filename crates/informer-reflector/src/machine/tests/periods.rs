//! Resync and relist periods.

use super::*;

/// Resources whose watches may lose something; client-go 6, k/k 110210
#[test]
fn relist_period_lists_although_the_watch_is_in_order() {
    let config = ReflectorConfig::default()
        .relist_period(10 * MINUTE)
        .silence_timeout(60 * MINUTE)
        .watch_timeout(30 * MINUTE);
    let mut rig = Rig::new(config);
    rig.streaming_list();
    rig.opens();
    rig.initial_events_end(10);
    for round in 0..3 {
        let before = rig.now;
        for _ in 0..9 {
            rig.pass(MINUTE);
            rig.machine.handle_timeout(rig.now);
            assert_eq!(rig.event(EventType::Modified, 11 + round), Route::Apply);
        }
        rig.drain();
        assert_eq!(rig.machine.phase(), ReflectorPhase::Watching);
        let options = rig.list();
        assert_eq!(asked(&options), Some(11 + round));
        let period = rig.now - before;
        assert!(period >= 10 * MINUTE && period <= 11 * MINUTE, "{period:?}");
        rig.list_ends(11 + round);
        rig.watch_opens();
    }
    assert_eq!(rig.reports(), [""; 0]);
}

fn resyncs(rig: &mut Rig) -> usize {
    rig.count(|action| matches!(action, Action::Resync))
}

fn rig(period: Duration) -> Rig {
    let config = ReflectorConfig::default().list_mode(ListMode::List);
    let machine = Machine::new(config, true, Rng::with_seed(3));
    Rig::of(machine.resync_period(Some(period)))
}

/// RF29
#[test]
fn without_a_period_nothing_resyncs() {
    let mut rig = Rig::watching(10);
    rig.pass_with_timeouts(100 * MINUTE);
    assert_eq!(resyncs(&mut rig), 0);
}

/// INV-REFL-12
#[test]
fn short_watches_do_not_starve_resyncs() {
    let mut rig = rig(MINUTE);
    rig.list();
    rig.list_ends(10);
    for version in 11..71 {
        rig.watch_opens();
        rig.pass(10 * SECOND);
        rig.machine.handle_timeout(rig.now);
        rig.event(EventType::Modified, version);
        rig.ends();
    }
    assert_eq!(resyncs(&mut rig), 10);
}

/// INV-REFL-12
#[test]
fn resyncs_go_on_while_the_server_is_away_but_not_before_the_first_list() {
    let mut rig = rig(MINUTE);
    rig.list();
    for _ in 0..8 {
        rig.fails(ErrorClass::Refused);
        rig.list();
    }
    assert!(rig.machine.attempts() == 8 && resyncs(&mut rig) == 0);
    rig.list_ends(10);
    rig.watch();
    let start = rig.now;
    while rig.now - start < 10 * MINUTE {
        rig.fails(ErrorClass::Refused);
        rig.watch();
    }
    let count = resyncs(&mut rig);
    assert!((9..=11).contains(&count), "{count}");
}

#[test]
fn missed_resyncs_are_made_up_for_once() {
    let mut rig = rig(MINUTE);
    rig.list();
    rig.list_ends(10);
    rig.watch_opens();
    rig.pass(4 * MINUTE + SECOND);
    rig.machine.handle_timeout(rig.now);
    rig.machine.handle_timeout(rig.now);
    assert_eq!(resyncs(&mut rig), 1);
}

/// INV-REFL-12
#[test]
fn scheduled_resync_is_due_once_and_waits_for_the_first_list() {
    let mut rig = Rig::lists();
    rig.list();
    rig.machine.schedule_resync(Some(rig.now + SECOND));
    // Past the list's time to respond.
    rig.pass_with_timeouts(100 * SECOND);
    assert_eq!(resyncs(&mut rig), 0);
    rig.list_ends(10);
    rig.watch_opens();
    rig.pass_with_timeouts(10 * MINUTE);
    assert_eq!(resyncs(&mut rig), 1);
    rig.machine.schedule_resync(Some(rig.now + 5 * MINUTE));
    rig.pass_with_timeouts(4 * MINUTE);
    // Nobody wants it any more.
    rig.machine.schedule_resync(None);
    rig.pass_with_timeouts(10 * MINUTE);
    assert_eq!(resyncs(&mut rig), 1);
    // A time that has passed is due at once.
    rig.machine.schedule_resync(Some(rig.now - SECOND));
    rig.machine.handle_timeout(rig.now);
    assert_eq!(resyncs(&mut rig), 2);
}
