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
        definition("Charm", "charms", json!({ "status": {} })),
    ]
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
