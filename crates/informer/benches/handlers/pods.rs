//! Pods as a server writes them: a list, and an event for each update.

use bytes::Bytes;
use informer_testkit::{ApiServer, Workload, protobuf};
use serde_json::{Value, json};

/// The version of the list, and of each pod in it. The updates' versions follow, and have as many digits.
pub(crate) const LISTED: u64 = 7_777_777_777;

/// How many pods there are.
pub(crate) const PODS: usize = 1000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Protobuf,
}

impl Format {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Protobuf => "protobuf",
        }
    }

    pub(crate) const fn list_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    pub(crate) const fn watch_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// The bytes of a list and of its updates.
pub(crate) struct Pods {
    pub(crate) list: Bytes,
    events: Vec<Template>,
}

/// An event, and where the version stands in it.
struct Template {
    bytes: Vec<u8>,
    at: usize,
}

impl Pods {
    pub(crate) fn new(format: Format) -> Self {
        let server = ApiServer::builder().in_memory();
        let mut workload = Workload::new().pods(PODS);
        workload.fill(&server).expect("a server takes pods");
        let mut pods = server.list("pods", "").expect("there are pods");
        for pod in &mut pods {
            pod["metadata"]["resourceVersion"] = LISTED.to_string().into();
        }
        let events = pods.iter().map(|pod| Template::new(format, pod)).collect();
        let metadata = json!({"resourceVersion": LISTED.to_string()});
        let list =
            json!({"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": pods});
        let list = match format {
            Format::Json => list.to_string().into(),
            Format::Protobuf => protobuf::object(&list).expect("pods have protobuf").into(),
        };
        Self { list, events }
    }

    /// The bytes of the update of a number. Its version is that much more than the list's.
    pub(crate) fn update(&self, number: u64) -> Vec<u8> {
        let pod = number % self.events.len() as u64;
        let Template { bytes, at } = &self.events[pod as usize];
        let version = (LISTED + number).to_string();
        let mut bytes = bytes.clone();
        bytes[*at..*at + version.len()].copy_from_slice(version.as_bytes());
        bytes
    }

    /// How many bytes an update has.
    pub(crate) fn average(&self) -> usize {
        let sum: usize = self.events.iter().map(|event| event.bytes.len()).sum();
        sum / self.events.len()
    }
}

impl Template {
    fn new(format: Format, pod: &Value) -> Self {
        let bytes = match format {
            Format::Json => format!("{}\n", json!({"type": "MODIFIED", "object": pod})).into(),
            Format::Protobuf => {
                let object = protobuf::object(pod).expect("pods have protobuf");
                protobuf::watch_event("MODIFIED", &object)
            }
        };
        let version = LISTED.to_string();
        let mut found = bytes.windows(version.len());
        let at = found.position(|part| part == version.as_bytes());
        Self {
            at: at.expect("a pod has a version"),
            bytes,
        }
    }
}
