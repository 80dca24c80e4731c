//! Objects, lists and events as bytes, in the requested format and form.

mod json;
mod protobuf;

use std::sync::Arc;

use bytes::Bytes;
use informer_wire::Status;
use jiff::Timestamp;

pub(crate) use self::protobuf::has_table;
use crate::model::{Page, StoredObject, WatchEvent};
use crate::resource::ResourceType;
use crate::status;

/// The form of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
    /// In JSON alone; with the time that ages are counted to.
    Table(Timestamp),
}

/// The format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Protobuf,
}

/// Format and form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) form: Form,
    pub(crate) format: Format,
}

impl Encoding {
    /// Returns the encoding at another time.
    pub(crate) fn at(mut self, now: Timestamp) -> Self {
        if let Form::Table(time) = &mut self.form {
            *time = now;
        }
        self
    }
}

/// The size of a chunk.
pub(crate) const CHUNK: usize = 64 * 1024;

/// Writes one object, as the response to a get or a write.
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

/// Writes one event of a watch.
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

/// Encodes a failure, or the success of a delete, in protobuf.
pub(crate) fn status(status: &Status) -> Bytes {
    let mut out = Vec::new();
    protobuf::write_object(status::to_json(status).as_bytes(), &mut out);
    out.into()
}

/// Encodes the ERROR event of a watch.
pub(crate) fn error_event(status: &Status, format: Format) -> Bytes {
    match format {
        Format::Json => json::error_event(status),
        Format::Protobuf => {
            let mut out = Vec::new();
            protobuf::write_event("ERROR", status::to_json(status).as_bytes(), &mut out);
            out.into()
        }
    }
}

/// Encodes a bookmark of a watch.
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

/// Encodes a list in chunks, each when it is needed.
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

    /// Puts a taken chunk back to the front.
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
