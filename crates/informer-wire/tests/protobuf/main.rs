//! Protobuf: what it decodes to, how lists and watches of it are cut, what broken bytes give.
#![allow(missing_docs, reason = "these are tests")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod encodings;
mod generate;
mod lists;
mod objects;
mod watches;

use informer_testkit::protobuf;
use informer_wire::{
    Compact, DecodeError, DecodeOptions, Decoded, Dynamic, FromWire, Limits, ListDecoder, ListMeta,
    ObjectMeta, PartialObjectMetadata, Resource, Status, StreamEnd, View, WatchDecoder, WatchEvent,
    WireFormat, decode_object,
};
use serde::Deserialize;
use serde_json::{Value, json};

const PROTOBUF: WireFormat = WireFormat::Protobuf;

fn options() -> DecodeOptions {
    DecodeOptions::default()
}

/// An object of any kind in its envelope.
fn enveloped(json: &Value) -> Vec<u8> {
    protobuf::object(json).unwrap_or_else(|error| panic!("{error}"))
}

fn decode<K: FromWire>(bytes: &[u8]) -> Result<K, DecodeError> {
    decode_object(PROTOBUF, bytes, &options())
}

/// A pod with much of what pods can hold.
fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a", "namespace": "n", "uid": "cd3cdf97-5367-4e01-a4f6-76b8fc75a236",
            "resourceVersion": "7", "generation": 2, "creationTimestamp": "2026-11-29T15:33:37Z",
            "labels": {"app": "shop", "tier": ""}, "annotations": {"note": "é ✓"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": true}],
            "finalizers": ["a/b"],
            "managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2026-11-29T15:33:37Z",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]
        },
        "spec": {
            "containers": [
                {"name": "c", "image": "i", "resources": {"limits": {"cpu": "100m"}},
                 "livenessProbe": {"httpGet": {"port": 80, "path": "/"}, "periodSeconds": 5}},
                {"name": "d", "resources": {}, "livenessProbe": {"httpGet": {"port": "http"}}}
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "nodeName": "node"
        },
        "status": {"phase": "Running", "podIP": "10.0.0.1", "startTime": "2026-11-29T15:33:38Z"}
    })
}

/// The same pod under another name.
fn named(name: &str) -> Value {
    let mut pod = pod();
    pod["metadata"]["name"] = name.into();
    pod
}

/// The object without its managed fields.
fn lean(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}
