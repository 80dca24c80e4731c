//! A check of `select!`: its order is written, not drawn.

use super::{Problem, TextFile, Tree};

/// Without `biased`, tokio draws the branch that is polled first. A run of a simulation could not be repeated, and what
/// happens when two things are ready would depend on luck. Tests may draw.
pub(super) fn biased(tree: &Tree) -> Vec<Problem> {
    let sources = tree.files.iter().filter(|file| {
        let in_tests = file
            .path
            .components()
            .any(|part| part.as_os_str() == "tests");
        file.is("rs") && !in_tests
    });
    sources.flat_map(drawn).collect()
}

/// The places of a file where a branch is drawn.
fn drawn(file: &TextFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut open = None;
    for (number, line) in file.lines() {
        let line = line.trim();
        if line.starts_with("//") || line.is_empty() {
            continue;
        }
        if let Some(opened) = open.take()
            && line != "biased;"
        {
            problems.push(Problem::at(
                &file.path,
                opened,
                "this select! is not `biased;`",
            ));
        }
        if line.ends_with("select! {") {
            open = Some(number);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::testing::tree;
    use super::*;

    #[test]
    fn select_without_an_order_is_found() {
        // Another word, so that this file does not find itself.
        let text = "\
fn f() {
    tokio::choose! {
        // The order matters.
        biased;
        () = a => {}
    }
    let x = tokio::choose! {
        () = a => {}
    };
    // tokio::choose! {
}
"
        .replace("choose!", "select!");
        let files = [
            ("crates/a/src/lib.rs", &*text),
            ("crates/a/tests/t.rs", &*text),
        ];
        let places: Vec<String> = biased(&tree("", &files))
            .into_iter()
            .map(|p| p.place)
            .collect();
        assert_eq!(places, ["crates/a/src/lib.rs:7"]);
    }
}
