//! Checks of the numbered promises in `docs/invariants.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Problem, TextFile, Tree};

/// Where the promises stand.
const PROMISES: &str = "docs/invariants.md";

/// Every promise is cited by a test, and every promise that a source cites exists.
pub(super) fn tested(tree: &Tree) -> Vec<Problem> {
    let Some(list) = tree.file(PROMISES) else {
        return vec![Problem::new(PROMISES, "is missing")];
    };
    let mut promised: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, line) in list.lines() {
        for id in ids(line) {
            promised.entry(id).or_insert(number);
        }
    }
    let mut problems = Vec::new();
    let mut cited = BTreeSet::new();
    for file in tree
        .files
        .iter()
        .filter(|file| file.is("rs") && is_ours(&file.path))
    {
        for (number, line) in file.lines() {
            for id in ids(line) {
                if !promised.contains_key(id) {
                    let text = format!("cites {id}, which {PROMISES} does not have");
                    problems.push(Problem::at(&file.path, number, text));
                }
                if holds_tests(file) {
                    cited.insert(id);
                }
            }
        }
    }
    for (id, line) in promised.iter().filter(|(id, _)| !cited.contains(*id)) {
        problems.push(Problem::at(
            &list.path,
            *line,
            format!("no test cites {id}"),
        ));
    }
    problems
}

/// The sources whose citations count.
fn is_ours(path: &Path) -> bool {
    ["crates", "e2e", "examples", "fuzz"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

/// Whether a file holds tests, or programs that are nothing but tests.
fn holds_tests(file: &TextFile) -> bool {
    let folder = |name: &str| file.path.components().any(|part| part.as_os_str() == name);
    let marks = ["#[test]", "#[tokio::test", "proptest!"];
    folder("tests")
        || folder("e2e")
        || folder("fuzz")
        || marks.iter().any(|mark| file.text.contains(mark))
}

/// The promises that a line names, such as `INV-STORE-1`.
fn ids(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("INV-") {
        let rest = &line[at..];
        let area = rest["INV-".len()..]
            .find(|c: char| !c.is_ascii_uppercase())
            .unwrap_or(0);
        let dash = "INV-".len() + area;
        if area == 0 || !rest[dash..].starts_with('-') {
            continue;
        }
        let number = &rest[dash + 1..];
        let digits = number
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(number.len());
        if digits > 0 {
            found.push(&rest[..dash + 1 + digits]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testing::tree;
    use super::*;

    #[test]
    fn promises_without_a_test_and_citations_without_a_promise_are_found() {
        // Put together, so that this file itself cites nothing.
        let id = |number: u8| format!("INV-{}-{number}", "X");
        let list = format!(
            "# Promises\n- {}: one\n- {}: two\n- {}: three",
            id(1),
            id(2),
            id(3)
        );
        let source = format!("//! Keeps {}.", id(2));
        let test = format!("// {}, {}\n#[test]", id(1), id(9));
        let files = [
            (PROMISES, list.as_str()),
            ("crates/a/src/lib.rs", source.as_str()),
            ("crates/a/src/b.rs", test.as_str()),
            ("crates/a/tests/c.rs", &id(3)),
        ];
        let found = tested(&tree("", &files));
        let places: Vec<_> = found.iter().map(|problem| &*problem.place).collect();
        assert_eq!(
            places,
            ["crates/a/src/b.rs:1", "docs/invariants.md:3"],
            "{found:?}"
        );
    }

    #[test]
    fn ids_are_read_from_any_place_in_a_line() {
        assert_eq!(
            ids("(INV-STORE-12), INV-FIFO-3."),
            ["INV-STORE-12", "INV-FIFO-3"]
        );
        assert_eq!(ids("INV- INV-X INV--1 INV-Store-1 INV-STORE-"), [""; 0]);
    }
}
