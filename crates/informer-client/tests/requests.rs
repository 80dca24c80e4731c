//! What goes over the wire, and what comes back from it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use informer_client::http::Method;
use informer_client::{Api, Client, DeleteOptions, Deleted, Error, Patch, Propagation};
use informer_wire::{PartialObjectMetadata, Resource, Scope, Status};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use serde_json::{Value, json};
use support::{PATIENCE, Reply, Server};

const MAP: &str = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"shop","resourceVersion":"7"},"data":{"k":"v"}}"#;

async fn client(server: &Server) -> Client {
    Client::anonymous(&server.url()).unwrap()
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "shop")
}

#[tokio::test]
async fn typed_requests_have_the_expected_form() {
    let server = Server::start(|_| Reply::json(MAP)).await;
    let api = maps(client(&server).await).field_manager("tester");
    let map = api.get("m").await.unwrap();
    assert_eq!(map.data.as_ref().unwrap()["k"], "v");
    api.create(&map).await.unwrap();
    api.clone().dry_run(true).replace("m", &map).await.unwrap();
    api.patch("m", &Patch::Merge(json!({"data": null})))
        .await
        .unwrap();
    api.patch("m", &Patch::Json(json!([{"op": "test"}])))
        .await
        .unwrap();
    api.patch("m", &Patch::Strategic(json!({}))).await.unwrap();
    let apply = Patch::Apply {
        manager: "me".into(),
        force: true,
        object: json!({"kind": "x"}),
    };
    api.patch("m", &apply).await.unwrap();
    api.clone().subresource("status").get("m").await.unwrap();
    let nodes = Api::<Node>::cluster(client(&server).await);
    // What comes back is no node; only the request counts here.
    nodes.get("n:1").await.unwrap_err();

    let requests = server.requests();
    let shapes: Vec<_> = requests
        .iter()
        .map(|request| {
            let content_type = request.header("content-type").unwrap_or("-");
            format!("{} {} {content_type}", request.method, request.target)
        })
        .collect();
    let path = "/api/v1/namespaces/shop/configmaps";
    assert_eq!(
        shapes,
        [
            format!("GET {path}/m -"),
            format!("POST {path}?fieldManager=tester application/json"),
            format!("PUT {path}/m?fieldManager=tester&dryRun=All application/json"),
            format!("PATCH {path}/m?fieldManager=tester application/merge-patch+json"),
            format!("PATCH {path}/m?fieldManager=tester application/json-patch+json"),
            format!("PATCH {path}/m?fieldManager=tester application/strategic-merge-patch+json"),
            format!("PATCH {path}/m?fieldManager=me&force=true application/apply-patch+yaml"),
            format!("GET {path}/m/status -"),
            "GET /api/v1/nodes/n:1 -".to_owned(),
        ]
    );
    let sent: Value = serde_json::from_str(&requests[1].body).unwrap();
    assert_eq!(sent["kind"], "ConfigMap");
    assert_eq!(requests[3].body, r#"{"data":null}"#);
    for request in &requests {
        assert_eq!(request.header("accept"), Some("application/json"));
        assert!(
            request
                .header("user-agent")
                .unwrap()
                .contains(") informer/")
        );
        assert_eq!(request.header("authorization"), None);
        assert_eq!(request.header("referer"), None);
    }
}

#[tokio::test]
async fn delete_returns_status_or_object() {
    let server = Server::start(|request| {
        let gone = r#"{"kind":"Status","apiVersion":"v1","status":"Success","code":200}"#;
        Reply::json(if request.target.ends_with("gone") {
            gone
        } else {
            MAP
        })
    })
    .await;
    let api = maps(client(&server).await);
    assert!(matches!(
        api.delete("gone", &DeleteOptions::default()).await.unwrap(),
        Deleted::Status(_)
    ));
    let going = api.delete("m", &DeleteOptions::default()).await.unwrap();
    let Deleted::Object(map) = going else {
        panic!("{going:?}")
    };
    assert_eq!(map.metadata.name.as_deref(), Some("m"));
}

/// INV-CLIENT-16: beside a body kube-apiserver ignores the query of a delete. A dry run in the query alone deletes.
#[tokio::test]
async fn delete_sends_all_options_in_the_body() {
    let server = Server::start(|_| Reply::json(MAP)).await;
    let api = maps(client(&server).await).field_manager("tester");
    let plain = DeleteOptions::default();
    let full = DeleteOptions::default()
        .grace_period_seconds(0)
        .propagation(Propagation::Foreground)
        .only_uid("u-1")
        .only_resource_version("7");
    let full_body = json!({
        "gracePeriodSeconds": 0, "propagationPolicy": "Foreground",
        "preconditions": {"uid": "u-1", "resourceVersion": "7"},
    });
    let mut full_dry_run = full_body.clone();
    full_dry_run["dryRun"] = json!(["All"]);
    let dry_run = json!({"dryRun": ["All"]});
    let trial = api.clone().dry_run(true);
    for (api, options, body) in [
        (&api, plain.clone(), json!({})),
        (&api, full.clone(), full_body),
        (&trial, plain.clone(), dry_run.clone()),
        (&trial, full, full_dry_run),
        // Either of the two is enough.
        (&api, plain.clone().dry_run(true), dry_run.clone()),
        (&trial, plain.clone().dry_run(false), dry_run.clone()),
        (&trial.clone().subresource("status"), plain.clone(), dry_run),
        (&api, plain.dry_run(true).dry_run(false), json!({})),
    ] {
        api.delete("m", &options).await.unwrap();
        let request = server.last();
        assert_eq!(request.method, "DELETE");
        assert!(!request.target.contains('?'), "{}", request.target);
        assert_eq!(request.header("content-type"), Some("application/json"));
        let sent: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(sent, body);
    }
}

/// INV-CLIENT-4: what is put into a request is encoded, and can change neither path nor parameters.
#[tokio::test]
async fn paths_and_parameters_are_encoded() {
    let server = Server::start(|_| Reply::json("{}")).await;
    let client = Client::anonymous(&format!("{}/k8s/c-1/?x=y", server.url())).unwrap();
    let selector = "a in (b,c),d!=e&watch=true#\u{fc} +%";
    let request = client
        .request(Method::GET, "/api/v1/pods")
        .query([("labelSelector", selector)]);
    request.send().await.unwrap();
    let target = server.last().target;
    let (path, query) = target.split_once('?').unwrap();
    assert_eq!(path, "/k8s/c-1/api/v1/pods");
    let pairs: Vec<_> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    assert_eq!(pairs, [("labelSelector".to_owned(), selector.to_owned())]);

    let api = maps(client.clone());
    for name in ["", ".", "..", "a/b", "a%2fb"] {
        assert!(
            matches!(api.get(name).await, Err(Error::Request { .. })),
            "{name:?}"
        );
    }
    let api = maps(client).subresource("../x");
    assert!(matches!(api.get("m").await, Err(Error::Request { .. })));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn errors_of_the_server_are_classified() {
    let server = Server::start(|request| {
        let name = request.target.rsplit('/').next().unwrap();
        let status = |code: &str, reason: &str| {
            let body = format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"no","reason":"{reason}","code":{code}}}"#
            );
            Reply::new(&format!("{code} X"), "Content-Type: application/json\r\n", &body)
        };
        match name {
            "missing" => status("404", "NotFound"),
            "conflict" => status("409", "Conflict"),
            "exists" => status("409", "AlreadyExists"),
            "forbidden" => status("403", "Forbidden"),
            "invalid" => status("422", "Invalid"),
            "busy" => Reply::new("429 X", "Retry-After: 7\r\n", "Too many requests\n"),
            "later" => Reply::new("503 X", "Retry-After: 99999\r\n", ""),
            "binary" => Reply::new(
                "500 X",
                "Content-Type: application/vnd.kubernetes.protobuf\r\n",
                "k8s\0\n\x0c",
            ),
            "moved" => Reply::new("302 Found", "Location: /elsewhere\r\n", "<html>"),
            _ => Reply::json(r#"{"metadata":{"name":5}}"#),
        }
    })
    .await;
    let api = maps(client(&server).await);
    let error = async |name: &str| api.get(name).await.unwrap_err();
    assert!(error("missing").await.is_not_found());
    assert!(error("conflict").await.is_conflict());
    assert!(error("exists").await.is_already_exists());
    assert!(!error("exists").await.is_conflict());
    assert!(error("forbidden").await.is_forbidden());
    assert!(error("invalid").await.is_invalid());
    let busy = error("busy").await;
    assert!(busy.is_too_many_requests());
    assert_eq!(busy.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(
        error("later").await.retry_after(),
        Some(Duration::from_secs(300))
    );
    let binary = error("binary").await;
    let message = &binary.status().unwrap().message;
    assert!(message.ends_with("without a message"), "{message:?}");
    let before = server.requests().len();
    assert_eq!(error("moved").await.status().unwrap().code, 302);
    assert_eq!(
        server.requests().len(),
        before + 1,
        "a redirect was followed"
    );
    assert!(matches!(error("wrong").await, Error::Decode { .. }));
}

/// INV-CLIENT-5: no answer is read without limit.
#[tokio::test]
async fn endless_body_is_cut_off() {
    let server = Server::start(|request| {
        let head = if request.target.ends_with("error") {
            "500 X"
        } else {
            "200 OK"
        };
        let mut bytes =
            format!("HTTP/1.1 {head}\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
        for _ in 0..40 {
            bytes.extend_from_slice(b"100000\r\n");
            bytes.extend_from_slice(&vec![b'x'; 0x10_0000]);
            bytes.extend_from_slice(b"\r\n");
        }
        Reply::raw(bytes).hang()
    })
    .await;
    let api = maps(client(&server).await);
    let whole = async {
        let error = api.get("error").await.unwrap_err();
        assert!(error.status().unwrap().message.len() < 2_100);
        assert!(matches!(api.get("big").await, Err(Error::TooLarge { .. })));
    };
    tokio::time::timeout(PATIENCE, whole).await.unwrap();
}

#[tokio::test]
async fn timeout_and_refused_connection_are_distinct_errors() {
    let server = Server::start(|_| Reply::raw("").hang()).await;
    let config = informer_client::Config::anonymous(&server.url()).unwrap();
    let limit = Duration::from_millis(50);
    let silent = Client::builder(config)
        .request_timeout(limit)
        .build()
        .unwrap();
    let error = maps(silent.clone()).get("m").await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    let opening = silent
        .request(Method::GET, "/version")
        .timeout(limit)
        .send()
        .await;
    assert!(matches!(opening, Err(Error::Timeout { .. })));

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::anonymous(&closed).unwrap();
    let error = client
        .request(Method::GET, "/version")
        .send()
        .await
        .unwrap_err();
    assert!(error.is_refused(), "{error:?}");
}

#[tokio::test]
async fn compression_is_requested_only_if_enabled() {
    // {"data":{"k":"v"}}, by gzip.
    const ZIPPED: &[u8] = &[
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 73, 44, 73, 84, 178, 170, 86, 202, 86, 178,
        82, 42, 83, 170, 173, 5, 0, 110, 195, 178, 9, 18, 0, 0, 0,
    ];
    let server = Server::start(|request| match request.header("accept-encoding") {
        None => Reply::json("{}"),
        Some("gzip") => {
            let length = ZIPPED.len();
            let mut bytes = format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
            )
            .into_bytes();
            bytes.extend_from_slice(ZIPPED);
            Reply::raw(bytes)
        }
        Some(other) => panic!("{other}"),
    })
    .await;
    let read = async |client: Client| {
        let answer = client.request(Method::GET, "/x").send().await.unwrap();
        String::from_utf8(answer.bytes(100).await.unwrap().to_vec()).unwrap()
    };
    assert_eq!(read(client(&server).await).await, "{}");
    let mut config = informer_client::Config::anonymous(&server.url()).unwrap();
    let asking = Client::builder(config.clone()).gzip(true).build().unwrap();
    assert_eq!(read(asking).await, r#"{"data":{"k":"v"}}"#);
    config.cluster.disable_compression = true;
    assert_eq!(
        read(Client::builder(config).gzip(true).build().unwrap()).await,
        "{}"
    );
}

#[tokio::test]
async fn incomplete_body_is_an_error() {
    let server = Server::start(|_| {
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"metadata\":{")
    })
    .await;
    let error = maps(client(&server).await).get("m").await.unwrap_err();
    assert!(
        matches!(error, Error::Transport { refused: false, .. }),
        "{error:?}"
    );
}

/// What the wire can read, the typed requests can too; an answer that is of none of our formats is no object.
#[tokio::test]
async fn every_form_of_an_object_is_requested_and_read() {
    let server = Server::start(|request| match &*request.target {
        "/api/v1/namespaces/shop/configmaps/m" => Reply::json(MAP),
        "/api/v1/namespaces/shop/pods/p/eviction" => Reply::json(
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}"#,
        ),
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" => Reply::json(
            r#"{"kind":"SelfSubjectAccessReview","metadata":{"creationTimestamp":null},"status":{"allowed":true}}"#,
        ),
        _ => Reply::new("200 OK", "Content-Type: text/html\r\n", "<html>log in</html>"),
    })
    .await;
    let client = client(&server).await;
    let maps = Resource::core("v1", "ConfigMap", "configmaps", Scope::Namespaced);
    let metadata = Api::<PartialObjectMetadata>::new(client.clone(), maps).in_namespace("shop");
    assert_eq!(metadata.get("m").await.unwrap().metadata().name(), "m");
    let asked = server.requests()[0].header("accept").unwrap().to_owned();
    assert!(asked.contains("as=PartialObjectMetadata;"), "{asked}");

    let pods = Api::<Pod>::namespaced(client.clone(), "shop").subresource("eviction");
    let done: Status = pods.create_subresource("p", &json!({})).await.unwrap();
    assert_eq!(done.status, "Success");

    let reviews = Resource::new(
        "authorization.k8s.io",
        "v1",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        Scope::Cluster,
    );
    let reviews = Api::<Value>::new(client.clone(), reviews);
    let review = reviews.create(&json!({"spec": {}})).await.unwrap();
    assert_eq!(review["status"]["allowed"], true);

    let error = pods_of(client).get("x").await.unwrap_err();
    assert!(matches!(error, Error::Decode { .. }), "{error:?}");
}

fn pods_of(client: Client) -> Api<Pod> {
    Api::namespaced(client, "shop")
}

#[tokio::test]
async fn resource_is_found_by_every_name() {
    let server = Server::start(|request| {
        Reply::json(match &*request.target {
            "/api" => r#"{"kind":"APIVersions","versions":["v1"]}"#,
            "/api/v1" => {
                r#"{"groupVersion":"v1","resources":[
                    {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","shortNames":["po"]},
                    {"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod"},
                    {"name":"nodes","singularName":"node","namespaced":false,"kind":"Node"}]}"#
            }
            "/apis" => {
                r#"{"groups":[
                    {"name":"down.example","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}},
                    {"name":"apps","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}},
                    {"name":"demo.example","versions":[{"version":"v2"},{"version":"v1"}],"preferredVersion":{"version":"v1"}}]}"#
            }
            "/apis/apps/v1" => {
                r#"{"groupVersion":"apps/v1","resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","shortNames":["deploy"]}]}"#
            }
            "/apis/demo.example/v1" => {
                r#"{"groupVersion":"demo.example/v1","resources":[{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget"},
                    {"name":"pods","singularName":"pod","namespaced":true,"kind":"OtherPod"}]}"#
            }
            "/apis/demo.example/v2" => r#"{"groupVersion":"demo.example/v2","resources":null}"#,
            "/apis/down.example/v1" => return Reply::new("503 X", "", "down"),
            _ => return Reply::new("404 Not Found", "", "404 page not found\n"),
        })
    })
    .await;
    let client = client(&server).await;
    let pods = Resource::core("v1", "Pod", "pods", Scope::Namespaced);
    for name in ["pods", "pod", "po", "Pod", "v1/pods"] {
        assert_eq!(client.find_resource(name).await.unwrap(), pods, "{name}");
    }
    let nodes = client.find_resource("nodes").await.unwrap();
    assert_eq!(nodes.scope, Scope::Cluster);
    for name in ["deploy", "deployments.apps", "apps/v1/deployments"] {
        assert_eq!(
            client.find_resource(name).await.unwrap().to_string(),
            "apps/v1/deployments"
        );
    }
    for name in ["widgets", "widgets.demo.example", "demo.example/v1/widget"] {
        let found = client.find_resource(name).await.unwrap();
        assert_eq!(found.to_string(), "demo.example/v1/widgets", "{name}");
    }
    let other = client.find_resource("pods.demo.example").await.unwrap();
    assert_eq!(other.kind, "OtherPod");
    // The group that is down may have it: the caller should ask again.
    let error = client.find_resource("gadgets").await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 503, "{error:?}");
    for name in [
        "gadgets.demo.example",
        "pods/status",
        "a/b/c/d",
        "../v1/pods",
        "V1/pods",
        "apps/v9/deployments",
    ] {
        let error = client.find_resource(name).await.unwrap_err();
        assert!(
            matches!(error, Error::UnknownResource { .. }),
            "{name:?} {error:?}"
        );
    }
}
