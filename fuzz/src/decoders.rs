//! One function for each decoder. A test of `informer-wire` includes this file.

use informer_wire::{
    Compact, DecodeOptions, Decoded, Dynamic, FromWire, ListDecoder, PartialObjectMetadata,
    Resource, Status, View, WatchDecoder, WatchEvent, WireFormat, decode_object,
};
use serde_json::Value;

/// A list in JSON.
pub fn json_list(bytes: &[u8]) {
    list(WireFormat::Json, bytes);
}

/// A list in protobuf.
pub fn protobuf_list(bytes: &[u8]) {
    list(WireFormat::Protobuf, bytes);
}

/// A watch in JSON.
pub fn json_watch(bytes: &[u8]) {
    watch(WireFormat::Json, bytes);
}

/// A watch in protobuf.
pub fn protobuf_watch(bytes: &[u8]) {
    watch(WireFormat::Protobuf, bytes);
}

/// A single object, in both formats and every form.
pub fn object(bytes: &[u8]) {
    for format in [WireFormat::Json, WireFormat::Protobuf] {
        let options = options();
        let value = decode_object::<Value>(format, bytes, &options).ok();
        let view = decode_object::<View<Value>>(format, bytes, &options).ok();
        drop((value, view));
        if let Ok(compact) = decode_object::<Dynamic>(format, bytes, &options) {
            read(&compact);
        }
        let pruned = options
            .drop_path("/spec/containers/*/env")
            .drop_path("/spec/extra/*/0")
            .drop_path("/spec/volumes")
            .drop_annotation("note");
        let _ = decode_object::<PartialObjectMetadata>(format, bytes, &pruned);
    }
}

/// The body of an error answer.
pub fn status(bytes: &[u8]) {
    for content_type in [
        None,
        Some("application/json"),
        Some("text/html"),
        Some("application/vnd.kubernetes.protobuf"),
    ] {
        let status = Status::from_response(500, content_type, bytes);
        assert!(!status.message.trim().is_empty());
        assert!(status.code >= 400);
        assert_eq!(status.status, "Failure");
    }
}

fn options() -> DecodeOptions {
    DecodeOptions::default().resource(Resource::builtin("pods").expect("pods are built in"))
}

/// Where the bytes are cut in two: they say it themselves.
fn cut(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes.iter().fold(7usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add((*byte).into())
    });
    bytes.split_at(at % (bytes.len() + 1))
}

fn list(format: WireFormat, bytes: &[u8]) {
    let (start, end) = cut(bytes);
    assert_eq!(
        read_list::<Value>(format, &[bytes]),
        read_list::<Value>(format, &[start, end])
    );
    read_list::<PartialObjectMetadata>(format, &[bytes]);
    read_list::<Compact<Value>>(format, &[bytes]);
}

fn watch(format: WireFormat, bytes: &[u8]) {
    let (start, end) = cut(bytes);
    assert_eq!(
        read_watch::<Value>(format, &[bytes]),
        read_watch::<Value>(format, &[start, end])
    );
    read_watch::<PartialObjectMetadata>(format, &[bytes]);
    read_watch::<Compact<Value>>(format, &[bytes]);
}

/// What a list gave, in words.
fn read_list<K: FromWire + Shown>(format: WireFormat, pushes: &[&[u8]]) -> Vec<String> {
    let mut decoder = ListDecoder::<K>::new(format, options());
    let mut found = Vec::new();
    for push in pushes {
        decoder.push(push);
        while let Some(item) = decoder.next() {
            found.push(item.map_or_else(|error| error.to_string(), |item| shown(&item)));
        }
    }
    found.push(format!("{:?}", decoder.finish()));
    found
}

fn read_watch<K: FromWire + Shown>(format: WireFormat, pushes: &[&[u8]]) -> Vec<String> {
    let mut decoder = WatchDecoder::<K>::new(format, options());
    let mut found = Vec::new();
    for push in pushes {
        decoder.push(push);
        while let Some(event) = decoder.next() {
            found.push(match event {
                Ok(
                    WatchEvent::Added(item)
                    | WatchEvent::Modified(item)
                    | WatchEvent::Deleted(item),
                ) => shown(&item),
                Ok(WatchEvent::Bookmark {
                    resource_version, ..
                }) => resource_version.to_string(),
                Ok(WatchEvent::Error(status)) => status.to_string(),
                Ok(_) => "unknown".to_owned(),
                Err(error) => error.to_string(),
            });
        }
    }
    found.push(format!("{:?}", decoder.finish()));
    found
}

fn shown<K: Shown>(item: &Decoded<K>) -> String {
    match item {
        Decoded::Object(object) => object.shown(),
        Decoded::Undecodable(undecodable) => format!("{undecodable:?}"),
        _ => "unchanged".to_owned(),
    }
}

trait Shown {
    fn shown(&self) -> String;
}

impl Shown for Value {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for PartialObjectMetadata {
    fn shown(&self) -> String {
        format!("{self:?}")
    }
}

impl Shown for Compact<Value> {
    fn shown(&self) -> String {
        read(self);
        format!("{self:?}")
    }
}

/// Reads all that a compact object can give.
fn read(object: &Dynamic) {
    let whole = object.decode();
    // What decodes can be written.
    assert!(whole.is_err() || object.to_json().is_ok());
    for path in ["/spec/containers/0/name", "/data/a", "/status"] {
        let _ = object.field::<Value>(path);
    }
}
