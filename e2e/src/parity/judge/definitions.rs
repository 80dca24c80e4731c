//! The custom kinds of the sequences: with a status subresource, without, and with a schema of its fields.

use serde_json::{Value, json};

/// The definitions of the custom kinds, which every server gets once.
pub(crate) fn definitions() -> Vec<Value> {
    let definition = |kind: &str, plural: &str, subresources: Value| {
        let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let schema = match kind {
            "Charm" => charm(),
            _ => json!({ "type": "object", "properties": { "spec": any, "status": any } }),
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.parity.example") },
            "spec": {
                "group": "parity.example", "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List") },
                "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": subresources,
                    "schema": { "openAPIV3Schema": schema } }],
            },
        })
    };
    vec![
        definition("Gadget", "gadgets", json!({ "status": {} })),
        definition("Trinket", "trinkets", json!({})),
        devices(),
        definition("Charm", "charms", json!({ "status": {} })),
    ]
}

/// A kind with a schema that uses what schemas have, in two versions.
fn devices() -> Value {
    let text = json!({ "type": "string" });
    let ports = json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["number"],
        "items": { "type": "object", "required": ["number"], "properties": {
            "number": { "type": "integer", "format": "int32" }, "protocol": { "type": "string", "default": "TCP" } } } });
    let nested = json!({ "type": "object", "default": {}, "properties": {
        "level": { "type": "integer", "default": 3 },
        "deep": { "type": "object", "required": ["flag"], "properties": { "flag": { "type": "boolean" } } } } });
    let spec = json!({ "type": "object", "required": ["size"], "properties": {
        "size": { "type": "integer", "minimum": 1, "maximum": 100 },
        "mode": { "type": "string", "enum": ["auto", "manual"], "default": "auto" },
        "code": { "type": "string", "pattern": "^[a-z]{2,4}$" },
        "name": { "type": "string", "minLength": 2, "maxLength": 5 },
        "ratio": { "type": "number", "multipleOf": 0.5, "maximum": 10, "exclusiveMaximum": true },
        "tags": { "type": "array", "x-kubernetes-list-type": "set", "maxItems": 3, "items": text },
        "ports": ports,
        "nested": nested,
        "labels": { "type": "object", "maxProperties": 2, "minProperties": 1, "additionalProperties": text },
        "amount": { "x-kubernetes-int-or-string": true },
        "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "template": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
        "when": { "type": "string", "format": "date-time" },
        "maybe": { "type": "string", "nullable": true },
        "choice": { "type": "object", "properties": { "a": text, "b": text },
            "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] },
        "either": { "x-kubernetes-preserve-unknown-fields": true,
            "anyOf": [{ "minimum": 1, "maximum": 3 }, { "maxLength": 2 }, { "not": { "enum": [true] } }] },
        "never": { "type": "string", "not": { "enum": ["bad"] } },
        "every": { "type": "integer", "allOf": [{ "minimum": 4 }, { "maximum": 6 }] },
        "list": { "type": "array", "items": { "type": "array", "items": { "type": "integer" } } },
    } });
    let status = json!({ "type": "object", "properties": {
        "phase": { "type": "string", "enum": ["Ready", "Busy"] }, "seen": { "type": "integer", "minimum": 0 } } });
    let mut older = spec.clone();
    older["properties"] = json!({ "size": { "type": "integer", "minimum": 2 }, "mode": { "type": "string", "default": "manual" },
        "tags": spec["properties"]["tags"], "ports": spec["properties"]["ports"], "old": text });
    let version = |name: &str, storage: bool, spec: &Value| {
        let schema = json!({ "type": "object", "required": ["spec"], "properties": { "spec": spec, "status": status } });
        json!({ "name": name, "served": true, "storage": storage, "subresources": { "status": {} },
            "schema": { "openAPIV3Schema": schema } })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "devices.parity.example" },
        "spec": {
            "group": "parity.example", "scope": "Namespaced",
            "names": { "kind": "Device", "plural": "devices", "singular": "device", "listKind": "DeviceList" },
            "versions": [version("v1", true, &spec), version("v1beta1", false, &older)],
        },
    })
}

/// A schema with lists and maps of each type.
fn charm() -> Value {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let part = json!({ "type": "object", "required": ["name"], "properties": {
        "name": text, "size": number, "more": { "type": "object", "additionalProperties": text } } });
    let parts = json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": part });
    let tags = json!({ "type": "array", "x-kubernetes-list-type": "set", "items": text });
    let pair = json!({ "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text });
    json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "size": number, "tags": tags, "pair": pair, "parts": parts } },
        "status": { "type": "object", "properties": { "seen": number, "parts": parts } } } })
}
