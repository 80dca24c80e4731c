//! Plays one seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::fleet::Fleet;
use crate::tally::Tally;
use crate::trace::Trace;
use crate::world::World;

/// Of eight seeds the one with this remainder is about a factory of informers.
const FLEET: u64 = 5;

/// The text of panics on purpose.
pub(crate) const ON_PURPOSE: &str = "a panic on purpose";

/// A run that kept all promises.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// A hash of everything that happened, the same each time.
    pub hash: u64,
    /// How often each kind of trouble and event occurred.
    pub tally: Tally,
}

/// A run that broke a promise.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Failure {
    /// The seed, which repeats it.
    pub seed: u64,
    /// What was broken, and when.
    pub what: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, what } = self;
        write!(
            f,
            "seed {seed} failed ({what}); `cargo xtask sim --seed {seed}` repeats it"
        )
    }
}

impl std::error::Error for Failure {}

/// Plays a seed. With `verbose`, everything that happens is written to stderr.
///
/// # Errors
/// If a promise is broken.
pub fn run(seed: u64, verbose: bool) -> Result<Outcome, Failure> {
    let failure = |what| Failure { seed, what };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| failure(error.to_string()))?;
    // Draws from the thread's own source are repeated as well.
    fastrand::seed(seed);
    let play = || {
        runtime.block_on(async {
            let trace = Trace::new(verbose);
            let tally = match seed % 8 {
                FLEET => Fleet::new(seed, trace.clone()).play().await,
                _ => World::new(seed, trace.clone()).play().await,
            };
            (trace, tally)
        })
    };
    let (trace, tally) = catch_unwind(AssertUnwindSafe(play)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        failure(text.unwrap_or_else(|| "a panic".to_owned()))
    })?;
    trace.verdict().map_err(failure)?;
    Ok(Outcome {
        hash: trace.hash(),
        tally,
    })
}

/// Keeps panics on purpose from writing to stderr.
pub fn quiet_panics() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| info.payload().downcast_ref::<&str>().copied());
        if text != Some(ON_PURPOSE) {
            hook(info);
        }
    }));
}
