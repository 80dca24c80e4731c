//! What lists and watches request, and how they end.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod http_support;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http_support::{Answer, PATIENCE, Server};
use informer_client::Client;
use informer_reflector::http::{HttpConfig, HttpListerWatcher, HttpSource};
use informer_reflector::{
    BackoffConfig, BoxListerWatcher, ListEvent, ListMode, ListRequest, ListWatchError,
    ListerWatcher, ListerWatcherSource, Reflector, ReflectorConfig, Report,
};
use informer_store::Store;
use informer_wire::{
    Decoded, Dynamic, ListOptions, Resource, ResourceVersionMatch, Scope, WatchEvent,
};
use k8s_openapi::api::core::v1::{Node, Pod};
use tokio_util::sync::CancellationToken;

const EMPTY: &str =
    r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;

fn whole(body: &str) -> Answer {
    let length = body.len();
    Answer::new(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

fn request<K>() -> ListRequest<K> {
    ListRequest::new(ListOptions::default())
}

/// A short limit that is only ever waited for on purpose.
const SHORT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn requests_have_path_query_and_headers_of_their_options() {
    let server = Server::start(vec![whole(EMPTY), whole(""), whole(EMPTY), whole(EMPTY)]).await;
    let pods = HttpListerWatcher::<Pod>::namespaced(server.client(), "shop");
    let options = ListOptions::default()
        .label_selector("app in (a,b),c!=d&e")
        .field_selector("spec.nodeName=n")
        .limit(500)
        .continue_token("a+b/c=")
        .resource_version("7".into())
        .resource_version_match(ResourceVersionMatch::NotOlderThan);
    pods.list(ListRequest::new(options)).await.unwrap();
    let options = ListOptions::default()
        .resource_version("9".into())
        .timeout(Duration::from_secs(300))
        .allow_watch_bookmarks(true)
        .send_initial_events(true);
    pods.watch(options).await.unwrap();
    HttpListerWatcher::<Node>::all(server.client())
        .list(request())
        .await
        .unwrap();
    let widgets = Resource::new("demo.example", "v2", "Widget", "widgets", Scope::Namespaced);
    HttpListerWatcher::<Dynamic>::new(server.client(), widgets)
        .list(request())
        .await
        .unwrap();

    let heads = server.heads();
    let targets: Vec<_> = heads
        .iter()
        .map(|head| head.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(
        targets[0],
        "/api/v1/namespaces/shop/pods?labelSelector=app+in+%28a%2Cb%29%2Cc%21%3Dd%26e\
         &fieldSelector=spec.nodeName%3Dn&limit=500&continue=a%2Bb%2Fc%3D&resourceVersion=7\
         &resourceVersionMatch=NotOlderThan"
    );
    assert_eq!(
        targets[1],
        "/api/v1/namespaces/shop/pods?watch=true&resourceVersion=9&timeoutSeconds=300\
         &allowWatchBookmarks=true&sendInitialEvents=true"
    );
    assert_eq!(targets[2], "/api/v1/nodes");
    assert_eq!(targets[3], "/apis/demo.example/v2/widgets");
    for head in heads {
        let head = head.to_ascii_lowercase();
        assert!(!head.contains("accept-encoding"), "{head}");
    }
}

// INV-HTTP-3: the reflector's limits end every wait for a response or for bytes of a list.
#[tokio::test]
async fn reflector_ends_lists_and_watches_without_response_or_progress() {
    let silent = || Answer::new("").hang();
    let begun = Answer::chunk(r#"{"kind":"PodList","items":[{"metadata":{"name":"a"}},"#).hang();
    let server = Server::start(vec![silent(), begun, whole(EMPTY), silent()]).await;
    let second = Duration::from_secs(1);
    let config = ReflectorConfig::default()
        .list_mode(ListMode::List)
        .backoff(BackoffConfig::default().initial(SHORT))
        .answer_timeout(second)
        .progress_timeout(second)
        .silence_timeout(second);
    let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let reflector = Reflector::new(server.lister(), Arc::new(Store::new()))
        .config(config)
        .unwrap()
        .watch_error_handler(move |report: &Report| _ = sender.send(report.to_string()));
    let running = tokio::spawn(reflector.run(CancellationToken::new()));
    for expected in [
        "list timed out: no response within 1s",
        "list timed out: no object within 1s",
        "watch timed out: no response within 1s",
    ] {
        let report = tokio::time::timeout(PATIENCE, async {
            loop {
                let report = reports.recv().await.unwrap();
                // Objects of the list have no versions.
                if !report.contains("cannot be compared") {
                    break report;
                }
            }
        });
        assert_eq!(report.await.unwrap(), expected);
    }
    running.abort();
}

/// An event without an object may concern any object. INV-REFL-2
#[tokio::test]
async fn event_with_a_null_object_leads_to_a_list() {
    let pod = r#"{"metadata":{"name":"a","namespace":"shop","uid":"1","resourceVersion":"8"}}"#;
    let items = format!(r#""metadata":{{"resourceVersion":"9"}},"items":[{pod}]"#);
    let list = format!(r#"{{"kind":"PodList","apiVersion":"v1",{items}}}"#);
    for event_type in ["ADDED", "MODIFIED", "DELETED"] {
        let event = format!(r#"{{"type":"{event_type}","object":null}}"#);
        let watch = Answer::chunk(&event).hang();
        let server = Server::start(vec![whole(EMPTY), watch, whole(&list)]).await;
        let config = ReflectorConfig::default()
            .list_mode(ListMode::List)
            .backoff(BackoffConfig::default().initial(SHORT));
        let store = Arc::new(Store::new());
        let reflector = Reflector::new(server.lister(), Arc::clone(&store))
            .config(config)
            .unwrap();
        let running = tokio::spawn(reflector.run(CancellationToken::new()));
        let newest = 9.into();
        let listed = tokio::time::timeout(PATIENCE, store.wait_until(&newest));
        listed.await.unwrap().unwrap();
        assert!(store.contains("shop/a"), "{event_type}");
        running.abort();
    }
}

// INV-HTTP-4: dropping a future or a stream ends the request.
#[tokio::test]
async fn dropping_a_list_or_watch_ends_the_request() {
    let event = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
    let list = r#"{"kind":"PodList","items":[{"metadata":{"name":"a"}},"#;
    for kind in ["opening", "watch", "list"] {
        let answer = match kind {
            "opening" => Answer::new(""),
            "watch" => Answer::chunk(event),
            _ => Answer::chunk(list),
        };
        let mut server = Server::start(vec![answer.hang()]).await;
        let lister = server.lister();
        match kind {
            "opening" => {
                let opening = tokio::time::timeout(SHORT, lister.watch(ListOptions::default()));
                assert!(opening.await.is_err());
            }
            "watch" => {
                let mut watch = lister.watch(ListOptions::default()).await.unwrap();
                assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));
            }
            _ => {
                let mut list = lister.list(request()).await.unwrap();
                assert!(matches!(list.next().await, Some(Ok(ListEvent::Item(_)))));
            }
        }
        tokio::time::timeout(PATIENCE, server.hung_up())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn event_is_yielded_as_soon_as_its_bytes_are_received() {
    let event = r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}}"#;
    // No line break behind it, and the connection stays open.
    let server = Server::start(vec![Answer::chunk(event).hang()]).await;
    let run = async {
        let mut watch = server.lister().watch(ListOptions::default()).await.unwrap();
        let Some(Ok(WatchEvent::Added(Decoded::Object(pod)))) = watch.next().await else {
            panic!()
        };
        assert_eq!(pod.metadata().name(), "a");
    };
    tokio::time::timeout(PATIENCE, run).await.unwrap();
}

#[tokio::test]
async fn clean_and_broken_ends_differ() {
    let event = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"5"}}}"#;
    let clean = {
        let length = event.len();
        format!("{length:x}\r\n{event}\r\n0\r\n\r\n")
    };
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = Server::start(vec![
        Answer::new(format!("{head}{clean}")),
        Answer::chunk(event),
        Answer::new(format!("{head}5\r\n{{\"typ\r\n0\r\n\r\n")),
        whole("<html>"),
        Answer::new("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n"),
    ])
    .await;
    let run = async {
        // The server ended the watch: one event, then nothing.
        let mut watch = server.lister().watch(ListOptions::default()).await.unwrap();
        assert!(matches!(
            watch.next().await,
            Some(Ok(WatchEvent::Bookmark { .. }))
        ));
        assert!(watch.next().await.is_none());
        // The connection broke between two events, or within one.
        let mut watch = server.lister().watch(ListOptions::default()).await.unwrap();
        assert!(matches!(
            watch.next().await,
            Some(Ok(WatchEvent::Bookmark { .. }))
        ));
        let broken = watch.next().await;
        assert!(
            matches!(broken, Some(Err(ListWatchError::Transport { .. }))),
            "{broken:?}"
        );
        assert!(watch.next().await.is_none());
        let mut watch = server.lister().watch(ListOptions::default()).await.unwrap();
        let broken = watch.next().await;
        assert!(
            matches!(broken, Some(Err(ListWatchError::Transport { .. }))),
            "{broken:?}"
        );
        // Not a list at all.
        let mut list = server.lister().list(request()).await.unwrap();
        let wrong = list.next().await;
        assert!(
            matches!(wrong, Some(Err(ListWatchError::Decode(_)))),
            "{wrong:?}"
        );
        let wrong = server.lister().list(request()).await;
        assert!(
            matches!(wrong, Err(ListWatchError::Protocol(_))),
            "{wrong:?}"
        );
    };
    tokio::time::timeout(PATIENCE, run).await.unwrap();
}

/// A Status behind half a list is the error, and the list has no end.
#[tokio::test]
async fn error_within_a_list_is_the_servers_status() {
    let body = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","message":"too slow","code":504}"#;
    let server = Server::start(vec![whole(body)]).await;
    let run = async {
        let events: Vec<_> = server
            .lister()
            .list(request())
            .await
            .unwrap()
            .collect()
            .await;
        let Some(Err(error)) = events.last() else {
            panic!("{events:?}")
        };
        assert_eq!(
            error.status().map(|status| status.code),
            Some(504),
            "{error:?}"
        );
    };
    tokio::time::timeout(PATIENCE, run).await.unwrap();
}

#[tokio::test]
async fn refused_and_broken_connections_differ() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let pods = HttpListerWatcher::<Pod>::all(Client::anonymous(&url).unwrap());
    let error = pods.list(request()).await.unwrap_err();
    assert!(
        matches!(error, ListWatchError::Transport { refused: true, .. }),
        "{error:?}"
    );
    let server = Server::start(vec![Answer::new("")]).await;
    let error = server.lister().list(request()).await.unwrap_err();
    assert!(
        matches!(error, ListWatchError::Transport { refused: false, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn client_is_a_source_of_every_resource() {
    let server = Server::start(vec![whole(EMPTY), whole(EMPTY), whole(EMPTY)]).await;
    let pods = Resource::core("v1", "Pod", "pods", Scope::Namespaced);
    let nodes = Resource::core("v1", "Node", "nodes", Scope::Cluster);
    let client = server.client();
    let list = async |lister: BoxListerWatcher<Dynamic>| {
        drop(lister.list(request()).await.unwrap());
    };
    list(client.lister_watcher(&pods, Some("shop"))).await;
    list(client.lister_watcher(&nodes, Some("shop"))).await;
    list(HttpSource::new(client, HttpConfig::default()).lister_watcher(&pods, None)).await;
    let targets: Vec<_> = server
        .heads()
        .iter()
        .map(|head| head.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(
        targets,
        [
            "/api/v1/namespaces/shop/pods",
            "/api/v1/nodes",
            "/api/v1/pods"
        ]
    );
    // What cannot be in a path is an error of the request, not of the source.
    let evil: BoxListerWatcher<Dynamic> = server.client().lister_watcher(&pods, Some("../x"));
    assert!(matches!(
        evil.list(request()).await,
        Err(ListWatchError::Other(_))
    ));
}
