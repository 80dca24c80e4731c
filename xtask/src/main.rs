//! The tasks of this workspace, run as `cargo xtask NAME`; without a name it prints what there is.

mod allocations;
mod bench;
mod ci;
mod cmd;
mod e2e;
mod field_table;
mod go;
mod interleavings;
mod mutants;
mod recorded_requests;
mod sim;
mod tidy;
mod wire_table;
mod workspace;

use std::process::ExitCode;

/// One subcommand.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

/// Every subcommand, in the order in which the help shows them.
const TASKS: &[Task] = &[
    Task {
        name: "ci",
        about: ci::ABOUT,
        run: ci::run,
    },
    Task {
        name: "tidy",
        about: tidy::ABOUT,
        run: tidy::run,
    },
    Task {
        name: "sim",
        about: sim::ABOUT,
        run: sim::run,
    },
    Task {
        name: "e2e",
        about: e2e::ABOUT,
        run: e2e::run,
    },
    Task {
        name: "interleavings",
        about: interleavings::ABOUT,
        run: interleavings::run,
    },
    Task {
        name: "bench",
        about: bench::ABOUT,
        run: bench::run,
    },
    Task {
        name: "mutants",
        about: mutants::ABOUT,
        run: mutants::run,
    },
    Task {
        name: "allocations",
        about: allocations::ABOUT,
        run: allocations::run,
    },
    Task {
        name: "recorded-requests",
        about: recorded_requests::ABOUT,
        run: recorded_requests::run,
    },
    Task {
        name: "wire-table",
        about: wire_table::ABOUT,
        run: wire_table::run,
    },
    Task {
        name: "field-table",
        about: field_table::ABOUT,
        run: field_table::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print_help();
        return ExitCode::SUCCESS;
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print_help();
        return ExitCode::SUCCESS;
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("xtask: there is no task `{name}`; `cargo xtask` lists them");
        return ExitCode::from(2);
    };
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print_help() {
    println!("Usage: cargo xtask TASK [ARGUMENTS]\n");
    for task in TASKS {
        let names = std::iter::once(task.name).chain(std::iter::repeat(""));
        for (name, line) in names.zip(task.about.lines()) {
            println!("  {name:<14} {line}");
        }
    }
}
