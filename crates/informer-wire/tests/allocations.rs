//! How many allocations an object costs, in each form and format: a committed table that must be true.
//!
//! `cargo xtask allocations --write` rewrites it.
#![allow(missing_docs, reason = "these are tests")]

#[allow(dead_code, reason = "each test uses a part of it")]
mod common;

use std::fmt::Write;
use std::path::PathBuf;

use common::Recording;
use informer_wire::{
    Compact, DecodeOptions, Decoded, FromWire, ListDecoder, PartialObjectMetadata, View, WireFormat,
};
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::Value;

/// Five fields of a pod, as many controllers read them.
#[derive(Deserialize)]
struct Fields {
    #[serde(rename = "spec")]
    _spec: Spec,
    #[serde(rename = "status")]
    _status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(rename = "nodeName")]
    _node_name: Option<String>,
    #[serde(rename = "restartPolicy")]
    _restart_policy: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(rename = "phase")]
    _phase: Option<String>,
    #[serde(rename = "podIP")]
    _pod_ip: Option<String>,
    #[serde(rename = "hostIP")]
    _host_ip: Option<String>,
}

/// The objects of a list that comes as a whole.
fn decode<K: FromWire>(recording: &Recording, options: &DecodeOptions, objects: &mut Vec<K>) {
    let format = WireFormat::from_content_type(&recording.content_type).expect("a format");
    let mut decoder = ListDecoder::<K>::new(format, options.clone());
    decoder.push(&recording.body);
    while let Some(item) = decoder.next() {
        match item {
            Ok(Decoded::Object(object)) => objects.push(object),
            other => panic!("{:?}", other.err()),
        }
    }
    decoder.finish().expect("the page ended well");
}

/// A line of the table: what one object costs, once texts that repeat have been seen.
fn line<K: FromWire>(table: &mut String, form: &str, name: &str) {
    let recording = Recording::load(name);
    let options = DecodeOptions::default();
    let mut objects = Vec::with_capacity(64);
    decode::<K>(&recording, &options, &mut objects);
    objects.clear();
    let cost = allocation_counter::measure(|| decode::<K>(&recording, &options, &mut objects));
    let count = objects.len() as u64;
    let kept = u64::try_from(cost.bytes_current).unwrap_or_default();
    let wire = if name.ends_with("json") {
        "json"
    } else {
        "protobuf"
    };
    // The list itself costs a few.
    writeln!(
        table,
        "{form:<10} {wire:<9} {:>6.1} {:>7}",
        cost.count_total as f64 / count as f64,
        kept / count
    )
    .expect("a string takes it");
}

// INV-WIRE-17
#[test]
fn object_allocates_as_in_the_table() {
    let mut table = String::from(
        "# Of one recorded pod, and what the list costs shared among nine of them: allocations, and bytes that stay.\n\
         # form     wire      allocations bytes\n",
    );
    for list in ["list-json", "list-protobuf"] {
        line::<PartialObjectMetadata>(&mut table, "metadata", list);
        line::<View<Fields>>(&mut table, "view", list);
        line::<Compact<Pod>>(&mut table, "compact", list);
        line::<Pod>(&mut table, "pod", list);
        line::<Value>(&mut table, "value", list);
    }
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/allocations.txt");
    if std::env::var_os("INFORMER_WRITE_ALLOCATIONS").is_some() {
        std::fs::write(&file, &table).expect("the table can be written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == table,
        "the costs have changed; if they may, run `cargo xtask allocations --write`\n\nwas:\n{committed}\nis:\n{table}"
    );
}
