//! Every call of `Api` beside the same call of client-go, whose requests `e2e/requests` recorded.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;

use informer_client::{Api, Client, DeleteOptions, FieldValidation, Patch, Propagation};
use informer_wire::{Resource, Scope};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, ServiceAccount};
use serde::Deserialize;
use serde_json::{Value, json};
use support::{Reply, Request, Server};

/// The table. `cargo xtask recorded-requests` renews it.
const TABLE: &str = include_str!("recorded/requests.json");

/// A request of client-go.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    call: String,
    method: String,
    path: String,
    query: BTreeMap<String, Vec<String>>,
    accept: String,
    content_type: Option<String>,
    body: Option<Value>,
}

/// What client-go sends and we do not, on purpose: calls by the start of their names, the path of a value of the body, why.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    (
        "delete",
        "/kind",
        "a server reads the body of a DELETE as options, whatever it says",
    ),
    ("delete", "/apiVersion", "as its kind"),
    (
        "replace status",
        "/spec/containers",
        "Go writes a null for a list that has to be there",
    ),
    (
        "replace scale",
        "/status",
        "Go writes a status that is not set; serde types leave it out",
    ),
    (
        "create token",
        "/spec/expirationSeconds",
        "Go writes a null; serde types leave it out",
    ),
    (
        "create token",
        "/spec/boundObjectRef",
        "Go writes a null; serde types leave it out",
    ),
    (
        "create token",
        "/status",
        "Go writes a status that is not set; serde types leave it out",
    ),
];

/// Calls that `Api` does not have, and why.
const OTHERS: &[(&str, &str)] = &[
    (
        "list",
        "by HttpListerWatcher: compared in informer-reflector",
    ),
    (
        "watch",
        "by HttpListerWatcher: compared in informer-reflector",
    ),
    (
        "delete collection",
        "by Client::request: no controller of ours deletes what it has not looked at",
    ),
];

/// The `Accept` header of client-go and of ours: `Api` reads nothing but JSON, so it takes nothing else.
const ACCEPT: (&str, &str) = ("application/json, */*", "application/json");

fn map() -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some("m".into());
    map.metadata.namespace = Some("shop".into());
    map.data = Some([("k".to_owned(), "v".to_owned())].into());
    map
}

fn web(kind: &str, api_version: &str, more: Value) -> Value {
    let mut object = json!({
        "kind": kind, "apiVersion": api_version, "metadata": {"name": "web", "namespace": "shop"},
    });
    let more = more.as_object().unwrap().clone();
    object.as_object_mut().unwrap().extend(more);
    object
}

fn apply<T>(object: T, force: bool) -> Patch<T> {
    Patch::Apply {
        manager: "tester".into(),
        force,
        object,
    }
}

/// Makes a call of ours by its name. Returns `false` if there is none.
async fn send(call: &str, client: &Client) -> bool {
    let client = || client.clone();
    let maps = Api::<ConfigMap>::namespaced(client(), "shop");
    let pods = Api::<Pod>::namespaced(client(), "shop");
    let web_sets = Api::<ReplicaSet>::namespaced(client(), "shop").subresource("scale");
    let running = json!({"status": {"phase": "Running"}});
    let merge = Patch::Merge(json!({"data": {"k": null}}));
    let options = DeleteOptions::default;
    let (api, how) = call
        .split_once(' ')
        .map_or((call, ""), |(verb, how)| (verb, how));
    // What most verbs share.
    let tuned = match how {
        "as manager" => maps.clone().field_manager("tester"),
        "dry run" => maps.clone().dry_run(true),
        "strict" => maps.clone().field_validation(FieldValidation::Strict),
        _ => maps.clone(),
    };
    let tuned_call = matches!(how, "" | "as manager" | "dry run" | "strict");
    // The recorder's response is an object to none of them.
    match (api, how) {
        ("get", "") => drop(maps.get("m").await),
        ("get", "cluster-scoped") => drop(Api::<Node>::cluster(client()).get("n1").await),
        ("get", "name that needs encoding") => {
            let group = "rbac.authorization.k8s.io";
            let roles = Resource::new(group, "v1", "ClusterRole", "clusterroles", Scope::Cluster);
            drop(
                Api::<Value>::new(client(), roles)
                    .get("system:node é+")
                    .await,
            );
        }
        ("get", "scale") => drop(web_sets.get("web").await),
        ("create", _) if tuned_call => drop(tuned.create(&map()).await),
        ("replace", _) if tuned_call => drop(tuned.replace("m", &map()).await),
        ("replace", "status") => {
            let pod = web(
                "Pod",
                "v1",
                json!({"spec": {}, "status": {"phase": "Running"}}),
            );
            drop(pods.subresource("status").replace("web", &pod).await);
        }
        ("replace", "scale") => {
            let scale = web("Scale", "autoscaling/v1", json!({"spec": {"replicas": 3}}));
            drop(web_sets.replace("web", &scale).await);
        }
        ("patch", "merge") => drop(maps.patch("m", &merge).await),
        ("patch", "strategic") => {
            let patch = Patch::Strategic(json!({"data": {"k": null}}));
            drop(maps.patch("m", &patch).await);
        }
        ("patch", "json") => {
            let patch = Patch::Json(json!([{"op": "remove", "path": "/data/k"}]));
            drop(maps.patch("m", &patch).await);
        }
        ("patch", "status") => {
            let patch = Patch::Merge(&running);
            drop(pods.subresource("status").patch("web", &patch).await);
        }
        ("patch", _) if tuned_call => drop(tuned.patch("m", &merge).await),
        ("apply", "by force") => drop(maps.patch("m", &apply(map(), true)).await),
        ("apply", "status") => {
            let pod = web("Pod", "v1", running);
            drop(
                pods.subresource("status")
                    .patch("web", &apply(pod, true))
                    .await,
            );
        }
        ("apply", _) if tuned_call => drop(tuned.patch("m", &apply(map(), false)).await),
        ("delete", how) => {
            let options = match how {
                "" => options(),
                "at once" => options().grace_period_seconds(0),
                "with grace" => options().grace_period_seconds(30),
                "orphaning" => options().propagation(Propagation::Orphan),
                "in background" => options().propagation(Propagation::Background),
                "in foreground" => options().propagation(Propagation::Foreground),
                "only uid" => options().only_uid("u-1"),
                "only version" => options().only_resource_version("7"),
                "only uid and version" => options().only_uid("u-1").only_resource_version("7"),
                "dry run" => options().dry_run(true),
                _ => return false,
            };
            drop(maps.delete("m", &options).await);
        }
        ("create", "eviction") => {
            let eviction = web("Eviction", "policy/v1", json!({}));
            let api = pods.subresource("eviction");
            drop(api.create_subresource::<_, Value>("web", &eviction).await);
        }
        ("create", "token") => {
            let request = json!({
                "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": {},
                "spec": {"audiences": ["vault"]},
            });
            let api = Api::<ServiceAccount>::namespaced(client(), "shop").subresource("token");
            drop(
                api.create_subresource::<_, Value>("builder", &request)
                    .await,
            );
        }
        ("create", "binding") => {
            let binding = web(
                "Binding",
                "v1",
                json!({"target": {"kind": "Node", "name": "n1"}}),
            );
            let api = pods.subresource("binding");
            drop(api.create_subresource::<_, Value>("web", &binding).await);
        }
        _ => return false,
    }
    true
}

/// Removes a value by its path, and says whether it was there.
fn take(body: &mut Value, path: &str) -> bool {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).and_then(Value::as_object_mut);
    parent.is_some_and(|parent| parent.remove(name).is_some())
}

/// Undoes the encoding of a path, in which only `%` means anything.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path;
    while let Some((before, code)) = rest.split_once('%') {
        bytes.extend(before.bytes());
        bytes.push(u8::from_str_radix(&code[..2], 16).unwrap());
        rest = &code[2..];
    }
    bytes.extend(rest.bytes());
    String::from_utf8(bytes).unwrap()
}

fn compare(recorded: &Recorded, ours: &Request) {
    let call = &recorded.call;
    assert_eq!(ours.method, recorded.method, "{call}");
    let url = url::Url::parse("http://host")
        .unwrap()
        .join(&ours.target)
        .unwrap();
    let path = ours.target.split('?').next().unwrap();
    assert_eq!(decoded(path), decoded(&recorded.path), "{call}");
    let mut query = BTreeMap::<String, Vec<String>>::new();
    for (key, value) in url.query_pairs() {
        query.entry(key.into()).or_default().push(value.into());
    }
    assert_eq!(query, recorded.query, "{call}");
    assert_eq!(
        (&*recorded.accept, ours.header("accept").unwrap()),
        ACCEPT,
        "{call}"
    );
    assert_eq!(
        ours.header("content-type"),
        recorded.content_type.as_deref(),
        "{call}"
    );
    let mut wanted = recorded.body.clone();
    for (of, path, why) in LEFT_OUT {
        if call.starts_with(of) {
            let body = wanted.as_mut().unwrap();
            assert!(
                take(body, path),
                "{call} has no {path}, so this is no difference: {why}"
            );
        }
    }
    let body: Option<Value> = Some(&ours.body)
        .filter(|body| !body.is_empty())
        .map(|body| serde_json::from_str(body).unwrap());
    assert_eq!(body, wanted, "{call}");
}

// INV-CLIENT-20
#[tokio::test]
async fn each_call_sends_what_client_go_sends() {
    let table: Vec<Recorded> = serde_json::from_str(TABLE).unwrap();
    let server = Server::start(|_| Reply::json("{}")).await;
    let client = Client::anonymous(&server.url()).unwrap();
    let mut compared = 0;
    for recorded in &table {
        let is_other = OTHERS.iter().any(|(of, _)| recorded.call.starts_with(of));
        let is_sent = send(&recorded.call, &client).await;
        assert_eq!(is_sent, !is_other, "{}", recorded.call);
        if is_sent {
            compare(recorded, &server.last());
            compared += 1;
        }
    }
    assert_eq!(server.requests().len(), compared);
    assert!(compared >= 38, "{compared}");
}
