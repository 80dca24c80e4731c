//! Checks of our own manifests: one version, and all that a registry shows.

use super::{Problem, Tree};
use crate::workspace::{Package, Workspace};

/// Until 1.0 all our crates have one version, and ask for each other in that version.
pub(super) fn one_version(tree: &Tree) -> Vec<Problem> {
    let workspace = &tree.workspace;
    let Some(version) = workspace.package_field("version") else {
        return vec![Problem::new(
            "Cargo.toml",
            "[workspace.package] has no version",
        )];
    };
    let mut problems = Vec::new();
    for member in workspace
        .members
        .iter()
        .filter(|member| member.version != version)
    {
        let text = format!(
            "`{}` is {}, the workspace {version}",
            member.name, member.version
        );
        problems.push(Problem::new(member.dir.join("Cargo.toml").display(), text));
    }
    let manifest = &workspace.manifest;
    let shared = manifest
        .get("workspace")
        .and_then(|table| table.get("dependencies"));
    for (name, entry) in shared.and_then(toml::Value::as_table).into_iter().flatten() {
        let asked = entry.get("version").and_then(toml::Value::as_str);
        if entry.get("path").is_some() && asked.is_some_and(|asked| asked != version) {
            let text = format!(
                "asks for `{name}` {}, the workspace is {version}",
                asked.unwrap_or("")
            );
            problems.push(Problem::new("Cargo.toml", text));
        }
    }
    problems.extend(siblings_without_workspace(workspace, version));
    problems
}

/// A member may name a sibling with a version of its own (a cycle of tests forbids one at the root).
fn siblings_without_workspace(workspace: &Workspace, version: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for member in &workspace.members {
        for dependency in member.raw["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["name"].as_str().unwrap_or_default();
            let asked = dependency["req"]
                .as_str()
                .unwrap_or_default()
                .trim_start_matches('^');
            let ours = workspace.member(name).is_some();
            let dev = dependency["kind"] == "dev";
            let wrong = if dev {
                asked != version && asked != "*"
            } else {
                asked != version
            };
            if ours && wrong && member.published {
                let text = format!("asks for `{name}` {asked}, the workspace is {version}");
                problems.push(Problem::new(member.dir.join("Cargo.toml").display(), text));
            }
        }
    }
    problems
}

/// What a registry and a search show, and what a user may do with the crate.
pub(super) fn complete(tree: &Tree) -> Vec<Problem> {
    let published = tree
        .workspace
        .members
        .iter()
        .filter(|member| member.published);
    let missing = |member: &Package| {
        let place = member.dir.join("Cargo.toml").display().to_string();
        let lacks = lacks(member, &tree.workspace);
        lacks
            .into_iter()
            .map(move |what| Problem::new(&place, what))
            .collect::<Vec<_>>()
    };
    published.flat_map(missing).collect()
}

fn lacks(member: &Package, workspace: &Workspace) -> Vec<String> {
    let raw = &member.raw;
    let mut lacks = Vec::new();
    for field in [
        "description",
        "documentation",
        "license",
        "readme",
        "rust_version",
    ] {
        if raw[field].as_str().is_none_or(str::is_empty) {
            lacks.push(format!(
                "`{}` has no {}",
                member.name,
                field.replace('_', "-")
            ));
        }
    }
    for field in ["keywords", "categories"] {
        // A registry refuses more than five of either.
        let count = raw[field].as_array().map_or(0, Vec::len);
        if !(1..=5).contains(&count) {
            lacks.push(format!("`{}` has {count} {field}, not 1 to 5", member.name));
        }
    }
    let readme = raw["readme"].as_str().unwrap_or("README.md");
    for file in [readme, "LICENSE-APACHE", "LICENSE-MIT"] {
        if !workspace.root.join(&member.dir).join(file).is_file() {
            lacks.push(format!("`{}` has no file {file}", member.name));
        }
    }
    if !member.has_bin() && uses_api_types(member, workspace) && !docs_rs_chooses(member) {
        let text = "does not choose an API version for docs.rs (see CONTRIBUTING.md)";
        lacks.push(format!("`{}` {text}", member.name));
    }
    lacks
}

/// Whether k8s-openapi is built for users of the crate: always, or by a feature, which docs.rs should show.
fn uses_api_types(member: &Package, workspace: &Workspace) -> bool {
    if member.raw["features"].to_string().contains("k8s-openapi") {
        return true;
    }
    member
        .dependencies
        .iter()
        .filter(|dependency| !dependency.dev)
        .any(|dependency| {
            let asked = dependency
                .features
                .iter()
                .any(|feature| feature == "k8s-openapi");
            let sibling = || workspace.member(&dependency.name);
            dependency.name == "k8s-openapi"
                || asked
                || sibling().is_some_and(always_builds_api_types)
        })
}

/// Whether a crate of ours builds k8s-openapi with no feature asked for.
fn always_builds_api_types(sibling: &Package) -> bool {
    let dependencies = sibling.raw["dependencies"].as_array().into_iter().flatten();
    let mut always = dependencies.filter(|d| d["optional"] != true && d["kind"].is_null());
    always.any(|dependency| dependency["name"] == "k8s-openapi")
}

/// docs.rs builds without our `.cargo/config.toml`, so the manifest must set the variable there.
fn docs_rs_chooses(member: &Package) -> bool {
    let docs_rs = member.raw["metadata"]["docs"]["rs"].to_string();
    docs_rs.contains("K8S_OPENAPI_ENABLED_VERSION") || docs_rs.contains("k8s-openapi/v1_")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, tree};
    use super::*;
    use serde_json::json;

    const MANIFEST: &str = "[workspace.package]\nversion = \"1.0.0\"\n\
        [workspace.dependencies]\na = { path = \"crates/a\", version = \"0.9.0\" }";

    #[test]
    fn a_version_that_differs_is_found_wherever_it_stands() {
        let mut tree = tree(MANIFEST, &[]);
        let (mut a, mut b) = (library("a", &[]), library("b", &[]));
        a.version = "1.0.1".to_owned();
        b.raw = json!({ "dependencies": [
            { "name": "a", "req": "^0.8.0", "kind": null },
            { "name": "a", "req": "*", "kind": "dev" },
            { "name": "foreign", "req": "^3", "kind": null },
        ]});
        tree.workspace.members = vec![a, b];
        let found: Vec<_> = one_version(&tree)
            .into_iter()
            .map(|problem| problem.text)
            .collect();
        let expected = [
            "`a` is 1.0.1, the workspace 1.0.0",
            "asks for `a` 0.9.0, the workspace is 1.0.0",
            "asks for `a` 0.8.0, the workspace is 1.0.0",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn whatever_a_published_crate_lacks_is_found() {
        let tree = tree(MANIFEST, &[]);
        let mut bare = library("nowhere", &["k8s-openapi"]);
        bare.raw = json!({ "keywords": ["a", "b", "c", "d", "e", "f"], "categories": ["x"] });
        let found = lacks(&bare, &tree.workspace).join("\n");
        for what in [
            "description",
            "6 keywords",
            "LICENSE-MIT",
            "README.md",
            "docs.rs",
        ] {
            assert!(found.contains(what), "{what} in {found}");
        }
        assert!(!found.contains("categories"), "{found}");
    }
}
