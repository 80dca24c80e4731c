//! Checks of what we take from others.

use super::{Problem, Tree};

/// Where each dependency has its reason.
const REASONS: &str = "docs/dependencies.md";

/// Dependencies that may be declared older than they are built, with the reason.
const OLDER_ON_PURPOSE: &[(&str, &str)] = &[];

/// Every line of `[workspace.dependencies]` serves a member and is named, as code, in the list of reasons.
pub(super) fn used_and_named(tree: &Tree) -> Vec<Problem> {
    let reasons = tree
        .file(REASONS)
        .map(|file| file.text.as_str())
        .unwrap_or_default();
    let mut problems = Vec::new();
    for (name, entry) in declared(tree) {
        let users = tree
            .workspace
            .members
            .iter()
            .flat_map(|member| &member.dependencies);
        if !users.into_iter().any(|dependency| dependency.name == name) {
            problems.push(Problem::new(
                "Cargo.toml",
                format!("no member uses `{name}`"),
            ));
        }
        let ours = entry.get("path").is_some();
        if !ours && !reasons.contains(&format!("`{name}`")) {
            problems.push(Problem::new(
                REASONS,
                format!("does not say why we use `{name}`"),
            ));
        }
    }
    problems
}

/// The declared minimum is what we build and test with, up to the patch: an older one may lack what we use.
pub(super) fn honest_minimums(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, entry) in declared(tree) {
        let requirement = entry.as_str().or_else(|| entry.get("version")?.as_str());
        let Some(requirement) = requirement.filter(|_| entry.get("path").is_none()) else {
            continue;
        };
        let locked = tree
            .workspace
            .locked
            .get(name)
            .map_or(&[][..], Vec::as_slice);
        let built = locked
            .iter()
            .filter(|version| same_series(requirement, version));
        let Some(built) = built.max_by_key(|version| numbers(version)) else {
            // Not in the lock file: nobody uses it, which another check reports.
            continue;
        };
        let excused = OLDER_ON_PURPOSE.iter().any(|(excused, _)| *excused == name);
        if !excused && numbers(built)[..2] != numbers(requirement)[..2] {
            let text = format!("`{name} = \"{requirement}\"` is built with {built}");
            problems.push(Problem::new("Cargo.toml", text));
        }
    }
    problems
}

/// The final program alone chooses the version of k8s-openapi's types; two choices in one build cannot compile.
pub(super) fn no_api_version(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let published = tree
        .workspace
        .members
        .iter()
        .filter(|member| member.published);
    for member in published.filter(|member| !member.has_bin()) {
        let users_see = member
            .dependencies
            .iter()
            .filter(|dependency| !dependency.dev);
        for dependency in users_see.filter(|dependency| dependency.name == "k8s-openapi") {
            for feature in dependency
                .features
                .iter()
                .filter(|feature| chooses_version(feature))
            {
                let text = format!("`{}` enables `k8s-openapi/{feature}`", member.name);
                problems.push(Problem::new(member.dir.join("Cargo.toml").display(), text));
            }
        }
    }
    problems
}

fn chooses_version(feature: &str) -> bool {
    feature.starts_with("v1_") || feature == "latest" || feature == "earliest"
}

/// The entries of `[workspace.dependencies]`.
fn declared(tree: &Tree) -> impl Iterator<Item = (&str, &toml::Value)> {
    let table = tree
        .workspace
        .manifest
        .get("workspace")
        .and_then(|w| w.get("dependencies"));
    let entries = table.and_then(toml::Value::as_table).into_iter().flatten();
    entries.map(|(name, entry)| (name.as_str(), entry))
}

/// Whether a version is compatible with what a requirement starts at, as cargo sees it.
fn same_series(requirement: &str, version: &str) -> bool {
    let (wanted, found) = (numbers(requirement), numbers(version));
    wanted[0] == found[0] && (wanted[0] != 0 || wanted[1] == found[1])
}

/// Major, minor, patch; what is not written counts as zero.
fn numbers(version: &str) -> [u64; 3] {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let mut parts = core.trim_start_matches(['^', '~', '=']).split('.');
    [(); 3].map(|()| {
        parts
            .next()
            .and_then(|part| part.trim().parse().ok())
            .unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, tree};
    use super::*;

    #[test]
    fn an_unused_and_an_unexplained_dependency_are_found() {
        let manifest =
            "[workspace.dependencies]\na = \"1.0\"\nb = \"1.0\"\nours = { path = \"x\" }";
        let mut tree = tree(manifest, &[(REASONS, "`a` and b")]);
        tree.workspace.members = vec![library("x", &["b", "ours"])];
        let found = used_and_named(&tree);
        let expected = [
            Problem::new("Cargo.toml", "no member uses `a`"),
            Problem::new(REASONS, "does not say why we use `b`"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_minimum_older_than_what_is_built_is_found() {
        let manifest = "[workspace.dependencies]\nold = \"1.2\"\nsame = { version = \"0.4\" }\n";
        let mut tree = tree(manifest, &[]);
        let locked = [
            ("old", &["0.9.0", "1.10.0"][..]),
            ("same", &["0.3.9", "0.4.7"][..]),
        ];
        for (name, versions) in locked {
            let versions = versions
                .iter()
                .map(|version| (*version).to_owned())
                .collect();
            tree.workspace.locked.insert(name.to_owned(), versions);
        }
        let found = honest_minimums(&tree);
        assert_eq!(
            found,
            [Problem::new(
                "Cargo.toml",
                "`old = \"1.2\"` is built with 1.10.0"
            )]
        );
    }

    #[test]
    fn a_library_that_chooses_the_api_version_is_found() {
        let mut tree = tree("", &[]);
        let mut chooses = library("a", &["k8s-openapi"]);
        chooses.dependencies[0].features = vec!["v1_36".into(), "schemars".into()];
        let mut in_tests = library("b", &["dev:k8s-openapi"]);
        in_tests.dependencies[0].features = vec!["v1_36".into()];
        tree.workspace.members = vec![chooses, in_tests];
        let found = no_api_version(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].text.contains("v1_36"));
    }

    #[test]
    fn versions_are_read_in_all_their_forms() {
        assert_eq!(numbers("^1.2"), [1, 2, 0]);
        assert_eq!(numbers("1.2.2+spec-1.1.0"), [1, 2, 2]);
        assert!(same_series("1", "1.9.0") && !same_series("0.12", "0.13.1"));
    }
}
