//! Plays one seed.

use std::future::{Future as _, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::control::{self, Counts};
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

impl Failure {
    /// Makes the failure of a seed that went another way the second time.
    #[must_use]
    pub fn not_repeatable(seed: u64) -> Self {
        let what = "it went another way the second time".to_owned();
        Self { seed, what }
    }
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
    let (hash, tally) = simulate(seed, verbose, async |trace| match seed % 8 {
        FLEET => Fleet::new(seed, trace).play().await,
        _ => World::new(seed, trace).play().await,
    })?;
    Ok(Outcome { hash, tally })
}

/// Plays a seed of the controllers' simulation: electors and controllers. Returns the hash of everything that happened, and
/// how often each kind of trouble struck.
///
/// # Errors
/// If a promise is broken.
pub fn run_control(seed: u64, verbose: bool) -> Result<(u64, Counts), Failure> {
    simulate(seed, verbose, async |trace| {
        control::play(seed, trace).await
    })
}

/// Plays a seed in paused time. Returns the hash of what happened, and what `play` returned.
fn simulate<T>(
    seed: u64,
    verbose: bool,
    play: impl AsyncFnOnce(Trace) -> T,
) -> Result<(u64, T), Failure> {
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
            let mut play = pin!(play(trace.clone()));
            let until_it_hangs = poll_fn(|context| match trace.hangs(context) {
                true => Poll::Ready(None),
                false => play.as_mut().poll(context).map(Some),
            });
            let result = until_it_hangs.await;
            (trace, result)
        })
    };
    let (trace, result) = catch_unwind(AssertUnwindSafe(play)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        failure(text.unwrap_or_else(|| "a panic".to_owned()))
    })?;
    trace.verdict().map_err(failure)?;
    let result = result.ok_or_else(|| failure("a hang".to_owned()))?;
    Ok((trace.hash(), result))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::note;

    #[test]
    fn run_that_hangs_fails_and_tells_the_last_steps() {
        let hang = simulate(7, false, async |trace| {
            let forever = async move {
                loop {
                    note!(trace, "undone");
                    tokio::task::yield_now().await;
                }
            };
            tokio::spawn(forever).await
        });
        let Err(Failure { seed: 7, what }) = hang else {
            panic!("a failure of this seed");
        };
        assert!(what.contains("a hang") && what.contains("undone"), "{what}");
    }

    #[test]
    fn run_whose_time_passes_does_not_hang() {
        let played = simulate(7, false, async |trace| {
            for _ in 0..30_000 {
                note!(trace, "done");
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        });
        assert!(played.is_ok());
    }
}
