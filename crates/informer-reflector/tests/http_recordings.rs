//! What a real API server sent, served again over HTTP in odd pieces, and what it must decode to.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod http_support;

use std::fs;
use std::path::PathBuf;

use futures_util::StreamExt as _;
use http_support::{Answer, PATIENCE, Server};
use informer_client::{Client, Config};
use informer_reflector::http::HttpListerWatcher;
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher};
use informer_store::Object as _;
use informer_wire::{Decoded, Dynamic, ListOptions, WatchEvent};
use serde_json::Value;

fn recordings() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../informer-wire/tests/recordings")
}

fn read(name: &str) -> Vec<u8> {
    let path = recordings().join(format!("{name}.response"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The body without the framing of its chunks: the plain way, to compare with.
fn body(response: &[u8]) -> Vec<u8> {
    let at = response
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap()
        + 4;
    let head = String::from_utf8_lossy(&response[..at]).to_ascii_lowercase();
    let mut rest = &response[at..];
    if !head.contains("transfer-encoding: chunked") {
        return rest.to_vec();
    }
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = str::from_utf8(&rest[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 4 + size..];
    }
    body
}

fn identity(object: &Value) -> (String, String) {
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
    (text("name"), text("resourceVersion"))
}

fn identity_of(decoded: Decoded<Dynamic>) -> (String, String) {
    let Decoded::Object(object) = decoded else {
        panic!("{decoded:?}")
    };
    let version = object.resource_version().unwrap().to_string();
    (object.name().to_owned(), version)
}

/// How the pieces of a body are cut: by each of these sizes in turn.
const CUTS: &[&[usize]] = &[&[1], &[3, 1, 7], &[64, 1, 1, 5], &[1000, 13], &[usize::MAX]];

// INV-HTTP-1: how bytes are cut does not change the items.
#[tokio::test]
async fn list_recordings_decode_alike_however_they_are_cut() {
    for name in [
        "list-json",
        "list-json-rv0",
        "list-empty",
        "list-page1",
        "list-page2",
        "list-page3",
        "cr-list",
        "cr-list-page1",
        "list-metadata-json",
        "cr-list-protobuf-or-json",
    ] {
        let response = read(name);
        let whole: Value = serde_json::from_slice(&body(&response)).unwrap();
        let wanted: Vec<_> = whole["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(identity)
            .collect();
        for cuts in CUTS {
            let server = Server::start(vec![Answer::new(response.clone()).cut(cuts)]).await;
            let request = ListRequest::new(ListOptions::default());
            let run = async {
                let mut list = server.lister_of("").list(request).await.unwrap();
                let mut found = Vec::new();
                let end = loop {
                    match list.next().await.expect("an end").unwrap() {
                        ListEvent::Item(item) => found.push(identity_of(item)),
                        ListEvent::End(end) => break end,
                        other => panic!("{other:?}"),
                    }
                };
                assert!(list.next().await.is_none());
                (found, end)
            };
            let (found, end) = tokio::time::timeout(PATIENCE, run).await.unwrap();
            assert_eq!(found, wanted, "{name} {cuts:?}");
            let metadata = &whole["metadata"];
            assert_eq!(
                end.resource_version
                    .map(|version| version.to_string())
                    .as_deref(),
                metadata["resourceVersion"].as_str()
            );
            let token = metadata["continue"]
                .as_str()
                .filter(|token| !token.is_empty());
            assert_eq!(end.continue_token.as_deref(), token);
        }
    }
}

/// A list that breaks off anywhere has no end, and says why.
#[tokio::test]
async fn list_that_breaks_off_never_ends_well() {
    let response = read("list-page1");
    let head = response
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap()
        + 4;
    // Each place would take minutes; these are spread, and the last byte of all is among them.
    let places = (head..response.len() - 1)
        .step_by(97)
        .chain([response.len() - 1]);
    for length in places {
        let cut = response[..length].to_vec();
        let server = Server::start(vec![Answer::new(cut)]).await;
        let request = ListRequest::new(ListOptions::default());
        let run = async {
            let events: Vec<_> = server
                .lister_of("")
                .list(request)
                .await
                .unwrap()
                .collect()
                .await;
            assert!(
                matches!(events.last(), Some(Err(_))),
                "{length}: {:?}",
                events.last()
            );
            assert!(
                !events
                    .iter()
                    .any(|event| matches!(event, Ok(ListEvent::End(_))))
            );
        };
        tokio::time::timeout(PATIENCE, run).await.unwrap();
    }
}

#[tokio::test]
async fn watch_recordings_decode_alike_however_they_are_cut() {
    for name in [
        "watch-json",
        "watch-rv0",
        "watch-rv-unset",
        "watch-selector-json",
        "watchlist-json",
        "watch-metadata-json",
        "cr-watchlist",
        "watch-410",
        "watchlist-rv-too-large",
        "watch-rv-future-silent",
        "watch-bookmarks-150s",
    ] {
        let response = read(name);
        let wanted: Vec<_> = serde_json::Deserializer::from_slice(&body(&response))
            .into_iter::<Value>()
            .map(|event| {
                let event = event.unwrap();
                let kind = event["type"].as_str().unwrap().to_owned();
                let (name, version) = identity(&event["object"]);
                match &*kind {
                    "ERROR" => (kind, event["object"]["code"].to_string(), String::new()),
                    "BOOKMARK" => (kind, String::new(), version),
                    _ => (kind, name, version),
                }
            })
            .collect();
        for cuts in CUTS {
            let server = Server::start(vec![Answer::new(response.clone()).cut(cuts)]).await;
            let run = async {
                let watch = server
                    .lister_of("")
                    .watch(ListOptions::default())
                    .await
                    .unwrap();
                watch
                    .map(|event| shape(event.unwrap()))
                    .collect::<Vec<_>>()
                    .await
            };
            let found = tokio::time::timeout(PATIENCE, run).await.unwrap();
            assert_eq!(found, wanted, "{name} {cuts:?}");
        }
    }
}

fn shape(event: WatchEvent<Dynamic>) -> (String, String, String) {
    let named = |kind: &str, decoded| {
        let (name, version) = identity_of(decoded);
        (kind.to_owned(), name, version)
    };
    match event {
        WatchEvent::Added(object) => named("ADDED", object),
        WatchEvent::Modified(object) => named("MODIFIED", object),
        WatchEvent::Deleted(object) => named("DELETED", object),
        WatchEvent::Bookmark {
            resource_version, ..
        } => (
            "BOOKMARK".to_owned(),
            String::new(),
            resource_version.to_string(),
        ),
        WatchEvent::Error(status) => ("ERROR".to_owned(), status.code.to_string(), String::new()),
        other => panic!("{other:?}"),
    }
}

// INV-HTTP-2: an error response is the server's status, whatever form it has.
#[tokio::test]
async fn error_responses_are_the_servers_status() {
    for (name, code) in [
        ("list-400-field", 400),
        ("list-400-label", 400),
        ("list-400-rv", 400),
        ("list-401", 401),
        ("list-403", 403),
        ("list-404", 404),
        ("list-406", 406),
        ("list-continue-bad-400", 400),
        ("list-continue-expired-410", 410),
        ("list-continue-with-match-422", 422),
        ("list-continue-with-rv-400", 400),
        ("list-exact-410", 410),
        ("list-rv-too-large-504", 504),
        ("cr-list-protobuf-406", 406),
        ("watch-403", 403),
        ("watch-bad-rv", 500),
        ("watch-sendinitial-422", 422),
    ] {
        let response = read(name);
        // Who is refused in one format asks in another.
        let server = Server::start(vec![Answer::new(response).cut(&[5, 1]); 2]).await;
        let lister = server.lister_of("");
        let error = if name.starts_with("watch") {
            lister.watch(ListOptions::default()).await.unwrap_err()
        } else {
            lister
                .list(ListRequest::new(ListOptions::default()))
                .await
                .unwrap_err()
        };
        let ListWatchError::Status { status, .. } = &error else {
            panic!("{name}: {error:?}")
        };
        assert_eq!(status.code, code, "{name}");
        assert!(
            !status.message.is_empty() && !status.reason.is_empty(),
            "{name}: {status:?}"
        );
        match name {
            "list-rv-too-large-504" => assert!(status.is_resource_version_too_large()),
            "list-exact-410" | "list-continue-expired-410" => assert!(status.is_expired()),
            _ => {}
        }
    }
}

/// A compressed list, where compression was requested.
#[tokio::test]
async fn compressed_list_is_unpacked() {
    let server = Server::start(vec![Answer::new(read("list-gzip")).cut(&[100, 7])]).await;
    let config = Config::anonymous(&format!("http://{}", server.address)).unwrap();
    let client = Client::builder(config).gzip(true).build().unwrap();
    let lister = HttpListerWatcher::<Dynamic>::new(client, server.lister_of("").resource().clone());
    let list = lister
        .list(ListRequest::new(ListOptions::default()))
        .await
        .unwrap();
    let events: Vec<_> = list.map(Result::unwrap).collect().await;
    let (end, items) = events.split_last().unwrap();
    assert!(matches!(end, ListEvent::End(_)));
    assert_eq!(items.len(), 60);
    let found = |event: &ListEvent<_>| matches!(event, ListEvent::Item(Decoded::Object(_)));
    assert!(items.iter().all(found));
}

/// An unrequested form is refused, not misread: a table, a compressed body.
#[tokio::test]
async fn unrequested_forms_are_refused() {
    for name in ["list-table", "list-gzip"] {
        let server = Server::start(vec![Answer::new(read(name))]).await;
        let request = ListRequest::new(ListOptions::default());
        let failed = match server.lister_of("").list(request).await {
            Ok(list) => {
                list.filter(|event| std::future::ready(event.is_err()))
                    .count()
                    .await
                    > 0
            }
            Err(_) => true,
        };
        assert!(failed, "{name}");
    }
}
