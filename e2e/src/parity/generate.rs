//! Makes random sequences of operations. The same seed makes the same sequence.

mod owners;

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::judge::op::Op;
use super::kinds::{KINDS, Kind};
use super::odd;

const LONGEST: usize = 40;
const JSON: &str = "application/json";

/// What an operation works on.
#[derive(Clone, Debug, PartialEq)]
struct Target {
    namespace: &'static str,
    name: String,
}

/// The sequence of a seed.
pub(crate) fn generate(seed: u64) -> Vec<Op> {
    let mut rng = Rng::with_seed(seed);
    let length = rng.usize(1..=LONGEST);
    // Few kinds in a sequence, so that operations meet.
    let chosen: Vec<&Kind> = (0..rng.usize(1..=2))
        .filter_map(|_| rng.choice(KINDS))
        .collect();
    let mut making = Making {
        rng,
        ops: Vec::new(),
        touched: Vec::new(),
        lists: Vec::new(),
    };
    // Some sequences are about the owners of one object's fields.
    let applied = chosen.iter().find(|kind| owners::is_applied(kind));
    let about_owners = applied.filter(|_| making.chance(40));
    while making.ops.len() < length {
        match about_owners {
            Some(kind) => making.owners_step(kind),
            None => {
                let at = making.rng.usize(..chosen.len());
                making.step(chosen[at]);
            }
        }
    }
    making.ops
}

struct Making {
    rng: Rng,
    ops: Vec<Op>,
    /// Operations whose answer is an object, and which.
    touched: Vec<(u32, &'static str, Target)>,
    /// Operations whose answer is a list, and of which path.
    lists: Vec<(u32, String)>,
}

impl Making {
    fn step(&mut self, kind: &Kind) {
        // Schemas are met by devices above all.
        let odd = if kind.plural == "devices" { 40 } else { 5 };
        if self.chance(odd) {
            self.odd(kind);
        } else {
            self.even(kind);
        }
        let version = kind.plural == "devices" && self.chance(30);
        let validation = self
            .chance(15)
            .then(|| self.pick(&["Ignore", "Warn", "Strict", "Nonsense"]));
        let Some(op) = self.ops.last_mut() else {
            return;
        };
        if version {
            op.path = op
                .path
                .replace("parity.example/v1/", "parity.example/v1beta1/");
            if let Some(body @ Value::Object(_)) = &mut op.body
                && body["apiVersion"] == kind.api_version
            {
                body["apiVersion"] = "parity.example/v1beta1".into();
            }
        }
        if let Some(validation) =
            validation.filter(|_| matches!(&*op.method, "POST" | "PUT" | "PATCH"))
        {
            op.query.insert("fieldValidation".into(), validation.into());
        }
    }

    /// Something that the schema does not like.
    fn odd(&mut self, kind: &Kind) {
        let target = self.target(kind);
        let mut metadata = json!({ "name": target.name });
        let strict = self.pick(&["", "Ignore", "Warn", "Strict", "Strict"]);
        let version = self.symbol("rv", kind, &target);
        let replace = self.rng.u8(..10);
        // A version is refused on creation, whatever else is odd.
        if let Some(version) = version.filter(|_| replace < if kind.status { 4 } else { 3 }) {
            metadata["resourceVersion"] = version.into();
        }
        let object = kind.object(metadata, self.rng.u8(..3));
        let body = odd::odd(kind, object.clone(), &mut self.rng);
        let path = Self::path(kind, &target);
        let op = match replace {
            0..3 => self.send("replace odd", kind, "PUT", path, body),
            3 if kind.status => self.send(
                "replace odd status",
                kind,
                "PUT",
                format!("{path}/status"),
                body,
            ),
            4..6 => {
                let mut body = body;
                if let Some(fields) = body.as_object_mut() {
                    fields.remove("apiVersion");
                    fields.remove("kind");
                    fields.remove("metadata");
                }
                let media = self.pick(&[
                    "application/merge-patch+json",
                    "application/strategic-merge-patch+json",
                ]);
                let op = self.send("patch odd", kind, "PATCH", path, body);
                op.media = Some(media.to_owned());
                op
            }
            6 => {
                let (place, value) = match kind.plural {
                    "devices" => ("/spec", body["spec"].clone()),
                    _ => ("/nope", json!({ "a": 1 })),
                };
                let body = json!([{ "op": "add", "path": place, "value": value, "odd": 1 }]);
                let op = self.send("patch odd", kind, "PATCH", path, body);
                op.media = Some("application/json-patch+json".to_owned());
                op
            }
            _ => {
                let collection = kind.collection(Some(target.namespace));
                self.send("create odd", kind, "POST", collection, body)
            }
        };
        if !strict.is_empty() {
            op.query.insert("fieldValidation".into(), strict.into());
        }
        self.touch(kind, target);
    }

    /// A definition, good or not, that is only tried.
    fn define(&mut self) {
        let definition = odd::definition(&mut self.rng);
        let id = u32::try_from(self.ops.len()).unwrap_or_default();
        self.ops.push(Op {
            id,
            label: "define customresourcedefinitions".to_owned(),
            method: "POST".to_owned(),
            path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
            query: BTreeMap::from([("dryRun".to_owned(), "All".to_owned())]),
            media: Some(JSON.to_owned()),
            body: Some(definition),
        });
    }

    fn even(&mut self, kind: &Kind) {
        match self.rng.u8(..100) {
            0..25 => self.create(kind),
            25..33 => self.get(kind),
            33..43 => self.list(kind),
            43..58 => self.replace(kind),
            58..76 => self.patch(kind),
            76..86 => self.delete(kind),
            86..89 => self.delete_collection(kind),
            89..94 => self.watch(kind),
            94 => self.define(),
            95..98 => self.wrong_body(kind),
            _ => self.scale(kind),
        }
    }

    fn chance(&mut self, percent: u8) -> bool {
        self.rng.u8(..100) < percent
    }

    fn pick(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.rng.usize(..texts.len())]
    }

    fn target(&mut self, kind: &Kind) -> Target {
        if !kind.namespaced {
            let name = format!("${{run}}-{}", self.pick(&["x", "y", "z"]));
            return Target {
                namespace: "",
                name,
            };
        }
        let namespace = if self.chance(80) {
            "${run}-a"
        } else {
            "${run}-b"
        };
        let name = self.pick(&["x", "y", "z"]).to_owned();
        Target { namespace, name }
    }

    fn path(kind: &Kind, target: &Target) -> String {
        format!(
            "{}/{}",
            kind.collection(Some(target.namespace)),
            target.name
        )
    }

    fn push(&mut self, verb: &str, kind: &Kind, method: &str, path: String) -> &mut Op {
        let id = u32::try_from(self.ops.len()).unwrap_or_default();
        self.ops.push(Op {
            id,
            label: format!("{verb} {}", kind.plural),
            method: method.to_owned(),
            path,
            query: BTreeMap::new(),
            media: None,
            body: None,
        });
        let last = self.ops.len() - 1;
        &mut self.ops[last]
    }

    fn send(
        &mut self,
        verb: &str,
        kind: &Kind,
        method: &str,
        path: String,
        body: Value,
    ) -> &mut Op {
        let op = self.push(verb, kind, method, path);
        op.media = Some(JSON.to_owned());
        op.body = Some(body);
        op
    }

    fn touch(&mut self, kind: &Kind, target: Target) {
        if let (Some(op), Some(kind)) = (
            self.ops.last(),
            KINDS.iter().find(|k| k.plural == kind.plural),
        ) {
            self.touched.push((op.id, kind.plural, target));
        }
    }

    /// A symbol of an earlier answer about the object: the newest mostly, else any.
    fn symbol(&mut self, what: &str, kind: &Kind, target: &Target) -> Option<String> {
        let fits = |(_, plural, touched): &&(u32, &'static str, Target)| {
            *plural == kind.plural && touched == target
        };
        let ids: Vec<u32> = self
            .touched
            .iter()
            .filter(fits)
            .map(|(id, ..)| *id)
            .collect();
        let newest = *ids.last()?;
        let id = if self.chance(70) {
            newest
        } else {
            ids[self.rng.usize(..ids.len())]
        };
        Some(format!("${{{what}:{id}}}"))
    }

    fn metadata(&mut self, kind: &Kind, target: &Target) -> Value {
        let mut metadata = json!({ "name": target.name });
        if kind.namespaced {
            metadata["namespace"] = target.namespace.into();
        }
        if !kind.namespaced {
            metadata["labels"] = json!({ "run": "${run}" });
        }
        if self.chance(40) {
            metadata["labels"]["app"] = self.pick(&["one", "two"]).into();
        }
        if self.chance(20) {
            metadata["annotations"] = json!({ "note": self.pick(&["p", "q"]) });
        }
        if self.chance(20) {
            metadata["finalizers"] = self.finalizers();
        }
        if self.chance(8) {
            metadata["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
                "uid": "11111111-2222-4333-8444-555555555555" }]);
        }
        metadata
    }

    fn finalizers(&mut self) -> Value {
        match self.rng.u8(..10) {
            0..5 => json!(["parity.example/a"]),
            5..8 => json!(["parity.example/a", "parity.example/b"]),
            _ => json!([]),
        }
    }

    fn create(&mut self, kind: &Kind) {
        let target = self.target(kind);
        let mut metadata = self.metadata(kind, &target);
        match self.rng.u8(..20) {
            0..2 => {
                // Each with a beginning of its own, so that the order of names is the same on both servers.
                metadata["generateName"] = format!("{}{}-", target.name, self.ops.len()).into();
                if let Some(fields) = metadata.as_object_mut() {
                    fields.remove("name");
                }
            }
            2 => metadata["resourceVersion"] = "5".into(),
            4 => metadata["finalizers"] = json!(["foreground", "noslash"]),
            3 => metadata["uid"] = "99999999-2222-4333-8444-555555555555".into(),
            _ => {}
        }
        let body = kind.object(metadata, self.rng.u8(..3));
        let dry = self.chance(10);
        let manager = self.chance(10);
        let op = self.send(
            "create",
            kind,
            "POST",
            kind.collection(Some(target.namespace)),
            body,
        );
        if dry {
            op.query.insert("dryRun".into(), "All".into());
        }
        if manager {
            op.query.insert("fieldManager".into(), "m".into());
        }
        self.touch(kind, target);
    }

    fn get(&mut self, kind: &Kind) {
        let target = self.target(kind);
        let status = kind.status && self.chance(20);
        let zero = self.chance(20);
        let path = Self::path(kind, &target);
        let path = if status {
            format!("{path}/status")
        } else {
            path
        };
        let op = self.push(if status { "get status" } else { "get" }, kind, "GET", path);
        if zero {
            op.query.insert("resourceVersion".into(), "0".into());
        }
        self.touch(kind, target);
    }

    /// Selectors; those of cluster-scoped kinds keep to this play's objects.
    fn select(&mut self, kind: &Kind, query: &mut BTreeMap<String, String>) {
        let mut labels = Vec::new();
        if !kind.namespaced {
            labels.push("run=${run}");
        }
        if self.chance(30) {
            labels.push(self.pick(&[
                "app=one",
                "app!=one",
                "app in (one,two)",
                "!app",
                "app",
                "app==",
            ]));
        }
        if !labels.is_empty() {
            query.insert("labelSelector".into(), labels.join(","));
        }
        if self.chance(15) {
            let field = self.pick(&[
                "metadata.name=x",
                "metadata.name!=x",
                "metadata.namespace=${run}-a",
                "spec.nope=x",
            ]);
            query.insert("fieldSelector".into(), field.into());
        }
    }

    fn list(&mut self, kind: &Kind) {
        let namespace = self.target(kind).namespace;
        let path = kind.collection(Some(namespace));
        let mut query = BTreeMap::new();
        self.select(kind, &mut query);
        let earlier: Vec<u32> = self
            .lists
            .iter()
            .filter(|(_, of)| *of == path)
            .map(|(id, _)| *id)
            .collect();
        if self.chance(50) {
            query.insert("limit".into(), self.pick(&["1", "2", "500"]).into());
        }
        if let Some(id) = self.rng.choice(&earlier).copied() {
            match self.rng.u8(..10) {
                0..4 => {
                    query.insert("continue".into(), format!("${{continue:{id}}}"));
                }
                4..6 => {
                    query.insert("resourceVersion".into(), format!("${{rv:{id}}}"));
                }
                _ => {}
            }
        }
        if self.chance(10) {
            query.insert("resourceVersion".into(), "0".into());
        }
        if self.chance(if query.contains_key("resourceVersion") {
            70
        } else {
            5
        }) {
            let rule = self.pick(&["Exact", "NotOlderThan", "Nonsense"]);
            query.insert("resourceVersionMatch".into(), rule.into());
        }
        let cached = query.contains_key("resourceVersion")
            && query
                .get("resourceVersionMatch")
                .is_none_or(|rule| rule != "Exact");
        let verb = if cached { "list cached" } else { "list" };
        let op = self.push(verb, kind, "GET", path.clone());
        op.query = query;
        let id = op.id;
        // The version of a list from a cache is of its time: nothing that follows may depend on it.
        if !cached {
            self.lists.push((id, path));
        }
    }

    fn replace(&mut self, kind: &Kind) {
        let target = self.target(kind);
        let mut metadata = self.metadata(kind, &target);
        if self.chance(75)
            && let Some(version) = self.symbol("rv", kind, &target)
        {
            metadata["resourceVersion"] = version.into();
        }
        if self.chance(20) {
            if let Some(uid) = self.symbol("uid", kind, &target) {
                metadata["uid"] = uid.into();
            }
        } else if self.chance(5) {
            metadata["uid"] = "99999999-2222-4333-8444-555555555555".into();
        }
        let status = kind.status && self.chance(35);
        let body = kind.object(metadata, self.rng.u8(..3));
        let path = Self::path(kind, &target);
        let (verb, path) = if status {
            ("replace status", format!("{path}/status"))
        } else {
            ("replace", path)
        };
        let dry = self.chance(8);
        let op = self.send(verb, kind, "PUT", path, body);
        if dry {
            op.query.insert("dryRun".into(), "All".into());
        }
        self.touch(kind, target);
    }

    fn merge(&mut self, kind: &Kind, target: &Target) -> Value {
        match self.rng.u8(..12) {
            0..3 => (kind.content)(self.rng.u8(..3)),
            3 => json!({ "metadata": { "labels": { "app": self.pick(&["one", "two"]) } } }),
            4 => json!({ "metadata": { "labels": { "app": null } } }),
            5 => json!({ "metadata": { "annotations": { "note": self.pick(&["p", "q"]) } } }),
            6..8 => json!({ "metadata": { "finalizers": self.finalizers() } }),
            8 => json!({ "metadata": { "finalizers": null } }),
            9 => {
                let version = self
                    .symbol("rv", kind, target)
                    .unwrap_or_else(|| "7".into());
                json!({ "metadata": { "resourceVersion": version, "annotations": { "note": "r" } } })
            }
            10 => {
                let uid = self
                    .symbol("uid", kind, target)
                    .unwrap_or_else(|| "no-such".into());
                json!({ "metadata": { "uid": uid, "annotations": { "note": "s" } } })
            }
            _ => json!({}),
        }
    }

    fn operations(&mut self) -> Value {
        match self.rng.u8(..6) {
            0 => json!([{ "op": "add", "path": "/metadata/labels", "value": { "app": "one" } }]),
            1 => json!([{ "op": "test", "path": "/metadata/labels/app", "value": "one" },
                        { "op": "remove", "path": "/metadata/labels/app" }]),
            2 => {
                json!([{ "op": "add", "path": "/metadata/finalizers", "value": ["parity.example/a"] }])
            }
            3 => json!([{ "op": "remove", "path": "/metadata/finalizers" }]),
            4 => json!([{ "op": "replace", "path": "/metadata/annotations/note", "value": "z" }]),
            _ => json!([]),
        }
    }

    fn patch(&mut self, kind: &Kind) {
        let target = self.target(kind);
        let status = kind.status && self.chance(25);
        let (verb, media, body) = match self.rng.u8(..10) {
            0..4 => (
                "merge-patch",
                "application/merge-patch+json",
                self.merge(kind, &target),
            ),
            4..6 => (
                "json-patch",
                "application/json-patch+json",
                self.operations(),
            ),
            6..8 => (
                "strategic-patch",
                "application/strategic-merge-patch+json",
                self.merge(kind, &target),
            ),
            _ => {
                let metadata = self.metadata(kind, &target);
                (
                    "apply",
                    "application/apply-patch+yaml",
                    kind.object(metadata, self.rng.u8(..3)),
                )
            }
        };
        let path = Self::path(kind, &target);
        let (verb, path) = if status {
            (format!("{verb} status"), format!("{path}/status"))
        } else {
            (verb.to_owned(), path)
        };
        let dry = self.chance(8);
        let unnamed = self.chance(10);
        let force = self.chance(40);
        let op = self.send(&verb, kind, "PATCH", path, body);
        op.media = Some(media.to_owned());
        if dry {
            op.query.insert("dryRun".into(), "All".into());
        }
        if verb.starts_with("apply") {
            if !unnamed {
                op.query.insert("fieldManager".into(), "applier".into());
            }
            if force {
                op.query.insert("force".into(), "true".into());
            }
        }
        self.touch(kind, target);
    }

    fn delete(&mut self, kind: &Kind) {
        let target = self.target(kind);
        let mut options = json!({});
        let mut query = BTreeMap::new();
        if self.chance(25)
            && let Some(uid) = self.symbol("uid", kind, &target)
        {
            options["preconditions"]["uid"] = uid.into();
        }
        if self.chance(25)
            && let Some(version) = self.symbol("rv", kind, &target)
        {
            options["preconditions"]["resourceVersion"] = version.into();
        }
        // Foreground and orphan wait for the garbage collector, which no server here has.
        if self.chance(25) {
            options["gracePeriodSeconds"] = self.rng.u8(..3).into();
        }
        if self.chance(30) {
            options["propagationPolicy"] = self.pick(&["Background", "Nonsense"]).into();
        }
        if self.chance(8) {
            options["dryRun"] = json!(["All"]);
        }
        if self.chance(8) {
            query.insert("dryRun".into(), self.pick(&["All", "Nonsense"]).into());
        }
        if self.chance(8) {
            query.insert(
                "propagationPolicy".into(),
                self.pick(&["Background", "Nonsense"]).into(),
            );
        }
        let path = Self::path(kind, &target);
        let op = if options == json!({}) {
            self.push("delete", kind, "DELETE", path)
        } else {
            self.send("delete", kind, "DELETE", path, options)
        };
        op.query = query;
        self.touch(kind, target);
    }

    fn delete_collection(&mut self, kind: &Kind) {
        let namespace = self.target(kind).namespace;
        let mut query = BTreeMap::new();
        self.select(kind, &mut query);
        let dry = self.chance(20);
        let path = kind.collection(Some(namespace));
        let op = self.push("deletecollection", kind, "DELETE", path);
        op.query = query;
        if dry {
            op.query.insert("dryRun".into(), "All".into());
        }
    }

    fn watch(&mut self, kind: &Kind) {
        let namespace = self.target(kind).namespace;
        let path = kind.collection(Some(namespace));
        let mut query = BTreeMap::from([("watch".to_owned(), "1".to_owned())]);
        self.select(kind, &mut query);
        let lists = self.lists.iter().map(|(id, _)| *id);
        let earlier: Vec<u32> = lists
            .chain(self.touched.iter().map(|(id, ..)| *id))
            .collect();
        match (self.rng.u8(..10), self.rng.choice(&earlier).copied()) {
            (0..7, Some(id)) => {
                query.insert("resourceVersion".into(), format!("${{rv:{id}}}"));
            }
            (7, _) => {
                query.insert("resourceVersion".into(), "0".into());
            }
            _ => {
                query.insert("sendInitialEvents".into(), "true".into());
                query.insert("allowWatchBookmarks".into(), "true".into());
                query.insert("resourceVersionMatch".into(), "NotOlderThan".into());
            }
        }
        self.push("watch", kind, "GET", path).query = query;
    }

    fn wrong_body(&mut self, kind: &Kind) {
        let target = self.target(kind);
        let good = kind.object(json!({ "name": target.name }), 0);
        let body = match self.rng.u8(..12) {
            7 => {
                let mut body = good;
                body["metadata"]["labels"] = json!({ "-a": "b c" });
                body
            }
            8 => {
                let mut body = good;
                body["metadata"]["annotations"] = json!({ "a/b/c": "" });
                body["metadata"]["finalizers"] = json!(["orphan", "foregroundDeletion"]);
                body
            }
            9 => {
                let mut body = good;
                body["metadata"]["ownerReferences"] =
                    json!([{ "apiVersion": "", "kind": "", "name": "", "uid": "" }]);
                body
            }
            10 => {
                let mut body = good;
                body["metadata"]["generateName"] = "-A-".into();
                body["metadata"]["finalizers"] = json!(["a b", "/"]);
                body
            }
            11 => {
                let mut body = good;
                body["metadata"]["deletionTimestamp"] = "2020-01-02T03:04:05Z".into();
                body["metadata"]["creationTimestamp"] = "2020-01-02T03:04:05Z".into();
                body["metadata"]["generation"] = 7.into();
                body["metadata"]["selfLink"] = "/x".into();
                body
            }
            0 => json!("{"),
            1 => json!(""),
            2 => json!([]),
            3 => {
                json!({ "kind": "Nonsense", "apiVersion": "v1", "metadata": { "name": target.name } })
            }
            4 => {
                let mut body = good;
                body["metadata"]["namespace"] = "elsewhere".into();
                body
            }
            5 => {
                let mut body = good;
                body["metadata"]["name"] = "Not_A_Name".into();
                body
            }
            _ => {
                let mut body = good;
                body["metadata"]["labels"] = json!({ "a": 1 });
                body
            }
        };
        if self.chance(70) {
            self.send(
                "create wrong",
                kind,
                "POST",
                kind.collection(Some(target.namespace)),
                body,
            );
        } else {
            let mut body = body;
            // Whether an update looks at it is each kind's own affair.
            let metadata = body.get_mut("metadata").and_then(Value::as_object_mut);
            if let Some(metadata) = metadata {
                metadata.remove("generateName");
            }
            self.send(
                "replace wrong",
                kind,
                "PUT",
                Self::path(kind, &target),
                body,
            );
        }
    }

    fn scale(&mut self, kind: &Kind) {
        let target = self.target(kind);
        let path = format!("{}/scale", Self::path(kind, &target));
        if kind.scale && self.chance(50) {
            let replicas = self.rng.u8(..4);
            let body = json!({ "spec": { "replicas": replicas } });
            let op = self.send("merge-patch scale", kind, "PATCH", path, body);
            op.media = Some("application/merge-patch+json".to_owned());
        } else {
            self.push("get scale", kind, "GET", path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_always_the_same_sequence_and_needs_only_what_came_before() {
        for seed in 0..300 {
            let ops = generate(seed);
            assert_eq!(ops, generate(seed));
            assert!((1..=LONGEST).contains(&ops.len()));
            for op in &ops {
                assert!(op.needs().iter().all(|id| *id < op.id), "{op:?}");
            }
        }
    }
}
