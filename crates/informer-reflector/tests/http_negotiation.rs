//! Which formats are requested, and how responses are decoded.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod http_support;

use std::fs;
use std::path::PathBuf;

use futures_util::StreamExt as _;
use http_support::{Answer, PATIENCE, Server};
use informer_reflector::http::{HttpConfig, HttpListerWatcher, WirePreference};
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher};
use informer_store::Object;
use informer_wire::{
    DecodeError, Decoded, Dynamic, FromWire, ListOptions, ObjectMeta, PartialObjectMetadata,
    Resource, Scope, WatchEvent, WireFormat, WireObject,
};

const BOTH: &str = "application/vnd.kubernetes.protobuf,application/json";
const JSON: &str = "application/json";

fn recording(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../informer-wire/tests/recordings/{name}.response"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn answer(status: &str, content_type: &str, body: &[u8]) -> Answer {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    );
    Answer::new([head.as_bytes(), body].concat())
}

fn empty() -> Answer {
    let body =
        br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;
    answer("200 OK", JSON, body)
}

fn request<K>() -> ListRequest<K> {
    ListRequest::new(ListOptions::default())
}

/// The formats of each request.
fn asked(server: &Server) -> Vec<String> {
    let accept = |head: &String| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(name, _)| name.eq_ignore_ascii_case("accept"));
        values.next().unwrap().1.to_owned()
    };
    server.heads().iter().map(accept).collect()
}

async fn items<K: FromWire + Object>(
    lister: &HttpListerWatcher<K>,
) -> Result<Vec<String>, ListWatchError> {
    let mut list = lister.list(request()).await?;
    let mut names = Vec::new();
    while let Some(event) = list.next().await {
        match event? {
            ListEvent::Item(Decoded::Object(object)) => {
                let version = object.resource_version().unwrap();
                names.push(format!("{}@{version}", object.name()));
            }
            ListEvent::Item(other) => panic!("{:?}", std::mem::discriminant(&other)),
            ListEvent::End(_) => return Ok(names),
            _ => {}
        }
    }
    panic!("no end")
}

// INV-HTTP-7
#[tokio::test]
async fn protobuf_is_requested_where_it_can_be_decoded() {
    let server = Server::start(vec![empty(); 5]).await;
    let widgets = Resource::new("demo.example", "v2", "Widget", "widgets", Scope::Namespaced);
    let pods = server.lister().resource().clone();
    let _ = server.lister().list(request()).await;
    let lister = HttpListerWatcher::<Dynamic>::new(server.client(), widgets.clone());
    let _ = lister.list(request()).await;
    let lister = HttpListerWatcher::<PartialObjectMetadata>::new(server.client(), widgets);
    let _ = lister.watch(ListOptions::default()).await;
    for wire in [WirePreference::Json, WirePreference::Protobuf] {
        let lister = HttpListerWatcher::<Dynamic>::new(server.client(), pods.clone())
            .config(HttpConfig::default().wire(wire));
        let _ = lister.watch(ListOptions::default()).await;
    }
    let partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let metadata = format!("application/vnd.kubernetes.protobuf{partial},{JSON}{partial},{BOTH}");
    let only = "application/vnd.kubernetes.protobuf";
    assert_eq!(asked(&server), [BOTH, JSON, &metadata, JSON, only]);
}

// INV-HTTP-8
#[tokio::test]
async fn server_without_protobuf_is_asked_for_json_from_then_on() {
    for refusal in [
        answer("406 Not Acceptable", "text/plain", b"only JSON here"),
        answer("415 Unsupported Media Type", "text/plain", b""),
        Answer::new(recording("cr-list-protobuf-406")),
    ] {
        let server = Server::start(vec![refusal, empty(), empty()]).await;
        let lister = server.lister();
        assert_eq!(items(&lister).await.unwrap().len(), 0);
        assert_eq!(lister.traffic().format(), Some(WireFormat::Json));
        // Clones are of one mind.
        let _ = lister.clone().watch(ListOptions::default()).await;
        assert_eq!(asked(&server), [BOTH, JSON, JSON]);
    }
}

// INV-HTTP-8
#[tokio::test]
async fn server_that_responds_in_json_is_asked_for_json_from_then_on() {
    let server = Server::start(vec![empty(), empty()]).await;
    let lister = server.lister();
    items(&lister).await.unwrap();
    items(&lister).await.unwrap();
    assert_eq!(asked(&server), [BOTH, JSON]);
}

// INV-HTTP-8
#[tokio::test]
async fn undecodable_protobuf_is_not_requested_again() {
    let protobuf = "application/vnd.kubernetes.protobuf";
    let server = Server::start(vec![
        answer("200 OK", protobuf, b"{\"kind\":\"PodList\"}"),
        empty(),
    ])
    .await;
    let lister = server.lister();
    let refused = items(&lister).await.unwrap_err();
    assert!(
        matches!(
            refused,
            ListWatchError::Decode(DecodeError::Malformed { .. })
        ),
        "{refused:?}"
    );
    assert!(items(&lister).await.unwrap().is_empty());
    assert_eq!(asked(&server), [BOTH, JSON]);
}

/// A type that wants a field which only a newer server writes, so that the table does not have it.
struct Newer(Dynamic);

impl FromWire for Newer {
    fn from_wire(object: WireObject<'_>) -> Result<Self, DecodeError> {
        let object = Dynamic::from_wire(object)?;
        match object.field::<String>("/spec/brandNew")? {
            Some(_) => Ok(Self(object)),
            None => Err(DecodeError::Malformed {
                what: "object",
                reason: "the field brandNew is missing".to_owned(),
            }),
        }
    }
}

impl Object for Newer {
    type Metadata = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        self.0.metadata()
    }
}

// INV-HTTP-9
#[tokio::test]
async fn type_that_only_json_fills_is_requested_as_json() {
    let json = br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
        {"metadata":{"name":"a","resourceVersion":"5"},"spec":{"brandNew":"x"}},
        {"metadata":{"name":"b","resourceVersion":"6"},"spec":{}}]}"#;
    let json = answer("200 OK", JSON, json);
    for streams in [false, true] {
        let first = if streams {
            "watchlist-protobuf"
        } else {
            "list-protobuf"
        };
        let server = Server::start(vec![Answer::new(recording(first)), json.clone()]).await;
        let resource = server.lister().resource().clone();
        let lister = HttpListerWatcher::<Newer>::new(server.client(), resource);
        let mut undecodable = 0;
        let error = if streams {
            let mut watch = lister.watch_list(request()).await.unwrap();
            loop {
                match watch.next().await.expect("an error") {
                    Ok(WatchEvent::Added(Decoded::Undecodable(_))) => undecodable += 1,
                    Ok(other) => panic!("{:?}", std::mem::discriminant(&other)),
                    Err(error) => break error,
                }
            }
        } else {
            let mut list = lister.list(request()).await.unwrap();
            loop {
                match list.next().await.expect("an error") {
                    Ok(ListEvent::Item(Decoded::Undecodable(_))) => undecodable += 1,
                    Ok(other) => panic!("{:?}", std::mem::discriminant(&other)),
                    Err(error) => break error,
                }
            }
        };
        assert!(undecodable < 3, "{undecodable} were undecodable");
        assert!(
            matches!(error, ListWatchError::Decode(DecodeError::Malformed { .. })),
            "{error:?}"
        );
        // In JSON, undecodable objects are reported as ever.
        let mut list = lister.list(request()).await.unwrap();
        let mut seen = Vec::new();
        while let Some(event) = list.next().await {
            seen.push(match event.unwrap() {
                ListEvent::Item(Decoded::Object(object)) => object.name().to_owned(),
                ListEvent::Item(_) => "undecodable".to_owned(),
                _ => "end".to_owned(),
            });
        }
        assert_eq!(seen, ["a", "undecodable", "end"]);
        assert_eq!(asked(&server), [BOTH, JSON]);
    }
}

// INV-HTTP-9: the next change may take long.
#[tokio::test]
async fn one_undecodable_change_leads_to_json_where_no_object_was_decoded() {
    let json = br#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
        {"metadata":{"name":"a","resourceVersion":"5"},"spec":{"brandNew":"x"}}]}"#;
    let server = Server::start(vec![
        Answer::new(recording("watch-protobuf")),
        answer("200 OK", JSON, json),
    ])
    .await;
    let resource = server.lister().resource().clone();
    let lister = HttpListerWatcher::<Newer>::new(server.client(), resource);
    let mut watch = lister.watch(ListOptions::default()).await.unwrap();
    let first = watch.next().await.expect("an error");
    assert!(matches!(
        first,
        Err(ListWatchError::Decode(DecodeError::Malformed { .. }))
    ));
    assert!(watch.next().await.is_none());
    let mut list = lister.list(request()).await.unwrap();
    assert!(matches!(
        list.next().await,
        Some(Ok(ListEvent::Item(Decoded::Object(_))))
    ));
    assert_eq!(asked(&server), [BOTH, JSON]);
}

// INV-HTTP-8: a refusal for another reason does not concern the format.
#[tokio::test]
async fn other_errors_keep_protobuf() {
    let cut = recording("list-protobuf");
    let server = Server::start(vec![
        answer("403 Forbidden", "text/plain", b"no"),
        Answer::new(&cut[..cut.len() / 2]),
        Answer::new(recording("list-protobuf")),
    ])
    .await;
    let lister = server.lister();
    assert!(items(&lister).await.is_err());
    assert!(items(&lister).await.is_err());
    assert!(!items(&lister).await.unwrap().is_empty());
    assert_eq!(asked(&server), [BOTH, BOTH, BOTH]);
}

// INV-HTTP-2
#[tokio::test]
async fn error_in_protobuf_is_the_servers_status() {
    let only = HttpConfig::default().wire(WirePreference::Protobuf);
    let server = Server::start(vec![
        Answer::new(recording("cr-list-protobuf-406")),
        Answer::new(recording("watch-410-protobuf")),
    ])
    .await;
    let lister = server.lister().config(only);
    let error = lister.list(request()).await.unwrap_err();
    let status = error.status().unwrap();
    assert_eq!((status.code, &*status.reason), (406, "NotAcceptable"));
    assert!(status.message.contains("media types are accepted"));
    let mut watch = lister.watch(ListOptions::default()).await.unwrap();
    let Some(Ok(WatchEvent::Error(status))) = watch.next().await else {
        panic!()
    };
    assert!(status.is_expired());
    assert!(watch.next().await.is_none());
}

/// The events of a watch, as text.
async fn events<K: FromWire + Object>(lister: &HttpListerWatcher<K>) -> Vec<String> {
    let named = |kind: &str, decoded: Decoded<K>| match decoded {
        Decoded::Object(object) => {
            let version = object.resource_version().unwrap();
            format!("{kind} {}@{version}", object.name())
        }
        _ => panic!("not an object"),
    };
    let watch = lister.watch(ListOptions::default()).await.unwrap();
    let shape = |event: Result<WatchEvent<K>, ListWatchError>| match event.unwrap() {
        WatchEvent::Added(object) => named("ADDED", object),
        WatchEvent::Modified(object) => named("MODIFIED", object),
        WatchEvent::Deleted(object) => named("DELETED", object),
        WatchEvent::Bookmark {
            initial_events_end, ..
        } => format!("BOOKMARK {initial_events_end}"),
        _ => panic!("an event of another kind"),
    };
    watch.map(shape).collect().await
}

// INV-HTTP-1: neither the format nor how bytes are cut changes the events.
#[tokio::test]
async fn protobuf_recordings_decode_alike_however_they_are_cut() {
    let cuts: [&[usize]; 4] = [&[1], &[3, 1, 7], &[1000, 13], &[usize::MAX]];
    let run = async {
        for cut in cuts {
            let server = Server::start(
                ["list-protobuf", "list-json"]
                    .map(|name| Answer::new(recording(name)).cut(cut))
                    .to_vec(),
            )
            .await;
            let lister = server.lister();
            let protobuf = items(&lister).await.unwrap();
            assert_eq!(lister.traffic().format(), Some(WireFormat::Protobuf));
            assert!(!protobuf.is_empty());
            assert_eq!(protobuf, items(&lister).await.unwrap(), "{cut:?}");

            for name in ["list-metadata-protobuf", "cr-list-metadata-protobuf"] {
                let server = Server::start(vec![Answer::new(recording(name)).cut(cut)]).await;
                let resource = server.lister().resource().clone();
                let lister =
                    HttpListerWatcher::<PartialObjectMetadata>::new(server.client(), resource);
                assert!(!items(&lister).await.unwrap().is_empty(), "{name} {cut:?}");
            }

            let server = Server::start(
                ["watch-protobuf", "watchlist-protobuf"]
                    .map(|name| Answer::new(recording(name)).cut(cut))
                    .to_vec(),
            )
            .await;
            let lister = server.lister();
            let changes = events(&lister).await;
            assert!(changes.iter().any(|event| event.starts_with("MODIFIED ")));
            let stream = events(&lister).await;
            assert!(stream.contains(&"BOOKMARK true".to_owned()), "{stream:?}");

            let answers = vec![Answer::new(recording("watch-metadata-protobuf")).cut(cut)];
            let server = Server::start(answers).await;
            let resource = server.lister().resource().clone();
            let lister = HttpListerWatcher::<PartialObjectMetadata>::new(server.client(), resource);
            assert!(!events(&lister).await.is_empty());
        }
    };
    tokio::time::timeout(PATIENCE, run).await.unwrap();
}
