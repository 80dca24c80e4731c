//! The garbage collector against a naive model of it: random owners, deletions and finalizers.

use std::collections::BTreeSet;

use informer_wire::{DeleteOptions, Patch, Propagation};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::model::{ClusterOptions, ListOptions, Part};

#[derive(Clone, Debug)]
enum Op {
    /// Makes an object with owners among those made before, whether they still exist or not.
    Create {
        owners: Vec<(usize, bool)>,
        held: bool,
    },
    Delete {
        object: usize,
        policy: Propagation,
    },
    /// Takes the finalizer of a third party away.
    Free(usize),
    Own {
        object: usize,
        owners: Vec<(usize, bool)>,
    },
}

fn owners() -> impl Strategy<Value = Vec<(usize, bool)>> {
    prop::collection::vec((0..12_usize, any::<bool>()), 0..3)
}

fn op() -> impl Strategy<Value = Op> {
    let policy = prop_oneof![
        Just(Propagation::Background),
        Just(Propagation::Foreground),
        Just(Propagation::Orphan),
    ];
    prop_oneof![
        4 => (owners(), prop::bool::weighted(0.2)).prop_map(|(owners, held)| Op::Create { owners, held }),
        3 => (0..12_usize, policy).prop_map(|(object, policy)| Op::Delete { object, policy }),
        1 => (0..12_usize).prop_map(Op::Free),
        1 => (0..12_usize, owners()).prop_map(|(object, owners)| Op::Own { object, owners }),
    ]
}

struct World {
    cluster: Cluster,
    crew: Crew,
    uids: Vec<String>,
    /// The objects that somebody asked to delete.
    wished: BTreeSet<usize>,
}

const OPTIONS: fn() -> WriteOptions = || WriteOptions::at(Timestamp::UNIX_EPOCH).part(Part::Main);

impl World {
    fn new() -> Self {
        let mut cluster = Cluster::new(&ClusterOptions::default(), Timestamp::UNIX_EPOCH);
        let crew = Crew::new(Actors::none().collect_garbage(Duration::ZERO), &mut cluster);
        Self {
            cluster,
            crew,
            uids: Vec::new(),
            wished: BTreeSet::new(),
        }
    }

    fn references(&self, owners: &[(usize, bool)]) -> Value {
        let mut references: Vec<Value> = Vec::new();
        for (owner, blocks) in owners {
            let Some(uid) = self.uids.get(*owner) else {
                continue;
            };
            if references.iter().all(|other| other["uid"] != **uid) {
                references.push(json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "name": format!("o{owner}"), "uid": uid,
                    "blockOwnerDeletion": blocks,
                }));
            }
        }
        references.into()
    }

    /// Applies an operation; one on an object that is gone does nothing.
    fn apply(&mut self, op: &Op) {
        let maps = self.cluster.resource("configmaps").unwrap();
        let options = OPTIONS();
        let name = |object: usize| format!("o{object}");
        match op {
            Op::Create { owners, held } => {
                let finalizers = if *held { json!(["x/y"]) } else { json!([]) };
                let object = json!({"metadata": {
                    "name": name(self.uids.len()), "ownerReferences": self.references(owners), "finalizers": finalizers,
                }});
                let made = self
                    .cluster
                    .create(&maps, "default", object, &options)
                    .unwrap();
                self.uids.push(made.uid().to_owned());
            }
            Op::Delete { object, policy } => {
                let how = DeleteOptions::default().propagation(*policy);
                if self
                    .cluster
                    .delete(&maps, "default", &name(*object), &how, &options)
                    .is_ok()
                {
                    self.wished.insert(*object);
                }
            }
            Op::Free(object) => {
                if let Ok(found) = self.cluster.get(&maps, "default", &name(*object)) {
                    let left = found.ties().finalizers.iter().filter(|one| *one != "x/y");
                    let left: Vec<_> = left.collect();
                    let patch = Patch::Merge(json!({"metadata": {"finalizers": left}}));
                    let _ = self
                        .cluster
                        .patch(&maps, "default", &name(*object), &patch, &options);
                }
            }
            Op::Own { object, owners } => {
                let patch = json!({"metadata": {"ownerReferences": self.references(owners)}});
                let _ = self.cluster.patch(
                    &maps,
                    "default",
                    &name(*object),
                    &Patch::Merge(patch),
                    &options,
                );
            }
        }
    }

    fn alive(&self) -> Vec<(String, crate::model::Ties)> {
        let maps = self.cluster.resource("configmaps").unwrap();
        let page = self
            .cluster
            .list(&maps, "default", &ListOptions::new())
            .unwrap();
        let objects = page.items.iter();
        objects
            .map(|object| (object.uid().to_owned(), object.ties().clone()))
            .collect()
    }

    /// Lets the collector come to rest, and looks at what it did: nothing goes that nobody asked for and that a living
    /// owner keeps.
    fn rest(&mut self) -> Result<(), TestCaseError> {
        let before = self.alive();
        prop_assert_eq!(
            self.crew
                .step(&mut self.cluster, Instant::now(), Timestamp::UNIX_EPOCH),
            None
        );
        let after = self.alive();
        let lives = |uid: &str| after.iter().any(|(other, _)| other == uid);
        for (uid, ties) in &before {
            let wished = self.wished.iter().any(|object| self.uids[*object] == *uid);
            let marked = after
                .iter()
                .any(|(other, ties)| other == uid && ties.deleted);
            if !wished && !ties.deleted && (marked || !lives(uid)) {
                prop_assert!(
                    !ties.owners.is_empty(),
                    "collected although it had no owner"
                );
                let kept = ties.owners.iter().any(|owner| {
                    let found = after.iter().find(|(other, _)| *other == owner.uid);
                    found.is_some_and(|(_, owner)| !owner.deleted)
                });
                prop_assert!(!kept, "collected although an owner lives");
            }
        }
        for (uid, ties) in &after {
            let all_gone =
                !ties.owners.is_empty() && ties.owners.iter().all(|owner| !lives(&owner.uid));
            prop_assert!(
                ties.deleted || !all_gone,
                "left although all owners are gone"
            );
            if ties.deleted && !ties.has_finalizer("x/y") {
                let holder = |(_, other): &&(String, crate::model::Ties)| {
                    other
                        .owners
                        .iter()
                        .any(|owner| owner.uid == *uid && owner.blocks)
                };
                prop_assert!(
                    after.iter().any(|one| holder(&one)),
                    "nothing holds it: {:?}",
                    ties
                );
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn collector_at_rest_leaves_what_has_an_owner_and_nothing_else(
        ops in prop::collection::vec((op(), any::<bool>()), 1..40),
    ) {
        let mut world = World::new();
        for (op, rest) in &ops {
            world.apply(op);
            if *rest {
                world.rest()?;
            }
        }
        world.rest()?;
    }
}
