//! Objects, lists and events in protobuf, made from their JSON.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{CHUNK, Form, json as text};
use crate::model::{Page, StoredObject, WatchEvent};
use crate::protobuf;
use crate::resource::ResourceType;

/// Returns `true` if objects of this resource can be written in protobuf.
pub(crate) fn has_table(resource: &ResourceType) -> bool {
    let (version, kind) = (resource.api_version(), &resource.kind);
    !resource.custom && informer_wire::schema::Message::of_kind(&version, kind).is_some()
}

/// Writes an object, as the response to a get or a write.
pub(super) fn object(
    resource: &ResourceType,
    object: &StoredObject,
    revision: u64,
    form: Form,
    out: &mut Vec<u8>,
) {
    let (version, kind) = types(resource, form);
    let message = message(resource, object, revision, form);
    out.extend(protobuf::envelope(&version, &kind, &message));
}

/// Writes one event of a watch.
pub(super) fn event(resource: &ResourceType, event: &WatchEvent, form: Form, out: &mut Vec<u8>) {
    let mut enveloped = Vec::new();
    object(
        resource,
        &event.object,
        event.revision,
        form,
        &mut enveloped,
    );
    out.extend(protobuf::watch_event(event.event_type.as_str(), &enveloped));
}

/// Writes an object's text in its envelope.
pub(super) fn write_object(text: &[u8], out: &mut Vec<u8>) {
    let json = read(text);
    let (version, kind) = (&json["apiVersion"], &json["kind"]);
    let [version, kind] = [version, kind].map(|value| value.as_str().unwrap_or_default());
    let message = encode(version, kind, &json);
    out.extend(protobuf::envelope(version, kind, &message));
}

/// Writes one event of a watch with an object's text.
pub(super) fn write_event(kind: &str, text: &[u8], out: &mut Vec<u8>) {
    let mut enveloped = Vec::new();
    write_object(text, &mut enveloped);
    out.extend(protobuf::watch_event(kind, &enveloped));
}

/// Reads a text of the model, which is always valid JSON.
fn read(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}

/// Encodes an object. If fields are not of their types, which a real server would never have stored, the metadata is
/// written, and bytes that are no protobuf for the rest.
fn encode(version: &str, kind: &str, json: &Value) -> Vec<u8> {
    /// Field 2, which is a message in every kind, with a byte that is none.
    const BROKEN: &[u8] = &[0x12, 1, 0xff];
    protobuf::message(version, kind, json).unwrap_or_else(|_| {
        let partial = json!({ "metadata": json["metadata"] });
        let metadata = protobuf::message("meta.k8s.io/v1", "PartialObjectMetadata", &partial);
        [&metadata.unwrap_or_default(), BROKEN].concat()
    })
}

/// Returns the type that an object of this form has.
fn types(resource: &ResourceType, form: Form) -> (String, String) {
    match form {
        Form::Metadata => ("meta.k8s.io/v1".into(), "PartialObjectMetadata".into()),
        Form::Full | Form::Table(_) => (resource.api_version(), resource.kind.clone()),
    }
}

/// Returns the message of an object. It is encoded again only if it is not the whole object as written.
fn message(resource: &ResourceType, object: &StoredObject, revision: u64, form: Form) -> Bytes {
    let make = || {
        let mut written = Vec::new();
        text::object(resource, object, revision, form, &mut written);
        let (version, kind) = types(resource, form);
        encode(&version, &kind, &read(&written))
    };
    if form == Form::Full && revision == object.revision() {
        object.protobuf(make)
    } else {
        make().into()
    }
}

/// Encodes a list. Its envelope has its length, so all items are encoded first.
pub(super) fn list(resource: &ResourceType, page: Page, form: Form) -> Chunks {
    let (version, kind) = match form {
        Form::Metadata => (
            "meta.k8s.io/v1".to_owned(),
            "PartialObjectMetadataList".to_owned(),
        ),
        Form::Full | Form::Table(_) => (resource.api_version(), resource.list_kind.clone()),
    };
    let head = json!({ "metadata": {
        "resourceVersion": page.revision.to_string(),
        "continue": page.continue_token,
        "remainingItemCount": page.remaining,
    } });
    let head = protobuf::message(&version, &kind, &head).unwrap_or_default();
    let items = page.items.iter();
    let items: Vec<_> = items
        .map(|item| message(resource, item, item.revision(), form))
        .collect();
    let length = items.iter().map(|item| protobuf::bytes_length(item)).sum();
    let (mut start, end) = protobuf::envelope_around(&version, &kind, &head, length);
    start.reserve(CHUNK);
    Chunks {
        start,
        items: items.into_iter(),
        end,
    }
}

/// The chunks of a list.
#[derive(Debug)]
pub(super) struct Chunks {
    start: Vec<u8>,
    items: std::vec::IntoIter<Bytes>,
    end: Vec<u8>,
}

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut chunk = std::mem::take(&mut self.start);
        while chunk.len() < CHUNK {
            let Some(item) = self.items.next() else {
                chunk.append(&mut self.end);
                break;
            };
            protobuf::write_bytes(2, &item, &mut chunk);
        }
        (!chunk.is_empty()).then(|| chunk.into())
    }
}
