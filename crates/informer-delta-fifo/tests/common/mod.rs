//! Small objects, a naive store and short notations for the tests of the queue.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_delta_fifo::{
    Batch, Deleted, Delta, DeltaFifo, DeltaFifoConfig, KnownObjects, QueueOrder,
};
use informer_store::{
    Deletion, DeltaSink, ListEnd, Object, ObjectKey, ObjectList, ObjectMetadata, ObjectVersion,
    OwnerReference, ResourceVersion, Uid,
};
use parking_lot::Mutex;

/// An object with as much identity as a test needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) name: String,
    pub(crate) uid: Option<u32>,
    pub(crate) version: Option<u64>,
    pub(crate) value: u64,
}

impl ObjectMetadata for Thing {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
    fn namespace(&self) -> Option<&str> {
        None
    }
    fn uid(&self) -> Option<Uid> {
        self.uid.map(uid)
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        self.version.map(ResourceVersion::from)
    }
    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
}

impl Object for Thing {
    type Metadata = Self;
    fn metadata(&self) -> &Self {
        self
    }
}

/// An object without identity, like those of client-go's own tests.
pub(crate) fn plain(name: &str, value: u64) -> Arc<Thing> {
    Arc::new(Thing {
        name: name.into(),
        uid: None,
        version: None,
        value,
    })
}

/// An object with this UID at a resource version, which is its value too.
pub(crate) fn thing(name: &str, uid: u32, version: u64) -> Arc<Thing> {
    Arc::new(Thing {
        name: name.into(),
        uid: Some(uid),
        version: Some(version),
        value: version,
    })
}

/// The UID of this number, made without an allocation.
pub(crate) fn uid(number: u32) -> Uid {
    let mut text = *b"00000000-0000-4000-8000-000000000000";
    let mut rest = number;
    for digit in text.iter_mut().rev().take(10) {
        *digit = b'0' + u8::try_from(rest % 10).expect("a digit");
        rest /= 10;
    }
    Uid::new(std::str::from_utf8(&text).expect("ASCII"))
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::cluster_scoped(name)
}

/// The UID and resource version of a [`thing`].
pub(crate) fn version(uid: u32, version: u64) -> ObjectVersion {
    ObjectVersion::new(Some(self::uid(uid)), Some(version.into()))
}

/// A queue in front of a store.
pub(crate) fn before(store: &Arc<NaiveStore>) -> DeltaFifo<Thing> {
    DeltaFifo::new(DeltaFifoConfig::new().known(Arc::clone(store)))
}

/// A queue in front of a store that keeps every delta, as client-go does.
pub(crate) fn like_client_go(store: &Arc<NaiveStore>) -> DeltaFifo<Thing> {
    let config = DeltaFifoConfig::new().known(Arc::clone(store));
    DeltaFifo::new(config.max_deltas(None))
}

/// A queue in front of a store that keeps the order over all keys.
pub(crate) fn in_order(store: &Arc<NaiveStore>) -> DeltaFifo<Thing> {
    let config = DeltaFifoConfig::new().known(Arc::clone(store));
    DeltaFifo::new(config.order(QueueOrder::InOrder))
}

/// A store as naive as can be.
#[derive(Debug, Default)]
pub(crate) struct NaiveStore(Mutex<BTreeMap<ObjectKey, Arc<Thing>>>);

impl NaiveStore {
    pub(crate) fn holding(objects: &[Arc<Thing>]) -> Arc<Self> {
        let store = Self::default();
        objects.iter().for_each(|object| store.put(object));
        Arc::new(store)
    }

    pub(crate) fn put(&self, object: &Arc<Thing>) {
        self.0.lock().insert(key(&object.name), Arc::clone(object));
    }

    pub(crate) fn contents(&self) -> BTreeMap<ObjectKey, Arc<Thing>> {
        self.0.lock().clone()
    }

    /// Applies a batch by what is stored, as a process loop does, and returns what a handler gets.
    pub(crate) fn apply(&self, batch: &Batch<Thing>) -> Vec<String> {
        self.apply_except(batch, None)
    }

    /// The same, but one key fails.
    pub(crate) fn apply_except(
        &self,
        batch: &Batch<Thing>,
        but: Option<&ObjectKey>,
    ) -> Vec<String> {
        let mut objects = self.0.lock();
        let mut events = Vec::new();
        for (key, deltas) in batch.iter().filter(|(key, _)| Some(*key) != but) {
            for delta in deltas {
                match delta {
                    Delta::Added(object) | Delta::Updated(object) | Delta::Replaced(object) => {
                        let value = object.value;
                        match objects.insert(key.clone(), Arc::clone(object)) {
                            Some(old) => {
                                events.push(format!("update {key} {}->{value}", old.value));
                            }
                            None => events.push(format!("add {key} {value}")),
                        }
                    }
                    Delta::Deleted(deleted) => {
                        if objects.remove(key).is_some() {
                            events.push(format!("delete {key} {}", deleted.object().value));
                        }
                    }
                    Delta::Sync(_) | Delta::Undecodable(_) => {}
                }
            }
        }
        events
    }
}

impl KnownObjects<Thing> for NaiveStore {
    fn known(&self, key: &ObjectKey) -> Option<Arc<Thing>> {
        self.0.lock().get(key).cloned()
    }
    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<Thing>)) {
        self.0
            .lock()
            .iter()
            .for_each(|(key, object)| visit(key, object));
    }
    fn known_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.0.lock().get_key_value(key).map(|(key, _)| key.clone())
    }
}

/// Calls in short.
pub(crate) trait Calls {
    fn added(&self, object: &Arc<Thing>);
    fn updated(&self, object: &Arc<Thing>);
    fn deleted(&self, object: &Arc<Thing>);
    fn replaced(&self, objects: &[Arc<Thing>], version: u64);
    fn rewound(&self, objects: &[Arc<Thing>], version: u64);
    /// Pops and acknowledges everything, in short notation.
    fn drain(&self) -> Vec<String>;
}

impl Calls for DeltaFifo<Thing> {
    fn added(&self, object: &Arc<Thing>) {
        self.add(key(&object.name), Arc::clone(object));
    }
    fn updated(&self, object: &Arc<Thing>) {
        self.update(key(&object.name), Arc::clone(object));
    }
    fn deleted(&self, object: &Arc<Thing>) {
        self.delete(key(&object.name), Deletion::of(Arc::clone(object)));
    }
    fn replaced(&self, objects: &[Arc<Thing>], version: u64) {
        self.replace(list(objects), ListEnd::new(version.into()));
    }
    fn rewound(&self, objects: &[Arc<Thing>], version: u64) {
        self.replace(list(objects), ListEnd::new(version.into()).rewind(true));
    }
    fn drain(&self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(batch) = self.try_pop_batch(1) {
            all.extend(short(&batch));
            batch.ack();
        }
        all
    }
}

pub(crate) fn list(objects: &[Arc<Thing>]) -> ObjectList<Thing> {
    let items = objects.iter().map(|o| (key(&o.name), Arc::clone(o)));
    items.collect()
}

/// A batch as one line a key: `name: Added 1, Updated 2`; tombstones as `Deleted? 2`.
pub(crate) fn short(batch: &Batch<Thing>) -> Vec<String> {
    let line = |key: &ObjectKey, deltas: &[Delta<Thing>]| {
        let all: Vec<_> = deltas.iter().map(short_delta).collect();
        format!("{key}: {}", all.join(", "))
    };
    batch
        .iter()
        .map(|(key, deltas)| line(key, deltas))
        .collect()
}

pub(crate) fn short_delta(delta: &Delta<Thing>) -> String {
    match delta {
        Delta::Deleted(Deleted::FinalStateUnknown(object)) => format!("Deleted? {}", object.value),
        Delta::Undecodable(None) => "Undecodable -".into(),
        Delta::Undecodable(Some(version)) => format!("Undecodable {version}"),
        other => {
            let value = other.object().map_or(0, |object| object.value);
            format!("{} {value}", other.type_name())
        }
    }
}
