//! A thousand seeds, and that a seed is a seed.

use informer_sim::{Tally, quiet_panics, run};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Every promise at every step: INV-REFL-1 to INV-REFL-12, INV-FIFO-5 to INV-FIFO-13, INV-SHARED-1 to INV-SHARED-12,
/// INV-STORE-7 to INV-STORE-9; protocol 3.3: 1 to 21.
#[test]
fn every_promise_is_kept_under_all_faults() {
    quiet_panics();
    let mut all = Tally::default();
    for seed in 0..number("INFORMER_SEEDS").unwrap_or(1000) {
        match run(seed, false) {
            Ok(outcome) => all.merge(&outcome.tally),
            Err(failure) => panic!("{failure}"),
        }
    }
    assert_eq!(all.never_came(), Vec::<String>::new());
}

/// The same seed gives the same run, to the last event and millisecond.
#[test]
fn seed_can_be_repeated() {
    quiet_panics();
    let play = |seed| run(seed, false).map(|outcome| outcome.hash);
    for seed in 1000..1010 {
        assert_eq!(
            play(seed).expect("it keeps its promises"),
            play(seed).expect("it keeps its promises")
        );
    }
    assert_ne!(
        play(1).expect("it keeps its promises"),
        play(2).expect("it keeps its promises")
    );
}
