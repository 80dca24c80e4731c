//! One received object, whose identity is known and whose body is not decoded yet.

use std::sync::Arc;

use informer_store::ObjectKey;
use serde::de::DeserializeOwned;

use super::dropped::Keys;
use super::format::WireFormat;
use super::from_wire::FromWire;
use super::json_object;
use super::options::{DecodeOptions, Stored};
use super::outline::Outline;
use crate::error::DecodeError;
use crate::event::{Decoded, Undecodable};
use crate::json::describe;
use crate::meta::ObjectMeta;
use crate::protobuf::{Message, ObjectBytes};
use crate::resource::Resource;
use crate::types::{TypeCache, TypeMeta};

/// One received object, to be decoded by a [`FromWire`] type.
#[derive(Debug)]
pub struct WireObject<'a> {
    outline: &'a Outline<'a>,
    context: &'a mut Context,
    types: Types<'a>,
}

/// State that a decoder keeps from object to object.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) options: DecodeOptions,
    types: TypeCache,
    pub(super) scratch: Vec<u8>,
}

/// The type of an object without its own.
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

    /// Decodes one object, unless it is stored already.
    pub(crate) fn decode<K: FromWire>(
        &mut self,
        outline: &Outline<'_>,
        types: Types<'_>,
        stored: Option<&Stored<K>>,
    ) -> Decoded<K> {
        if let Some(error) = self.foreign(outline) {
            // Whatever has that name here is another object.
            return undecodable(None, outline, error);
        }
        if let Some((key, object)) = stored.and_then(|stored| unchanged(outline, stored)) {
            return Decoded::Unchanged(key, object);
        }
        match self.read(outline, types) {
            Ok(object) => Decoded::Object(object),
            Err(error) => undecodable(outline.key(), outline, error),
        }
    }

    /// Returns an error if the object is of another kind than the requested one.
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

/// Returns the stored object if the received one is the same.
fn unchanged<K>(outline: &Outline<'_>, stored: &Stored<K>) -> Option<(ObjectKey, Arc<K>)> {
    let version = outline.version();
    if version.uid.is_none() || version.resource_version.is_none() {
        return None;
    }
    stored(&outline.key()?, &version)
}

/// Makes an undecodable object, without a key if it has no usable one.
pub(super) fn undecodable<K>(
    key: Option<ObjectKey>,
    outline: &Outline<'_>,
    error: DecodeError,
) -> Decoded<K> {
    Decoded::Undecodable(Undecodable::new(key, outline.version(), error))
}

impl WireObject<'_> {
    /// Returns the format of the object's bytes.
    #[must_use]
    pub const fn format(&self) -> WireFormat {
        self.outline.format()
    }

    /// Returns how objects are decoded.
    #[must_use]
    pub const fn options(&self) -> &DecodeOptions {
        &self.context.options
    }

    /// Returns the object's group and version, such as `apps/v1`: its own, else its list's, else the requested ones.
    #[must_use]
    pub fn api_version(&self) -> Option<String> {
        let said = self.outline.api_version().or(self.types.api_version);
        let resource = || self.options().resource.as_ref();
        said.map(str::to_owned)
            .or_else(|| Some(resource()?.api_version().into_owned()))
    }

    /// Returns the object's kind: its own, else its list's, else the requested one.
    #[must_use]
    pub fn kind(&self) -> Option<String> {
        let said = self.outline.kind().or(self.types.kind);
        let resource = || self.options().resource.as_ref();
        said.map(str::to_owned)
            .or_else(|| Some(resource()?.kind.clone().into_owned()))
    }

    /// Decodes the object through serde, without managed fields unless they are to be kept, and with `apiVersion` and
    /// `kind`, so that an item of a list equals the object of a watch event.
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

    /// Decodes all but the metadata through serde.
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

    /// Decodes the metadata alone.
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

    /// Returns the requested type, else the object's, unless its form hides its type.
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
