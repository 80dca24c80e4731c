//! Objects, lists and events as bytes, in the format and form that a client asked for.

mod json;
mod protobuf;

use std::sync::Arc;

use bytes::Bytes;

pub(crate) use self::protobuf::has_table;
use crate::model::{Page, StoredObject, WatchEvent};
use crate::resource::ResourceType;
use crate::status::Status;

/// What form of an object a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
    /// In JSON alone.
    Table,
}

/// In what format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Protobuf,
}

/// How an answer is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) form: Form,
    pub(crate) format: Format,
}

/// Bytes gathered before they are handed on.
pub(crate) const CHUNK: usize = 64 * 1024;

/// One object as the answer to a get or a write.
pub(crate) fn object(
    resource: &ResourceType,
    object: &StoredObject,
    revision: u64,
    encoding: Encoding,
    out: &mut Vec<u8>,
) {
    match encoding.format {
        Format::Json => json::object(resource, object, revision, encoding.form, out),
        Format::Protobuf => protobuf::object(resource, object, revision, encoding.form, out),
    }
}

/// One event of a watch stream.
pub(crate) fn event(
    resource: &ResourceType,
    event: &WatchEvent,
    encoding: Encoding,
    out: &mut Vec<u8>,
) {
    match encoding.format {
        Format::Json => json::event(resource, event, encoding.form, out),
        Format::Protobuf => protobuf::event(resource, event, encoding.form, out),
    }
}

/// A failure, or the success of a delete, in protobuf.
pub(crate) fn status(status: &Status) -> Bytes {
    let mut out = Vec::new();
    protobuf::write_object(status.to_json().as_bytes(), &mut out);
    out.into()
}

/// The event of a watch stream that says what went wrong.
pub(crate) fn error_event(status: &Status, format: Format) -> Bytes {
    match format {
        Format::Json => json::error_event(status),
        Format::Protobuf => {
            let mut out = Vec::new();
            protobuf::write_event("ERROR", status.to_json().as_bytes(), &mut out);
            out.into()
        }
    }
}

/// The event of a watch stream that says up to which revision everything was sent.
pub(crate) fn bookmark(
    resource: &ResourceType,
    revision: u64,
    ends_initial_events: bool,
    encoding: Encoding,
) -> Bytes {
    let object = json::bookmark_object(resource, revision, ends_initial_events, encoding.form);
    let mut out = Vec::new();
    match encoding.format {
        Format::Json => json::write_event("BOOKMARK", object.as_bytes(), &mut out),
        Format::Protobuf => protobuf::write_event("BOOKMARK", object.as_bytes(), &mut out),
    }
    out.into()
}

/// A list, in chunks that are made as they are asked for.
pub(crate) fn list(resource: Arc<ResourceType>, page: Page, encoding: Encoding) -> ListChunks {
    let source = match encoding.format {
        Format::Json => Source::Json(Box::new(json::list(resource, page, encoding.form))),
        Format::Protobuf => Source::Protobuf(protobuf::list(&resource, page, encoding.form)),
    };
    ListChunks {
        source,
        format: encoding.format,
        taken: None,
    }
}

/// The chunks of a list.
#[derive(Debug)]
pub(crate) struct ListChunks {
    source: Source,
    format: Format,
    taken: Option<Bytes>,
}

#[derive(Debug)]
enum Source {
    Json(Box<json::Chunks>),
    Protobuf(protobuf::Chunks),
}

impl ListChunks {
    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    /// Gives a chunk back that was taken; the next one is that one.
    pub(crate) fn put_back(mut self, chunk: Bytes) -> Self {
        self.taken = Some(chunk);
        self
    }
}

impl Iterator for ListChunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.taken.is_some() {
            return self.taken.take();
        }
        match &mut self.source {
            Source::Json(chunks) => chunks.next(),
            Source::Protobuf(chunks) => chunks.next(),
        }
    }
}
