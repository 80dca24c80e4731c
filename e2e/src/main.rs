//! Runs the scenarios against the real API server: `cargo xtask e2e [--list] [--seed N] [SCENARIO …]`.

mod audit;
mod certificates;
mod command;
mod following;
mod forwarder;
mod network;
mod observed;
mod parity;
mod provisioning;
mod scenarios;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use self::scenarios::{SCENARIOS, Scenario};

/// What is asked on the command line.
struct Wish {
    seed: u64,
    chosen: Vec<&'static Scenario>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        for scenario in SCENARIOS {
            println!("{:<12} {}", scenario.name, scenario.about);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(("parity", rest)) = arguments
        .split_first()
        .map(|(first, rest)| (first.as_str(), rest))
    {
        return match parity::run(rest).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                println!("FAILED parity: {error:#}");
                ExitCode::FAILURE
            }
        };
    }
    match read(&arguments) {
        Ok(wish) => run(&wish).await,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}

/// Reads the command line. Without a seed it is a new one, without names every scenario.
fn read(arguments: &[String]) -> Result<Wish, String> {
    let mut seed = fastrand::u64(..1_000_000);
    let mut chosen = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seed" {
            let number = rest.next().and_then(|number| number.parse().ok());
            seed = number.ok_or("--seed needs a number, as --seed 7")?;
            continue;
        }
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == *argument);
        let unknown = || format!("there is no scenario `{argument}`; --list shows them");
        chosen.push(scenario.ok_or_else(unknown)?);
    }
    if chosen.is_empty() {
        chosen.extend(SCENARIOS);
    }
    Ok(Wish { seed, chosen })
}

async fn run(wish: &Wish) -> ExitCode {
    println!("seed {}", wish.seed);
    let (mut passed, mut failed) = (0, 0);
    for scenario in &wish.chosen {
        println!("== {}: {}", scenario.name, scenario.about);
        let started = Instant::now();
        let ended = (scenario.run)(wish.seed).await;
        let seconds = started.elapsed().as_secs_f64();
        match ended {
            Ok(()) => {
                println!("ok {} ({seconds:.1} s)", scenario.name);
                passed += 1;
            }
            Err(error) => {
                println!("FAILED {} ({seconds:.1} s): {error:#}", scenario.name);
                println!(
                    "run it alone: cargo xtask e2e {} --seed {}",
                    scenario.name, wish.seed
                );
                failed += 1;
            }
        }
    }
    println!("e2e: {passed} passed, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(line: &str) -> Result<Wish, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        read(&words)
    }

    #[test]
    fn scenarios_and_seed_are_chosen_in_any_order() {
        let chosen = wish("--seed 7 churn").expect("valid");
        assert_eq!((chosen.seed, chosen.chosen.len()), (7, 1));
        assert_eq!(wish("churn kill --seed 8").expect("valid").seed, 8);
        assert_eq!(wish("").expect("valid").chosen.len(), SCENARIOS.len());
        assert!(wish("churn --seed").is_err_and(|reason| reason.contains("number")));
        assert!(wish("nothing").is_err_and(|reason| reason.contains("--list")));
    }
}
