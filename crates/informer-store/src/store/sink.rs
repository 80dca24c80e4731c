//! The store as a sink: a feeder writes to it without a queue between them.

use std::sync::Arc;

use crate::key::ObjectKey;
use crate::object::Object;
use crate::object_list::{ListEnd, ObjectList};
use crate::sink::{Deletion, DeltaSink};
use crate::store::Store;
use crate::version::ResourceVersion;

impl<K: Object> DeltaSink<K> for Store<K> {
    fn newest(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<K>)> {
        let root = self.shared.read();
        let stored = root.key(root.find(key)?)?.clone();
        Some((stored, Arc::clone(root.observed(key)?)))
    }

    fn add(&self, key: ObjectKey, object: Arc<K>) {
        let mut transaction = self.transaction();
        // A watch without a resource version first sends what exists, in any order.
        let is_in_order = transaction
            .resource_version()
            .is_some_and(|version| !version.is_unset());
        let resource_version = object.resource_version().filter(|_| is_in_order);
        transaction.receive(key, object);
        transaction.advance(resource_version);
        transaction.commit();
    }

    fn update(&self, key: ObjectKey, object: Arc<K>) {
        let mut transaction = self.transaction();
        let resource_version = object.resource_version();
        transaction.receive(key, object);
        transaction.advance(resource_version);
        transaction.commit();
    }

    fn delete(&self, key: ObjectKey, deletion: Deletion<K>) {
        let mut transaction = self.transaction();
        transaction.delete(&key, &deletion);
        transaction.advance(deletion.version.resource_version);
        transaction.commit();
    }

    fn undecodable(&self, key: ObjectKey, resource_version: Option<ResourceVersion>) {
        let mut transaction = self.transaction();
        transaction.mark_stale(&key);
        transaction.advance(resource_version);
        transaction.commit();
    }

    fn bookmark(&self, resource_version: ResourceVersion) {
        let mut transaction = self.transaction();
        transaction.advance(Some(resource_version));
        transaction.commit();
    }

    fn resync(&self) {}

    fn replace(&self, list: ObjectList<K>, end: ListEnd) {
        let mut transaction = self.transaction();
        transaction.replace(list, &end);
        transaction.commit();
    }
}
