//! Writes that are published together.

mod replace;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

pub(crate) use self::replace::{Listed, Precedence};
use crate::effects::Effects;
use crate::key::{KeyBuffer, KeyError, KeyLike, KeyText, ObjectKey};
use crate::object::Object;
use crate::object_list::{ListEnd, ObjectList};
use crate::object_version::{ObjectVersion, Relation};
use crate::overlay::Overlaid;
use crate::root::{Root, Target};
use crate::sink::Deletion;
use crate::store::{Shared, Turn, Writing};
use crate::version::ResourceVersion;

/// Writes to a [`Store`](crate::Store) that readers see together, after [`commit`](Self::commit), or not at all, if the
/// transaction is dropped before.
///
/// A transaction is built beside the published state, so that readers never wait for it; other writers do. It reads its
/// own writes. Until it ends, the store is only read on its thread: a write there, which would wait for itself, panics.
///
/// ```
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let map = |name: &str| {
///     let mut map = ConfigMap::default();
///     map.metadata.name = Some(name.into());
///     map
/// };
/// let store: Store<ConfigMap> = Store::new();
/// let mut transaction = store.transaction();
/// transaction.add(map("one"))?;
/// transaction.add(map("two"))?;
/// assert!(store.is_empty());
/// transaction.commit();
/// assert_eq!(store.len(), 2);
/// # Ok::<(), informer_store::KeyError>(())
/// ```
#[must_use = "a transaction that is not committed changes nothing"]
pub struct Transaction<'a, K: Object> {
    shared: &'a Shared<K>,
    // In this order: what was written is dropped under no lock.
    turn: Turn<'a, K>,
    writing: Writing,
    root: Root<K>,
    effects: Effects<K>,
}

impl<K: Object> fmt::Debug for Transaction<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("is_changed", &self.is_changed())
            .finish_non_exhaustive()
    }
}

impl<'a, K: Object> Transaction<'a, K> {
    pub(crate) fn new(shared: &'a Shared<K>) -> Self {
        Self::in_turn(shared, shared.turn())
    }

    /// Begins a transaction for the writer whose turn it is already.
    pub(crate) fn in_turn(shared: &'a Shared<K>, turn: Turn<'a, K>) -> Self {
        let effects = shared.effects();
        let root = Root::clone(&turn);
        Self {
            shared,
            turn,
            writing: Writing::to(shared.id),
            root,
            effects,
        }
    }

    /// Adds an object, or replaces the one of the same key, which is returned. The caller may go on after an error, as
    /// a transaction of client-go does.
    ///
    /// # Errors
    /// If the object has no name; the transaction is as it was.
    pub fn add(&mut self, object: impl Into<Arc<K>>) -> Result<Option<Arc<K>>, KeyError> {
        let object = object.into();
        let mut buffer = KeyBuffer::new();
        let text = KeyText::try_of(&*object, &mut buffer)?;
        let target = self.root.target(&text);
        Ok(self.write(target, object))
    }

    /// Adds an object under this key, or replaces the one there, which is returned.
    pub fn upsert(&mut self, key: ObjectKey, object: Arc<K>) -> Option<Arc<K>> {
        let target = Root::<K>::target_in(self.root.find(&key), key);
        self.write(target, object)
    }

    /// Removes the object of a key, whatever its version, and returns it.
    pub fn remove<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> Option<Arc<K>> {
        self.root.remove(key, &mut self.effects)
    }

    /// Removes the object of a key if this deletion [ends it](ObjectVersion::deletes), and returns it.
    pub fn delete(&mut self, key: &ObjectKey, deletion: &Deletion<K>) -> Option<Arc<K>> {
        self.root.delete(key, &deletion.version, &mut self.effects)
    }

    /// Removes all objects, [overlaid](crate::Store::overlay) ones too.
    pub fn clear(&mut self) {
        self.root.clear(&mut self.effects);
    }

    /// Replaces all objects by a list that was received, as [`DeltaSink::replace`](crate::DeltaSink::replace) does.
    pub fn replace(&mut self, list: ObjectList<K>, end: &ListEnd) {
        let mut listed = Listed::with_capacity(list.len());
        for (key, object) in list.into_items() {
            listed.push(self.root.find(&key), key, object);
        }
        let precedence = match end.rewind {
            true => Precedence::Rewind,
            false => Precedence::Newer,
        };
        self.write_list(listed, precedence, &end.resource_version);
        self.end_list(end);
        self.set_resource_version(end.resource_version.clone());
    }

    /// Ends a list whose changes were all written: removes [overlaid](crate::Store::overlay) objects that it lacks,
    /// unless they are known to be newer than the list, and in a rewind all of them. Returns how many.
    ///
    /// For whoever applies a list change by change; [`replace`](Self::replace) does it by itself.
    ///
    /// ```
    /// use std::time::Instant;
    /// use informer_store::{ListEnd, Store};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// # let map = |name: &str, version: &str| {
    /// #     let mut map = ConfigMap::default();
    /// #     map.metadata.name = Some(name.into());
    /// #     map.metadata.resource_version = Some(version.into());
    /// #     map
    /// # };
    /// let store: Store<ConfigMap> = Store::new();
    /// store.overlay(map("early", "5"), Instant::now())?;
    /// store.overlay(map("late", "9"), Instant::now())?;
    /// let mut transaction = store.transaction();
    /// // All objects of the list are added here; "early" and "late" are not among them.
    /// assert_eq!(transaction.end_list(&ListEnd::new(7.into())), 1);
    /// transaction.commit();
    /// assert!(store.contains("late"));
    /// # Ok::<(), informer_store::KeyError>(())
    /// ```
    pub fn end_list(&mut self, end: &ListEnd) -> usize {
        self.root.remove_unlisted_overlays(end, &mut self.effects)
    }

    /// Returns the object of a key as this transaction leaves it, without [overlays](crate::Store::overlay).
    #[must_use]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.root.observed(key)
    }

    /// Returns `true` if [`get`](Self::get) returns an object.
    #[must_use]
    pub fn contains<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.get(key).is_some()
    }

    /// Returns the number of objects that this transaction leaves, overlaid ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// Returns `true` if this transaction leaves no object, overlaid or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.root.len() == 0
    }

    /// Returns the resource version as this transaction leaves it.
    #[must_use]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.root.resource_version.as_ref()
    }

    /// Sets the resource version up to which the store has everything once this transaction is committed.
    pub fn set_resource_version(&mut self, resource_version: ResourceVersion) {
        self.root
            .remove_reached_overlays(&resource_version, &mut self.effects);
        self.root.resource_version = Some(resource_version);
    }

    /// Marks an object as stale, since a newer version of it could not be decoded. A write of the object clears the
    /// mark, and so does [`clear_stale`](Self::clear_stale). Returns `false` if there is no such object.
    pub fn mark_stale<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> bool {
        self.root.mark_stale(key, true)
    }

    /// Clears the [mark](Self::mark_stale) of an object, since a list has it in the stored version. Returns `false` if
    /// there is no such object.
    pub fn clear_stale<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> bool {
        self.root.mark_stale(key, false)
    }

    /// Publishes all writes in one step. A transaction that changed nothing publishes nothing.
    pub fn commit(self) {
        if self.is_changed() {
            drop(self.writing);
            self.shared.publish(self.turn, self.root, self.effects);
        }
    }

    fn is_changed(&self) -> bool {
        self.root.contents != self.turn.contents
            || self.root.resource_version != self.turn.resource_version
    }
}

/// What the store itself does in transactions.
impl<K: Object> Transaction<'_, K> {
    /// Writes a received object, unless the store has it or a newer one of its UID.
    pub(crate) fn receive(&mut self, key: ObjectKey, object: Arc<K>) {
        let relation = self
            .get(&key)
            .map(|newest| ObjectVersion::of(&*object).relation_to(&ObjectVersion::of(&**newest)));
        match relation {
            Some(Relation::Same | Relation::Older) => {}
            None | Some(Relation::Newer | Relation::Recreated) => drop(self.upsert(key, object)),
        }
    }

    /// Moves the resource version on, never back.
    pub(crate) fn advance(&mut self, resource_version: Option<ResourceVersion>) {
        let Some(new) = resource_version.filter(|new| !new.is_unset()) else {
            return;
        };
        let is_back = |known: &ResourceVersion| new.is_older_than(known);
        if !self.resource_version().is_some_and(is_back) {
            self.set_resource_version(new);
        }
    }

    /// Writes an object where it belongs.
    pub(crate) fn write(&mut self, target: Target, object: Arc<K>) -> Option<Arc<K>> {
        self.root.write(target, object, &mut self.effects)
    }

    pub(crate) const fn root(&self) -> &Root<K> {
        &self.root
    }

    pub(crate) fn root_mut(&mut self) -> (&mut Root<K>, &mut Effects<K>) {
        (&mut self.root, &mut self.effects)
    }

    pub(crate) fn overlay(&mut self, key: ObjectKey, object: Arc<K>, now: Instant) -> Overlaid {
        if self.shared.overlay_capacity.load(Ordering::Relaxed) == 0 {
            return Overlaid::Refused;
        }
        let overlaid = self.root.overlay(key, object, now, &mut self.effects);
        self.remove_surplus_overlays();
        overlaid
    }

    /// Removes the oldest overlays beyond the store's capacity.
    pub(crate) fn remove_surplus_overlays(&mut self) {
        let capacity = self.shared.overlay_capacity.load(Ordering::Relaxed);
        let overlay = self.root.overlay.as_ref();
        for key in overlay.map_or_else(Vec::new, |overlay| overlay.surplus(capacity)) {
            self.root.remove_overlay(key, &mut self.effects);
        }
    }

    /// Removes the overlays that were made before this moment. Returns how many.
    pub(crate) fn expire_overlays(&mut self, before: Instant) -> usize {
        self.root
            .remove_overlays_where(&mut self.effects, |_, _, since, _| since < before)
    }
}
