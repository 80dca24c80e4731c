//! What must be known of an object before it is decoded: which one it is, and where its metadata stands.

use std::borrow::Cow;
use std::ops::Range;

use informer_store::{ResourceVersion, Uid};

use super::access::entry;
use super::canonical::write_bytes;
use super::de::text;
use super::fault::Fault;
use super::reader::{Payload, Reader};
use crate::error::DecodeError;

/// The outline of one object's bytes.
#[derive(Debug, Default)]
pub(crate) struct Outline<'a> {
    bytes: Cow<'a, [u8]>,
    /// The metadata with its tag.
    field: Range<usize>,
    /// The metadata.
    metadata: Range<usize>,
    name: Range<usize>,
    namespace: Range<usize>,
    pub(crate) uid: Option<Uid>,
    pub(crate) resource_version: Option<ResourceVersion>,
    pub(crate) initial_events_end: bool,
}

const METADATA: u32 = 1;
/// The annotation of the bookmark that ends the first state of a streaming list.
const INITIAL_EVENTS_END: &[u8] = b"k8s.io/initial-events-end";

impl<'a> Outline<'a> {
    /// Reads the outline of an object. Only the top level and the metadata are looked at.
    pub(crate) fn read(what: &'static str, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let outline = Self::of(Cow::Borrowed(bytes));
        outline.map_err(|fault| DecodeError::malformed(what, format!("{fault}, in its outline")))
    }

    /// The outline of an object of a kind that has no metadata.
    pub(crate) fn without_metadata(bytes: &'a [u8]) -> Self {
        Self {
            bytes: Cow::Borrowed(bytes),
            ..Self::default()
        }
    }

    fn of(bytes: Cow<'a, [u8]>) -> Result<Self, Fault> {
        let mut outline = Self::default();
        let mut parts = 0;
        let mut reader = Reader(&bytes);
        loop {
            let start = bytes.len() - reader.0.len();
            let Some((no, payload)) = reader.field()? else {
                break;
            };
            if no != METADATA {
                continue;
            }
            let Payload::Bytes(metadata) = payload else {
                return Err(Fault::Encoding);
            };
            let end = bytes.len() - reader.0.len();
            outline.field = start..end;
            outline.metadata = end - metadata.len()..end;
            parts += 1;
        }
        if parts > 1 {
            return Self::of(Cow::Owned(with_one_metadata(&bytes)?));
        }
        outline.read_metadata(&bytes)?;
        outline.bytes = bytes;
        Ok(outline)
    }

    fn read_metadata(&mut self, object: &[u8]) -> Result<(), Fault> {
        let end = self.metadata.end;
        let mut reader = Reader(&object[self.metadata.clone()]);
        while let Some((no, payload)) = reader.field()? {
            let range = |bytes: &[u8]| {
                let end = end - reader.0.len();
                end - bytes.len()..end
            };
            let bytes = match (no, payload) {
                (1 | 3 | 5 | 6 | 12, Payload::Bytes(bytes)) => bytes,
                (1 | 3 | 5 | 6 | 12, _) => return Err(Fault::Encoding),
                _ => continue,
            };
            match no {
                1 => self.name = range(bytes),
                3 => self.namespace = range(bytes),
                5 => self.uid = non_empty(bytes).map(|uid| Uid::new(&uid)),
                6 => {
                    let version = non_empty(bytes);
                    self.resource_version = version.map(|version| ResourceVersion::new(&version));
                }
                _ => self.read_annotation(payload)?,
            }
        }
        Ok(())
    }

    fn read_annotation(&mut self, payload: Payload<'_>) -> Result<(), Fault> {
        let (key, value) = entry(payload)?;
        if key == INITIAL_EVENTS_END {
            self.initial_events_end = value == Some(Payload::Bytes(b"true"));
        }
        Ok(())
    }

    /// The object's name; empty if it has none.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        text(&self.bytes[self.name.clone()])
    }

    /// The object's namespace; empty if it is in none.
    pub(crate) fn namespace(&self) -> Cow<'_, str> {
        text(&self.bytes[self.namespace.clone()])
    }

    /// The metadata.
    pub(crate) fn metadata(&self) -> &[u8] {
        &self.bytes[self.metadata.clone()]
    }

    /// The whole object.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes before and behind the metadata.
    pub(crate) fn rest(&self) -> [&[u8]; 2] {
        [
            &self.bytes[..self.field.start],
            &self.bytes[self.field.end..],
        ]
    }
}

fn non_empty(bytes: &[u8]) -> Option<Cow<'_, str>> {
    Some(text(bytes)).filter(|text| !text.is_empty())
}

/// The object with all parts of its metadata as one, at its start.
fn with_one_metadata(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let (mut metadata, mut rest) = (Vec::new(), Vec::new());
    let mut reader = Reader(bytes);
    loop {
        let before = reader.0;
        match reader.field()? {
            None => break,
            Some((METADATA, Payload::Bytes(part))) => metadata.extend_from_slice(part),
            Some(_) => rest.extend_from_slice(&before[..before.len() - reader.0.len()]),
        }
    }
    let mut out = Vec::with_capacity(bytes.len());
    write_bytes(METADATA, &metadata, &mut out);
    out.extend_from_slice(&rest);
    Ok(out)
}
