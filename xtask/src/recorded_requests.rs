//! `cargo xtask recorded-requests`: what client-go sends for each call that our `Api` has, recorded anew.

use std::path::Path;

use anyhow::{Context, bail};

use crate::cmd::Cmd;
use crate::go::{self, Unbuilt};
use crate::workspace;

pub(crate) const ABOUT: &str = "\
Records anew what client-go sends, for the tests that compare our requests with it.
Skipped without Go or its modules. For another version: set it in e2e/requests/go.mod,
run \"go mod tidy\" there, then this.
  --check        say whether the table is what client-go sends; write nothing
  --strict       fail instead of skipping";

/// The table.
const TABLE: &str = "crates/informer-client/tests/recorded/requests.json";

/// Makes the table, or checks it.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (mut is_check, mut is_strict) = (false, false);
    for argument in arguments {
        match argument.as_str() {
            "--check" => is_check = true,
            "--strict" => is_strict = true,
            other => bail!("there is no argument `{other}`"),
        }
    }
    let root = workspace::root();
    let program = match go::build(&root, "requests") {
        Ok(program) => program,
        Err(Unbuilt::Missing(reason)) if !is_strict => {
            println!("SKIP recorded-requests ({reason})");
            return Ok(());
        }
        Err(unbuilt) => return Err(unbuilt.into_error()),
    };
    let recorded = record(&root, &program)?;
    let path = root.join(TABLE);
    if is_check {
        return check(&path, &recorded);
    }
    std::fs::write(&path, &recorded).context(TABLE)?;
    println!("{TABLE}: {} bytes", recorded.len());
    Ok(())
}

/// Checks the table with a program that is built first; for `cargo xtask e2e`.
pub(crate) fn compare(root: &Path) -> anyhow::Result<()> {
    let program = go::build(root, "requests").map_err(Unbuilt::into_error)?;
    check(&root.join(TABLE), &record(root, &program)?)
}

fn record(root: &Path, program: &Path) -> anyhow::Result<String> {
    let mut recorded = Cmd::new(program).dir(root).output()?;
    if !recorded.ends_with('\n') {
        recorded.push('\n');
    }
    Ok(recorded)
}

fn check(path: &Path, recorded: &str) -> anyhow::Result<()> {
    let table = std::fs::read_to_string(path).context(TABLE)?;
    if table.trim_end() != recorded.trim_end() {
        bail!("{TABLE} is not what client-go sends; run `cargo xtask recorded-requests`");
    }
    println!("{TABLE} is what client-go sends");
    Ok(())
}
