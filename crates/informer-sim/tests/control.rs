//! Electors and controllers under trouble: 200 seeds, and that a seed is a seed.

use informer_sim::{quiet_panics, run_control};

fn seeds() -> u64 {
    let given = std::env::var("INFORMER_SEEDS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(200)
}

/// INV-ELECT-1 to INV-ELECT-4, INV-CONTROL-1 to INV-CONTROL-10: every promise of the half above the cache.
#[test]
fn operators_keep_every_promise_under_all_trouble() {
    quiet_panics();
    for seed in 0..seeds() {
        if let Err(failure) = run_control(seed, false) {
            panic!("{failure}");
        }
    }
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
