//! Reads one object through serde, and says where that failed.

use serde::de::DeserializeOwned;
use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, Deserializer, Visitor};

use super::canonical::canonical;
use super::de::{Place, Progress, Scope, Types, Value};
use super::fault::Fault;
use super::locate::path_at;
use super::table::Message;
use crate::error::DecodeError;
use crate::limits::Limits;

/// How deep the values of one object may lie in each other, as serde_json has it.
pub(super) const DEPTH: u32 = 127;

/// An object in protobuf that is to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectBytes<'a> {
    pub(crate) message: Option<Message>,
    pub(crate) bytes: &'a [u8],
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) keep_managed_fields: bool,
    pub(crate) with_metadata: bool,
    pub(crate) limits: Limits,
}

impl ObjectBytes<'_> {
    /// Reads the object.
    pub(crate) fn deserialize<T: DeserializeOwned>(
        &self,
        what: &'static str,
    ) -> Result<T, DecodeError> {
        let Some(message) = self.message else {
            return Err(DecodeError::malformed(what, Fault::UnknownKind.to_string()));
        };
        let depth = self.limits.depth.min(DEPTH);
        let said = |key, text| Some((key, text)).filter(|(_, text): &(_, &str)| !text.is_empty());
        let types = [
            said("kind", self.kind),
            said("apiVersion", self.api_version),
        ];
        let progress = self.progress(self.bytes);
        let source = |bytes, progress| Source {
            message,
            bytes,
            types: &types,
            scope: Scope {
                progress,
                depth,
                place: Place::Root,
            },
        };
        let first = T::deserialize(source(self.bytes, &progress));
        if !progress.is_disorderly() {
            return first
                .map_err(|fault| describe(what, message, self.bytes, progress.at(), fault, depth));
        }
        let bytes = canonical(message, self.bytes, depth)
            .map_err(|fault| describe(what, message, self.bytes, 0, fault, depth))?;
        let progress = self.progress(&bytes);
        T::deserialize(source(&bytes, &progress))
            .map_err(|fault| describe(what, message, &bytes, progress.at(), fault, depth))
    }

    fn progress(&self, bytes: &[u8]) -> Progress {
        Progress::new(bytes, self.keep_managed_fields, self.with_metadata)
    }
}

/// The whole object.
struct Source<'a> {
    message: Message,
    bytes: &'a [u8],
    types: Types<'a, 'a>,
    scope: Scope<'a>,
}

impl<'de> Deserializer<'de> for Source<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        Value::read_object(self.scope, self.message, self.bytes, self.types, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if name != "$serde_json::private::RawValue" {
            return visitor.visit_newtype_struct(self);
        }
        let text = serde_json::Value::deserialize(self)?.to_string();
        let entry = std::iter::once((name, text));
        visitor.visit_map(serde::de::value::MapDeserializer::<_, Fault>::new(entry))
    }

    /// An enum that its reader selects by the kind must have it among its own fields: an object has more than one key.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(StrDeserializer::new(""))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

/// Describes an error and its place, without the contents.
pub(super) fn describe(
    what: &'static str,
    message: Message,
    bytes: &[u8],
    at: usize,
    fault: Fault,
    depth: u32,
) -> DecodeError {
    if fault == Fault::TooDeep {
        return DecodeError::TooDeep { what, limit: depth };
    }
    let path = path_at(message, bytes, at);
    DecodeError::malformed(what, format!("{fault} at {path} (byte {at})"))
}
