//! The peak memory of a relist in which nothing has changed, counted by the allocator: bodies, decoder, queue, store.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use informer_reflector::{
    DecodedBody, ListMode, ListRequest, ListWatchError, ListerWatcher, ReflectorConfig,
};
use informer_shared::{Event, SharedInformer};
use informer_store::{ObjectKey, ResourceVersion};
use informer_testkit::{ApiServer, Workload, protobuf};
use informer_wire::{Compact, DecodeOptions, ListDecoder, ListOptions, WatchDecoder, WireFormat};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tokio::sync::Notify;

const PODS: usize = 600;
/// How much of a body arrives at once, as over HTTP.
const CHUNK: usize = 16 << 10;

type Chunks = BoxStream<'static, Result<&'static [u8], ListWatchError>>;

/// A server that always sends the same pods, and ends a watch when it is asked to.
#[derive(Clone)]
struct Unchanging {
    format: WireFormat,
    bodies: &'static Bodies,
    expire: Arc<Notify>,
}

struct Bodies {
    list: Vec<u8>,
    stream: Vec<u8>,
    expired: Vec<u8>,
}

impl Unchanging {
    fn chunks(body: &'static [u8]) -> Chunks {
        stream::iter(body.chunks(CHUNK).map(Ok)).boxed()
    }

    /// These bytes, then an error when it is time.
    fn watching(&self, first: &'static [u8]) -> Chunks {
        let (expire, expired) = (Arc::clone(&self.expire), &*self.bodies.expired);
        let end = stream::once(async move {
            expire.notified().await;
            Ok(expired)
        });
        Self::chunks(first)
            .chain(end)
            .chain(stream::pending())
            .boxed()
    }
}

impl ListerWatcher for Unchanging {
    type Object = Compact<Pod>;
    type List = DecodedBody<Chunks, ListDecoder<Compact<Pod>>>;
    type Watch = DecodedBody<Chunks, WatchDecoder<Compact<Pod>>>;

    async fn list(&self, request: ListRequest<Self::Object>) -> Result<Self::List, ListWatchError> {
        let mut decoder = ListDecoder::new(self.format, DecodeOptions::default());
        if let Some(newest) = request.newest {
            decoder = decoder.newest(newest);
        }
        let body = Self::chunks(&self.bodies.list);
        Ok(DecodedBody::new(body, decoder))
    }

    async fn watch(&self, _: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let decoder = WatchDecoder::new(self.format, DecodeOptions::default());
        Ok(DecodedBody::new(self.watching(&[]), decoder))
    }

    async fn watch_list(
        &self,
        request: ListRequest<Self::Object>,
    ) -> Result<Self::Watch, ListWatchError> {
        let mut decoder = WatchDecoder::new(self.format, DecodeOptions::default());
        if let Some(newest) = request.newest {
            decoder = decoder.newest(newest);
        }
        let body = self.watching(&self.bodies.stream);
        Ok(DecodedBody::new(body, decoder))
    }
}

/// Pods as those of a real cluster, without their managed fields.
fn pods() -> Vec<Value> {
    let server = ApiServer::builder().in_memory();
    let mut workload = Workload::new().pods(PODS).managed_fields(false);
    workload.fill(&server).unwrap();
    server.list("pods", "").unwrap()
}

const VERSION: &str = "1000000";

fn bookmark() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
        "resourceVersion": VERSION, "annotations": {"k8s.io/initial-events-end": "true"}}})
}

fn expired() -> Value {
    json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "reason": "Expired", "message": "too old", "code": 410})
}

fn in_json(pods: &[Value]) -> Bodies {
    let line =
        |kind: &str, object: &Value| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
    let mut stream = String::new();
    for pod in pods {
        write!(stream, "{}", line("ADDED", pod)).unwrap();
    }
    stream += &line("BOOKMARK", &bookmark());
    let list = json!({"apiVersion": "v1", "kind": "PodList",
        "metadata": {"resourceVersion": VERSION}, "items": pods});
    Bodies {
        list: list.to_string().into(),
        stream: stream.into(),
        expired: line("ERROR", &expired()).into(),
    }
}

fn in_protobuf(pods: &[Value]) -> Bodies {
    let event = |kind: &str, object: &Value| {
        protobuf::watch_event(kind, &protobuf::object(object).unwrap())
    };
    let head = json!({"metadata": {"resourceVersion": VERSION}});
    let mut list = protobuf::message("v1", "PodList", &head).unwrap();
    let mut stream = Vec::new();
    for pod in pods {
        let message = protobuf::message("v1", "Pod", pod).unwrap();
        protobuf::write_bytes(2, &message, &mut list);
        stream.extend(event("ADDED", pod));
    }
    stream.extend(event("BOOKMARK", &bookmark()));
    Bodies {
        list: protobuf::envelope("v1", "PodList", &list),
        stream,
        expired: event("ERROR", &expired()),
    }
}

/// The memory once synced, and what a relist adds to it at its peak and in the end.
fn measured(mode: ListMode, format: WireFormat, bodies: &'static Bodies) -> (u64, u64, i64) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // All of it runs on this thread, so that all of it is counted.
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let server = Unchanging {
        format,
        bodies,
        expire: Arc::new(Notify::new()),
    };
    let config = ReflectorConfig::default().list_mode(mode);
    let informer = SharedInformer::builder(server.clone())
        .reflector_config(config)
        .build()
        .unwrap();
    let version = ResourceVersion::new(VERSION);
    let synced = measure(|| {
        runtime.block_on(async {
            informer
                .add_handler(|_: Event<Compact<Pod>>| async {})
                .unwrap();
            informer.start().unwrap();
            informer
                .synced()
                .deadline(Duration::from_secs(60))
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_secs(5)).await;
        });
    });
    assert_eq!(informer.store().len(), PODS);
    let before = informer.store().list();
    let lists = informer.status().reflector.lists;
    let relist = measure(|| {
        runtime.block_on(async {
            server.expire.notify_one();
            tokio::time::sleep(Duration::from_secs(30)).await;
        });
    });
    assert_eq!(informer.status().reflector.lists, lists + 1, "{mode:?}");
    assert_eq!(informer.last_sync_resource_version(), Some(version));
    let same = before.iter().filter(|object| {
        let now = informer.store().get(&ObjectKey::of(&***object));
        now.is_some_and(|now| Arc::ptr_eq(&now, object))
    });
    assert_eq!(same.count(), PODS);
    let held = u64::try_from(synced.bytes_current).unwrap();
    (held, relist.bytes_max, relist.bytes_current)
}

// INV-SHARED-20
#[test]
fn unchanged_relist_adds_little_memory() {
    let pods = pods();
    for (format, bodies) in [
        (WireFormat::Protobuf, in_protobuf(&pods)),
        (WireFormat::Json, in_json(&pods)),
    ] {
        let bodies: &'static Bodies = Box::leak(Box::new(bodies));
        for mode in [ListMode::List, ListMode::Stream] {
            let (held, peak, kept) = measured(mode, format, bodies);
            let (per_pod, percent) = (held / PODS as u64, 100.0 * peak as f64 / held as f64);
            println!(
                "{mode:?} {format:?}: {per_pod} bytes a pod; the relist adds {percent:.1} % at its peak, keeps {kept} bytes"
            );
            assert!(
                per_pod > 500,
                "something is not counted: {per_pod} bytes a pod"
            );
            assert!(percent < 15.0, "{percent:.1} %");
            assert!(kept < held as i64 / 50, "{kept} bytes stay");
        }
    }
}
