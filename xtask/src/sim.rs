//! `cargo xtask sim`: builds the simulation, optimised, and plays seeds.

use anyhow::Context as _;

use crate::cmd::Cmd;
use crate::workspace;

pub(crate) const ABOUT: &str = "\
Seeded simulation: our informers in virtual time, with faults at every step.
  --seeds N      so many seeds (1000); --first N begins elsewhere
  --seed N       one seed; --verbose tells all that happens
  --control      electors and controllers instead of informers
  --threads N    as many threads (all processors)";

/// Builds, then plays.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let root = workspace::root();
    let cargo = Cmd::cargo().dir(&root);
    cargo
        .words("build --profile sim --package informer-sim")
        .run()?;
    let this = std::env::current_exe().context("find this program")?;
    let target = this
        .ancestors()
        .nth(2)
        .context("this program is not in a target directory")?;
    let mut sim = Cmd::new(target.join("sim/informer-sim")).dir(&root);
    for argument in arguments.iter().filter(|argument| *argument != "--") {
        sim = sim.arg(argument);
    }
    sim.run()
}
