//! The reflector with the HTTP client against the testkit's API server, into a store: the whole path, in real time.
#![cfg(feature = "http")]
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informer_client::Client;
use informer_reflector::http::{HttpConfig, HttpListerWatcher, WirePreference};
use informer_reflector::{BackoffConfig, ListMode, Reflector, ReflectorConfig, ReflectorStatus};
use informer_store::{Object, ObjectKey, ResourceVersion, Store};
use informer_testkit::{ApiServer, Fault, RequestMatcher, Status, StreamEnd, Verb};
use informer_wire::{DecodeError, Dynamic, FromWire, ObjectMeta, Resource, WireFormat, WireObject};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

struct Run {
    server: ApiServer,
    store: Arc<Store<ConfigMap>>,
    status: watch::Receiver<ReflectorStatus>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Run {
    async fn new(mode: ListMode, objects: usize) -> Self {
        let server = ApiServer::start().await.unwrap();
        for number in 0..objects {
            write(&server, &format!("c{number}"), 0);
        }
        let client = Client::anonymous(&server.url()).unwrap();
        let store = Arc::new(Store::new());
        let shortest = Duration::from_millis(100);
        let backoff = BackoffConfig::default().initial(shortest).max(shortest);
        let config = ReflectorConfig::default()
            .list_mode(mode)
            .page_size(10)
            .backoff(backoff);
        let source = HttpListerWatcher::<ConfigMap>::all(client);
        let reflector = Reflector::new(source, Arc::clone(&store))
            .config(config)
            .unwrap();
        let (status, stop) = (reflector.status(), CancellationToken::new());
        let task = tokio::spawn(reflector.run(stop.clone()));
        Self {
            server,
            store,
            status,
            stop,
            task,
        }
    }

    /// Waits until the reflector has received the server's newest version, then compares all objects.
    async fn agrees(&mut self) {
        let newest = ResourceVersion::from(self.server.resource_version());
        let seen = self.status.wait_for(|status| {
            status
                .resource_version
                .as_ref()
                .is_some_and(|seen| !seen.is_older_than(&newest))
        });
        tokio::time::timeout(PATIENCE, seen)
            .await
            .expect("the reflector lags")
            .unwrap();
        let mut here: Vec<_> = self
            .store
            .list()
            .iter()
            .map(|object| line(object))
            .collect();
        let mut there: Vec<_> = self
            .server
            .list("configmaps", "")
            .unwrap()
            .into_iter()
            .map(|object| line(&serde_json::from_value::<ConfigMap>(object).unwrap()))
            .collect();
        here.sort();
        there.sort();
        assert_eq!(here, there);
    }

    fn asked(&self, verb: Verb) -> usize {
        self.server
            .requests()
            .iter()
            .filter(|request| request.verb == verb)
            .count()
    }

    async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.task)
            .await
            .expect("it does not stop")
            .unwrap();
        self.server.shutdown().await;
    }
}

fn line(object: &ConfigMap) -> String {
    format!("{}@{}", object.name(), object.resource_version().unwrap())
}

fn write(server: &ApiServer, name: &str, value: usize) {
    let object = json!({
        "metadata": {"namespace": "shop", "name": name},
        "data": {"value": value.to_string()},
    });
    server.create("configmaps", object).unwrap();
}

/// Creates, changes and deletes.
fn change(server: &ApiServer, round: usize) {
    write(server, &format!("new{round}"), round);
    let data = json!({"data": {"value": format!("changed {round}")}});
    server
        .merge_patch("configmaps", "shop", "c1", data)
        .unwrap();
    server
        .delete("configmaps", "shop", &format!("c{}", round + 2))
        .unwrap();
}

#[tokio::test]
async fn store_follows_the_server_through_ends_cuts_and_compactions() {
    for mode in [ListMode::List, ListMode::Stream] {
        let mut run = Run::new(mode, 45).await;
        run.agrees().await;
        if mode == ListMode::List {
            assert_eq!(run.asked(Verb::List), 5, "45 objects in pages of 10");
        }
        let lists = run.asked(Verb::List);
        change(&run.server, 1);
        run.agrees().await;
        for (round, end) in [StreamEnd::Clean, StreamEnd::Cut].into_iter().enumerate() {
            run.server.end_watches(end);
            change(&run.server, round + 2);
            run.agrees().await;
        }
        assert_eq!(
            run.asked(Verb::List),
            lists,
            "a watch is resumed without a list"
        );
        assert_eq!(run.status.borrow().lists, 1);

        // What happened meanwhile is forgotten before the watch is resumed: the reflector shares this thread.
        run.server.end_watches(StreamEnd::Clean);
        change(&run.server, 10);
        change(&run.server, 11);
        run.server.compact();
        change(&run.server, 12);
        run.agrees().await;
        assert_eq!(run.status.borrow().lists, 2);
        run.end().await;
    }
}

#[tokio::test]
async fn store_follows_the_server_through_refusals_and_broken_responses() {
    let mut run = Run::new(ListMode::Auto, 0).await;
    run.agrees().await;
    for round in 0..45 {
        write(&run.server, &format!("c{round}"), round);
    }
    run.agrees().await;
    for fault in [
        Fault::from(Status::failure(503, "ServiceUnavailable", "no")),
        Fault::from(Status::failure(410, "Expired", "no")),
        Fault::Cut { after: 100 },
    ] {
        run.server
            .fail_next(RequestMatcher::verb(Verb::Watch), fault);
        run.server.end_watches(StreamEnd::Cut);
        write(
            &run.server,
            &format!("n{}", run.server.resource_version()),
            0,
        );
        run.agrees().await;
    }
    run.server
        .end_watches(StreamEnd::Error(Status::failure(410, "Expired", "too old")));
    write(&run.server, "last", 0);
    run.agrees().await;
    assert!(run.server.faults_used_up());
    run.end().await;
}

static DECODED: AtomicUsize = AtomicUsize::new(0);

/// An object that counts how often one is decoded.
struct Counted(Dynamic);

impl FromWire for Counted {
    fn from_wire(object: WireObject<'_>) -> Result<Self, DecodeError> {
        DECODED.fetch_add(1, Ordering::Relaxed);
        Dynamic::from_wire(object).map(Self)
    }
}

impl Object for Counted {
    type Metadata = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        self.0.metadata()
    }
}

/// INV-WIRE-5, INV-REFL-13
#[tokio::test]
async fn relist_decodes_only_changed_objects() {
    for mode in [ListMode::List, ListMode::Stream] {
        for (wire, format) in [
            (WirePreference::Json, WireFormat::Json),
            (WirePreference::Protobuf, WireFormat::Protobuf),
        ] {
            let server = ApiServer::start().await.unwrap();
            (0..30).for_each(|number| write(&server, &format!("c{number}"), 0));
            let client = Client::anonymous(&server.url()).unwrap();
            let config_maps = Resource::builtin("configmaps").unwrap();
            let source = HttpListerWatcher::<Counted>::new(client, config_maps)
                .config(HttpConfig::default().wire(wire));
            let traffic = source.traffic();
            let store = Arc::new(Store::new());
            let shortest = Duration::from_millis(100);
            let backoff = BackoffConfig::default().initial(shortest).max(shortest);
            let config = ReflectorConfig::default().list_mode(mode).backoff(backoff);
            let reflector = Reflector::new(source, Arc::clone(&store))
                .config(config)
                .unwrap();
            let (mut status, stop) = (reflector.status(), CancellationToken::new());
            DECODED.store(0, Ordering::Relaxed);
            let task = tokio::spawn(reflector.run(stop.clone()));
            let caught_up = async || {
                let newest = server.resource_version().into();
                let reached = tokio::time::timeout(PATIENCE, store.wait_until(&newest));
                reached.await.expect("it lags").unwrap();
            };
            caught_up().await;
            // Once this is here, the watch is open.
            write(&server, "later", 0);
            caught_up().await;
            assert_eq!(DECODED.load(Ordering::Relaxed), 31);
            let before = store.list();

            let expired = Status::failure(410, "Expired", "too old");
            server.end_watches(StreamEnd::Error(expired));
            change(&server, 1);
            caught_up().await;
            let listed = status.wait_for(|status| status.lists == 2);
            let listed = tokio::time::timeout(PATIENCE, listed);
            drop(listed.await.expect("no second list").unwrap());
            // One is new and one is changed.
            assert_eq!(DECODED.load(Ordering::Relaxed), 33, "{mode:?} {wire:?}");
            let kept = |object: &&Arc<Counted>| {
                let now = store.get(&ObjectKey::of(&***object));
                now.is_some_and(|now| Arc::ptr_eq(&now, object))
            };
            assert_eq!(before.iter().filter(kept).count(), 29);
            assert_eq!(traffic.format(), Some(format));
            stop.cancel();
            task.await.unwrap();
            server.shutdown().await;
        }
    }
}
