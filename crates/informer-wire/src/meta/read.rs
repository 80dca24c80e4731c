//! Reads `ObjectMeta` through serde, from any format, sharing texts that repeat.

use std::fmt;
use std::sync::Arc;

use informer_store::{ResourceVersion, Uid};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::object_meta::{ObjectMeta, Pair, Rare};
use super::owner::Owner;
use super::protobuf::sorted;
use super::time::Seconds;
use crate::intern::Texts;

impl<'de> Deserialize<'de> for ObjectMeta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        MetaSeed(&mut Texts::none()).deserialize(deserializer)
    }
}

impl ObjectMeta {
    /// Reads metadata from its JSON text.
    pub(crate) fn from_json(text: &[u8], texts: &mut Texts<'_>) -> serde_json::Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let metadata = MetaSeed(texts).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(metadata)
    }
}

/// Reads metadata with the shared texts.
struct MetaSeed<'a, 't>(&'a mut Texts<'t>);

impl<'de> DeserializeSeed<'de> for MetaSeed<'_, '_> {
    type Value = ObjectMeta;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ObjectMeta, D::Error> {
        const FIELDS: &[&str] = &[
            "name",
            "generateName",
            "namespace",
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "labels",
            "annotations",
            "ownerReferences",
            "finalizers",
        ];
        deserializer.deserialize_struct("ObjectMeta", FIELDS, self)
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Field {
    Name,
    GenerateName,
    Namespace,
    Uid,
    ResourceVersion,
    Generation,
    CreationTimestamp,
    DeletionTimestamp,
    DeletionGracePeriodSeconds,
    Labels,
    Annotations,
    OwnerReferences,
    Finalizers,
    #[serde(other)]
    Other,
}

impl<'de> Visitor<'de> for MetaSeed<'_, '_> {
    type Value = ObjectMeta;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object's metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ObjectMeta, A::Error> {
        let texts = self.0;
        let mut meta = ObjectMeta::default();
        let mut rare = Rare::default();
        while let Some(field) = map.next_key()? {
            match field {
                Field::Name => meta.name = map.next_value::<Option<_>>()?.unwrap_or_default(),
                Field::GenerateName => rare.generate_name = shared(&mut map, texts)?,
                Field::Namespace => meta.namespace = shared(&mut map, texts)?,
                Field::Uid => meta.uid = text(&mut map, |uid| Ok(Uid::new(uid)))?,
                Field::ResourceVersion => {
                    meta.resource_version = text(&mut map, |rv| Ok(ResourceVersion::new(rv)))?;
                }
                Field::Generation => meta.generation = map.next_value()?,
                Field::CreationTimestamp => meta.creation = time(&mut map)?,
                Field::DeletionTimestamp => rare.deletion = time(&mut map)?,
                Field::DeletionGracePeriodSeconds => {
                    rare.deletion_grace_period_seconds = map.next_value()?;
                }
                Field::Labels => {
                    let labels = map.next_value_seed(Pairs(texts))?;
                    meta.labels = texts.labels(labels);
                }
                Field::Annotations => {
                    meta.annotations = map.next_value_seed(Pairs(texts))?.into_boxed_slice();
                }
                Field::OwnerReferences => {
                    let owners = map.next_value_seed(Owners(texts))?;
                    rare.owners = texts.owners(owners);
                }
                Field::Finalizers => rare.finalizers = map.next_value_seed(Finalizers(texts))?,
                Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if rare != Rare::default() {
            meta.rare = Some(Box::new(rare));
        }
        Ok(meta)
    }
}

/// A text that many objects share; `None` if it is null or empty.
fn shared<'de, A: MapAccess<'de>>(
    map: &mut A,
    texts: &mut Texts<'_>,
) -> Result<Option<Arc<str>>, A::Error> {
    text(map, |text| Ok(texts.get(text)))
}

/// What `read` makes of a text; `None` if it is null or empty.
fn text<'de, A: MapAccess<'de>, T>(
    map: &mut A,
    read: impl FnOnce(&str) -> Result<T, &'static str>,
) -> Result<Option<T>, A::Error> {
    map.next_value_seed(Text(|text: &str| {
        (!text.is_empty()).then(|| read(text)).transpose()
    }))
    .map(Option::flatten)
}

fn time<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Seconds, A::Error> {
    let time = text(map, |text| {
        let time = text.parse::<jiff::Timestamp>();
        time.map(Seconds::of)
            .map_err(|_| "not a time as RFC 3339 writes it")
    })?;
    Ok(time.unwrap_or_default())
}

/// Reads a text in place, without a copy; null gives `None`.
struct Text<F>(F);

impl<'de, T, F: FnOnce(&str) -> Result<T, &'static str>> DeserializeSeed<'de> for Text<F> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T, F: FnOnce(&str) -> Result<T, &'static str>> Visitor<'de> for Text<F> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<T>, E> {
        (self.0)(text).map(Some).map_err(E::custom)
    }
}

/// A seed that reads a container, or null.
macro_rules! container {
    ($seed:ident -> $value:ty) => {
        impl<'de> DeserializeSeed<'de> for $seed<'_, '_> {
            type Value = $value;

            fn deserialize<D: Deserializer<'de>>(
                self,
                deserializer: D,
            ) -> Result<$value, D::Error> {
                deserializer.deserialize_option(self)
            }
        }
    };
}

/// The part of a container's visitor that takes null for an empty one.
macro_rules! null_is_empty {
    ($expecting:literal, $deserialize:ident) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str($expecting)
        }

        fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Self::Value, D::Error> {
            inner.$deserialize(self)
        }
    };
}

/// Labels or annotations.
struct Pairs<'a, 't>(&'a mut Texts<'t>);

container!(Pairs -> Vec<Pair>);

impl<'de> Visitor<'de> for Pairs<'_, '_> {
    type Value = Vec<Pair>;

    null_is_empty!("a map of strings", deserialize_map);

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Pair>, A::Error> {
        let texts = self.0;
        let mut pairs: Vec<Pair> = Vec::with_capacity(map.size_hint().unwrap_or(0).min(64));
        while let Some(key) = map.next_key_seed(Shared(texts))? {
            let value = map.next_value_seed(Text(|value: &str| Ok(texts.get(value))))?;
            pairs.push((key, value.unwrap_or_else(|| Arc::from(""))));
        }
        Ok(sorted(pairs))
    }
}

/// A text that is always there, as a key or in an array.
struct Shared<'a, 't>(&'a mut Texts<'t>);

impl<'de> DeserializeSeed<'de> for Shared<'_, '_> {
    type Value = Arc<str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Arc<str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Shared<'_, '_> {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Arc<str>, E> {
        Ok(self.0.get(text))
    }
}

/// Finalizers.
struct Finalizers<'a, 't>(&'a mut Texts<'t>);

container!(Finalizers -> Box<[Arc<str>]>);

impl<'de> Visitor<'de> for Finalizers<'_, '_> {
    type Value = Box<[Arc<str>]>;

    null_is_empty!("an array of strings", deserialize_seq);

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let texts = self.0;
        let mut all = Vec::new();
        while let Some(finalizer) = seq.next_element_seed(Shared(texts))? {
            all.push(finalizer);
        }
        Ok(all.into_boxed_slice())
    }
}

/// Owner references.
struct Owners<'a, 't>(&'a mut Texts<'t>);

container!(Owners -> Vec<Owner>);

impl<'de> Visitor<'de> for Owners<'_, '_> {
    type Value = Vec<Owner>;

    null_is_empty!("an array of owner references", deserialize_seq);

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let texts = self.0;
        let mut all = Vec::new();
        while let Some(owner) = seq.next_element_seed(OwnerSeed(texts))? {
            all.push(owner);
        }
        Ok(all)
    }
}

struct OwnerSeed<'a, 't>(&'a mut Texts<'t>);

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum OwnerField {
    ApiVersion,
    Kind,
    Name,
    Uid,
    Controller,
    BlockOwnerDeletion,
    #[serde(other)]
    Other,
}

impl<'de> DeserializeSeed<'de> for OwnerSeed<'_, '_> {
    type Value = Owner;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Owner, D::Error> {
        const FIELDS: &[&str] = &[
            "apiVersion",
            "kind",
            "name",
            "uid",
            "controller",
            "blockOwnerDeletion",
        ];
        deserializer.deserialize_struct("OwnerReference", FIELDS, self)
    }
}

impl<'de> Visitor<'de> for OwnerSeed<'_, '_> {
    type Value = Owner;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an owner reference")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Owner, A::Error> {
        let texts = self.0;
        let mut parts: [Option<Arc<str>>; 3] = [const { None }; 3];
        let (mut uid, mut controller, mut block_owner_deletion) = (None, None, None);
        while let Some(field) = map.next_key()? {
            match field {
                OwnerField::ApiVersion => parts[0] = shared(&mut map, texts)?,
                OwnerField::Kind => parts[1] = shared(&mut map, texts)?,
                OwnerField::Name => parts[2] = shared(&mut map, texts)?,
                OwnerField::Uid => uid = text(&mut map, |uid| Ok(Uid::new(uid)))?,
                OwnerField::Controller => controller = map.next_value()?,
                OwnerField::BlockOwnerDeletion => block_owner_deletion = map.next_value()?,
                OwnerField::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let [api_version, kind, name] = parts.map(Option::unwrap_or_default);
        let uid = uid.unwrap_or_else(|| Uid::new(""));
        Ok(Owner {
            api_version,
            kind,
            name,
            uid,
            controller,
            block_owner_deletion,
        })
    }
}
