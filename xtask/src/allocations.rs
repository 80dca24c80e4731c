//! `cargo xtask allocations`: what an object costs, compared with the committed table.

use anyhow::bail;

use crate::cmd::Cmd;
use crate::workspace;

pub(crate) const ABOUT: &str = "\
What decoding an object allocates, in each form and format, against the committed table.
It is one of the tests that `ci` runs.
  --write        write the table anew";

/// Compares the table, or writes it.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let test = || {
        Cmd::cargo()
            .dir(&workspace::root())
            .words("test --quiet --package informer-wire --all-features --test allocations")
    };
    match arguments {
        [] => test().run(),
        [write] if write == "--write" => test().env("INFORMER_WRITE_ALLOCATIONS", "1").run(),
        _ => bail!("the only argument is --write"),
    }
}
