//! Whatever the server does, the machine keeps its rules.

use fastrand::Rng;
use proptest::prelude::*;

use super::world::{FAILURES, Step, World, config, step};
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// INV-REFL-3, INV-REFL-4, INV-REFL-5, INV-REFL-7; protocol 3.3: 3, 11, 19, 21; PG3
    #[test]
    fn machine_keeps_its_rules_whatever_the_server_does(
        config in config(),
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 1..250),
    ) {
        // With progress in between a watch may be opened once a second.
        let mut world = World::new(config, seed, 100);
        for step in &steps {
            world.take(step);
        }
        world.heal();
    }

    /// INV-REFL-5; protocol 3.3: 19
    #[test]
    fn server_that_only_fails_gets_ever_fewer_requests(
        config in config(),
        seed in any::<u64>(),
        kinds in prop::collection::vec(0..FAILURES.len() + 2, 1..12),
    ) {
        let mut world = World::new(config, seed, 40);
        let start = world.now;
        let mut requests = Vec::new();
        for kind in kinds.iter().cycle() {
            if world.now - start > 20 * MINUTE {
                break;
            }
            let asked = world.asked;
            world.take(&match FAILURES.get(*kind) {
                Some(kind) => Step::Fail(*kind, None),
                None if *kind == FAILURES.len() => Step::End,
                None => Step::Hang,
            });
            // A resync that is due while a request hangs is no request.
            requests.extend((asked..world.asked).map(|_| world.now - start));
        }
        // In the second half: at most four requests to one wait, and waits of 22 s at least.
        let late = requests.iter().filter(|at| **at > 10 * MINUTE).count();
        prop_assert!(late <= 4 * 600 / 22, "{late} requests in ten minutes");
    }
}

/// The judge must be able to see what it judges.
#[test]
fn world_reaches_every_phase() {
    let mut rng = Rng::with_seed(11);
    let mut seen = std::collections::HashSet::new();
    let mut rewound = false;
    for seed in 0..200 {
        let mut world = World::new(ReflectorConfig::default(), seed, 1000);
        for _ in 0..200 {
            world.take(&match rng.u8(0..10) {
                0 => Step::Fail(FAILURES[rng.usize(0..FAILURES.len())], None),
                1..5 => Step::Serve,
                5..8 => Step::Finish,
                8 => Step::Rewind(30),
                _ => Step::Pause(3 * SECOND.as_secs() * 1000),
            });
            seen.insert(format!("{:?}", world.machine.phase()));
        }
        rewound |= world.expect_rewind;
    }
    for phase in [
        "Waiting",
        "Listing",
        "Streaming",
        "OpeningWatch",
        "Watching",
    ] {
        assert!(seen.contains(phase), "{phase} not in {seen:?}");
    }
    assert!(rewound, "no rewind was recognised");
}
