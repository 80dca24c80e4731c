//! A serde `Deserializer` over protobuf and the table: types that read Kubernetes' JSON read this too.

use std::borrow::Cow;
use std::cell::Cell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};

use super::access::{Elements, Entries, Fields};
use super::envelope::Envelope;
use super::fault::Fault;
use super::node::Node;
use super::table::Message;

/// State while one object is read.
#[derive(Debug)]
pub(super) struct Progress {
    base: usize,
    /// Where the value that was read last starts, from the object's first byte.
    at: Cell<usize>,
    /// Whether fields were met that are out of order.
    disorder: Cell<bool>,
    pub(super) keep_managed_fields: bool,
    pub(super) with_metadata: bool,
}

impl Progress {
    pub(super) fn new(bytes: &[u8], keep_managed_fields: bool, with_metadata: bool) -> Self {
        Self {
            base: bytes.as_ptr() as usize,
            at: Cell::new(0),
            disorder: Cell::new(false),
            keep_managed_fields,
            with_metadata,
        }
    }

    /// Notes where the next value starts.
    pub(super) fn reached(&self, rest: &[u8]) {
        self.at
            .set((rest.as_ptr() as usize).wrapping_sub(self.base));
    }

    pub(super) const fn at(&self) -> usize {
        self.at.get()
    }

    /// Notes that fields are out of order.
    pub(super) fn disorder(&self) -> Fault {
        self.disorder.set(true);
        Fault::Disorder
    }

    pub(super) const fn is_disorderly(&self) -> bool {
        self.disorder.get()
    }
}

/// Where in an object a value stands, as far as it matters for what is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Metadata,
    Other,
}

/// State that is passed on with each value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'c> {
    pub(super) progress: &'c Progress,
    /// The number of further levels allowed.
    pub(super) depth: u32,
    pub(super) place: Place,
}

impl Scope<'_> {
    /// The same for a value that stands there.
    pub(super) const fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// One level deeper.
    fn enter(self) -> Result<Self, Fault> {
        let depth = self.depth.checked_sub(1).ok_or(Fault::TooDeep)?;
        Ok(Self { depth, ..self })
    }
}

/// A value to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'de, 'c> {
    pub(super) node: Node<'de>,
    pub(super) scope: Scope<'c>,
}

/// The type that an object shows, if it is to show one.
pub(super) type Types<'a, 'c> = &'c [Option<(&'static str, &'a str)>];

impl<'de, 'c> Value<'de, 'c> {
    /// Reads an object with its type.
    pub(super) fn read_object<V: Visitor<'de>>(
        scope: Scope<'c>,
        message: Message,
        bytes: &'de [u8],
        types: Types<'de, 'c>,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let mut fields = Fields::new(scope.enter()?, message, bytes, types);
        // A value is large, and is not moved once more than it must be.
        let mut value = visitor.visit_map(&mut fields);
        if value.is_ok()
            && let Err(fault) = fields.end()
        {
            value = Err(fault);
        }
        value
    }

    fn read_envelope<V: Visitor<'de>>(
        self,
        bytes: &'de [u8],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let envelope = Envelope::read(bytes)?;
        if envelope.is_json() {
            return json(envelope.raw, |inner| inner.deserialize_any(visitor));
        }
        let (api_version, kind) = (envelope.api_version, envelope.kind);
        let message = Message::of_kind(api_version, kind).ok_or(Fault::UnknownKind)?;
        let types = [Some(("kind", kind)), Some(("apiVersion", api_version))];
        Value::read_object(self.scope, message, envelope.raw, &types, visitor)
    }

    fn text(&self) -> Option<Cow<'de, str>> {
        match self.node {
            Node::Text(bytes) | Node::Key(bytes) => Some(text(bytes)),
            Node::Name(name) => Some(Cow::Borrowed(name)),
            Node::Base64(bytes) => Some(Cow::Owned(STANDARD.encode(bytes))),
            Node::Time(time) => Some(Cow::Owned(time.write(&mut [0; 27]).to_owned())),
            _ => None,
        }
    }

    /// Reads the value as a JSON text that is kept as such.
    fn read_raw<V: Visitor<'de>>(self, token: &'static str, visitor: V) -> Result<V::Value, Fault> {
        let value = serde_json::Value::deserialize(self)?;
        let entry = std::iter::once((token, value.to_string()));
        visitor.visit_map(MapDeserializer::<_, Fault>::new(entry))
    }
}

/// A text as JSON would show it: Go writes a replacement for what is no UTF-8.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

fn visit_text<'de, V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value, Fault> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

/// Reads JSON that lies within protobuf.
fn json<'de, T>(
    text: &'de [u8],
    read: impl FnOnce(
        &mut serde_json::Deserializer<serde_json::de::SliceRead<'de>>,
    ) -> serde_json::Result<T>,
) -> Result<T, Fault> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = read(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    value.map_err(|error| {
        if error.is_data() {
            Fault::Value
        } else {
            Fault::Json
        }
    })
}

/// A number, which may also be the key of a map.
macro_rules! numbers {
    ($($deserialize:ident $visit:ident),+) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.node {
                Node::Key(key) => visitor.$visit(text(key).parse().map_err(|_| Fault::Value)?),
                _ => self.deserialize_any(visitor),
            }
        }
    )+};
}

impl<'de> Deserializer<'de> for Value<'de, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(value),
            // As serde_json gives it.
            Node::Int(value) if value < 0 => visitor.visit_i64(value),
            Node::Int(value) => visitor.visit_u64(value as u64),
            Node::Uint(value) => visitor.visit_u64(value),
            Node::Float(value) => visitor.visit_f64(value),
            Node::Text(bytes) | Node::Key(bytes) => visit_text(text(bytes), visitor),
            Node::Name(name) => visitor.visit_borrowed_str(name),
            Node::Base64(bytes) => visitor.visit_string(STANDARD.encode(bytes)),
            Node::Time(time) => visitor.visit_str(time.write(&mut [0; 27])),
            Node::Object(message, bytes) => {
                Value::read_object(self.scope, message, bytes, &[], visitor)
            }
            Node::Many(many) if many.is_map => {
                let mut entries = Entries::new(self.scope.enter()?, many);
                let value = visitor.visit_map(&mut entries)?;
                entries.end()?;
                Ok(value)
            }
            Node::Many(many) => {
                let mut elements = Elements::new(self.scope.enter()?, many);
                let value = visitor.visit_seq(&mut elements)?;
                elements.end()?;
                Ok(value)
            }
            Node::Json(text) => json(text, |inner| inner.deserialize_any(visitor)),
            Node::Envelope(bytes) => self.read_envelope(bytes, visitor),
        }
    }

    /// A field's name, most of all.
    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node {
            Node::Name(name) => visitor.visit_borrowed_str(name),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node {
            Node::Null => visitor.visit_none(),
            Node::Json(text) => json(text, |inner| inner.deserialize_option(visitor)),
            _ => visitor.visit_some(self),
        }
    }

    /// Null is an empty list too: protobuf has no difference between them.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node {
            Node::Null => visitor.visit_seq(serde::de::value::SeqDeserializer::<_, Fault>::new(
                std::iter::empty::<()>(),
            )),
            _ => self.deserialize_any(visitor),
        }
    }

    /// Null is an empty map too: protobuf has no difference between them.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.node {
            Node::Null => visitor
                .visit_map(MapDeserializer::<_, Fault>::new(
                    std::iter::empty::<((), ())>(),
                )),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.node {
            Node::Json(text) => json(text, |inner| {
                inner.deserialize_newtype_struct(name, visitor)
            }),
            // How serde_json asks for a `RawValue`.
            _ if name == "$serde_json::private::RawValue" => self.read_raw(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.node {
            Node::Json(text) => json(text, |inner| {
                inner.deserialize_enum(name, variants, visitor)
            }),
            Node::Object(message, bytes) => {
                let mut fields = Fields::new(self.scope.enter()?, message, bytes, &[]);
                let value = visitor.visit_enum(MapAccessDeserializer::new(&mut fields))?;
                fields.end()?;
                Ok(value)
            }
            Node::Many(many) if many.is_map => {
                let mut entries = Entries::new(self.scope.enter()?, many);
                let value = visitor.visit_enum(MapAccessDeserializer::new(&mut entries))?;
                entries.end()?;
                Ok(value)
            }
            _ => match self.text() {
                Some(text) => visitor.visit_enum(text.into_deserializer()),
                None => self.deserialize_any(visitor),
            },
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.text() {
            Some(Cow::Borrowed(text)) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Some(Cow::Owned(text)) => visitor.visit_byte_buf(text.into_bytes()),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    numbers!(
        deserialize_bool visit_bool, deserialize_i8 visit_i8, deserialize_i16 visit_i16,
        deserialize_i32 visit_i32, deserialize_i64 visit_i64, deserialize_u8 visit_u8,
        deserialize_u16 visit_u16, deserialize_u32 visit_u32, deserialize_u64 visit_u64
    );

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string unit unit_struct struct
    }
}
