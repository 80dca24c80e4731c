//! A server, an informer of its config maps, a handler that keeps all events, and the checks.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::time::Duration;

use informer::http::HttpListerWatcher;
use informer::reflector::BackoffConfig;
use informer::{
    Client, Event, IndexValues, Indexers, ListMode, QueuePolicy, ReflectorConfig, Registration,
    SharedInformer,
};
use informer_testkit::model::Cluster;
use informer_testkit::{ApiServer, RequestMatcher, RequestRecord, Verb};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::history::{History, Version, version_of};

/// Generous: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Rig {
    pub(crate) server: ApiServer,
    pub(crate) informer: SharedInformer<ConfigMap>,
    pub(crate) history: History,
}

pub(crate) async fn server() -> ApiServer {
    let builder = ApiServer::builder().bookmark_period(Duration::from_millis(100));
    builder.start().await.unwrap()
}

/// Waits and time limits short enough for a test.
pub(crate) fn config(mode: ListMode) -> ReflectorConfig {
    let backoff = BackoffConfig::default()
        .initial(Duration::from_millis(20))
        .max(Duration::from_millis(200));
    ReflectorConfig::default()
        .list_mode(mode)
        .page_size(4)
        .backoff(backoff)
        .answer_timeout(Duration::from_secs(1))
        .progress_timeout(Duration::from_secs(1))
        .silence_timeout(Duration::from_secs(2))
}

pub(crate) fn informer_over(client: Client, config: ReflectorConfig) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(HttpListerWatcher::<ConfigMap>::all(client))
        .reflector_config(config)
        .indexers(Indexers::new().index("color", color))
        .build()
        .unwrap()
}

fn color(object: &ConfigMap, values: &mut IndexValues<'_>) {
    values.extend(object.data.as_ref().and_then(|data| data.get("color")));
}

impl Rig {
    pub(crate) fn start(server: ApiServer, mode: ListMode) -> Self {
        Self::start_with(server, config(mode))
    }

    pub(crate) fn start_with(server: ApiServer, config: ReflectorConfig) -> Self {
        let client = Client::anonymous(&server.url()).unwrap();
        let informer = informer_over(client, config);
        let history = History::default();
        record(&informer, &history);
        informer.start().unwrap();
        Self {
            server,
            informer,
            history,
        }
    }

    /// A started rig over so many objects, synced.
    pub(crate) async fn synced(mode: ListMode, objects: usize) -> Self {
        let server = server().await;
        (0..objects).for_each(|number| write(&server, number, "red"));
        let rig = Self::start(server, mode);
        rig.agrees().await;
        rig
    }

    /// Waits until cache and handler hold what the server lists and a watch is open; then checks indexes and history.
    pub(crate) async fn agrees(&self) {
        let agree = async {
            loop {
                let listed = listed(&self.server);
                let same = self.cached() == listed && self.history.live() == listed;
                if same && self.informer.status().watching {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, agree).await.is_err() {
            panic!(
                "server {:?}\ncache {:?}\nhandler {:?}\n{:#?}\n{}",
                listed(&self.server),
                self.cached(),
                self.history.live(),
                self.informer.status(),
                self.requests()
            );
        }
        self.history.check();
        self.check_indexes();
    }

    pub(crate) fn cached(&self) -> BTreeMap<String, Version> {
        let snapshot = self.informer.store().snapshot();
        let cached = snapshot.iter();
        cached
            .map(|(key, object)| (key.to_string(), version_of(object)))
            .collect()
    }

    fn check_indexes(&self) {
        let snapshot = self.informer.store().snapshot();
        let mut expected: BTreeMap<(&str, String), BTreeSet<String>> = BTreeMap::new();
        for (key, object) in snapshot.iter() {
            let namespace = object.metadata.namespace.clone().unwrap_or_default();
            let color = object.data.as_ref().and_then(|data| data.get("color"));
            let values = [("namespace", Some(namespace)), ("color", color.cloned())];
            for (index, value) in values {
                if let Some(value) = value {
                    let keys = expected.entry((index, value)).or_default();
                    keys.insert(key.to_string());
                }
            }
        }
        let mut indexed = BTreeMap::new();
        for index in ["namespace", "color"] {
            for value in snapshot.list_index_values(index) {
                let keys = snapshot.index_keys(index, &value).unwrap();
                let keys: BTreeSet<_> = keys.iter().map(ToString::to_string).collect();
                indexed.insert((index, value.to_string()), keys);
            }
        }
        assert_eq!(indexed, expected);
    }

    pub(crate) async fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let wait = async {
            while !holds(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, wait).await.is_err() {
            panic!("{what}\n{:#?}\n{}", self.informer.status(), self.requests());
        }
    }

    /// Waits for a bookmark: only then does a silence stand out.
    pub(crate) async fn has_bookmarks(&self) {
        let last = |rig: &Self| rig.informer.status().reflector.last_event_at;
        let before = last(self);
        self.until("a bookmark", |rig| last(rig) != before).await;
    }

    /// The number of lists requested, streaming ones included, further pages not.
    pub(crate) fn lists(&self) -> usize {
        let requests = self.server.requests();
        let lists = requests.iter().filter(|request| is_list(request));
        lists.count()
    }

    pub(crate) fn watches(&self) -> usize {
        let requests = self.server.requests();
        let watches = requests
            .iter()
            .filter(|request| request.verb == Verb::Watch);
        watches.count()
    }

    fn requests(&self) -> String {
        let requests = self.server.requests();
        let line = |request: &RequestRecord| format!("{:?} {:?}\n", request.verb, request.query);
        requests.iter().rev().take(40).rev().map(line).collect()
    }

    /// Stops the server, lets `change` work on its data on another port, then serves it at the old address.
    pub(crate) async fn change_while_away(&mut self, change: impl FnOnce(&ApiServer)) {
        let port = self.server.address().port();
        let spare = ApiServer::start().await.unwrap();
        let cluster = std::mem::replace(&mut self.server, spare).shutdown().await;
        let elsewhere = ApiServer::builder().cluster(cluster);
        let elsewhere = elsewhere.start().await.unwrap();
        change(&elsewhere);
        self.come_back(port, elsewhere.shutdown().await).await;
    }

    pub(crate) async fn come_back(&mut self, port: u16, cluster: Cluster) {
        let builder = ApiServer::builder()
            .bookmark_period(Duration::from_millis(100))
            .cluster(cluster)
            .port(port);
        self.server = builder.start().await.unwrap();
    }

    pub(crate) async fn end(self) {
        within(self.informer.stop()).await.unwrap();
        self.history.check();
    }
}

pub(crate) async fn until_true(what: &str, mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    assert!(waited.is_ok(), "never: {what}");
}

pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.unwrap()
}

pub(crate) fn record(informer: &SharedInformer<ConfigMap>, history: &History) -> Registration {
    let history = history.clone();
    let record = move |event: Event<ConfigMap>| {
        history.take(&event);
        std::future::ready(())
    };
    let handler = informer.handler().queue(QueuePolicy::Unbounded);
    handler.register(record).unwrap()
}

pub(crate) fn listed(server: &ApiServer) -> BTreeMap<String, Version> {
    let objects = server.list("configmaps", "").unwrap();
    let line = |object: Value| {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap().to_owned();
        let key = format!("{}/{}", text("namespace"), text("name"));
        let version = text("resourceVersion").parse().unwrap();
        (key, (text("uid"), version))
    };
    objects.into_iter().map(line).collect()
}

pub(crate) fn config_map(number: usize, color: &str) -> Value {
    let namespace = ["default", "shop"][number % 2];
    json!({"metadata": {"namespace": namespace, "name": format!("c{number}")}, "data": {"color": color}})
}

/// Creates or replaces an object.
pub(crate) fn write(server: &ApiServer, number: usize, color: &str) {
    let object = config_map(number, color);
    let metadata = &object["metadata"];
    let (namespace, name) = (&metadata["namespace"], &metadata["name"]);
    let patch = json!({"data": {"color": color}});
    let (namespace, name) = (namespace.as_str().unwrap(), name.as_str().unwrap());
    if server
        .merge_patch("configmaps", namespace, name, patch)
        .is_err()
    {
        server.create("configmaps", object).unwrap();
    }
}

pub(crate) fn delete(server: &ApiServer, number: usize) {
    let namespace = ["default", "shop"][number % 2];
    let name = format!("c{number}");
    server.delete("configmaps", namespace, &name).unwrap();
}

pub(crate) fn is_list(request: &RequestRecord) -> bool {
    let streaming = request.query_value("sendInitialEvents") == Some("true");
    match request.verb {
        Verb::List => request.query_value("continue").is_none(),
        Verb::Watch => streaming,
        _ => false,
    }
}

pub(crate) fn any_watch() -> RequestMatcher {
    RequestMatcher::verb(Verb::Watch).resource("configmaps")
}

pub(crate) fn any_list() -> RequestMatcher {
    RequestMatcher::verb(Verb::List).resource("configmaps")
}

pub(crate) fn streaming_list() -> RequestMatcher {
    any_watch().query("sendInitialEvents", "true")
}

/// The request for the whole state in this mode.
pub(crate) fn sync_request(mode: ListMode) -> RequestMatcher {
    match mode {
        ListMode::List => any_list(),
        _ => streaming_list(),
    }
}

pub(crate) const MODES: [ListMode; 2] = [ListMode::List, ListMode::Stream];
