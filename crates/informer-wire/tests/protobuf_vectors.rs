//! Every kind of Kubernetes, with all fields set: protobuf and JSON give the same object.
//!
//! The pairs are the test data of `k8s.io/api`, which this tree does not hold: `INFORMER_WIRE_VECTORS` names the
//! folder that does. Without it the tests say that they were skipped.
#![allow(missing_docs, reason = "these are tests")]

use std::path::PathBuf;

use informer_wire::{DecodeOptions, FromWire, WireFormat, decode_object};
use serde_json::Value;

/// One object in both formats.
struct Pair {
    name: String,
    json: Vec<u8>,
    protobuf: Vec<u8>,
}

/// All pairs; none where they are not at hand.
fn pairs() -> Vec<Pair> {
    let Some(folder) = std::env::var_os("INFORMER_WIRE_VECTORS").map(PathBuf::from) else {
        println!("skipped: INFORMER_WIRE_VECTORS does not name the folder of test data");
        return Vec::new();
    };
    let files = std::fs::read_dir(&folder).expect("the folder can be read");
    let mut pairs: Vec<Pair> = files
        .map(|file| file.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pb"))
        .map(|path| Pair {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            json: std::fs::read(path.with_extension("json")).expect("each pair is whole"),
            protobuf: std::fs::read(&path).expect("the file can be read"),
        })
        .collect();
    pairs.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(pairs.len() > 100, "only {} pairs", pairs.len());
    pairs
}

fn decode<K: FromWire>(format: WireFormat, bytes: &[u8], options: &DecodeOptions) -> K {
    decode_object(format, bytes, options).unwrap_or_else(|error| panic!("{error}"))
}

fn both<K: FromWire>(pair: &Pair, options: &DecodeOptions) -> [K; 2] {
    [
        decode(WireFormat::Json, &pair.json, options),
        decode(WireFormat::Protobuf, &pair.protobuf, options),
    ]
}

// INV-WIRE-15
#[test]
fn every_kind_is_the_same_in_both_formats() {
    for pair in pairs() {
        for keep in [true, false] {
            let options = DecodeOptions::default().keep_managed_fields(keep);
            let [json, protobuf] = both::<Value>(&pair, &options);
            assert_eq!(json, protobuf, "{}", pair.name);
        }
    }
}
