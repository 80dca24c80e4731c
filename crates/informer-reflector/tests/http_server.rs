//! Lists and watches against an API server in memory.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use informer_client::{AuthInfo, Client, Config};
use informer_reflector::http::{HttpConfig, HttpListerWatcher};
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
async fn pages_add_up_to_the_whole() {
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
async fn a_watch_follows_what_happens() {
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
async fn a_streaming_list_ends_with_its_marker() {
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
async fn too_old_is_an_error_event() {
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
async fn a_token_opens_the_door() {
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

/// Faults at every few bytes of a list: it never ends well, and the fault's class is told.
#[tokio::test]
async fn a_fault_anywhere_in_a_list_is_seen() {
    let server = ApiServer::start().await.unwrap();
    fill(&server, 3);
    let config = HttpConfig::default().list_silence(Duration::from_millis(100));
    let lister = pods(&server).config(config);
    // The length of the whole body is not known here; about 200 bytes a pod.
    for after in (0..400).step_by(40) {
        let faults = BTreeMap::from([
            ("transport", Fault::Cut { after }),
            ("timeout", Fault::Stall { after }),
        ]);
        for (wanted, fault) in faults {
            server.fail_next(RequestMatcher::verb(Verb::List).resource("pods"), fault);
            let found = soon(async {
                match lister.list(ListRequest::default()).await {
                    Ok(list) => last(list).await,
                    Err(ListWatchError::Transport { .. }) => "transport",
                    Err(error) => panic!("{error:?}"),
                }
            })
            .await;
            assert_eq!(found, wanted, "after {after} bytes");
        }
    }
    assert!(server.faults_used_up());
}

#[tokio::test]
async fn the_answer_to_a_broken_opening_is_an_error() {
    let server = ApiServer::start().await.unwrap();
    let config = HttpConfig::default().watch_answer(Duration::from_millis(100));
    let lister = pods(&server).config(config);
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
        server.fail_next(
            RequestMatcher::verb(Verb::Watch).resource("pods"),
            Fault::HoldOpen,
        );
        let error = lister.watch(ListOptions::default()).await.unwrap_err();
        assert!(matches!(error, ListWatchError::Timeout { .. }), "{error:?}");
    })
    .await;
}

#[tokio::test]
async fn objects_of_any_type_are_read() {
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
