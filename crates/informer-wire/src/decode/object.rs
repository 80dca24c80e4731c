//! One object as it came, whose place and identity are known and whose body is not decoded yet.

use std::sync::Arc;

use informer_store::{Known, ObjectKey};
use serde::de::DeserializeOwned;

use super::dropped::Keys;
use super::format::WireFormat;
use super::from_wire::FromWire;
use super::json_object;
use super::options::{DecodeOptions, KnownFn};
use super::outline::Outline;
use crate::error::DecodeError;
use crate::event::{Decoded, SetAside};
use crate::json::describe;
use crate::meta::ObjectMeta;
use crate::protobuf::{Message, ObjectBytes};
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
    pub(super) scratch: Vec<u8>,
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
        if let Some(error) = self.foreign(outline) {
            // Whatever bears that name here is another object.
            return Decoded::SetAside(SetAside::new(None, outline.mark(), error));
        }
        if let Some(key) = known.and_then(|known| unchanged(outline, known)) {
            return Decoded::Unchanged(key);
        }
        match self.read(outline, types) {
            Ok(object) => Decoded::Object(object),
            Err(error) => Decoded::SetAside(SetAside::new(outline.key(), outline.mark(), error)),
        }
    }

    /// Why an object cannot be of the resource that was asked for: it says that it is of another kind.
    fn foreign(&self, outline: &Outline<'_>) -> Option<DecodeError> {
        let expected = &*self.options.resource.as_ref()?.kind;
        let kind = outline.kind()?;
        if expected.is_empty() || kind.is_empty() || kind == expected || outline.is_of_meta() {
            return None;
        }
        Some(DecodeError::UnexpectedKind {
            expected: "an object of the resource",
            kind: kind.to_owned(),
        })
    }

    /// Decodes one object.
    pub(crate) fn read<K: FromWire>(
        &mut self,
        outline: &Outline<'_>,
        types: Types<'_>,
    ) -> Result<K, DecodeError> {
        let object = match self.options.dropped.keys() {
            None => self.object(outline, types),
            Some(keys) => self.read_pruned(outline, types, &keys),
        };
        if self.scratch.capacity() > KEEP {
            self.scratch = Vec::new();
        }
        object
    }

    fn object<K: FromWire>(
        &mut self,
        outline: &Outline<'_>,
        types: Types<'_>,
    ) -> Result<K, DecodeError> {
        K::from_wire(WireObject {
            outline,
            context: self,
            types,
        })
    }

    /// Decodes one object without what is to be dropped.
    fn read_pruned<K: FromWire>(
        &mut self,
        outline: &Outline<'_>,
        types: Types<'_>,
        keys: &Keys,
    ) -> Result<K, DecodeError> {
        let object = WireObject {
            outline,
            context: self,
            types,
        };
        let types_of = { object }.types();
        let message = Message::of_kind(&types_of.api_version, &types_of.kind);
        let mut bytes = Vec::new();
        let pruned = outline.pruned(WHAT, message, keys, &mut bytes)?;
        self.object(&pruned, types)
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
        self.outline.format()
    }

    /// How objects are to be decoded.
    #[must_use]
    pub const fn options(&self) -> &DecodeOptions {
        &self.context.options
    }

    /// The object's group and version, as `apps/v1`: what it says, else what its list or the request says.
    #[must_use]
    pub fn api_version(&self) -> Option<String> {
        let said = self.outline.api_version().or(self.types.api_version);
        let resource = || self.options().resource.as_ref();
        said.map(str::to_owned)
            .or_else(|| Some(resource()?.api_version().into_owned()))
    }

    /// The object's kind: what it says, else what its list or the request says.
    #[must_use]
    pub fn kind(&self) -> Option<String> {
        let said = self.outline.kind().or(self.types.kind);
        let resource = || self.options().resource.as_ref();
        said.map(str::to_owned)
            .or_else(|| Some(resource()?.kind.clone().into_owned()))
    }

    /// Reads the object through serde, without managed fields unless they are to be kept, and with `apiVersion` and
    /// `kind`, so that a list's copy equals a watch's.
    ///
    /// # Errors
    /// When the object is not of this type's shape.
    pub fn deserialize<T: DeserializeOwned>(mut self) -> Result<T, DecodeError> {
        match self.outline {
            Outline::Json(outline) => {
                let types = [self.api_version(), self.kind()];
                json_object::deserialize(outline, types, self.context)
            }
            Outline::Protobuf { outline, .. } => self.read_protobuf(outline.bytes(), true),
        }
    }

    /// Reads all but the metadata through serde.
    ///
    /// # Errors
    /// When the object is not of this type's shape.
    pub fn deserialize_rest<T: DeserializeOwned>(mut self) -> Result<T, DecodeError> {
        match self.outline {
            Outline::Json(outline) => {
                let types = [self.api_version(), self.kind()];
                json_object::deserialize_rest(outline, types, self.context)
            }
            Outline::Protobuf { outline, .. } => self.read_protobuf(outline.bytes(), false),
        }
    }

    fn read_protobuf<T: DeserializeOwned>(
        &mut self,
        bytes: &[u8],
        with_metadata: bool,
    ) -> Result<T, DecodeError> {
        let types = self.types();
        let object = ObjectBytes {
            message: types.message,
            bytes,
            api_version: &types.api_version,
            kind: &types.kind,
            keep_managed_fields: self.options().keep_managed_fields,
            with_metadata,
            limits: self.options().limits,
        };
        object.deserialize(WHAT)
    }

    /// Reads the metadata alone.
    ///
    /// # Errors
    /// When there is none, or it is not of the right shape.
    pub fn metadata(&mut self) -> Result<ObjectMeta, DecodeError> {
        const WHAT: &str = "object metadata";
        let Context {
            options, scratch, ..
        } = &mut *self.context;
        let outline = match self.outline {
            Outline::Json(outline) => outline,
            Outline::Protobuf { outline, .. } => {
                let read = options
                    .interner
                    .with(|texts| ObjectMeta::from_protobuf(outline.metadata(), texts));
                return read.map_err(|fault| DecodeError::malformed(WHAT, fault.to_string()));
            }
        };
        scratch.clear();
        outline.write_metadata(scratch);
        options
            .interner
            .with(|texts| ObjectMeta::from_json(scratch, texts))
            .map_err(|error| describe(WHAT, scratch, &error))
    }

    /// The object's type, shared with the objects before it.
    pub(crate) fn types(&mut self) -> Arc<TypeMeta> {
        let format = self.outline.format();
        let Context { options, types, .. } = &mut *self.context;
        let resource = options.resource.as_ref();
        let api_version = self.outline.api_version().or(self.types.api_version);
        let version = match api_version {
            Some(_) => None,
            None => resource.map(Resource::api_version),
        };
        let api_version = api_version.or(version.as_deref()).unwrap_or_default();
        let kind = self.outline.kind().or(self.types.kind);
        let kind = kind.or_else(|| Some(&*resource?.kind)).unwrap_or_default();
        types.get(api_version, kind, format)
    }

    /// The type that was asked for, else the object's, unless that is a form that hides its type.
    pub(crate) fn requested_types(&mut self) -> Arc<TypeMeta> {
        // Metadata keeps no bytes, so that their format does not matter.
        let format = WireFormat::Json;
        let Context { options, types, .. } = &mut *self.context;
        if let Some(resource) = &options.resource {
            return types.get(&resource.api_version(), &resource.kind, format);
        }
        let api_version = self.outline.api_version().or(self.types.api_version);
        match self.outline.kind().or(self.types.kind) {
            Some("PartialObjectMetadata") => types.get("", "", format),
            kind => types.get(
                api_version.unwrap_or_default(),
                kind.unwrap_or_default(),
                format,
            ),
        }
    }

    /// The members or fields but `apiVersion`, `kind` and `metadata`, in the object's format.
    pub(crate) fn rest(&mut self) -> Box<[u8]> {
        match self.outline {
            Outline::Json(outline) => json_object::rest(outline, &mut self.context.scratch),
            Outline::Protobuf { outline, .. } => outline.rest().concat().into_boxed_slice(),
        }
    }
}
