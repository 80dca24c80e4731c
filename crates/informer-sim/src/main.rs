//! Plays many seeds, on all processors, and prints how often each trouble occurred: what `cargo xtask sim` runs.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use informer_sim::{Counts, Failure, Tally, quiet_panics, run, run_control};
use parking_lot::Mutex;

const USAGE: &str =
    "usage: informer-sim [--seeds N] [--first N] [--seed N] [--threads N] [--verbose] [--control]";

/// From so many seeds on, each kind of trouble must have occurred.
const ALL_ROWS_FROM: u64 = 1000;
/// From so many on, at each of its places.
const ALL_PLACES_FROM: u64 = 5000;

struct Arguments {
    first: u64,
    seeds: u64,
    threads: usize,
    verbose: bool,
    /// Electors and controllers, not informers.
    control: bool,
}

fn arguments() -> Option<Arguments> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parsed = Arguments {
        first: 0,
        seeds: 1000,
        threads,
        verbose: false,
        control: false,
    };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut number = || given.next()?.parse::<u64>().ok();
        match argument.as_str() {
            "--seeds" => parsed.seeds = number()?,
            "--first" => parsed.first = number()?,
            "--seed" => (parsed.first, parsed.seeds) = (number()?, 1),
            "--threads" => parsed.threads = usize::try_from(number()?).ok()?.max(1),
            "--control" => parsed.control = true,
            "--verbose" => parsed.verbose = true,
            _ => return None,
        }
    }
    Some(parsed)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    quiet_panics();
    let started = Instant::now();
    let (text, failures, hash, missing) = if arguments.control {
        let (counts, failures, hash) = play(&arguments, run_control, Counts::merge);
        let missing = match arguments.seeds {
            ALL_ROWS_FROM.. => counts.never_came(),
            _ => Vec::new(),
        };
        (counts.to_string(), failures, hash, missing)
    } else {
        let run = |seed, verbose| run(seed, verbose).map(|played| (played.hash, played.tally));
        let (tally, failures, hash) = play(&arguments, run, Tally::merge);
        let missing = match arguments.seeds {
            ALL_PLACES_FROM.. => tally.missing(),
            ALL_ROWS_FROM.. => tally.never_came(),
            _ => Vec::new(),
        };
        (tally.to_string(), failures, hash, missing)
    };
    let seconds = started.elapsed().as_secs_f64();
    if arguments.seeds > 1 {
        println!("{text}");
    }
    println!(
        "{} seeds in {seconds:.1} s, hash {hash:016x}",
        arguments.seeds
    );
    for failure in &failures {
        println!("FAILED {failure}");
    }
    for what in &missing {
        println!("NEVER CAME {what}");
    }
    if failures.is_empty() && missing.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Of so many seeds one is played twice, and must give the same hash.
const TWICE: u64 = 20;

/// Plays the seeds. Gives their counts, what failed, and the sum of their hashes.
fn play<T: Default + Send>(
    arguments: &Arguments,
    run: impl Fn(u64, bool) -> Result<(u64, T), Failure> + Sync,
    merge: impl Fn(&mut T, &T) + Sync,
) -> (T, Vec<Failure>, u64) {
    let next = AtomicU64::new(arguments.first);
    let end = arguments.first + arguments.seeds;
    let results = Mutex::new((T::default(), Vec::new(), 0_u64));
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    let mut outcome = run(seed, arguments.verbose);
                    if seed.is_multiple_of(TWICE)
                        && let Ok((hash, _)) = outcome
                    {
                        outcome = run(seed, false).and_then(|again| match again.0 == hash {
                            true => Ok(again),
                            false => Err(Failure::not_repeatable(seed)),
                        });
                    }
                    let mut results = results.lock();
                    match outcome {
                        Ok((hash, counts)) => {
                            merge(&mut results.0, &counts);
                            results.2 = results.2.wrapping_add(hash);
                        }
                        Err(failure) => results.1.push(failure),
                    }
                }
            });
        }
    });
    let mut results = results.into_inner();
    results.1.sort_by_key(|failure| failure.seed);
    results
}
