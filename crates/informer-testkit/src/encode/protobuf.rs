//! Objects, lists and events in protobuf, made from their JSON.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{CHUNK, Form, json as text};
use crate::model::{Page, StoredObject};
use crate::protobuf;
use crate::resource::ResourceType;

/// Whether objects of this resource can be written in protobuf.
pub(crate) fn has_table(resource: &ResourceType) -> bool {
    let (version, kind) = (resource.api_version(), &resource.kind);
    !resource.custom && informer_wire::schema::Message::of_kind(&version, kind).is_some()
}

/// Writes an object in its envelope.
pub(super) fn object(text: &[u8], out: &mut Vec<u8>) {
    let json = read(text);
    let (version, kind) = (&json["apiVersion"], &json["kind"]);
    let [version, kind] = [version, kind].map(|value| value.as_str().unwrap_or_default());
    let message = message(version, kind, &json);
    out.extend(protobuf::envelope(version, kind, &message));
}

/// Writes one event of a watch stream.
pub(super) fn event(kind: &str, text: &[u8], out: &mut Vec<u8>) {
    let mut enveloped = Vec::new();
    object(text, &mut enveloped);
    out.extend(protobuf::watch_event(kind, &enveloped));
}

/// What the model stores is valid JSON.
fn read(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}

/// The message of an object. Of one whose fields are not of their types, which a real server would never have stored, the
/// metadata is written, and something that nobody can read for the rest.
fn message(version: &str, kind: &str, json: &Value) -> Vec<u8> {
    /// Field 2, which is a message in every kind, with a byte that is none.
    const BROKEN: &[u8] = &[0x12, 1, 0xff];
    protobuf::message(version, kind, json).unwrap_or_else(|_| {
        let partial = json!({ "metadata": json["metadata"] });
        let metadata = protobuf::message("meta.k8s.io/v1", "PartialObjectMetadata", &partial);
        [&metadata.unwrap_or_default(), BROKEN].concat()
    })
}

/// A list. Its envelope says how long it is, so all items are made first.
pub(super) fn list(resource: &ResourceType, page: Page, form: Form) -> Chunks {
    let (version, kind) = match form {
        Form::Metadata => (
            "meta.k8s.io/v1".to_owned(),
            "PartialObjectMetadataList".to_owned(),
        ),
        Form::Full | Form::Table => (resource.api_version(), resource.list_kind.clone()),
    };
    let head = json!({ "metadata": {
        "resourceVersion": page.revision.to_string(),
        "continue": page.continue_token,
        "remainingItemCount": page.remaining,
    } });
    let mut list = protobuf::message(&version, &kind, &head).unwrap_or_default();
    for item in &page.items {
        protobuf::write_bytes(2, &self::item(resource, item, form), &mut list);
    }
    Chunks(protobuf::envelope(&version, &kind, &list).into())
}

fn item(resource: &ResourceType, item: &StoredObject, form: Form) -> Vec<u8> {
    let mut written = Vec::new();
    text::object(resource, item, item.revision(), form, &mut written);
    let json = read(&written);
    let kind = json["kind"].as_str().unwrap_or_default();
    let version = json["apiVersion"].as_str().unwrap_or_default();
    message(version, kind, &json)
}

/// The chunks of a list.
#[derive(Debug)]
pub(super) struct Chunks(Bytes);

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let chunk = self.0.split_to(self.0.len().min(CHUNK));
        (!chunk.is_empty()).then_some(chunk)
    }
}
