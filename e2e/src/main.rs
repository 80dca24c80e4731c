//! Runs the scenarios against the real API server: `cargo xtask e2e [--list] [SCENARIO …]`.

mod scenarios;

use std::process::ExitCode;
use std::time::Instant;

use self::scenarios::SCENARIOS;

#[tokio::main]
async fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.iter().any(|name| name == "--list") {
        for scenario in SCENARIOS {
            println!("{:<12} {}", scenario.name, scenario.about);
        }
        return ExitCode::SUCCESS;
    }
    if let Some(name) = names
        .iter()
        .find(|name| !SCENARIOS.iter().any(|s| s.name == **name))
    {
        eprintln!("there is no scenario `{name}`; --list shows them");
        return ExitCode::from(2);
    }
    let chosen = SCENARIOS
        .iter()
        .filter(|s| names.is_empty() || names.iter().any(|n| n == s.name));
    let (mut passed, mut failed) = (0, 0);
    for scenario in chosen {
        println!("== {}: {}", scenario.name, scenario.about);
        let started = Instant::now();
        let ended = (scenario.run)().await;
        let seconds = started.elapsed().as_secs_f64();
        match ended {
            Ok(()) => {
                println!("ok {} ({seconds:.1} s)", scenario.name);
                passed += 1;
            }
            Err(error) => {
                println!("FAILED {} ({seconds:.1} s): {error:#}", scenario.name);
                failed += 1;
            }
        }
    }
    println!("e2e: {passed} ok, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
