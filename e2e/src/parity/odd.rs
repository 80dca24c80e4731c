//! Bodies that a schema does not like: unknown fields, fields that stand twice, values of another type or out of bounds.

use fastrand::Rng;
use serde_json::{Value, json};

use super::kinds::Kind;

/// Changes to a device, each to its own fields of `spec`.
fn device(choice: usize) -> Option<Value> {
    let changes = [
        json!({ "size": 0 }),
        json!({ "size": 101 }),
        json!({ "size": "3" }),
        json!({ "size": null }),
        json!({ "size": 2.0 }),
        json!({ "size": 1.5 }),
        json!({ "mode": "odd" }),
        json!({ "mode": null }),
        json!({ "code": "ABC" }),
        json!({ "name": "too-long" }),
        json!({ "name": "x" }),
        json!({ "name": 7 }),
        json!({ "ratio": 0.3 }),
        json!({ "ratio": 9 }),
        json!({ "ratio": 10 }),
        json!({ "tags": ["a", "a"] }),
        json!({ "tags": ["a", "b", "c", "d"] }),
        json!({ "tags": "a" }),
        json!({ "ports": [{ "number": 1 }, { "number": 1, "protocol": "UDP" }] }),
        json!({ "ports": [{}] }),
        json!({ "ports": [{ "number": 1, "odd": 1 }] }),
        json!({ "ports": [{ "number": 3_000_000_000_u32 }] }),
        json!({ "nested": { "level": "x", "unknown": 1 } }),
        json!({ "nested": { "deep": {} } }),
        json!({ "nested": null }),
        json!({ "labels": { "a": 1 } }),
        json!({ "labels": { "a": "1", "b": "2", "c": "3" } }),
        json!({ "labels": {} }),
        json!({ "amount": true }),
        json!({ "amount": "x" }),
        json!({ "amount": 1.5 }),
        json!({ "any": { "x": { "y": null }, "z": 1.0 } }),
        json!({ "template": {} }),
        json!({ "template": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x", "odd": 1, "labels": { "a": "b" } }, "spec": { "free": 1 } } }),
        json!({ "template": { "apiVersion": 1, "kind": "Pod" } }),
        json!({ "template": { "apiVersion": "v1", "kind": "Pod", "metadata": { "labels": 1 } } }),
        json!({ "when": "yesterday" }),
        json!({ "when": "2026-01-02T03:04:05Z" }),
        json!({ "maybe": null }),
        json!({ "choice": {} }),
        json!({ "choice": { "a": "1", "b": "2" } }),
        json!({ "choice": { "a": 1 } }),
        json!({ "either": 5 }),
        json!({ "either": "abc" }),
        json!({ "either": true }),
        json!({ "never": "bad" }),
        json!({ "every": 3 }),
        json!({ "every": 8 }),
        json!({ "unknown": 1, "other": { "a": 1 } }),
        json!({ "old": "x" }),
        json!({ "list": [[1], ["a"]] }),
        json!({ "list": [null, [2]] }),
    ];
    changes.get(choice % changes.len()).cloned()
}

/// An object of the kind with something odd in it, as a body.
pub(crate) fn odd(kind: &Kind, mut object: Value, rng: &mut Rng) -> Value {
    let unknown = ["nope", "replica", "foo"];
    match (kind.plural, rng.u8(..10)) {
        ("devices", 0..8) => {
            for _ in 0..rng.u8(1..=2) {
                merge(&mut object["spec"], device(rng.usize(..)));
            }
        }
        ("devices", 8) => object["status"] = json!({ "phase": "Odd", "nope": 1, "seen": -1 }),
        (_, 0..2) => object[unknown[rng.usize(..3)]] = json!({ "a": 1 }),
        (_, 2) => object["metadata"]["nope"] = 1.into(),
        (_, 3..5) => {
            // Twice, in one of the fields that most have.
            let field = ["\"metadata\":", "\"name\":", "\"kind\":"][rng.usize(..3)];
            let value = ["{\"name\":\"y\"}", "\"y\"", "\"Twice\""];
            let at = ["\"metadata\":", "\"name\":", "\"kind\":"]
                .iter()
                .position(|known| *known == field)
                .unwrap_or_default();
            let text = object.to_string();
            let twice = format!("{field}{},{field}", value[at]);
            return text.replacen(field, &twice, 1).into();
        }
        (_, 5..7) if object["spec"].is_object() => {
            object["spec"][unknown[rng.usize(..3)]] = json!([1]);
        }
        ("deployments", _) => {
            let values = [json!("3"), json!(1.5), json!(true), json!({}), json!([])];
            object["spec"]["replicas"] = values[rng.usize(..values.len())].clone();
        }
        ("configmaps", _) => {
            let values = [
                json!({ "k": 1 }),
                json!([]),
                json!({ "k": null }),
                json!({}),
            ];
            object["data"] = values[rng.usize(..values.len())].clone();
        }
        ("pods", _) => {
            let values = [json!([{ "name": 1 }]), json!({}), json!("c")];
            object["spec"]["containers"] = values[rng.usize(..values.len())].clone();
        }
        (_, _) => object["metadata"]["labels"] = json!({ "a": "b", "c": null }),
    }
    object
}

fn merge(into: &mut Value, change: Option<Value>) {
    for (name, value) in change.iter().filter_map(Value::as_object).flatten() {
        into[name] = value.clone();
    }
}

/// What a device may hold.
pub(crate) fn content(variant: u8) -> Value {
    match variant % 3 {
        0 => json!({ "spec": { "size": 5 }, "status": { "seen": 0 } }),
        1 => {
            json!({ "spec": { "size": 6, "mode": "manual", "code": "abc", "name": "ab", "ratio": 0.5, "tags": ["a", "b"],
                "ports": [{ "number": 1 }, { "number": 2, "protocol": "UDP" }], "labels": { "a": "b" }, "amount": 3,
                "choice": { "a": "x" }, "either": 3, "every": 5 }, "status": { "phase": "Ready", "seen": 1 } })
        }
        _ => {
            json!({ "spec": { "size": 7, "nested": { "deep": { "flag": true } }, "amount": "10%", "any": { "x": [1, { "y": 2 }] },
                "template": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x" }, "data": { "a": "b" } },
                "maybe": "x", "choice": { "b": "y" }, "list": [[1, 2]] }, "status": { "phase": "Busy", "seen": 2 } })
        }
    }
}

/// A definition with something odd in it, mostly.
pub(crate) fn definition(rng: &mut Rng) -> Value {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "gizmos.${run}.example" },
        "spec": {
            "group": "${run}.example", "scope": "Namespaced",
            "names": { "kind": "Gizmo", "plural": "gizmos" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": { "type": "object" } } } } }],
        },
    });
    let spec = &mut definition["spec"];
    let schema = |schema: Value| json!({ "openAPIV3Schema": schema });
    let version = &mut spec["versions"][0];
    match rng.u8(..20) {
        0 => spec["group"] = "${run}".into(),
        1 => spec["scope"] = "Odd".into(),
        2 => spec["names"]["kind"] = Value::Null,
        3 => version["schema"] = Value::Null,
        4 => {
            let metadata =
                json!({ "type": "object", "properties": { "labels": { "type": "object" } } });
            version["schema"] =
                schema(json!({ "type": "object", "properties": { "metadata": metadata } }));
        }
        5 => version["schema"] = schema(json!({ "type": "string" })),
        6 => {
            version["schema"] =
                schema(json!({ "type": "object", "additionalProperties": { "type": "string" } }))
        }
        7 => {
            version["subresources"] = json!({ "scale": { "specReplicasPath": ".replicas", "statusReplicasPath": ".status.replicas" } });
        }
        8 => spec["names"]["listKind"] = "Gizmo".into(),
        // A good one.
        9..12 => {}
        _ => {
            let fields = fields();
            let field = &fields[rng.usize(..fields.len())];
            let inner = json!({ "type": "object", "properties": { "odd": field } });
            version["schema"] =
                schema(json!({ "type": "object", "properties": { "spec": inner } }));
        }
    }
    definition
}

/// Schemas of a field, some of which no definition may have.
fn fields() -> Vec<Value> {
    let text = json!({ "type": "string" });
    let integer = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    let with = |mut schema: Value, more: Value| {
        merge(&mut schema, Some(more));
        schema
    };
    let list = json!({ "type": "array", "items": text });
    let keyed = |key: Value| {
        json!({ "type": "array", "items": { "type": "object", "properties": { "k": key } },
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] })
    };
    vec![
        json!({ "type": "array" }),
        json!({}),
        json!({ "type": "nonsense" }),
        json!({ "type": "string", "pattern": "^[a-z]+$" }),
        json!({ "type": "string", "default": 1 }),
        json!({ "type": "string", "default": "x", "enum": ["y"] }),
        json!({ "type": "object", "default": { "a": 1 } }),
        with(list.clone(), json!({ "uniqueItems": true })),
        with(list.clone(), json!({ "x-kubernetes-list-type": "odd" })),
        with(list, json!({ "x-kubernetes-list-type": "map" })),
        keyed(text.clone()),
        keyed(json!({ "type": "string", "default": "x" })),
        keyed(json!({ "type": "string", "default": "x", "nullable": true })),
        json!({ "type": "string", "x-kubernetes-list-type": "set" }),
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": false }),
        json!({ "type": "object", "x-kubernetes-embedded-resource": true }),
        json!({ "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true }),
        json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        json!({ "type": "string", "anyOf": [{ "type": "string" }, { "minLength": 2 }] }),
        json!({ "type": "object", "allOf": [{ "properties": { "a": { "minimum": 1 } } }] }),
        with(
            integer.clone(),
            json!({ "allOf": [{ "properties": { "a": { "minimum": 1 } } }] }),
        ),
        with(integer.clone(), json!({ "additionalProperties": text })),
        with(integer, json!({ "additionalProperties": false })),
        json!({ "type": "object", "additionalProperties": {} }),
        json!({ "type": "string", "not": { "default": "x", "nullable": true, "description": "d" } }),
        json!({ "type": "string", "format": "date" }),
        json!({ "type": "object", "required": ["a"], "nullable": true }),
    ]
}
