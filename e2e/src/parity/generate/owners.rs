//! Sequences about the owners of fields: applies by several managers, mixed with updates and patches of every type.

use serde_json::{Map, Value, json};

use super::{Making, Target};
use crate::parity::kinds::Kind;

/// The kinds whose objects can be applied in parts.
const APPLIED: [&str; 7] = [
    "charms",
    "clusterroles",
    "configmaps",
    "deployments",
    "gadgets",
    "services",
    "trinkets",
];
const APPLY: &str = "application/apply-patch+yaml";
const UPDATERS: [&str; 2] = ["u1", "u2"];
const OWNER: &str = "11111111-2222-4333-8444-555555555555";

/// Whether there are sequences about the owners of a kind.
pub(super) fn is_applied(kind: &Kind) -> bool {
    APPLIED.contains(&kind.plural)
}

impl Making {
    /// One operation of a sequence about one object's owners; the first creates it.
    pub(super) fn owners_step(&mut self, kind: &Kind) {
        let target = Target {
            namespace: if kind.namespaced { "${run}-a" } else { "" },
            name: if kind.namespaced { "x" } else { "${run}-x" }.to_owned(),
        };
        if self.ops.is_empty() {
            return self.first(kind, target);
        }
        match self.rng.u8(..100) {
            0..45 => self.apply_part(kind, target),
            45..55 => self.apply_whole(kind, target),
            55..65 => self.update_owned(kind, target),
            65..85 => self.patch_owned(kind, target),
            85..90 => self.apply_status(kind, target),
            90..95 => self.apply_wrong(kind, target),
            _ => {
                self.push("get", kind, "GET", Self::path(kind, &target));
                self.touch(kind, target);
            }
        }
    }

    fn first(&mut self, kind: &Kind, target: Target) {
        if self.chance(60) {
            return self.apply_whole(kind, target);
        }
        let body = self.whole(kind, &target);
        let path = kind.collection(Some(target.namespace));
        let manager = self.chance(50);
        let op = self.send("create", kind, "POST", path, body);
        if manager {
            op.query.insert("fieldManager".into(), "u1".into());
        }
        self.touch(kind, target);
    }

    fn send_apply(&mut self, verb: &str, kind: &Kind, target: Target, body: Value, manager: &str) {
        let mut path = Self::path(kind, &target);
        if verb == "apply status" {
            path.push_str("/status");
        }
        let force = self.chance(30);
        // The first makes the object.
        let dry = !self.ops.is_empty() && self.chance(6);
        let op = self.send(verb, kind, "PATCH", path, body);
        op.media = Some(APPLY.to_owned());
        op.query.insert("fieldManager".into(), manager.into());
        if force {
            op.query.insert("force".into(), "true".into());
        }
        if dry {
            op.query.insert("dryRun".into(), "All".into());
        }
        self.touch(kind, target);
    }

    fn apply_whole(&mut self, kind: &Kind, target: Target) {
        let body = self.whole(kind, &target);
        self.send_apply("apply", kind, target, body, "m1");
    }

    fn apply_part(&mut self, kind: &Kind, target: Target) {
        let mut metadata = json!({ "name": target.name });
        self.mark(&mut metadata);
        let mut body = self.part(kind);
        if self.chance(4) {
            let version = self.symbol("rv", kind, &target);
            metadata["resourceVersion"] = version.unwrap_or_else(|| "5".into()).into();
        }
        if self.chance(3) {
            let uid = self.symbol("uid", kind, &target);
            metadata["uid"] = uid.unwrap_or_else(|| OWNER.into()).into();
        }
        body["metadata"] = metadata;
        body["apiVersion"] = kind.api_version.into();
        body["kind"] = kind.kind.into();
        let manager = self.pick(&["m2", "m2", "m3", "kubectl"]);
        self.send_apply("apply", kind, target, body, manager);
    }

    fn apply_status(&mut self, kind: &Kind, target: Target) {
        if !matches!(kind.plural, "gadgets" | "charms") {
            return self.apply_part(kind, target);
        }
        let mut status = json!({});
        if self.chance(60) {
            status["seen"] = self.rng.u8(..3).into();
        }
        if self.chance(60) {
            status["parts"] = self.parts();
        }
        let body = json!({ "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": { "name": target.name }, "status": status });
        let manager = self.pick(&["m1", "m2"]);
        self.send_apply("apply status", kind, target, body, manager);
    }

    fn apply_wrong(&mut self, kind: &Kind, target: Target) {
        let mut body = json!({ "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": { "name": target.name } });
        match self.rng.u8(..8) {
            0 => body["metadata"]["managedFields"] = json!([]),
            1 => {
                body["metadata"]["managedFields"] =
                    json!([{ "manager": "m", "operation": "Apply", "apiVersion": "v1" }]);
            }
            2 => body["apiVersion"] = "v7".into(),
            3 => {
                body["kind"] = Value::Null;
            }
            4 => body["metadata"]["labels"] = json!({ "a": { "b": "c" } }),
            5 => body["metadata"]["finalizers"] = json!(["e.example/a", "e.example/a"]),
            6 => body["metadata"]["ownerReferences"] = json!(["pod"]),
            _ => body["metadata"]["name"] = "other".into(),
        }
        self.send_apply("apply wrong", kind, target, body, "m2");
    }

    fn update_owned(&mut self, kind: &Kind, target: Target) {
        let mut body = self.whole(kind, &target);
        if kind.api_version.starts_with("parity") || self.chance(30) {
            let version = self.symbol("rv", kind, &target);
            body["metadata"]["resourceVersion"] = version.unwrap_or_default().into();
        }
        match self.rng.u8(..20) {
            0 => body["metadata"]["managedFields"] = json!([]),
            1 => body["metadata"]["managedFields"] = json!([{}]),
            _ => {}
        }
        let manager = self.pick(&UPDATERS);
        let op = self.send("replace", kind, "PUT", Self::path(kind, &target), body);
        op.query.insert("fieldManager".into(), manager.into());
        self.touch(kind, target);
    }

    fn patch_owned(&mut self, kind: &Kind, target: Target) {
        let mut body = self.part(kind);
        let mut metadata = json!({});
        self.mark(&mut metadata);
        if metadata != json!({}) {
            body["metadata"] = metadata;
        }
        let custom = kind.api_version.starts_with("parity");
        let (verb, media) = match self.rng.u8(..10) {
            0..6 if !custom => {
                self.direct(kind, &mut body);
                ("strategic-patch", "application/strategic-merge-patch+json")
            }
            9 => {
                body = json!([{ "op": "add", "path": "/metadata/annotations", "value": { "p": "1" } }]);
                ("json-patch", "application/json-patch+json")
            }
            // A merge patch would replace lists with half an entry.
            _ => {
                if kind.plural == "deployments" {
                    let spec = body.get_mut("spec").and_then(Value::as_object_mut);
                    spec.map(|spec| spec.remove("template"));
                }
                ("merge-patch", "application/merge-patch+json")
            }
        };
        if self.chance(5) {
            body = json!({ "metadata": { "managedFields": [{}] } });
            if verb == "json-patch" {
                body =
                    json!([{ "op": "replace", "path": "/metadata/managedFields", "value": [{}] }]);
            }
        }
        let manager = self.pick(&UPDATERS);
        let op = self.send(verb, kind, "PATCH", Self::path(kind, &target), body);
        op.media = Some(media.to_owned());
        op.query.insert("fieldManager".into(), manager.into());
        self.touch(kind, target);
    }

    /// Adds directives of strategic patches.
    fn direct(&mut self, kind: &Kind, body: &mut Value) {
        match (kind.plural, self.rng.u8(..6)) {
            ("deployments", 0) => {
                let env =
                    json!([{ "name": "A", "$patch": "delete" }, { "name": "D", "value": "1" }]);
                body["spec"]["template"]["spec"]["containers"] =
                    json!([{ "name": "c", "env": env }]);
            }
            ("deployments", 1) => {
                let order = json!([{ "name": "C" }, { "name": "A" }]);
                body["spec"]["template"]["spec"]["containers"] = json!([{ "name": "c",
                    "$setElementOrder/env": order, "env": [{ "name": "C", "value": "5" }] }]);
            }
            ("deployments", 2) => {
                body["spec"]["template"]["spec"]["containers"] = json!([{ "env": [] }]);
            }
            ("configmaps", 0) => body["data"] = json!({ "$patch": "replace", "z": "1" }),
            ("configmaps", 1) => {
                body["data"] = json!({ "$retainKeys": ["k1"], "k1": "v" });
            }
            ("configmaps", 2) => body["data"] = json!({ "$retainKeys": ["k1"], "k2": "v" }),
            ("configmaps", 3) => body["data"] = json!({ "$patch": "nonsense" }),
            ("services", 0) => {
                body["spec"]["ports"] = json!([{ "port": 80, "$patch": "delete" }]);
            }
            ("services", 1) => {
                body["spec"]["ports"] = json!([{ "$patch": "replace" },
                    { "name": "p82", "port": 82, "protocol": "TCP", "targetPort": 82 }]);
            }
            (_, 4) => {
                body["metadata"]["$deleteFromPrimitiveList/finalizers"] = json!(["e.example/a"]);
                // Of what a patch both adds and deletes, the real server does either first, as its maps are ordered.
                if let Some(added) = body["metadata"]["finalizers"].as_array_mut() {
                    added.retain(|finalizer| finalizer != "e.example/a");
                }
            }
            _ => {}
        }
    }

    /// Labels, annotations, finalizers and owners.
    fn mark(&mut self, metadata: &mut Value) {
        for (field, names, percent) in [
            ("labels", &["a", "b", "c"][..], 40),
            ("annotations", &["p", "q"], 20),
        ] {
            let texts = self.texts(names);
            if texts != json!({}) && self.chance(percent) {
                metadata[field] = texts;
            }
        }
        if self.chance(15) {
            let mut finalizers = vec!["e.example/a", "e.example/b"];
            if self.chance(50) {
                finalizers.swap(0, 1);
            }
            finalizers.truncate(self.rng.usize(1..=2));
            metadata["finalizers"] = finalizers.into();
        }
        if self.chance(8) {
            let name = self.pick(&["o1", "o2"]);
            metadata["ownerReferences"] =
                json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": OWNER }]);
        }
    }

    fn texts(&mut self, names: &[&'static str]) -> Value {
        let mut texts = Map::new();
        for name in names {
            if self.chance(50) {
                texts.insert((*name).to_owned(), self.pick(&["1", "2"]).into());
            }
        }
        texts.into()
    }

    fn parts(&mut self) -> Value {
        let mut parts = Vec::new();
        for name in ["a", "b", "c"] {
            if self.chance(50) {
                let mut part = json!({ "name": name });
                if self.chance(60) {
                    part["size"] = self.rng.u8(..2).into();
                }
                if self.chance(30) {
                    part["more"] = self.texts(&["x", "y"]);
                }
                parts.push(part);
            }
        }
        self.rng.shuffle(&mut parts);
        parts.into()
    }

    fn env(&mut self) -> Value {
        let mut env = Vec::new();
        for name in ["A", "B", "C"] {
            if self.chance(50) {
                env.push(json!({ "name": name, "value": self.pick(&["1", "2"]) }));
            }
        }
        self.rng.shuffle(&mut env);
        env.into()
    }

    fn ports(&mut self, from: &[u16]) -> Value {
        let mut ports = Vec::new();
        for port in from {
            if self.chance(50) {
                ports.push(json!({ "name": format!("p{port}"), "port": port, "protocol": "TCP", "targetPort": port }));
            }
        }
        if ports.is_empty() {
            ports.push(json!({ "name": "p80", "port": 80, "protocol": "TCP", "targetPort": 80 }));
        }
        self.rng.shuffle(&mut ports);
        ports.into()
    }

    /// A part of an object's content, without what it needs to exist.
    fn part(&mut self, kind: &Kind) -> Value {
        let mut part = json!({});
        match kind.plural {
            "configmaps" => {
                if self.chance(80) {
                    part["data"] = self.texts(&["k1", "k2", "k3"]);
                }
            }
            "clusterroles" => {
                // Without rules a real server writes null.
                {
                    let verb = self.pick(&["get", "list"]);
                    part["rules"] =
                        json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": [verb] }]);
                }
            }
            "services" => {
                if self.chance(70) {
                    part["spec"]["ports"] = self.ports(&[80, 81, 82]);
                }
                if self.chance(30) {
                    part["spec"]["selector"] = self.texts(&["s", "t"]);
                }
            }
            "deployments" => {
                if self.chance(30) {
                    part["spec"]["minReadySeconds"] = self.rng.u8(1..4).into();
                }
                if self.chance(60) {
                    let mut container = json!({ "name": "c" });
                    if self.chance(80) {
                        container["env"] = self.env();
                    }
                    if self.chance(30) {
                        container["args"] = json!([self.pick(&["x", "y"])]);
                    }
                    if self.chance(30) {
                        container["ports"] = json!([{ "containerPort": 80, "protocol": "TCP" },
                            { "containerPort": self.rng.u16(81..83), "protocol": "UDP" }]);
                    }
                    part["spec"]["template"]["spec"]["containers"] = json!([container]);
                }
                if self.chance(20) {
                    part["spec"]["template"]["spec"]["nodeSelector"] = self.texts(&["n", "m"]);
                }
            }
            _ => {
                if self.chance(50) {
                    part["spec"]["size"] = self.rng.u8(..3).into();
                }
                if self.chance(50) {
                    part["spec"]["parts"] = self.parts();
                }
                if self.chance(40) {
                    let mut tags = vec!["x", "y", "z"];
                    self.rng.shuffle(&mut tags);
                    tags.truncate(self.rng.usize(..=3));
                    part["spec"]["tags"] = tags.into();
                }
                if self.chance(40) {
                    part["spec"]["pair"] = self.texts(&["l", "r"]);
                }
            }
        }
        part
    }

    /// A whole object with variations.
    fn whole(&mut self, kind: &Kind, target: &Target) -> Value {
        let mut metadata = json!({ "name": target.name });
        if kind.namespaced {
            metadata["namespace"] = target.namespace.into();
        }
        self.mark(&mut metadata);
        let mut body = kind.object(metadata, self.rng.u8(..2));
        if let Some(fields) = body.as_object_mut().filter(|_| kind.plural != "trinkets") {
            fields.remove("status");
        }
        let part = self.part(kind);
        lay_over(&mut body, part);
        body
    }
}

/// Lays a part over an object; containers by their place.
fn lay_over(body: &mut Value, part: Value) {
    match (body, part) {
        (Value::Object(body), Value::Object(part)) => {
            for (name, value) in part {
                lay_over(body.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(body), Value::Array(part))
            if body.first().is_some_and(|first| first["image"].is_string()) =>
        {
            for (body, part) in body.iter_mut().zip(part) {
                lay_over(body, part);
            }
        }
        (body, part) => *body = part,
    }
}
