//! What a real API server sent in both formats gives the same objects, however its bytes are cut.
#![allow(missing_docs, reason = "these are tests")]

#[allow(dead_code, reason = "each test uses a part of it")]
mod common;

use common::Recording;
use informer_wire::{
    Compact, DecodeError, DecodeOptions, Decoded, Dynamic, FromWire, ListDecoder, ListMeta,
    PartialObjectMetadata, Resource, Status, StreamEnd, View, WatchDecoder, WatchEvent, WireFormat,
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

fn options() -> DecodeOptions {
    DecodeOptions::default().resource(Resource::builtin("pods").expect("pods are built in"))
}

fn format(recording: &Recording) -> WireFormat {
    WireFormat::from_content_type(&recording.content_type).expect("a format that can be read")
}

fn object<K>(decoded: Decoded<K>) -> K {
    match decoded {
        Decoded::Object(object) => object,
        Decoded::Undecodable(undecodable) => panic!("{undecodable:?}"),
        _ => panic!("no object"),
    }
}

/// The objects of a list in pieces of this size.
fn list<K: FromWire>(name: &str, piece: usize) -> (Vec<K>, Result<ListMeta, DecodeError>) {
    let recording = Recording::load(name);
    let mut decoder = ListDecoder::<K>::new(format(&recording), options());
    let mut objects = Vec::new();
    for push in recording.body.chunks(piece) {
        decoder.push(push);
        while let Some(item) = decoder.next() {
            objects.push(object(
                item.unwrap_or_else(|error| panic!("{name}: {error}")),
            ));
        }
    }
    (objects, decoder.finish())
}

/// One event: its type, its object if it has one, and what a bookmark or an error says.
type Event<K> = (&'static str, Option<K>, String);

fn watch<K: FromWire>(name: &str, piece: usize) -> Vec<Event<K>> {
    let recording = Recording::load(name);
    let mut decoder = WatchDecoder::<K>::new(format(&recording), options());
    let mut events = Vec::new();
    for push in recording.body.chunks(piece) {
        decoder.push(push);
        while let Some(event) = decoder.next() {
            events.push(
                match event.unwrap_or_else(|error| panic!("{name}: {error}")) {
                    WatchEvent::Added(item) => ("added", Some(object(item)), String::new()),
                    WatchEvent::Modified(item) => ("modified", Some(object(item)), String::new()),
                    WatchEvent::Deleted(item) => ("deleted", Some(object(item)), String::new()),
                    WatchEvent::Bookmark {
                        resource_version,
                        initial_events_end,
                    } => (
                        "bookmark",
                        None,
                        format!("{resource_version} {initial_events_end}"),
                    ),
                    WatchEvent::Error(status) => ("error", None, status.reason),
                    other => panic!("unknown: {:?}", std::mem::discriminant(&other)),
                },
            );
        }
    }
    assert_eq!(decoder.finish(), StreamEnd::Clean);
    events
}

const WHOLE: usize = usize::MAX;

// INV-WIRE-15
#[test]
fn lists_in_both_formats_hold_the_same_objects() {
    fn same<K: FromWire + PartialEq + std::fmt::Debug>(json: &str, protobuf: &str) {
        let (from_json, json_end) = list::<K>(json, WHOLE);
        let (from_protobuf, protobuf_end) = list::<K>(protobuf, WHOLE);
        assert!(!from_json.is_empty());
        assert_eq!(from_json, from_protobuf);
        assert!(json_end.is_ok());
        assert_eq!(json_end, protobuf_end);
    }
    same::<Value>("list-json", "list-protobuf");
    same::<Pod>("list-json", "list-protobuf");
    same::<View<Value>>("list-json", "list-protobuf");
    same::<PartialObjectMetadata>("list-json", "list-protobuf");
    same::<PartialObjectMetadata>("list-metadata-json", "list-metadata-protobuf");
    same::<PartialObjectMetadata>("list-json", "list-metadata-protobuf");
    let (json, _) = list::<Compact<Pod>>("list-json", WHOLE);
    let (protobuf, _) = list::<Compact<Pod>>("list-protobuf", WHOLE);
    for (json, protobuf) in json.iter().zip(&protobuf) {
        assert_eq!(json.decode(), protobuf.decode());
    }
}

// INV-WIRE-15
#[test]
fn watches_in_both_formats_hold_the_same_changes() {
    fn same<K: FromWire + PartialEq + std::fmt::Debug>(json: &str, protobuf: &str) {
        let (from_json, from_protobuf) = (watch::<K>(json, WHOLE), watch::<K>(protobuf, WHOLE));
        assert!(from_json.len() > 3, "{json}");
        // Bookmarks come when the server likes.
        let changes = |events: Vec<Event<K>>| {
            events
                .into_iter()
                .filter(|event| event.0 != "bookmark")
                .collect::<Vec<_>>()
        };
        assert_eq!(changes(from_json), changes(from_protobuf));
    }
    same::<Value>("watch-json", "watch-protobuf");
    same::<Pod>("watch-json", "watch-protobuf");
    same::<PartialObjectMetadata>("watch-metadata-json", "watch-metadata-protobuf");
    same::<Value>("watchlist-json", "watchlist-protobuf");
    let ends = |name| {
        watch::<Value>(name, WHOLE)
            .iter()
            .any(|event| event.2.ends_with("true"))
    };
    assert!(ends("watchlist-json") && ends("watchlist-protobuf"));
}

// INV-WIRE-2
#[test]
fn recorded_protobuf_is_the_same_however_it_is_cut() {
    for name in ["list-protobuf", "list-metadata-protobuf"] {
        let whole = list::<Dynamic>(name, WHOLE);
        for piece in [1, 2, 3, 7, 61, 1000] {
            assert_eq!(
                list::<Dynamic>(name, piece),
                whole,
                "{name} in pieces of {piece}"
            );
        }
    }
    for name in [
        "watch-protobuf",
        "watchlist-protobuf",
        "watch-metadata-protobuf",
        "watch-410-protobuf",
    ] {
        let whole = watch::<Dynamic>(name, WHOLE);
        for piece in [1, 2, 3, 7, 61, 1000] {
            assert_eq!(
                watch::<Dynamic>(name, piece),
                whole,
                "{name} in pieces of {piece}"
            );
        }
    }
}

// INV-WIRE-4
#[test]
fn recorded_list_does_not_count_when_cut_at_any_byte() {
    let recording = Recording::load("list-protobuf");
    // The last four bytes are fields of the envelope that may be absent.
    for cut in 0..recording.body.len() - 4 {
        let mut decoder =
            ListDecoder::<PartialObjectMetadata>::new(WireFormat::Protobuf, options());
        decoder.push(&recording.body[..cut]);
        while let Some(item) = decoder.next() {
            assert!(item.is_ok());
        }
        assert!(decoder.finish().is_err(), "{cut}");
    }
}

// INV-WIRE-15
#[test]
fn metadata_of_custom_resources_is_read_from_protobuf() {
    let widgets = Resource::new(
        "demo.example",
        "v1",
        "Widget",
        "widgets",
        informer_wire::Scope::Namespaced,
    );
    let read = |name: &str| {
        let recording = Recording::load(name);
        let options = DecodeOptions::default().resource(widgets.clone());
        let mut decoder = ListDecoder::<PartialObjectMetadata>::new(format(&recording), options);
        decoder.push(&recording.body);
        let items =
            std::iter::from_fn(|| decoder.next().map(|item| object(item.expect("an item"))));
        let items: Vec<PartialObjectMetadata> = items.collect();
        (items, decoder.finish().map(|list| list.resource_version))
    };
    let (metadata, end) = read("cr-list-metadata-protobuf");
    assert!(!metadata.is_empty());
    assert!(end.is_ok());
    assert_eq!(metadata, read("cr-list").0);
}

// INV-WIRE-11
#[test]
fn recorded_protobuf_errors_are_read() {
    let event = watch::<Value>("watch-410-protobuf", WHOLE).remove(0);
    assert_eq!((event.0, event.2.as_str()), ("error", "Expired"));
    for name in ["cr-list-protobuf-406", "list-406"] {
        let recording = Recording::load(name);
        let status = Status::from_response(
            recording.code,
            Some(&recording.content_type),
            &recording.body,
        );
        assert_eq!(status.code, 406, "{name}");
        assert!(status.is_not_acceptable());
        assert!(!status.message.is_empty(), "{name}: {status}");
    }
}
