//! One object as it came, whose place and identity are known and whose body is not decoded yet.

use std::sync::Arc;

use informer_store::{Known, ObjectKey};
use serde::de::DeserializeOwned;

use super::format::WireFormat;
use super::from_wire::FromWire;
use super::options::{DecodeOptions, KnownFn};
use crate::error::DecodeError;
use crate::event::{Decoded, SetAside};
use crate::json::{Outline, describe};
use crate::meta::ObjectMeta;
use crate::resource::Resource;
use crate::types::{TypeCache, TypeMeta};

/// One object as it came over the wire, to be read by a [`FromWire`] type.
#[derive(Debug)]
pub struct WireObject<'a> {
    outline: &'a Outline<'a>,
    context: &'a mut Context,
    types: Types<'a>,
}

/// What a decoder keeps from object to object.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) options: DecodeOptions,
    types: TypeCache,
    scratch: Vec<u8>,
}

/// What an object is taken for where it does not say it itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Types<'a> {
    pub(crate) api_version: Option<&'a str>,
    pub(crate) kind: Option<&'a str>,
}

const WHAT: &str = "object";
/// More than this is not kept for the next object.
const KEEP: usize = 256 * 1024;

impl Context {
    pub(crate) fn new(options: DecodeOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Decodes one object, unless the very copy is known already, or sets it aside.
    pub(crate) fn decode<K: FromWire>(
        &mut self,
        outline: &Outline<'_>,
        types: Types<'_>,
        known: Option<&KnownFn>,
    ) -> Decoded<K> {
        if let Some(key) = known.and_then(|known| unchanged(outline, known)) {
            return Decoded::Unchanged(key);
        }
        match self.read(outline, types) {
            Ok(object) => Decoded::Object(object),
            Err(error) => Decoded::SetAside(SetAside::new(outline.key(), outline.mark(), error)),
        }
    }

    /// Decodes one object.
    pub(crate) fn read<K: FromWire>(
        &mut self,
        outline: &Outline<'_>,
        types: Types<'_>,
    ) -> Result<K, DecodeError> {
        let object = K::from_wire(WireObject {
            outline,
            context: self,
            types,
        });
        if self.scratch.capacity() > KEEP {
            self.scratch = Vec::new();
        }
        object
    }
}

/// The object's key, if this very copy is known.
fn unchanged(outline: &Outline<'_>, known: &KnownFn) -> Option<ObjectKey> {
    let mark: Known = outline.mark();
    if mark.uid.is_none() || mark.resource_version.is_none() {
        return None;
    }
    let key = outline.key()?;
    known(&key)?.is_same_copy(&mark).then_some(key)
}

impl WireObject<'_> {
    /// The format of the object's bytes.
    #[must_use]
    pub const fn format(&self) -> WireFormat {
        WireFormat::Json
    }

    /// How objects are to be decoded.
    #[must_use]
    pub const fn options(&self) -> &DecodeOptions {
        &self.context.options
    }

    /// The object's group and version, as `apps/v1`: what it says, else what its list or the request says.
    #[must_use]
    pub fn api_version(&self) -> Option<String> {
        let said = self
            .outline
            .api_version
            .as_deref()
            .or(self.types.api_version);
        let resource = || self.options().resource.as_ref();
        said.map(str::to_owned)
            .or_else(|| Some(resource()?.api_version().into_owned()))
    }

    /// The object's kind: what it says, else what its list or the request says.
    #[must_use]
    pub fn kind(&self) -> Option<String> {
        let said = self.outline.kind.as_deref().or(self.types.kind);
        let resource = || self.options().resource.as_ref();
        said.map(str::to_owned)
            .or_else(|| Some(resource()?.kind.clone().into_owned()))
    }

    /// Reads the object through serde, without managed fields unless they are to be kept, and with `apiVersion` and
    /// `kind`, so that a list's copy equals a watch's.
    ///
    /// # Errors
    /// When the object is not of this type's shape.
    pub fn deserialize<T: DeserializeOwned>(self) -> Result<T, DecodeError> {
        let cut = self.outline.managed_fields.clone();
        let cut = cut.filter(|_| !self.options().keep_managed_fields);
        let untyped = self.outline.api_version.is_none() || self.outline.kind.is_none();
        if cut.is_none() && !untyped {
            let text = self.outline.text;
            return serde_json::from_slice(text).map_err(|error| describe(WHAT, text, &error));
        }
        let mut text = std::mem::take(&mut self.context.scratch);
        text.clear();
        self.write_typed(&mut text, cut);
        let object = serde_json::from_slice(&text).map_err(|error| describe(WHAT, &text, &error));
        self.context.scratch = text;
        object
    }

    /// Writes the object's text with its type and without what is cut out.
    fn write_typed(&self, out: &mut Vec<u8>, cut: Option<std::ops::Range<usize>>) {
        let text = self.outline.text;
        let from = self.outline.members_start();
        out.push(b'{');
        let api_version = self
            .outline
            .api_version
            .is_none()
            .then(|| self.api_version())
            .flatten();
        let kind = self.outline.kind.is_none().then(|| self.kind()).flatten();
        for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
            if let Some(value) = value {
                write_member(out, key, &value);
                out.push(b',');
            }
        }
        if self.outline.is_empty() && out.last() == Some(&b',') {
            out.pop();
        }
        let cut = cut.unwrap_or(text.len()..text.len());
        out.extend_from_slice(&text[from..cut.start]);
        out.extend_from_slice(&text[cut.end..]);
    }

    /// Reads the metadata alone.
    ///
    /// # Errors
    /// When there is none, or it is not of the right shape.
    pub fn metadata(&mut self) -> Result<ObjectMeta, DecodeError> {
        const WHAT: &str = "object metadata";
        let context = &mut *self.context;
        context.scratch.clear();
        self.outline.write_metadata(&mut context.scratch);
        let text = &*context.scratch;
        context
            .options
            .interner
            .with(|texts| ObjectMeta::from_json(text, texts))
            .map_err(|error| describe(WHAT, text, &error))
    }

    /// The object's type, shared with the objects before it.
    pub(crate) fn types(&mut self) -> Arc<TypeMeta> {
        let resource = self.context.options.resource.as_ref();
        let version = resource.map(Resource::api_version);
        let api_version = self
            .outline
            .api_version
            .as_deref()
            .or(self.types.api_version);
        let api_version = api_version.or(version.as_deref()).unwrap_or_default();
        let kind = self.outline.kind.as_deref().or(self.types.kind);
        let kind = kind.or_else(|| Some(&*resource?.kind)).unwrap_or_default();
        self.context.types.get(api_version, kind)
    }

    /// The type that was asked for, else the object's, unless that is a form that hides its type.
    pub(crate) fn requested_types(&mut self) -> Arc<TypeMeta> {
        if let Some(resource) = &self.context.options.resource {
            return self
                .context
                .types
                .get(&resource.api_version(), &resource.kind);
        }
        let types = self.types();
        if &*types.kind == "PartialObjectMetadata" {
            return self.context.types.get("", "");
        }
        types
    }

    /// An object of the members but `apiVersion`, `kind` and `metadata`.
    pub(crate) fn rest(&mut self) -> &[u8] {
        let text = &mut self.context.scratch;
        text.clear();
        text.push(b'{');
        self.outline.write_rest(text);
        text.push(b'}');
        text
    }

    /// Reads all but the metadata through serde.
    ///
    /// # Errors
    /// When the object is not of this type's shape.
    pub fn deserialize_rest<T: DeserializeOwned>(self) -> Result<T, DecodeError> {
        let mut text = std::mem::take(&mut self.context.scratch);
        text.clear();
        text.push(b'{');
        for (key, value) in [("apiVersion", self.api_version()), ("kind", self.kind())] {
            if let Some(value) = value {
                write_member(&mut text, key, &value);
                text.push(b',');
            }
        }
        if !self.outline.write_rest(&mut text) && text.last() == Some(&b',') {
            text.pop();
        }
        text.push(b'}');
        let object = serde_json::from_slice(&text).map_err(|error| describe(WHAT, &text, &error));
        self.context.scratch = text;
        object
    }
}

/// Writes `"key":"value"`.
pub(crate) fn write_member(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend([b"\"", key.as_bytes(), b"\":"].concat());
    // Writing a string to memory does not fail.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.extend_from_slice(b"null");
    }
}
