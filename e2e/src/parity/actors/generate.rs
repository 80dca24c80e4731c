//! Random sequences about the end of objects: owners, propagation policies, finalizers, grace, namespaces.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use crate::parity::judge::op::Op;

const LONGEST: usize = 16;

/// A kind, as much of it as a deletion has to do with.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) plural: &'static str,
    kind: &'static str,
    api_version: &'static str,
    pub(super) namespaced: bool,
}

/// All kinds.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        plural: "configmaps",
        kind: "ConfigMap",
        api_version: "v1",
        namespaced: true,
    },
    Kind {
        plural: "gadgets",
        kind: "Gadget",
        api_version: "parity.example/v1",
        namespaced: true,
    },
    Kind {
        plural: "replicationcontrollers",
        kind: "ReplicationController",
        api_version: "v1",
        namespaced: true,
    },
    Kind {
        plural: "pods",
        kind: "Pod",
        api_version: "v1",
        namespaced: true,
    },
    Kind {
        plural: "clusterroles",
        kind: "ClusterRole",
        api_version: "rbac.authorization.k8s.io/v1",
        namespaced: false,
    },
];

impl Kind {
    pub(super) fn collection(&self, namespace: &str) -> String {
        let root = if self.api_version == "v1" {
            "/api/v1".to_owned()
        } else {
            format!("/apis/{}", self.api_version)
        };
        match self.namespaced {
            true => format!("{root}/namespaces/{namespace}/{}", self.plural),
            false => format!("{root}/{}", self.plural),
        }
    }
}

/// An object that was made: by which operation, and where.
#[derive(Clone, Debug)]
struct Made {
    id: usize,
    kind: &'static Kind,
    namespace: &'static str,
    name: String,
}

impl Made {
    fn path(&self) -> String {
        format!("{}/{}", self.kind.collection(self.namespace), self.name)
    }
}

/// The sequence of a seed.
pub(super) fn generate(seed: u64) -> Vec<Op> {
    let mut making = Making {
        rng: Rng::with_seed(seed),
        ops: Vec::new(),
        made: Vec::new(),
    };
    let length = making.rng.usize(4..=LONGEST);
    while making.ops.len() < length {
        making.step();
    }
    making.ops
}

struct Making {
    rng: Rng,
    ops: Vec<Op>,
    made: Vec<Made>,
}

impl Making {
    fn step(&mut self) {
        match self.rng.u8(..100) {
            0..45 => self.create(),
            45..75 => self.delete(),
            75..85 => self.edit_finalizers(),
            85..92 => self.edit_owners(),
            92..95 => self.delete_collection(),
            _ => self.delete_namespace(),
        }
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.rng.u8(..100) < percent
    }

    fn push(&mut self, method: &str, path: String, media: &str, body: Value) {
        self.ops.push(Op {
            id: u32::try_from(self.ops.len()).unwrap_or_default(),
            label: method.to_owned(),
            method: method.to_owned(),
            path,
            query: BTreeMap::new(),
            media: Some(media.to_owned()),
            body: Some(body),
        });
    }

    fn any(&mut self) -> Option<Made> {
        let made = self.made.clone();
        self.rng.choice(made)
    }

    fn namespace(&mut self) -> &'static str {
        match self.rng.u8(..10) {
            0..7 => "${run}-a",
            _ => "${run}-b",
        }
    }

    fn create(&mut self) {
        let kind = &KINDS[self.rng.usize(..KINDS.len())];
        let namespace = if kind.namespaced {
            self.namespace()
        } else {
            ""
        };
        let id = self.ops.len();
        let name = match kind.namespaced {
            true => format!("o{id}"),
            false => format!("${{run}}-o{id}"),
        };
        let mut metadata = json!({"name": name, "labels": {"run": "${run}"}});
        let owners = self.owners();
        if !owners.is_empty() {
            metadata["ownerReferences"] = owners.into();
        }
        if self.chance(15) {
            metadata["finalizers"] = self.finalizers();
        }
        let mut object =
            json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata});
        let containers = json!([{"name": "c", "image": "example/i"}]);
        match kind.plural {
            "pods" => {
                object["spec"] =
                    json!({"containers": containers, "terminationGracePeriodSeconds": 300});
                if self.chance(50) {
                    object["spec"]["nodeName"] = "n".into();
                }
            }
            "replicationcontrollers" => {
                let template =
                    json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}});
                object["spec"] =
                    json!({"replicas": 0, "selector": {"a": "b"}, "template": template});
            }
            _ => {}
        }
        self.push(
            "POST",
            kind.collection(namespace),
            "application/json",
            object,
        );
        self.made.push(Made {
            id,
            kind,
            namespace,
            name,
        });
    }

    fn finalizers(&mut self) -> Value {
        match self.rng.u8(..4) {
            0 => json!(["foregroundDeletion"]),
            1 => json!(["orphan"]),
            _ => json!(["parity.example/a"]),
        }
    }

    fn owners(&mut self) -> Vec<Value> {
        let count = match self.rng.u8(..10) {
            0..3 => 0,
            3..8 => 1,
            _ => 2,
        };
        let mut owners: Vec<Value> = Vec::new();
        for _ in 0..count {
            let mut owner = match self.any() {
                Some(made) => json!({
                    "apiVersion": made.kind.api_version,
                    "kind": made.kind.kind,
                    "name": made.name,
                    "uid": format!("${{uid:{}}}", made.id),
                }),
                None => continue,
            };
            if self.chance(5) {
                owner["uid"] = "11111111-2222-4333-8444-555555555555".into();
            }
            if self.chance(50) {
                owner["blockOwnerDeletion"] = true.into();
            }
            if owners.iter().all(|other| other["uid"] != owner["uid"]) {
                owners.push(owner);
            }
        }
        owners
    }

    fn options(&mut self) -> Value {
        let mut options = json!({});
        match self.rng.u8(..10) {
            0..3 => options["propagationPolicy"] = "Foreground".into(),
            3..5 => options["propagationPolicy"] = "Background".into(),
            5..7 => options["propagationPolicy"] = "Orphan".into(),
            7 => options["orphanDependents"] = self.rng.bool().into(),
            _ => {}
        }
        match self.rng.u8(..10) {
            0..2 => options["gracePeriodSeconds"] = 0.into(),
            2 => options["gracePeriodSeconds"] = 200.into(),
            3 => options["gracePeriodSeconds"] = 400.into(),
            _ => {}
        }
        options
    }

    fn delete(&mut self) {
        let Some(made) = self.any() else {
            return;
        };
        let options = self.options();
        self.push("DELETE", made.path(), "application/json", options);
    }

    fn delete_collection(&mut self) {
        let kind = &KINDS[self.rng.usize(..4)];
        let path = kind.collection(self.namespace());
        let options = self.options();
        self.push("DELETE", path, "application/json", options);
    }

    fn delete_namespace(&mut self) {
        let namespace = self.namespace();
        let path = format!("/api/v1/namespaces/{namespace}");
        let mut options = self.options();
        if options["orphanDependents"].is_boolean() {
            options = json!({});
        }
        self.push("DELETE", path, "application/json", options);
    }

    fn edit_finalizers(&mut self) {
        let Some(made) = self.any() else {
            return;
        };
        let finalizers = match self.chance(70) {
            true => json!([]),
            false => self.finalizers(),
        };
        let patch = json!({"metadata": {"finalizers": finalizers}});
        self.push("PATCH", made.path(), "application/merge-patch+json", patch);
    }

    fn edit_owners(&mut self) {
        let Some(made) = self.any() else {
            return;
        };
        let patch = json!({"metadata": {"ownerReferences": self.owners()}});
        self.push("PATCH", made.path(), "application/merge-patch+json", patch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_seeds_differ() {
        assert_eq!(generate(3), generate(3));
        assert_ne!(generate(3), generate(4));
    }
}
