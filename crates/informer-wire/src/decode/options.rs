//! How objects are decoded.

use std::sync::Arc;

use informer_store::{Object, ObjectKey, ObjectVersion, Relation};

use super::dropped::{Dropped, keys_of};
use crate::intern::Interner;
use crate::limits::Limits;
use crate::resource::Resource;

/// Returns the newest object of a key and the key as stored, such as
/// [`DeltaSink::newest`](informer_store::DeltaSink::newest). A received object with the same UID and resource version is
/// not decoded.
pub type NewestFn<K> = dyn Fn(&ObjectKey) -> Option<(ObjectKey, Arc<K>)> + Send + Sync;

/// Returns the newest object of a key if it is of this version.
pub(crate) type Stored<K> =
    Arc<dyn Fn(&ObjectKey, &ObjectVersion) -> Option<(ObjectKey, Arc<K>)> + Send + Sync>;

/// Makes the one comparison of decoders.
pub(super) fn stored<K: Object>(newest: Arc<NewestFn<K>>) -> Stored<K> {
    Arc::new(move |key, version| {
        newest(key).filter(|(_, object)| {
            version.relation_to(&ObjectVersion::of(&**object)) == Relation::Same
        })
    })
}

/// How objects are decoded.
///
/// ```
/// use informer_wire::{DecodeOptions, Limits};
///
/// let options = DecodeOptions::default()
///     .keep_managed_fields(true)
///     .limits(Limits::default().object_bytes(8 << 20));
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// Whether `metadata.managedFields` are kept, in types that can hold them. By default they are dropped before they
    /// are built, which halves a typical object. [`ObjectMeta`](crate::ObjectMeta) never holds them.
    pub keep_managed_fields: bool,
    /// The limits on what a server can send.
    pub limits: Limits,
    /// The requested resource: the type of objects where neither they nor their list have it, and of objects of which
    /// only the metadata was requested. Objects of another kind are undecodable.
    pub resource: Option<Resource>,
    /// The texts that objects share. Clones of these options share it.
    pub interner: Interner,
    pub(crate) dropped: Dropped,
}

impl DecodeOptions {
    /// Sets whether `metadata.managedFields` are kept.
    #[must_use]
    pub const fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.keep_managed_fields = keep;
        self
    }

    /// Drops the field at this path (a JSON pointer, as `/status/conditions`) from every object, before anything is
    /// built of it: also from what [`Compact`](crate::Compact) keeps. `*` stands for every key of a map and every
    /// element of a list. Call it again for another path.
    ///
    /// A map or a list of Kubernetes' own kinds goes with the last that is dropped from it, as servers write no empty
    /// ones. Where they write null for what is absent, as for `/spec/containers` of a pod, it is null: a type that reads
    /// such a field must allow for that. The lists that are values of a map, and all of custom resources, stay, if
    /// empty; and so do objects.
    ///
    /// What identifies an object is never dropped: `apiVersion`, `kind`, and of the metadata name, namespace, UID and
    /// resource version.
    ///
    /// ```
    /// use informer_wire::{DecodeOptions, Dynamic, WireFormat, decode_object};
    ///
    /// let options = DecodeOptions::default().drop_path("/spec/containers/*/env");
    /// let json = br#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","env":[{"name":"A"}]}]}}"#;
    /// let pod: Dynamic = decode_object(WireFormat::Json, json, &options)?;
    /// assert_eq!(pod.raw(), br#"{"spec":{"containers":[{"name":"c"}]}}"#);
    /// # Ok::<(), informer_wire::DecodeError>(())
    /// ```
    #[must_use]
    pub fn drop_path(mut self, path: &str) -> Self {
        self.dropped.add(&keys_of(path));
        self
    }

    /// Drops the annotation of this key from every object, such as the long
    /// `kubectl.kubernetes.io/last-applied-configuration`.
    #[must_use]
    pub fn drop_annotation(mut self, key: impl Into<String>) -> Self {
        self.dropped
            .add(&["metadata".to_owned(), "annotations".to_owned(), key.into()]);
        self
    }

    /// Sets the limits on what a server can send.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the requested resource.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resource = Some(resource);
        self
    }

    /// Sets the texts that objects share.
    #[must_use]
    pub fn interner(mut self, interner: Interner) -> Self {
        self.interner = interner;
        self
    }
}
