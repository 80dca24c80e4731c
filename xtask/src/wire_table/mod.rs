//! `cargo xtask wire-table`: the table by which `informer-wire` reads protobuf, made from Kubernetes' own Go types.

mod blob;
mod schema;

use std::path::Path;

use anyhow::{Context, bail};

use crate::cmd::Cmd;
use crate::workspace;
use blob::Blob;
use schema::Schema;

pub(crate) const ABOUT: &str = "\
Makes the table of protobuf fields in informer-wire anew, from the Go types of Kubernetes.
For another version: set it in e2e/wire-schema/go.mod, run \"go mod tidy\" there, then this.
  --check        say whether the table is the one that the Go types give; write nothing
  --from FILE    read the schema from a file in place of running Go";

const PROGRAM: &str = "e2e/wire-schema";
const FIELDS: &str = "crates/informer-wire/src/protobuf/table.bin";
const NAMES: &str = "crates/informer-wire/src/protobuf/names.txt";
/// The names of the messages, which only the test kit needs: for its OpenAPI.
const MESSAGES: &str = "crates/informer-testkit/src/http/openapi/messages.txt";

/// Makes the table, or checks it.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let root = workspace::root();
    let mut check = false;
    let mut from = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--check" => check = true,
            "--from" => from = Some(arguments.next().context("--from needs a file")?),
            other => bail!("there is no argument `{other}`"),
        }
    }
    let json = match from {
        Some(file) => std::fs::read_to_string(file).with_context(|| file.clone())?,
        None => Cmd::new("go")
            .words("run .")
            .dir(&root.join(PROGRAM))
            .output()?,
    };
    let schema: Schema = Schema::parse(&json)?;
    let blob = Blob::of(&schema)?;
    if check {
        let (fields, names) = read(&root)?;
        let messages = std::fs::read_to_string(root.join(MESSAGES)).context(MESSAGES)?;
        if (fields, names, messages) != (blob.bytes, blob.names, blob.messages) {
            bail!(
                "the table is not the one of {}; run `cargo xtask wire-table`",
                schema.version
            );
        }
        return Ok(());
    }
    std::fs::write(root.join(FIELDS), &blob.bytes).context(FIELDS)?;
    std::fs::write(root.join(NAMES), &blob.names).context(NAMES)?;
    std::fs::write(root.join(MESSAGES), &blob.messages).context(MESSAGES)?;
    println!(
        "{}: {} kinds, {} messages, {} bytes",
        schema.version,
        schema.kinds.len(),
        blob.messages.lines().count(),
        blob.bytes.len() + blob.names.len()
    );
    Ok(())
}

fn read(root: &Path) -> anyhow::Result<(Vec<u8>, String)> {
    let fields = std::fs::read(root.join(FIELDS)).context(FIELDS)?;
    let names = std::fs::read_to_string(root.join(NAMES)).context(NAMES)?;
    Ok((fields, names))
}

/// What is wrong with the table in the tree, as far as that can be told without Go.
pub(crate) fn problems(root: &Path, go_mod: &str) -> Vec<(&'static str, String)> {
    let version = go_mod
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/api "))
        .map(str::trim);
    let found = read(root).and_then(|(fields, names)| blob::check(&fields, &names));
    match (found, version) {
        (Err(error), _) => vec![(FIELDS, format!("{error:#}"))],
        (Ok(_), None) => vec![(PROGRAM, "go.mod names no version of k8s.io/api".to_owned())],
        (Ok(made), Some(version)) if made != version => vec![(
            FIELDS,
            format!(
                "it was made from {made}, but {PROGRAM}/go.mod names {version}; run `cargo xtask wire-table`"
            ),
        )],
        _ => Vec::new(),
    }
}
