//! The custom kinds of the sequences: one with a status subresource, one without.

use serde_json::{Value, json};

/// The definitions of the custom kinds, which every server gets once.
pub(crate) fn definitions() -> Vec<Value> {
    let definition = |kind: &str, plural: &str, subresources: Value| {
        let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.parity.example") },
            "spec": {
                "group": "parity.example", "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List") },
                "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": subresources,
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": any, "status": any } } } }],
            },
        })
    };
    vec![
        definition("Gadget", "gadgets", json!({ "status": {} })),
        definition("Trinket", "trinkets", json!({})),
    ]
}
