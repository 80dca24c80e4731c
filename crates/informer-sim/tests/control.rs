//! Electors and controllers under trouble: 100 seeds, and that a seed is a seed.

use std::sync::atomic::{AtomicU64, Ordering};

use informer_sim::{quiet_panics, run_control};

fn seeds() -> u64 {
    let given = std::env::var("INFORMER_SEEDS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(100)
}

/// Every promise of the half above the cache: INV-ELECT-1, INV-ELECT-2, INV-CONTROL-9, INV-CONTROL-10 and others.
#[test]
fn operators_keep_every_promise_under_all_trouble() {
    quiet_panics();
    let (next, seeds) = (AtomicU64::new(0), seeds());
    let play = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return;
            }
            if let Err(failure) = run_control(seed, false) {
                next.store(seeds, Ordering::Relaxed);
                panic!("{failure}");
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(play);
        }
    });
}

/// The same seed gives the same run, to the last request and millisecond.
#[test]
fn operators_run_can_be_repeated() {
    quiet_panics();
    let play = |seed| {
        run_control(seed, false)
            .map(|(hash, _)| hash)
            .expect("promises kept")
    };
    for seed in 5000..5005 {
        assert_eq!(play(seed), play(seed), "seed {seed}");
    }
    assert_ne!(play(5001), play(5002));
}
