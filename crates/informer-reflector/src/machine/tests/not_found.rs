//! A resource that the server does not have.

use super::*;

#[test]
fn resource_that_is_not_found_is_a_phase_until_the_server_responds_otherwise() {
    for config in [ReflectorConfig::default(), from_cache()] {
        let mut rig = Rig::new(config);
        let mut waits = Vec::new();
        for _ in 0..8 {
            let (_, after) = rig.request();
            waits.push(after);
            rig.fails(ErrorClass::NotFound);
            assert_eq!(rig.machine.phase(), ReflectorPhase::NotFound);
            assert!(rig.machine.retry_at().is_some());
        }
        assert!(
            waits[1] >= SECOND / 2 && waits[7] > 20 * SECOND,
            "{waits:?}"
        );
        let (request, _) = rig.request();
        assert_eq!(rig.machine.phase(), ReflectorPhase::NotFound);
        if let Request::List(_) = request {
            rig.list_ends(10);
        } else {
            rig.opens();
            rig.initial_events_end(10);
            rig.drain();
        }
        assert_ne!(rig.machine.phase(), ReflectorPhase::NotFound);
        assert_eq!(rig.version(), Some(10));
    }
}

/// A CRD that is deleted while it is watched, and installed again.
#[test]
fn watched_resource_that_vanishes_is_listed_until_it_is_found() {
    let mut rig = Rig::watching(10);
    rig.pass(MINUTE);
    rig.ends();
    rig.watch();
    rig.fails(ErrorClass::NotFound);
    assert_eq!(rig.machine.phase(), ReflectorPhase::NotFound);
    rig.list();
    rig.fails(ErrorClass::NotFound);
    rig.list();
    // Another failure is another state.
    rig.fails(ErrorClass::Refused);
    assert_eq!(rig.machine.phase(), ReflectorPhase::Waiting);
    assert_eq!(asked(&rig.list()), Some(10));
    rig.list_ends(20);
    assert_eq!(asked(&rig.watch()), Some(20));
}
