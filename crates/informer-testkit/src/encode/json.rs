//! Objects, lists and events as JSON text, in the key order of a real server.

use std::sync::Arc;

use bytes::Bytes;
use informer_wire::Status;

use super::{CHUNK, Form};
use crate::model::{Page, StoredObject, WatchEvent};
use crate::resource::ResourceType;
use crate::status;
use crate::table;

const METADATA_TYPE: &str = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1""#;

/// Writes one object, as the response to a get or a write, and in a watch event.
pub(super) fn object(
    resource: &ResourceType,
    object: &StoredObject,
    revision: u64,
    form: Form,
    out: &mut Vec<u8>,
) {
    match form {
        Form::Full => {
            out.extend_from_slice(opening(resource).as_bytes());
            out.push(b',');
            object.write_body(revision, out);
        }
        Form::Metadata => {
            out.extend_from_slice(METADATA_TYPE.as_bytes());
            out.extend_from_slice(b",\"metadata\":");
            object.write_metadata(revision, out);
            out.push(b'}');
        }
        Form::Table(now) => table::write(
            resource,
            &[object],
            now,
            &revision.to_string(),
            "",
            None,
            out,
        ),
    }
}

/// Returns the opening brace and the type fields.
fn opening(resource: &ResourceType) -> String {
    let (version, kind) = (resource.api_version(), &resource.kind);
    if resource.custom {
        format!(r#"{{"apiVersion":"{version}","kind":"{kind}""#)
    } else {
        format!(r#"{{"kind":"{kind}","apiVersion":"{version}""#)
    }
}

/// Writes one line of a watch.
pub(super) fn event(resource: &ResourceType, event: &WatchEvent, form: Form, out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!(r#"{{"type":"{}","object":"#, event.event_type.as_str()).as_bytes(),
    );
    object(resource, &event.object, event.revision, form, out);
    out.extend_from_slice(b"}\n");
}

/// Writes one line of a watch with an object's text.
pub(super) fn write_event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!(r#"{{"type":"{kind}","object":"#).as_bytes());
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}

/// Writes the ERROR event of a watch.
pub(super) fn error_event(status: &Status) -> Bytes {
    let mut out = Vec::new();
    write_event("ERROR", status::to_json(status).as_bytes(), &mut out);
    out.into()
}

/// Returns the object of a bookmark.
pub(super) fn bookmark_object(
    resource: &ResourceType,
    revision: u64,
    ends_initial_events: bool,
    form: Form,
) -> String {
    let mark = r#""annotations":{"k8s.io/initial-events-end":"true"}"#;
    let alphabetical = form == Form::Full && resource.custom;
    let metadata = match (ends_initial_events, alphabetical) {
        (false, _) => format!(r#"{{"resourceVersion":"{revision}"}}"#),
        (true, true) => format!(r#"{{{mark},"resourceVersion":"{revision}"}}"#),
        (true, false) => format!(r#"{{"resourceVersion":"{revision}",{mark}}}"#),
    };
    match form {
        Form::Full => format!(
            "{},\"metadata\":{metadata}{}}}",
            opening(resource),
            zero(resource)
        ),
        Form::Metadata => format!("{METADATA_TYPE},\"metadata\":{metadata}}}"),
        Form::Table(now) => {
            let mut table = Vec::new();
            table::write(
                resource,
                &[],
                now,
                &revision.to_string(),
                "",
                None,
                &mut table,
            );
            String::from_utf8_lossy(&table).into_owned()
        }
    }
}

/// Returns the zero values of a Go type that a bookmark's empty object has.
fn zero(resource: &ResourceType) -> &'static str {
    match resource.plural.as_str() {
        _ if resource.custom || !resource.has_status => "",
        "pods" => r#","spec":{"containers":null},"status":{}"#,
        _ => r#","spec":{},"status":{}"#,
    }
}

/// Encodes a list in chunks, each when it is needed.
pub(super) fn list(resource: Arc<ResourceType>, page: Page, form: Form) -> Chunks {
    let (head, tail) = match form {
        Form::Metadata => (
            format!(
                r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":["#,
                list_metadata(&page, false)
            ),
            "]}".to_owned(),
        ),
        Form::Full if resource.custom => (
            format!(r#"{{"apiVersion":"{}","items":["#, resource.api_version()),
            format!(
                r#"],"kind":"{}","metadata":{}}}"#,
                resource.list_kind,
                list_metadata(&page, true)
            ),
        ),
        Form::Full => (
            format!(
                r#"{{"kind":"{}","apiVersion":"{}","metadata":{},"items":["#,
                resource.list_kind,
                resource.api_version(),
                list_metadata(&page, false)
            ),
            "]}".to_owned(),
        ),
        Form::Table(now) => {
            let objects: Vec<&StoredObject> = page.items.iter().map(AsRef::as_ref).collect();
            let mut head = Vec::new();
            let revision = page.revision.to_string();
            let token = &page.continue_token;
            table::write(
                &resource,
                &objects,
                now,
                &revision,
                token,
                page.remaining,
                &mut head,
            );
            return Chunks {
                resource,
                form,
                items: Vec::new().into_iter(),
                first: true,
                head: Some(head),
                tail: None,
            };
        }
    };
    Chunks {
        resource,
        form,
        items: page.items.into_iter(),
        first: true,
        head: Some(head.into_bytes()),
        tail: Some(tail),
    }
}

/// Writes a list's metadata. That of custom resources has its keys in alphabetical order, and always `continue`.
fn list_metadata(page: &Page, custom: bool) -> String {
    let revision = format!(r#""resourceVersion":"{}""#, page.revision);
    let token = format!(r#""continue":"{}""#, page.continue_token);
    let remaining = page
        .remaining
        .map(|remaining| format!(r#""remainingItemCount":{remaining}"#));
    let parts: Vec<String> = match (custom, page.continue_token.is_empty()) {
        (true, _) => [Some(token), remaining, Some(revision)]
            .into_iter()
            .flatten()
            .collect(),
        (false, true) => vec![revision],
        (false, false) => [Some(revision), Some(token), remaining]
            .into_iter()
            .flatten()
            .collect(),
    };
    format!("{{{}}}", parts.join(","))
}

/// The chunks of a list.
#[derive(Debug)]
pub(super) struct Chunks {
    resource: Arc<ResourceType>,
    form: Form,
    items: std::vec::IntoIter<Arc<StoredObject>>,
    first: bool,
    head: Option<Vec<u8>>,
    tail: Option<String>,
}

impl Chunks {
    fn write_item(&self, item: &StoredObject, out: &mut Vec<u8>) {
        if self.form == Form::Full && !self.resource.custom {
            // Items of built-in kinds carry no type in a list.
            out.push(b'{');
            out.extend_from_slice(item.body());
        } else {
            object(&self.resource, item, item.revision(), self.form, out);
        }
    }
}

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut chunk = self.head.take().unwrap_or_default();
        while chunk.len() < CHUNK {
            let Some(item) = self.items.next() else {
                chunk.extend_from_slice(self.tail.take().unwrap_or_default().as_bytes());
                break;
            };
            if !self.first {
                chunk.push(b',');
            }
            self.first = false;
            self.write_item(&item, &mut chunk);
        }
        (!chunk.is_empty()).then(|| chunk.into())
    }
}
