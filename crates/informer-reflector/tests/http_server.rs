//! Lists and watches against an API server in memory.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use informer_client::{AuthInfo, Client, Config};
use informer_reflector::http::HttpListerWatcher;
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher as _};
use informer_testkit::{ApiServer, Fault, RequestMatcher, StreamEnd, Verb};
use informer_wire::{Decoded, Dynamic, ListMeta, ListOptions, ResourceVersionMatch, WatchEvent};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

/// How long a test waits for anything.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("it takes too long")
}

fn pods(server: &ApiServer) -> HttpListerWatcher<Pod> {
    HttpListerWatcher::all(Client::anonymous(&server.url()).unwrap())
}

fn fill(server: &ApiServer, count: usize) {
    for n in 0..count {
        let metadata = json!({"namespace": "shop", "name": format!("p{n:02}")});
        server
            .create("pods", json!({"metadata": metadata}))
            .unwrap();
    }
}

/// One page: the names on it, and its end.
async fn page(lister: &HttpListerWatcher<Pod>, options: ListOptions) -> (Vec<String>, ListMeta) {
    let mut list = lister.list(ListRequest::new(options)).await.unwrap();
    let mut names = Vec::new();
    loop {
        match list.next().await.expect("an end").unwrap() {
            ListEvent::Item(Decoded::Object(pod)) => names.extend(pod.metadata.name),
            ListEvent::End(end) => return (names, end),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn pages_add_up_to_the_whole_list() {
    let server = ApiServer::start().await.unwrap();
    fill(&server, 25);
    let lister = pods(&server);
    soon(async {
        let (whole, end) = page(&lister, ListOptions::default()).await;
        assert_eq!(whole.len(), 25);
        assert_eq!(end.continue_token, None);
        let mut options = ListOptions::default().limit(10);
        let mut found = Vec::new();
        loop {
            let (names, next) = page(&lister, options.clone()).await;
            assert_eq!(next.resource_version, end.resource_version);
            found.extend(names);
            let Some(token) = next.continue_token else {
                break;
            };
            options = options.continue_token(token);
        }
        assert_eq!(found, whole);
    })
    .await;
}

#[tokio::test]
async fn watch_yields_the_changes_of_the_server() {
    let server = ApiServer::start().await.unwrap();
    fill(&server, 2);
    let lister = pods(&server);
    soon(async {
        let (_, end) = page(&lister, ListOptions::default()).await;
        let from = end.resource_version.unwrap();
        let mut watch = lister
            .watch(ListOptions::default().resource_version(from))
            .await
            .unwrap();
        server
            .merge_patch("pods", "shop", "p00", json!({"spec": {"nodeName": "n"}}))
            .unwrap();
        server.delete("pods", "shop", "p01").unwrap();
        let Some(Ok(WatchEvent::Modified(Decoded::Object(pod)))) = watch.next().await else {
            panic!()
        };
        assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some("n"));
        let Some(Ok(WatchEvent::Deleted(Decoded::Object(pod)))) = watch.next().await else {
            panic!()
        };
        assert_eq!(pod.metadata.name.as_deref(), Some("p01"));
        server.end_watches(StreamEnd::Clean);
        assert!(watch.next().await.is_none());
    })
    .await;
}

#[tokio::test]
async fn streaming_list_has_a_bookmark_at_the_end_of_its_initial_events() {
    let server = ApiServer::start().await.unwrap();
    fill(&server, 3);
    soon(async {
        let options = ListOptions::default()
            .allow_watch_bookmarks(true)
            .send_initial_events(true)
            .resource_version_match(ResourceVersionMatch::NotOlderThan);
        let mut watch = pods(&server).watch(options).await.unwrap();
        for _ in 0..3 {
            assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));
        }
        let marker = watch.next().await.unwrap().unwrap();
        assert!(matches!(
            marker,
            WatchEvent::Bookmark {
                initial_events_end: true,
                ..
            }
        ));
    })
    .await;
}

#[tokio::test]
async fn expired_version_is_an_error_event() {
    let server = ApiServer::start().await.unwrap();
    fill(&server, 3);
    server.compact();
    soon(async {
        let options = ListOptions::default().resource_version("1".into());
        let mut watch = pods(&server).watch(options).await.unwrap();
        let Some(Ok(WatchEvent::Error(status))) = watch.next().await else {
            panic!()
        };
        assert!(status.is_expired());
    })
    .await;
}

#[tokio::test]
async fn token_is_sent_and_checked() {
    let server = ApiServer::builder().token("t0k3n").start().await.unwrap();
    let config = Config::anonymous(&server.url()).unwrap();
    let client = |auth| {
        let config = config.clone().auth(auth);
        Client::builder(config)
            .credentials_on_loopback(true)
            .build()
            .unwrap()
    };
    soon(async {
        for (token, works) in [("t0k3n", true), ("other", false)] {
            let lister = HttpListerWatcher::<Pod>::all(client(AuthInfo::default().token(token)));
            let result = lister.list(ListRequest::default()).await;
            match result {
                Ok(_) => assert!(works),
                Err(error) => {
                    assert!(!works);
                    assert!(
                        error
                            .status()
                            .is_some_and(|status| status.is_unauthorized())
                    );
                }
            }
        }
    })
    .await;
}

/// What the last event of a stream was, by class.
async fn last<T>(stream: impl Stream<Item = Result<T, ListWatchError>>) -> &'static str {
    let mut stream = Box::pin(stream);
    let mut last = "nothing";
    while let Some(event) = stream.next().await {
        last = match event {
            Ok(_) => "event",
            Err(ListWatchError::Transport { .. }) => "transport",
            Err(ListWatchError::Timeout { .. }) => "timeout",
            Err(ListWatchError::Decode(_)) => "decode",
            Err(_) => "other",
        };
    }
    last
}

/// A cut at every few bytes of a list: it never ends well.
#[tokio::test]
async fn list_that_is_cut_anywhere_is_a_transport_error() {
    let server = ApiServer::start().await.unwrap();
    fill(&server, 3);
    let lister = pods(&server);
    // The length of the whole body is not known here; about 200 bytes a pod.
    for after in (0..400).step_by(40) {
        let lists = RequestMatcher::verb(Verb::List).resource("pods");
        server.fail_next(lists, Fault::Cut { after });
        let found = soon(async {
            match lister.list(ListRequest::default()).await {
                Ok(list) => last(list).await,
                Err(ListWatchError::Transport { .. }) => "transport",
                Err(error) => panic!("{error:?}"),
            }
        })
        .await;
        assert_eq!(found, "transport", "after {after} bytes");
    }
    assert!(server.faults_used_up());
}

#[tokio::test]
async fn watch_that_is_cut_while_it_opens_is_a_transport_error() {
    let server = ApiServer::start().await.unwrap();
    let lister = pods(&server);
    soon(async {
        server.fail_next(
            RequestMatcher::verb(Verb::Watch).resource("pods"),
            Fault::Disconnect,
        );
        let error = lister.watch(ListOptions::default()).await.unwrap_err();
        assert!(
            matches!(error, ListWatchError::Transport { refused: false, .. }),
            "{error:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn dynamic_objects_are_decoded() {
    let server = ApiServer::start().await.unwrap();
    fill(&server, 1);
    let client = Client::anonymous(&server.url()).unwrap();
    let resource = soon(client.find_resource("po")).await.unwrap();
    let lister = HttpListerWatcher::<Dynamic>::new(client, resource).namespace("shop");
    soon(async {
        let mut list = lister.list(ListRequest::default()).await.unwrap();
        let Some(Ok(ListEvent::Item(Decoded::Object(pod)))) = list.next().await else {
            panic!()
        };
        assert_eq!(
            (pod.api_version(), pod.kind(), pod.metadata().name()),
            ("v1", "Pod", "p00")
        );
    })
    .await;
}
