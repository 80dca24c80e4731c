//! Times the decoders on a list of recorded pods, from memory. Prints one JSON line for each measure.
//!
//! `cargo bench -p informer-wire --bench decode [-- FILTER]`

use std::hint::black_box;
use std::time::Instant;

use informer_wire::json::ListSplitter;
use informer_wire::{
    DecodeOptions, Decoded, Dynamic, FromWire, Limits, ListDecoder, PartialObjectMetadata, View,
    WireFormat,
};
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;

/// The size of a list of the bench, and of its pieces.
const LIST_BYTES: usize = 32 << 20;
const CHUNK: usize = 16 << 10;
const RUNS: usize = 5;

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

/// A long list in one format.
struct List {
    format: WireFormat,
    body: Vec<u8>,
    count: usize,
}

/// A long JSON list of the pods of a recorded one.
fn json() -> List {
    let recorded = include_str!("../tests/recordings/list-page3.response");
    let (_, body) = recorded.split_once("\r\n\r\n").expect("a head and a body");
    let mut splitter = ListSplitter::new(Limits::default());
    splitter.push(body.as_bytes());
    let pod = splitter
        .next_item()
        .and_then(Result::ok)
        .expect("a pod")
        .to_vec();
    let mut body = br#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":["#.to_vec();
    let count = LIST_BYTES / pod.len();
    for n in 0..count {
        if n > 0 {
            body.push(b',');
        }
        body.extend_from_slice(&pod);
    }
    body.extend_from_slice(b"]}");
    List {
        format: WireFormat::Json,
        body,
        count,
    }
}

/// A long list in protobuf of a recorded pod.
fn protobuf() -> List {
    let recorded = include_bytes!("../tests/recordings/list-protobuf.response");
    let list = recorded
        .windows(7)
        .position(|part| part == b"PodList")
        .expect("a list");
    // The first pod, behind the list's metadata; the chunk that holds it is longer than it is.
    let from = list + 7 + 3 + 14;
    let (tag, length) = (recorded[from], &recorded[from + 1..from + 3]);
    assert_eq!(tag, 0x12, "an item");
    let length = usize::from(length[0] & 0x7f) | usize::from(length[1]) << 7;
    let pod = &recorded[from..from + 3 + length];
    let count = LIST_BYTES / pod.len();
    let mut body = b"k8s\0\n\r\n\x02v1\x12\x07PodList\x12".to_vec();
    let mut left = count * pod.len();
    while left >= 0x80 {
        body.push(left as u8 | 0x80);
        left >>= 7;
    }
    body.push(left as u8);
    body.extend(pod.repeat(count));
    List {
        format: WireFormat::Protobuf,
        body,
        count,
    }
}

fn decode<K: FromWire>(list: &List) -> usize {
    let mut decoder = ListDecoder::<K>::new(list.format, DecodeOptions::default());
    let mut count = 0;
    for chunk in list.body.chunks(CHUNK) {
        decoder.push(chunk);
        while let Some(item) = decoder.next() {
            assert!(matches!(black_box(item), Ok(Decoded::Object(_))));
            count += 1;
        }
    }
    assert!(decoder.finish().is_ok());
    count
}

fn split(list: &List) -> usize {
    let mut splitter = ListSplitter::new(Limits::default());
    let mut count = 0;
    for chunk in list.body.chunks(CHUNK) {
        splitter.push(chunk);
        while let Some(item) = splitter.next_item() {
            black_box(item.expect("the list is good"));
            count += 1;
        }
    }
    assert!(splitter.finish().is_ok());
    count
}

/// Reads a list and says how many items it held.
type Measure = fn(&List) -> usize;

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    let (json, protobuf) = (json(), protobuf());
    let cases: [(&str, &List, Measure); 11] = [
        ("json/split", &json, split),
        ("json/metadata", &json, decode::<PartialObjectMetadata>),
        ("json/compact", &json, decode::<Dynamic>),
        ("json/view", &json, decode::<View<Fields>>),
        ("json/pod", &json, decode::<Pod>),
        ("json/value", &json, decode::<serde_json::Value>),
        (
            "protobuf/metadata",
            &protobuf,
            decode::<PartialObjectMetadata>,
        ),
        ("protobuf/compact", &protobuf, decode::<Dynamic>),
        ("protobuf/view", &protobuf, decode::<View<Fields>>),
        ("protobuf/pod", &protobuf, decode::<Pod>),
        ("protobuf/value", &protobuf, decode::<serde_json::Value>),
    ];
    for (name, list, run) in cases
        .into_iter()
        .filter(|(name, ..)| name.contains(&*filter))
    {
        let mut seconds: Vec<f64> = (0..RUNS)
            .map(|_| {
                let start = Instant::now();
                assert_eq!(run(black_box(list)), list.count);
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        let median = seconds[RUNS / 2];
        println!(
            r#"{{"name":"{name}","mb_per_s":{:.0},"objects_per_s":{:.0}}}"#,
            list.body.len() as f64 / 1e6 / median,
            list.count as f64 / median
        );
    }
}
