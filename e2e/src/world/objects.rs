//! The objects of the scenarios, made at random: pods with many kinds of fields, and a custom resource.

use std::collections::BTreeMap;

use fastrand::Rng;
use informer::{Resource, StaticResource, object};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Kind;

/// The values of the label `app`.
const APPS: [&str; 5] = ["web", "api", "db", "cache", "batch"];
/// The values of the annotation `demo.example/tags`, of which an object has several.
const TAGS: [&str; 4] = ["alpha", "beta", "gamma", "δ"];
/// Texts that are easily broken between bytes and strings.
const TEXTS: [&str; 5] = [
    "plain",
    "zwölf Boxkämpfer 🥊",
    "quotes \" and \\ and \u{7f}",
    "line\nbreak\ttab",
    "",
];

/// A custom resource as a user writes it: a serde struct, and `object!`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Widget {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    spec: WidgetSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<WidgetStatus>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WidgetSpec {
    size: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<Part>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<BTreeMap<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Part {
    name: String,
    weight: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WidgetStatus {
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<i64>,
}

object!(Widget);

impl StaticResource for Widget {
    fn resource() -> Resource {
        Kind::Widgets.resource()
    }
}

/// The definition of widgets, with a schema and a status of its own.
pub(super) fn widget_definition() -> Value {
    let part = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "weight": { "type": "number" } },
    });
    let spec = json!({
        "type": "object",
        "properties": {
            "size": { "type": "integer" },
            "note": { "type": "string" },
            "parts": { "type": "array", "items": part },
            "settings": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    });
    let status = json!({
        "type": "object",
        "properties": { "ready": { "type": "boolean" }, "turns": { "type": "integer" } },
    });
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.demo.example" },
        "spec": {
            "group": "demo.example",
            "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"] },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": schema },
                "subresources": { "status": {} },
            }],
        },
    })
}

/// An object of a kind, to be created.
pub(crate) fn new_object(rng: &mut Rng, kind: Kind, name: &str) -> Value {
    match kind {
        Kind::Pods => pod(rng, name),
        Kind::Widgets => widget(rng, name),
    }
}

/// Labels and annotations: an app, often; none to all of the tags.
pub(super) fn metadata(rng: &mut Rng, name: &str) -> Value {
    let mut labels = json!({ "round": rng.u32(..1000).to_string() });
    if rng.u8(..10) > 0 {
        labels["app"] = json!(APPS[rng.usize(..APPS.len())]);
    }
    let tags: Vec<&str> = TAGS.iter().copied().filter(|_| rng.bool()).collect();
    json!({
        "name": name,
        "labels": labels,
        "annotations": {
            "demo.example/tags": tags.join(","),
            "demo.example/text": TEXTS[rng.usize(..TEXTS.len())],
        },
    })
}

/// A pod to be created. About every second one is bound to a node.
fn pod(rng: &mut Rng, name: &str) -> Value {
    let containers: Vec<Value> = (0..rng.usize(1..4))
        .map(|number| container(rng, number))
        .collect();
    let mut spec = json!({
        "containers": containers,
        "volumes": [
            { "name": "scratch", "emptyDir": {} },
            { "name": "more", "emptyDir": { "sizeLimit": "1536Mi" } },
        ],
        "tolerations": [{ "key": "demo", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30 }],
        "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "disk", "operator": "In", "values": ["ssd"] }] }],
        } } },
    });
    if rng.bool() {
        spec["nodeName"] = json!(format!("node-{}", rng.u8(..3)));
    }
    json!({ "metadata": metadata(rng, name), "spec": spec })
}

fn container(rng: &mut Rng, number: usize) -> Value {
    json!({
        "name": format!("c{number}"),
        "image": format!("registry.example/app:{}", rng.u16(..)),
        "args": ["--text", TEXTS[rng.usize(..TEXTS.len())]],
        "env": [
            { "name": "TEXT", "value": TEXTS[rng.usize(..TEXTS.len())] },
            { "name": "NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
        ],
        "ports": [{ "name": "http", "containerPort": rng.u16(1024..) }],
        "readinessProbe": { "httpGet": { "path": "/", "port": if rng.bool() { json!("http") } else { json!(8080) } } },
        "resources": {
            "requests": { "cpu": format!("{}m", rng.u16(1..2000)), "memory": "64Mi" },
            "limits": { "memory": "0.5Gi" },
        },
        "volumeMounts": [{ "name": "scratch", "mountPath": "/scratch" }],
    })
}

/// A widget to be created.
fn widget(rng: &mut Rng, name: &str) -> Value {
    let parts: Vec<Value> = (0..rng.usize(..4))
        .map(|number| json!({ "name": format!("p{number}"), "weight": f64::from(rng.u16(..)) + 0.125 }))
        .collect();
    let mut spec = json!({ "size": rng.i64(..), "parts": parts });
    if rng.bool() {
        spec["note"] = json!(TEXTS[rng.usize(..TEXTS.len())]);
    }
    if rng.bool() {
        spec["settings"] = json!({
            "deep": { "er": [1, -0.25, null, true, "ö", { "": "empty key" }] },
            "tiny": 1e-9,
        });
    }
    json!({
        "apiVersion": "demo.example/v1",
        "kind": "Widget",
        "metadata": metadata(rng, name),
        "spec": spec,
    })
}
