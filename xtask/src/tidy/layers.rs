//! Checks of which crate may use which.

use super::{Problem, Tree};
use crate::workspace::Package;

/// A crate's place: it may use the crates of lower layers, and none of the packages that `not` lists.
struct Place {
    name: &'static str,
    layer: u8,
    not: &'static [&'static str],
}

const HTTP: &[&str] = &["http", "hyper", "hyper-util", "reqwest"];

/// The layers of our crates, from the bottom up. `docs/architecture.md` shows them as a picture.
const LAYERS: &[Place] = &[
    Place {
        name: "informer-store",
        layer: 0,
        not: &[
            "tokio",
            "serde",
            "serde_json",
            "http",
            "hyper",
            "reqwest",
            "tracing",
        ],
    },
    Place {
        name: "informer-kubeconfig",
        layer: 0,
        not: HTTP,
    },
    Place {
        name: "informer-workqueue",
        layer: 0,
        not: &["k8s-openapi"],
    },
    Place {
        name: "informer-delta-fifo",
        layer: 1,
        not: &["tokio", "serde", "reqwest"],
    },
    Place {
        name: "informer-wire",
        layer: 1,
        not: &["tokio", "tokio-util", "hyper", "reqwest"],
    },
    Place {
        name: "informer-client",
        layer: 2,
        not: &[],
    },
    Place {
        name: "informer-reflector",
        layer: 3,
        not: &[],
    },
    Place {
        name: "informer-shared",
        layer: 4,
        not: HTTP,
    },
    Place {
        name: "informer-controller",
        layer: 5,
        not: HTTP,
    },
    Place {
        name: "informer-leader-election",
        layer: 5,
        not: HTTP,
    },
    // Beside the core, which uses nothing of it.
    Place {
        name: "informer-tools",
        layer: 5,
        not: HTTP,
    },
    Place {
        name: "informer",
        layer: 6,
        not: &[],
    },
    // Beside the layers: only tests may use the first, nothing may use the second.
    Place {
        name: "informer-testkit",
        layer: 7,
        not: &[],
    },
    Place {
        name: "informer-cli",
        layer: 8,
        not: &[],
    },
];

fn place(name: &str) -> Option<&'static Place> {
    LAYERS.iter().find(|place| place.name == name)
}

/// Every published crate has a place, uses lower layers only, and the facade is used by the command alone.
pub(super) fn point_down(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for member in tree
        .workspace
        .members
        .iter()
        .filter(|member| member.published)
    {
        let Some(own) = place(&member.name) else {
            problems.push(problem(
                member,
                format!("`{}` has no place in the layers", member.name),
            ));
            continue;
        };
        for dependency in member
            .dependencies
            .iter()
            .filter(|dependency| !dependency.dev)
        {
            let Some(used) = place(&dependency.name) else {
                continue;
            };
            if used.layer >= own.layer {
                let text = format!(
                    "`{}` (layer {}) uses `{}` (layer {})",
                    own.name, own.layer, used.name, used.layer
                );
                problems.push(problem(member, text));
            }
        }
        // Its tests too: what they need of other crates they take from those.
        let facade = member
            .dependencies
            .iter()
            .any(|dependency| dependency.name == "informer");
        if facade && member.name != "informer-cli" {
            problems.push(problem(member, "uses the facade".to_owned()));
        }
    }
    problems
}

/// No crate uses a package that its layer must not know.
pub(super) fn forbidden(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for member in &tree.workspace.members {
        let Some(own) = place(&member.name) else {
            continue;
        };
        for dependency in member
            .dependencies
            .iter()
            .filter(|dependency| !dependency.dev)
        {
            if own.not.contains(&dependency.name.as_str()) {
                let text = format!("`{}` must not use `{}`", own.name, dependency.name);
                problems.push(problem(member, text));
            }
        }
    }
    problems
}

fn problem(member: &Package, text: String) -> Problem {
    Problem::new(member.dir.join("Cargo.toml").display(), text)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{library, tree};
    use super::*;

    fn texts(check: fn(&Tree) -> Vec<Problem>, members: Vec<Package>) -> Vec<String> {
        let mut tree = tree("", &[]);
        tree.workspace.members = members;
        check(&tree)
            .into_iter()
            .map(|problem| problem.text)
            .collect()
    }

    #[test]
    fn arrows_that_do_not_point_down_are_found() {
        let members = vec![
            library("informer-wire", &["informer-store", "dev:informer-testkit"]),
            library("informer-store", &["informer-wire"]),
            library("informer-delta-fifo", &["informer-wire"]),
            library("informer-shared", &["informer-testkit"]),
            library("informer-cli", &["informer", "informer-testkit"]),
        ];
        let expected = [
            "`informer-store` (layer 0) uses `informer-wire` (layer 1)",
            "`informer-delta-fifo` (layer 1) uses `informer-wire` (layer 1)",
            "`informer-shared` (layer 4) uses `informer-testkit` (layer 7)",
        ];
        assert_eq!(texts(point_down, members), expected);
    }

    #[test]
    fn a_use_of_the_facade_and_a_crate_without_a_place_are_found() {
        let members = vec![
            library("informer-shared", &["dev:informer"]),
            library("new", &[]),
        ];
        let expected = ["uses the facade", "`new` has no place in the layers"];
        assert_eq!(texts(point_down, members), expected);
    }

    #[test]
    fn what_a_layer_must_not_know_is_found_outside_its_tests() {
        let members = vec![library("informer-store", &["tokio", "dev:serde"])];
        assert_eq!(
            texts(forbidden, members),
            ["`informer-store` must not use `tokio`"]
        );
    }
}
