//! Times the decoders on a list of recorded pods, from memory. Prints one JSON line for each measure.
//!
//! `cargo bench -p informer-wire --bench decode [-- FILTER]`

use std::hint::black_box;
use std::time::Instant;

use informer_wire::json::ListSplitter;
use informer_wire::{
    DecodeOptions, Decoded, Dynamic, FromWire, Limits, ListDecoder, Metadata, View, WireFormat,
};
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;

/// How much a list of the bench holds, and how much of it arrives at once.
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

/// A long list of the pods of a recorded one, and how many.
fn list() -> (Vec<u8>, usize) {
    let recorded = include_str!("../tests/recordings/list-page3.response");
    let (_, body) = recorded.split_once("\r\n\r\n").expect("a head and a body");
    let mut splitter = ListSplitter::new(Limits::default());
    splitter.push(body.as_bytes());
    let pod = splitter
        .next_item()
        .and_then(Result::ok)
        .expect("a pod")
        .to_vec();
    let mut list = br#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":["#.to_vec();
    let count = LIST_BYTES / pod.len();
    for n in 0..count {
        if n > 0 {
            list.push(b',');
        }
        list.extend_from_slice(&pod);
    }
    list.extend_from_slice(b"]}");
    (list, count)
}

fn decode<K: FromWire>(list: &[u8]) -> usize {
    let mut decoder = ListDecoder::<K>::new(WireFormat::Json, DecodeOptions::default());
    let mut count = 0;
    for chunk in list.chunks(CHUNK) {
        decoder.push(chunk);
        while let Some(item) = decoder.next() {
            assert!(matches!(black_box(item), Ok(Decoded::Object(_))));
            count += 1;
        }
    }
    assert!(decoder.finish().is_ok());
    count
}

fn split(list: &[u8]) -> usize {
    let mut splitter = ListSplitter::new(Limits::default());
    let mut count = 0;
    for chunk in list.chunks(CHUNK) {
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
type Measure = fn(&[u8]) -> usize;

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    let (list, count) = list();
    let cases: [(&str, Measure); 6] = [
        ("split", split),
        ("metadata", decode::<Metadata>),
        ("compact", decode::<Dynamic>),
        ("view", decode::<View<Fields>>),
        ("pod", decode::<Pod>),
        ("value", decode::<serde_json::Value>),
    ];
    for (name, run) in cases
        .into_iter()
        .filter(|(name, _)| name.contains(&*filter))
    {
        let mut seconds: Vec<f64> = (0..RUNS)
            .map(|_| {
                let start = Instant::now();
                assert_eq!(run(black_box(&list)), count);
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        let median = seconds[RUNS / 2];
        println!(
            r#"{{"name":"{name}","mb_per_s":{:.0},"objects_per_s":{:.0}}}"#,
            list.len() as f64 / 1e6 / median,
            count as f64 / median
        );
    }
}
