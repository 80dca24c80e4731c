//! Lists and watches beside those of client-go, whose requests `e2e/requests` recorded.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod http_support;

use std::collections::BTreeMap;
use std::time::Duration;

use http_support::{Answer, Server};
use informer_reflector::http::HttpListerWatcher;
use informer_reflector::{ListRequest, ListerWatcher};
use informer_wire::{ListOptions, ResourceVersionMatch};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

/// The table. `cargo xtask recorded-requests` renews it.
const TABLE: &str = include_str!("../../informer-client/tests/recorded/requests.json");

/// The parameters that client-go sends and we do not: calls by the start of their names, and why.
const LEFT_OUT: &[(&str, &str, &str)] = &[(
    "watch",
    "timeout",
    "client-go's own limit, in Go's notation; a server goes by timeoutSeconds",
)];

fn options(call: &str) -> ListOptions {
    let options = ListOptions::default();
    let watch = || {
        ListOptions::default()
            .allow_watch_bookmarks(true)
            .timeout(Duration::from_secs(300))
    };
    match call {
        "list" | "list all namespaces" => options,
        "list by selectors" => options
            .label_selector("app in (a,b),!x")
            .field_selector("metadata.name!=m"),
        "list page" => options.limit(500).continue_token("a/b+c="),
        "list not older" => options
            .resource_version("7".into())
            .resource_version_match(ResourceVersionMatch::NotOlderThan),
        "list from cache" => options.resource_version("0".into()),
        "watch" => watch().resource_version("7".into()),
        "watch streaming list" => watch()
            .send_initial_events(true)
            .resource_version_match(ResourceVersionMatch::NotOlderThan),
        other => panic!("no call of ours is {other:?}"),
    }
}

fn answer() -> Answer {
    let body = r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;
    let length = body.len();
    Answer::new(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

// INV-CLIENT-20: the formats of a response are apart, as INV-HTTP-7 says.
#[tokio::test]
async fn lists_and_watches_send_what_client_go_sends() {
    let table: Vec<Value> = serde_json::from_str(TABLE).unwrap();
    let calls = table.iter().filter(|recorded| {
        let call = recorded["call"].as_str().unwrap();
        call.starts_with("list") || call.starts_with("watch")
    });
    let mut compared = 0;
    for recorded in calls {
        let call = recorded["call"].as_str().unwrap();
        let server = Server::start(vec![answer()]).await;
        let every = HttpListerWatcher::<ConfigMap>::all(server.client());
        let source = match call {
            "list all namespaces" => every,
            _ => every.namespace("shop"),
        };
        if call.starts_with("list") {
            source.list(ListRequest::new(options(call))).await.unwrap();
        } else {
            source.watch(options(call)).await.unwrap();
        }
        let head = server.heads().remove(0);
        let mut words = head.split(' ');
        assert_eq!(words.next(), recorded["method"].as_str(), "{call}");
        let url = format!("http://host{}", words.next().unwrap());
        let url = url::Url::parse(&url).unwrap();
        assert_eq!(Some(url.path()), recorded["path"].as_str(), "{call}");
        let mut query = BTreeMap::<String, Vec<String>>::new();
        for (key, value) in url.query_pairs() {
            query.entry(key.into()).or_default().push(value.into());
        }
        let wanted = recorded["query"].clone();
        let mut wanted: BTreeMap<String, Vec<String>> = serde_json::from_value(wanted).unwrap();
        for (of, parameter, why) in LEFT_OUT {
            if call.starts_with(of) {
                assert!(
                    wanted.remove(*parameter).is_some(),
                    "{call}: no difference: {why}"
                );
            }
        }
        assert_eq!(query, wanted, "{call}");
        compared += 1;
    }
    assert!(compared >= 8, "{compared}");
}
