//! `Compact`: an object as its metadata and the received bytes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use informer_store::{Object, ObjectMetadata as _, ObjectVersion};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::decode::{
    Context, DecodeOptions, FromWire, Outline, Types, WireFormat, WireObject, decode_object,
    keys_of, write_member,
};
use crate::error::DecodeError;
use crate::json::{Cursor, describe};
use crate::limits::Limits;
use crate::meta::ObjectMeta;
use crate::protobuf::{self, ObjectBytes};
use crate::resource::{Resource, StaticResource};
use crate::types::TypeMeta;

/// An object of which only the metadata is decoded; the rest is kept as the received bytes, without `managedFields`.
/// For big caches: it takes about as much memory as on the wire, a tenth of the decoded object, and a fraction of the
/// time.
///
/// [`decode`](Self::decode) gives the whole object, [`field`](Self::field) a part of it. Copies from a list and from
/// a watch are equal.
///
/// ```
/// use informer_wire::{Compact, DecodeOptions, WireFormat, decode_object};
/// use serde_json::Value;
///
/// let json = br#"{"kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[{"image":"i"}]}}"#;
/// let pod: Compact<Value> = decode_object(WireFormat::Json, json, &DecodeOptions::default())?;
/// assert_eq!(pod.metadata().name(), "a");
/// assert_eq!(pod.field::<String>("/spec/containers/0/image")?.as_deref(), Some("i"));
/// assert_eq!(pod.decode()?["spec"]["nodeName"], "n");
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
pub struct Compact<K> {
    metadata: ObjectMeta,
    types: Arc<TypeMeta>,
    /// All members or fields but `apiVersion`, `kind` and `metadata`, in the format of `types`.
    body: Box<[u8]>,
    kind: PhantomData<fn() -> K>,
}

/// An object of a kind that is known only at run time.
///
/// ```
/// use informer_wire::{DecodeOptions, Dynamic, WireFormat, decode_object};
///
/// let json = br#"{"apiVersion":"demo.example/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"size":3}}"#;
/// let widget: Dynamic = decode_object(WireFormat::Json, json, &DecodeOptions::default())?;
/// assert_eq!((widget.api_version(), widget.kind()), ("demo.example/v1", "Widget"));
/// assert_eq!(widget.field::<u32>("/spec/size")?, Some(3));
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
#[doc(alias = "Unstructured")]
#[doc(alias = "DynamicObject")]
pub type Dynamic = Compact<serde_json::Value>;

impl<K> Compact<K> {
    /// Returns the object's metadata.
    #[must_use]
    pub const fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    /// Returns the object's group and version, such as `apps/v1`; empty if neither it nor its list nor the request has
    /// them.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.types.api_version
    }

    /// Returns the object's kind; empty if neither it nor its list nor the request has it.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.types.kind
    }

    /// Returns the format of [`raw`](Self::raw).
    #[must_use]
    pub fn format(&self) -> WireFormat {
        self.types.format
    }

    /// Returns the received bytes, without `apiVersion`, `kind` and `metadata`: JSON, or the fields of the object's
    /// message in protobuf.
    #[must_use]
    pub const fn raw(&self) -> &[u8] {
        &self.body
    }

    /// Writes the whole object as JSON, with its type and metadata.
    ///
    /// # Errors
    /// When the bytes are not those of an object of this kind: only here are they looked at. Of JSON they always are.
    pub fn to_json(&self) -> Result<Vec<u8>, DecodeError> {
        let mut out = Vec::with_capacity(self.body.len() + 512);
        out.push(b'{');
        for (key, value) in self.types() {
            write_member(&mut out, key, value);
            out.push(b',');
        }
        out.extend_from_slice(b"\"metadata\":");
        // Writing metadata to memory does not fail.
        if serde_json::to_writer(&mut out, &self.metadata).is_err() {
            out.extend_from_slice(b"null");
        }
        let rest = match self.format() {
            WireFormat::Json => Cow::Borrowed(&*self.body),
            WireFormat::Protobuf => Cow::Owned(self.rest()?.to_string().into_bytes()),
        };
        let members = rest.strip_prefix(b"{").unwrap_or_default();
        if members != b"}" {
            out.push(b',');
        }
        out.extend_from_slice(members);
        Ok(out)
    }

    /// Returns the object's type, as far as it is known.
    fn types(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("apiVersion", self.api_version()), ("kind", self.kind())]
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
    }

    /// The rest of an object in protobuf, as JSON has it.
    fn rest(&self) -> Result<serde_json::Value, DecodeError> {
        let rest = ObjectBytes {
            message: self.types.message,
            bytes: &self.body,
            api_version: "",
            kind: "",
            keep_managed_fields: false,
            with_metadata: true,
            limits: Limits::default(),
        };
        rest.deserialize("object")
    }

    /// Decodes one field of the object, given by its path (a JSON pointer such as `/spec/containers/0/image`), and no
    /// more than that. `None` if it is absent or null. Fields of the metadata are in [`metadata`](Self::metadata).
    ///
    /// # Errors
    /// When the field is not of this type's shape.
    pub fn field<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, DecodeError> {
        let keys = keys_of(path);
        match self.format() {
            WireFormat::Json => json_field(&self.body, &keys),
            WireFormat::Protobuf => protobuf::field(self.types.message, &self.body, &keys),
        }
    }
}

fn json_field<T: DeserializeOwned>(
    mut value: &[u8],
    keys: &[String],
) -> Result<Option<T>, DecodeError> {
    for key in keys {
        match child(value, key) {
            Some(found) => value = found,
            None => return Ok(None),
        }
    }
    serde_json::from_slice(value).map_err(|error| describe("field", value, &error))
}

/// The value of an object's member or an array's element.
fn child<'a>(value: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut cursor = Cursor::new(value);
    if cursor.peek() == Some(b'[') {
        let index = key.parse::<usize>().ok()?;
        let mut walk = cursor.open_array().ok()?;
        for _ in 0..index {
            cursor.next_element(&mut walk).ok().filter(|more| *more)?;
            cursor.skip_value().ok()?;
        }
        cursor.next_element(&mut walk).ok().filter(|more| *more)?;
        return cursor.skip_value().ok();
    }
    let mut walk = cursor.open_object().ok()?;
    while let Some(found) = cursor.next_key(&mut walk).ok()? {
        let value = cursor.skip_value().ok()?;
        if *found.name() == *key.as_bytes() {
            return Some(value);
        }
    }
    None
}

impl<K: FromWire> Compact<K> {
    /// Decodes the whole object. It equals the object decoded from the received bytes, without `managedFields`.
    ///
    /// # Errors
    /// When the object is not of K's shape: only here are the bytes looked at.
    pub fn decode(&self) -> Result<K, DecodeError> {
        if self.format() == WireFormat::Json {
            return decode_object(self.format(), &self.to_json()?, &DecodeOptions::default());
        }
        let mut metadata = Vec::with_capacity(512);
        self.metadata.write_protobuf(&mut metadata);
        let mut object = Vec::with_capacity(metadata.len() + self.body.len() + 8);
        protobuf::write_bytes(1, &metadata, &mut object);
        object.extend_from_slice(&self.body);
        let outline = Outline::protobuf("object", &object)?;
        let said = |text| Some(text).filter(|text: &&str| !text.is_empty());
        let types = Types {
            api_version: said(self.api_version()),
            kind: said(self.kind()),
        };
        Context::new(DecodeOptions::default()).read(&outline, types)
    }
}

impl<K: 'static> FromWire for Compact<K> {
    fn from_wire(mut object: WireObject<'_>) -> Result<Self, DecodeError> {
        let metadata = object.metadata()?;
        let types = object.types();
        Ok(Self {
            metadata,
            types,
            body: object.rest(),
            kind: PhantomData,
        })
    }
}

impl<K: 'static> Object for Compact<K> {
    type Metadata = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn restore_version(&mut self, version: &ObjectVersion) -> bool {
        self.metadata.restore_version(version)
    }
}

impl<K: StaticResource> StaticResource for Compact<K> {
    fn resource() -> Resource {
        K::resource()
    }
}

impl<K> Clone for Compact<K> {
    fn clone(&self) -> Self {
        Self {
            metadata: self.metadata.clone(),
            types: self.types.clone(),
            body: self.body.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> PartialEq for Compact<K> {
    /// Compares the bytes: objects that differ only in their format, or in the order of fields, are not equal.
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata && self.types == other.types && self.body == other.body
    }
}

impl<K> Eq for Compact<K> {}

impl<K> fmt::Debug for Compact<K> {
    /// Without the body, which may be long or secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compact")
            .field("api_version", &self.api_version())
            .field("kind", &self.kind())
            .field("name", &self.metadata.name())
            .field("namespace", &self.metadata.namespace())
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl<K> serde::Serialize for Compact<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::{Error, SerializeMap};
        let mut out = serializer.serialize_map(None)?;
        for (key, value) in self.types() {
            out.serialize_entry(key, value)?;
        }
        out.serialize_entry("metadata", &self.metadata)?;
        if self.format() == WireFormat::Protobuf {
            let rest = self.rest().map_err(S::Error::custom)?;
            for (key, value) in rest.as_object().into_iter().flatten() {
                out.serialize_entry(key, value)?;
            }
            return out.end();
        }
        let mut deserializer = serde_json::Deserializer::from_slice(&self.body);
        let rest =
            std::collections::BTreeMap::<String, Box<serde_json::value::RawValue>>::deserialize(
                &mut deserializer,
            );
        // The message of serde_json may quote the contents.
        let rest =
            rest.map_err(|error| S::Error::custom(describe("object", &self.body, &error)))?;
        for (key, value) in rest {
            out.serialize_entry(&key, &value)?;
        }
        out.end()
    }
}
