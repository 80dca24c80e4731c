//! Checks of single lines in sources and docs.

use std::path::Path;

use super::{Problem, Tree};

/// The first line of a source file says what the file is for; a crate's may take it from a file.
pub(super) fn first_lines(tree: &Tree) -> Vec<Problem> {
    let sources = tree.files.iter().filter(|file| file.is("rs"));
    let silent = sources.filter(|file| {
        let first = file.text.lines().next().unwrap_or_default();
        let says = first
            .strip_prefix("//!")
            .is_some_and(|text| !text.trim().is_empty());
        !says && !first.starts_with("#![doc")
    });
    silent
        .map(|file| Problem::at(&file.path, 1, "does not open with a `//!` sentence"))
        .collect()
}

/// Paths that exist on one machine only. `~` and `$HOME` are for docs, temporary folders for tests.
pub(super) fn machine_paths(tree: &Tree) -> Vec<Problem> {
    // Put together here, so that this file does not find itself.
    let mut needles: Vec<String> = ["home", "Users", "root"]
        .iter()
        .map(|folder| format!("/{folder}/"))
        .collect();
    needles.push(format!("{}/", tree.workspace.root.display()));
    let mut problems = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(needle) = needles.iter().find(|needle| names_a_folder(line, needle)) {
                problems.push(Problem::at(&file.path, number, format!("names {needle}…")));
            }
        }
    }
    problems
}

/// Whether the path stands in the line as an absolute one: nothing that continues a longer path or address before it.
fn names_a_folder(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~}]>)".contains(c))
    })
}

/// An `ignore` block rots unseen; `no_run` and `compile_fail` are compiled.
pub(super) fn ignored_code_blocks(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|file| file.is("rs") || file.is("md"))
    {
        for (number, line) in file.lines() {
            let line = line.trim_start_matches(['/', '!', ' ', '>']);
            let Some(info) = line.strip_prefix("```") else {
                continue;
            };
            if info
                .split([',', ' ', '{', '}'])
                .any(|word| word == "ignore")
            {
                problems.push(Problem::at(
                    &file.path,
                    number,
                    "this block is never compiled",
                ));
            }
        }
    }
    problems
}

/// The README names the minimum Rust version of the manifest, and no document names another one.
pub(super) fn msrv_in_prose(tree: &Tree) -> Vec<Problem> {
    let Some(msrv) = tree.workspace.package_field("rust-version") else {
        return vec![Problem::new(
            "Cargo.toml",
            "[workspace.package] has no rust-version",
        )];
    };
    let mut problems = Vec::new();
    match tree.file("README.md") {
        None => problems.push(Problem::new("README.md", "is missing")),
        Some(readme)
            if !readme
                .lines()
                .any(|(_, line)| rust_version(line) == Some(msrv)) =>
        {
            let text = format!("does not name the minimum Rust version, as in `Rust {msrv}`");
            problems.push(Problem::new("README.md", text));
        }
        Some(_) => {}
    }
    for file in tree
        .files
        .iter()
        .filter(|f| f.is("md") && f.path != Path::new("CHANGELOG.md"))
    {
        for (number, line) in file.lines() {
            if let Some(other) = rust_version(line).filter(|version| *version != msrv) {
                let text = format!("names Rust {other}, the manifest {msrv}");
                problems.push(Problem::at(&file.path, number, text));
            }
        }
    }
    problems
}

/// The version in a line that says `Rust 1.x` or `Rust version: 1.x`.
fn rust_version(line: &str) -> Option<&str> {
    let after = line
        .match_indices("Rust ")
        .map(|(at, word)| &line[at + word.len()..]);
    let version = after
        .map(|text| text.strip_prefix("version").unwrap_or(text))
        .map(|text| text.trim_start_matches([':', ' ', '*']))
        .find(|text| text.starts_with("1."))?;
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.');
    Some(version[..end.unwrap_or(version.len())].trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::super::testing::tree;
    use super::*;

    const MANIFEST: &str = "[workspace.package]\nrust-version = \"1.70\"";

    #[test]
    fn a_silent_first_line_is_found() {
        let files = [
            ("a.rs", "//! Says it.\n"),
            ("b.rs", "use x;\n//! Late."),
            ("c.rs", "//!\n"),
        ];
        let found = first_lines(&tree("", &files));
        assert_eq!(
            found.iter().map(|p| &*p.place).collect::<Vec<_>>(),
            ["b.rs:1", "c.rs:1"]
        );
    }

    #[test]
    fn a_path_of_a_machine_is_found_and_a_part_of_another_path_is_not() {
        let home = ["/ho", "me/"].concat();
        let mine = format!("cd {}/crates", crate::workspace::root().display());
        let text = format!("open {home}jo\n$X{home}\nhttps://example.org{home}a\n~{home}\n{mine}");
        let found = machine_paths(&tree("", &[("a.md", &text)]));
        let places: Vec<_> = found.iter().map(|problem| &*problem.place).collect();
        assert_eq!(places, ["a.md:1", "a.md:5"]);
    }

    #[test]
    fn blocks_that_are_never_compiled_are_found() {
        let text = "/// ```ignore\n//! ```rust,ignore\n/// ```no_run\n//! ```\n";
        assert_eq!(ignored_code_blocks(&tree("", &[("a.rs", text)])).len(), 2);
    }

    #[test]
    fn the_readme_names_the_minimum_and_nothing_names_another() {
        let files = [
            ("README.md", "Needs Rust 1.70."),
            ("b.md", "Rust 1.69 or later"),
        ];
        let found = msrv_in_prose(&tree(MANIFEST, &files));
        assert_eq!(
            found,
            [Problem::new("b.md:1", "names Rust 1.69, the manifest 1.70")]
        );
        let other = [("README.md", "Minimum supported Rust version: 1.70.")];
        assert!(msrv_in_prose(&tree(MANIFEST, &other)).is_empty());
        let found = msrv_in_prose(&tree(MANIFEST, &[("README.md", "Rust 1.7")]));
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
