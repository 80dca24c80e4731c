//! Property tests for sinks: the rules of [`DeltaSink`] as strategies, a naive model and a table. For
//! whoever writes a sink; with the feature `proptest`.
//!
//! [`check_steps`] feeds a sink with any sequence of [`SinkStep`]s and compares what it applied with a [`SinkModel`];
//! [`check_table`] checks the rules one by one. Both take any type of object.
//!
//! ```
//! use std::sync::Arc;
//! use informer_store::proptest::{check_steps, check_table, sink_steps, versions};
//! use informer_store::{ObjectKey, ObjectVersion, Store};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use proptest::prelude::*;
//!
//! fn map((key, version): (ObjectKey, ObjectVersion)) -> ConfigMap {
//!     let mut map = ConfigMap::default();
//!     map.metadata.namespace = key.namespace().map(str::to_owned);
//!     map.metadata.name = Some(key.name().to_owned());
//!     map.metadata.uid = version.uid.map(|uid| uid.to_string());
//!     map.metadata.resource_version = version.resource_version.map(|version| version.to_string());
//!     map
//! }
//!
//! // A `Store` is its own consumer; for a queue, implement `SinkUnderTest` for the queue with the store it is applied to.
//! check_table(Store::<ConfigMap>::new, map);
//! proptest!(|(steps in sink_steps(versions().prop_map(map), 0..20))| {
//!     check_steps(&mut Store::<ConfigMap>::new(), &steps)?;
//! });
//! ```

mod model;
mod steps;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ::proptest::prelude::*;

pub use self::model::SinkModel;
pub use self::steps::{ListChange, SinkStep, sink_steps, versions};
pub use self::table::check_table;
use crate::key::ObjectKey;
use crate::object::Object;
use crate::sink::DeltaSink;
use crate::store::{Store, StoreReader};
use crate::version::ResourceVersion;

/// A sink with a consumer that applies what it is fed.
pub trait SinkUnderTest<K: Object> {
    /// The sink.
    type Sink: DeltaSink<K>;

    /// Returns the sink.
    fn sink(&self) -> &Self::Sink;

    /// Applies all that was fed, and returns what the consumer has.
    fn applied(&mut self) -> Applied<K>;

    /// Called before each step with a random number: a consumer of a queue applies nothing, a part or all of it, or
    /// leaves a part in flight.
    fn between(&mut self, choice: u8) {
        let _ = choice;
    }
}

impl<K: Object> SinkUnderTest<K> for Store<K> {
    type Sink = Self;

    fn sink(&self) -> &Self {
        self
    }

    fn applied(&mut self) -> Applied<K> {
        Applied::of(self)
    }
}

/// What a consumer has.
pub struct Applied<K> {
    /// The objects by key.
    pub objects: BTreeMap<ObjectKey, AppliedObject<K>>,
    /// The resource version up to which it has everything.
    pub resource_version: Option<ResourceVersion>,
}

/// An object that a consumer has. Equal to another if it is the same allocation and as stale.
pub struct AppliedObject<K> {
    /// The object.
    pub object: Arc<K>,
    /// `true` if a newer version of it could not be decoded.
    pub is_stale: bool,
}

impl<K: Object> Applied<K> {
    /// Returns what is in a store, without overlays.
    #[must_use]
    pub fn of(store: &StoreReader<K>) -> Self {
        let snapshot = store.snapshot();
        let object = |key: &ObjectKey| {
            let object = snapshot.observed(key)?;
            let applied = AppliedObject {
                object: Arc::clone(object),
                is_stale: snapshot.is_stale(key),
            };
            Some((key.clone(), applied))
        };
        Self {
            objects: snapshot.keys().filter_map(object).collect(),
            resource_version: snapshot.resource_version().cloned(),
        }
    }
}

impl<K> PartialEq for Applied<K> {
    fn eq(&self, other: &Self) -> bool {
        self.objects == other.objects && self.resource_version == other.resource_version
    }
}

impl<K> Clone for AppliedObject<K> {
    fn clone(&self) -> Self {
        Self {
            object: Arc::clone(&self.object),
            is_stale: self.is_stale,
        }
    }
}

impl<K> PartialEq for AppliedObject<K> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object) && self.is_stale == other.is_stale
    }
}

impl<K: Object> fmt::Debug for AppliedObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        steps::write_object(f, &*self.object)?;
        // Two of one version differ by where they are.
        write!(f, " at {:p}", Arc::as_ptr(&self.object))?;
        f.write_str(if self.is_stale { ", stale" } else { "" })
    }
}

impl<K: Object> fmt::Debug for Applied<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applied")
            .field("objects", &self.objects)
            .field("resource_version", &self.resource_version)
            .finish()
    }
}

/// Feeds steps to a sink and to the model, and compares what both have at the end. Steps that no server sends (an
/// object whose UID was deleted before) are left out.
///
/// # Errors
/// If they differ, or the sink's [`newest`](DeltaSink::newest) is not the model's.
pub fn check_steps<K: Object, T: SinkUnderTest<K>>(
    tested: &mut T,
    steps: &[(u8, SinkStep<K>)],
) -> Result<(), TestCaseError> {
    let mut model = SinkModel::default();
    for (choice, step) in steps {
        tested.between(*choice);
        if !model.apply(step) {
            continue;
        }
        step.feed(tested.sink());
        for key in step.keys() {
            let newest = tested.sink().newest(key);
            let expected = model.applied().objects.get(key);
            let same = match (&newest, expected) {
                (Some((stored, newest)), Some(expected)) => {
                    stored == key && Arc::ptr_eq(newest, &expected.object)
                }
                (None, None) => true,
                _ => false,
            };
            let newest = newest.map(|(_, object)| crate::ObjectVersion::of(&*object));
            prop_assert!(
                same,
                "newest of {key} after {step:?}: {newest:?}, not {expected:?}"
            );
        }
    }
    prop_assert_eq!(&tested.applied(), model.applied());
    Ok(())
}
