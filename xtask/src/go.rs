//! Builds our Go programs, and tells "cannot be had here" from "does not compile".

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::cmd::Cmd;

/// Why there is no program.
pub(crate) enum Unbuilt {
    /// Go, or the modules, cannot be had here.
    Missing(String),
    /// Our own program does not compile.
    Failed(anyhow::Error),
}

impl Unbuilt {
    /// The reason as an error, whatever it is.
    pub(crate) fn into_error(self) -> anyhow::Error {
        match self {
            Self::Missing(reason) => anyhow::Error::msg(reason),
            Self::Failed(error) => error,
        }
    }
}

/// Builds `e2e/NAME` into `target/e2e/NAME`. Go keeps what it compiled, so a second build takes seconds.
pub(crate) fn build(root: &Path, name: &str) -> Result<PathBuf, Unbuilt> {
    let source = root.join("e2e").join(name);
    let needed = required_go(&source).map_err(Unbuilt::Failed)?;
    let install = format!("install Go {needed} or newer from https://go.dev/dl");
    let go = |words: &str| {
        Cmd::new("go")
            .words(words)
            .dir(&source)
            .env("GOFLAGS", "-mod=readonly")
    };
    let Ok(version) = go("env GOVERSION").output() else {
        return Err(Unbuilt::Missing(format!("no usable Go; {install}")));
    };
    eprintln!("{} found, {needed} needed", version.trim());
    // Apart from the build, so that "no network" and "does not compile" are told apart.
    let quietly = |command: Cmd| command.lines(|line| eprintln!("{line}"));
    if let Err(error) = quietly(go("mod download")) {
        return Err(Unbuilt::Missing(format!(
            "the Go modules cannot be fetched: {error}"
        )));
    }
    let program = root.join("target/e2e").join(name);
    let build = go("build -trimpath -buildvcs=false -ldflags=-s -o")
        .arg(&program)
        .arg(".");
    quietly(build).map_err(Unbuilt::Failed)?;
    Ok(program)
}

/// The version in the `go` line of `go.mod`.
fn required_go(source: &Path) -> anyhow::Result<String> {
    let path = source.join("go.mod");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let Some(version) = text.lines().find_map(|line| line.strip_prefix("go ")) else {
        bail!("{} has no `go` line", path.display());
    };
    Ok(version.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_needed_go_is_read_from_the_modules() {
        for name in ["apiserver", "clientgo", "requests"] {
            let module = workspace::root().join("e2e").join(name);
            let version = required_go(&module).expect("go.mod is there");
            assert!(version.starts_with("1."), "{version}");
        }
    }
}
