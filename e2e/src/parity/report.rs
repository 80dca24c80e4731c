//! What a run saw: a tally of operations and outcomes, the differences found, the entries of the table it needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;

use super::judge::allowed::{ALLOWED, allowed};
use super::judge::compare::Difference;
use super::judge::op::Op;
use super::judge::session::Answer;
use super::judge::transcript::{Step, Transcript};
use super::kinds::KINDS;

/// A run of fewer sequences may miss operations and entries.
const LONG: u64 = 100;

/// Every operation that the generator makes.
const VERBS: &[&str] = &[
    "apply",
    "apply status",
    "create",
    "create odd",
    "create wrong",
    "define",
    "delete",
    "deletecollection",
    "get",
    "get scale",
    "get status",
    "json-patch",
    "json-patch status",
    "list",
    "list cached",
    "merge-patch",
    "merge-patch scale",
    "merge-patch status",
    "patch odd",
    "replace",
    "replace odd",
    "replace odd status",
    "replace status",
    "replace wrong",
    "strategic-patch",
    "strategic-patch status",
    "watch",
];

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// How often each verb was answered with each code.
    tally: BTreeMap<String, BTreeMap<u16, usize>>,
    plurals: BTreeSet<String>,
    needed: BTreeSet<usize>,
    found: Vec<(Difference, Vec<u64>)>,
    /// Differences that were not there when the sequence was played again.
    pub(crate) fleeting: usize,
}

impl Report {
    /// Counts what the real server answered, and which entries of the table were needed.
    pub(crate) fn count(&mut self, ops: &[Op], real: &[Answer], differences: &[Difference]) {
        for (op, answer) in ops.iter().zip(real) {
            let (verb, plural) = op.label.rsplit_once(' ').unwrap_or((&op.label, ""));
            let codes = self.tally.entry(verb.to_owned()).or_default();
            *codes.entry(answer.code).or_default() += 1;
            self.plurals.insert(plural.to_owned());
        }
        self.needed.extend(differences.iter().filter_map(allowed));
    }

    /// Notes a difference; whether it is the first of its kind.
    pub(crate) fn is_new(&mut self, seed: u64, difference: &Difference) -> bool {
        if let Some((_, seeds)) = self
            .found
            .iter_mut()
            .find(|(one, _)| one.is_like(difference))
        {
            seeds.push(seed);
            return false;
        }
        self.found.push((difference.clone(), vec![seed]));
        true
    }

    /// Prints everything and gives the number of failures.
    pub(crate) fn print(&self, sequences: u64) -> usize {
        for (verb, codes) in &self.tally {
            let codes: Vec<String> = codes
                .iter()
                .map(|(code, times)| format!("{code}: {times}"))
                .collect();
            println!("{verb:<24} {}", codes.join(", "));
        }
        for (difference, seeds) in &self.found {
            println!(
                "DIFFERENT in {} sequences, first seed {}: {difference}",
                seeds.len(),
                seeds[0]
            );
        }
        let mut failures = self.found.len();
        if sequences >= LONG {
            for gap in self.gaps() {
                println!("GAP: {gap}");
                failures += 1;
            }
        }
        println!(
            "parity: {sequences} sequences, {} kinds of difference not allowed, {} of {} allowed entries needed, {} not repeated",
            self.found.len(),
            self.needed.len(),
            ALLOWED.len(),
            self.fleeting
        );
        failures
    }

    /// What a long run ought to have seen and did not.
    fn gaps(&self) -> Vec<String> {
        let verbs = VERBS.iter().filter(|verb| !self.tally.contains_key(**verb));
        let kinds = KINDS
            .iter()
            .filter(|kind| !self.plurals.contains(kind.plural));
        let entries = ALLOWED
            .iter()
            .enumerate()
            .filter(|(at, _)| !self.needed.contains(at));
        let never = |what: &str| format!("`{what}` never happened");
        let verbs = verbs.map(|verb| never(verb));
        let kinds = kinds.map(|kind| never(kind.plural));
        let entries = entries.map(|(_, entry)| {
            format!(
                "the allowed difference {} {} ({}) never occurs",
                entry.operation, entry.path, entry.reason
            )
        });
        verbs.chain(kinds).chain(entries).collect()
    }
}

/// Prints a shrunk sequence, and the difference it shows.
pub(crate) fn show(ops: &[Op], real: &[Answer], differences: &[Difference]) {
    for (op, answer) in ops.iter().zip(real) {
        let query: Vec<String> = op
            .query
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let body = op
            .body
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        println!(
            "  {}: {} {}?{} {body} -> {}",
            op.id,
            op.method,
            op.path,
            query.join("&"),
            answer.code
        );
    }
    for difference in differences.iter().filter(|one| allowed(one).is_none()) {
        println!("  => {difference}");
    }
}

/// Writes a shrunk sequence as a transcript.
pub(crate) fn record(
    folder: &Path,
    seed: u64,
    ops: &[Op],
    real: &[Answer],
    difference: Option<&Difference>,
) -> anyhow::Result<()> {
    let Some(difference) = difference else {
        return Ok(());
    };
    let steps = ops.iter().cloned().zip(real.iter().cloned());
    let transcript = Transcript {
        about: format!("{} {}", difference.label, difference.path),
        server: "kube-apiserver 1.36".to_owned(),
        steps: steps.map(|(op, answer)| Step { op, answer }).collect(),
    };
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let name: String = transcript
        .about
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let path = folder.join(format!("{name}-{seed}.json"));
    let text = serde_json::to_string_pretty(&transcript)?;
    std::fs::write(&path, text + "\n").with_context(|| path.display().to_string())
}
