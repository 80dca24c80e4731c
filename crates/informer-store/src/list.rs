//! A whole list over what is stored: what it holds is written, what it does not hold goes.

use std::sync::Arc;

use crate::batch::Batch;
use crate::key::ObjectKey;
use crate::mutant;
use crate::object::Object;
use crate::overlay::is_older;
use crate::root::Root;
use crate::sink::{Known, ReplaceEnd};
use crate::version::ResourceVersion;

/// What a list says of a key.
pub(crate) enum Listed<K> {
    Object(Arc<K>),
    /// The very copy that is stored.
    Kept,
    /// There, but not to be decoded.
    SetAside,
}

/// Whether what is stored may be newer than what is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Newer copies stay.
    Forward,
    /// The list holds, whatever is stored.
    AsListed,
    /// The same, and the server went back in time: an equal version can be of another state.
    Rewind,
}

/// A list whose keys were looked up in the version that it is written to.
pub(crate) struct List<K> {
    entries: Vec<Entry<K>>,
}

struct Entry<K> {
    slot: Option<u32>,
    key: ObjectKey,
    listed: Listed<K>,
}

impl<K: Object> List<K> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Vec::with_capacity(capacity),
        }
    }

    /// The list holds this. Of several entries of one key the last holds.
    pub(crate) fn push(&mut self, slot: Option<u32>, key: ObjectKey, listed: Listed<K>) {
        self.entries.push(Entry { slot, key, listed });
    }

    /// Writes the list, of this resource version, over what is stored.
    pub(crate) fn write_to(
        self,
        batch: &mut Batch<'_, K>,
        order: Order,
        resource_version: ResourceVersion,
    ) {
        let mut gone = self.missing(batch.root());
        if crate::mutant!("store-keep-unlisted") {
            gone.clear();
        }
        if !gone.is_empty() && gone.len() == batch.len() && batch.root().overlay.is_none() {
            batch.clear();
            gone.clear();
        }
        // Writes append and move nothing: the slots hold until something is taken out.
        for Entry { slot, key, listed } in self.entries {
            let slot = slot.or_else(|| batch.root().find(&key));
            match listed {
                Listed::Object(object) => write(batch, slot, key, object, order),
                Listed::Kept => drop(batch.confirm(&key)),
                Listed::SetAside => drop(batch.mark_stale(&key)),
            }
        }
        gone.iter().for_each(|key| drop(batch.remove(key)));
        let end = ReplaceEnd::new(resource_version).rewind(order == Order::Rewind);
        batch.end_list(&end);
        batch.set_resource_version(end.resource_version);
    }

    /// The stored keys that the list does not hold. What was only added by hand is not judged here.
    fn missing(&self, root: &Root<K>) -> Vec<ObjectKey> {
        let mut is_listed = vec![false; root.len()];
        for slot in self.entries.iter().filter_map(|entry| entry.slot) {
            if let Some(is_listed) = is_listed.get_mut(slot as usize) {
                *is_listed = true;
            }
        }
        let slots = is_listed.into_iter().zip(root.slots());
        slots
            .filter(|(is_listed, _)| !is_listed)
            .map(|(_, slot)| &slot.key)
            .filter(|key| root.overlay.is_none() || root.base(*key).is_some())
            .cloned()
            .collect()
    }
}

/// Writes a listed object unless the stored one is the same copy, or may not be replaced by an older one.
fn write<K: Object>(
    batch: &mut Batch<'_, K>,
    slot: Option<u32>,
    key: ObjectKey,
    object: Arc<K>,
    order: Order,
) {
    if let Some(stored) = batch.root().base_in(slot, &key) {
        // A server that went back in time can give another state the same version.
        let is_same = Arc::ptr_eq(stored, &object)
            || ((order != Order::Rewind || mutant!("store-rewind-trusts-versions"))
                && Known::of(&**stored).is_same_copy(&Known::of(&*object)));
        if is_same {
            batch.confirm(&key);
            return;
        }
        if order == Order::Forward && is_older(&*object, &**stored) {
            return;
        }
    }
    batch.write(Root::<K>::target_in(slot, key), object);
}
