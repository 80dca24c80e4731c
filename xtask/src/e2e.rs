//! `cargo xtask e2e`: builds the real API server from its Go modules and runs our end-to-end tests against it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};

use crate::cmd::Cmd;
use crate::go::{self, Unbuilt};
use crate::{recorded_requests, workspace};

pub(crate) const ABOUT: &str = "\
The real kube-apiserver and etcd, built from Go modules, against our informers.
Skipped without Go or its modules.
  --strict       fail instead of skipping
  --build-only   build the server into target/e2e and stop
  anything else  passed on: the names of scenarios, --list, --seed N";

/// The variable by which the tests learn where the server lies. `informer-e2e` reads it.
const SERVER: &str = "INFORMER_E2E_APISERVER";

/// The variable by which the differential tests and scenarios learn where client-go's side lies.
const CLIENT_GO: &str = "INFORMER_E2E_CLIENTGO";

/// How many sequences of `parity` a whole run plays: always the same ones, since what other seeds find is for whoever
/// looks for it, not for a change that has nothing to do with it.
const PARITY_SEEDS: &str = "120";

/// Builds the server, then runs the harness' own tests and the scenarios.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    // Cargo passes on the `--` of `cargo xtask e2e -- churn`.
    let arguments = arguments.iter().filter(|argument| *argument != "--");
    let (flags, scenarios): (Vec<_>, Vec<_>) =
        arguments.partition(|argument| matches!(argument.as_str(), "--strict" | "--build-only"));
    let given = |flag: &str| flags.iter().any(|given| *given == flag);
    let root = workspace::root();
    let started = Instant::now();
    let server = match go::build(&root, "apiserver") {
        Ok(server) => server,
        Err(Unbuilt::Missing(reason)) if !given("--strict") => {
            println!("SKIP e2e ({reason})");
            return Ok(());
        }
        Err(Unbuilt::Missing(reason)) => bail!("{reason}"),
        Err(Unbuilt::Failed(error)) => return Err(error),
    };
    println!(
        "the API server is built: {:.0} s",
        started.elapsed().as_secs_f64()
    );
    if given("--build-only") {
        println!("{}", server.display());
        return Ok(());
    }
    let mut programs = vec![(SERVER, server)];
    if scenarios.is_empty() || scenarios.iter().any(|name| *name == "client-go") {
        let client_go = go::build(&root, "clientgo").map_err(Unbuilt::into_error)?;
        programs.push((CLIENT_GO, client_go));
    }
    if scenarios.is_empty() {
        recorded_requests::compare(&root)?;
        compare_with_client_go(&root, &programs)?;
    }
    run_scenarios(&root, &programs, &scenarios)
}

/// Our Go programs, each with the variable that says where it lies.
type Programs = [(&'static str, PathBuf)];

/// Lets a command know where the Go programs lie.
fn beside(command: Cmd, programs: &Programs) -> Cmd {
    let known = programs.iter();
    known.fold(command, |command, (variable, path)| {
        command.env(variable, path)
    })
}

/// The same random calls through client-go's queue and ours, the same faults for its reflector and ours.
fn compare_with_client_go(root: &Path, programs: &Programs) -> anyhow::Result<()> {
    let packages = ["informer-delta-fifo", "informer-reflector --features http"];
    for package in packages {
        let test = Cmd::cargo()
            .words("test --test client_go_differential --package")
            .words(package)
            .words("-- --nocapture")
            .dir(root);
        beside(test, programs).run()?;
    }
    Ok(())
}

/// Builds our side and runs it. The profile is that of tests, of which `ci` leaves most built.
fn run_scenarios(root: &Path, programs: &Programs, scenarios: &[&String]) -> anyhow::Result<()> {
    // All packages in each command, so that their dependencies are built once: features differ with what is built.
    let packages = "--package informer-e2e --package informer-cli --package provisioner";
    let cargo = || beside(Cmd::cargo().dir(root), programs);
    cargo().words("build --bins").words(packages).run()?;
    if scenarios.is_empty() {
        cargo().words("test --test server").words(packages).run()?;
    }
    let this = std::env::current_exe().context("find this program")?;
    let target = this
        .ancestors()
        .nth(2)
        .context("this program is not in a target directory")?;
    // The command `informer` lies beside it, where the scenarios look for it.
    let harness = || {
        let program = Cmd::new(target.join("debug/informer-e2e")).dir(root);
        beside(program, programs)
    };
    let mut run = harness();
    for scenario in scenarios {
        run = run.arg(scenario);
    }
    run.run()?;
    if scenarios.is_empty() {
        harness().words("parity --seeds").arg(PARITY_SEEDS).run()?;
    }
    Ok(())
}
