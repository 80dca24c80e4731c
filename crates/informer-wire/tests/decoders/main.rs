//! What the decoders make of good, odd and broken answers.
#![allow(missing_docs, reason = "these are tests")]

mod lists;
mod types;
mod watches;

use std::sync::Arc;

use informer_store::{Object, ObjectKey, ObjectVersion, Uid};
use informer_wire::{
    Compact, DecodeError, DecodeOptions, Decoded, Dynamic, FromWire, Interner, Limits, ListDecoder,
    ListMeta, ObjectForm, ObjectMeta, PartialObjectMetadata, ReadVerb, Resource, Scope, Status,
    StreamEnd, View, WatchDecoder, WatchEvent, WireFormat, decode_object,
};
use serde::Deserialize;
use serde_json::{Value, json};

fn options() -> DecodeOptions {
    DecodeOptions::default()
}

fn list_with<K: FromWire>(
    body: &str,
    options: DecodeOptions,
) -> (Vec<Decoded<K>>, Result<ListMeta, DecodeError>) {
    let mut decoder = ListDecoder::new(WireFormat::Json, options);
    decoder.push(body.as_bytes());
    let mut items = Vec::new();
    while let Some(item) = decoder.next() {
        match item {
            Ok(item) => items.push(item),
            Err(error) => {
                assert!(decoder.next().is_none(), "an error is final");
                assert_eq!(
                    decoder.finish(),
                    Err(error.clone()),
                    "no page ends well after an error"
                );
                return (items, Err(error));
            }
        }
    }
    (items, decoder.finish())
}

fn list<K: FromWire>(body: &str) -> (Vec<Decoded<K>>, Result<ListMeta, DecodeError>) {
    list_with(body, options())
}

fn objects<K>(items: Vec<Decoded<K>>) -> Vec<K> {
    let object = |item| match item {
        Decoded::Object(object) => object,
        Decoded::Undecodable(undecodable) => panic!("{undecodable:?}"),
        _ => panic!("no object"),
    };
    items.into_iter().map(object).collect()
}

fn watch<K: FromWire>(body: &str) -> Vec<Result<WatchEvent<K>, DecodeError>> {
    let mut decoder = WatchDecoder::new(WireFormat::Json, options());
    decoder.push(body.as_bytes());
    std::iter::from_fn(|| decoder.next()).collect()
}

fn only_event<K: FromWire>(body: &str) -> Result<WatchEvent<K>, DecodeError> {
    let mut events = watch(body);
    assert_eq!(events.len(), 1, "{body}");
    events.remove(0)
}

/// Decodes an object that a store could hold.
fn stored<K: FromWire>(text: &str) -> Arc<K> {
    Arc::new(decode_object(WireFormat::Json, text.as_bytes(), &options()).expect("an object"))
}

const A: &str = r#"{"metadata":{"name":"a","namespace":"n","uid":"u1","resourceVersion":"5"}}"#;
