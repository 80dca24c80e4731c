//! Writes that are published together.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::effects::Effects;
use crate::key::{KeyBuffer, KeyError, KeyLike, KeyText, ObjectKey};
use crate::object::Object;
use crate::overlay::{Laid, Overlaid};
use crate::root::{Root, Target};
use crate::sink::{Deletion, ReplaceEnd};
use crate::store::{Shared, Turn};
use crate::version::ResourceVersion;

/// Writes on their way into a [`Store`](crate::Store): readers see all of them, after [`commit`](Self::commit), or
/// none, if the batch is dropped before.
///
/// A batch is built beside the published state, so that readers never wait for it. It sees its own writes.
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
/// let mut batch = store.begin_batch();
/// batch.add(map("one"))?;
/// batch.add(map("two"))?;
/// assert!(store.is_empty());
/// batch.commit();
/// assert_eq!(store.len(), 2);
/// # Ok::<(), informer_store::KeyError>(())
/// ```
#[must_use = "a batch that is not committed changes nothing"]
pub struct Batch<'a, K: Object> {
    shared: &'a Shared<K>,
    turn: Turn<'a, K>,
    root: Root<K>,
    effects: Effects<K>,
    is_changed: bool,
}

impl<K: Object> fmt::Debug for Batch<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("is_changed", &self.is_changed)
            .finish_non_exhaustive()
    }
}

impl<'a, K: Object> Batch<'a, K> {
    pub(crate) fn new(shared: &'a Shared<K>) -> Self {
        Self::in_turn(shared, shared.turn())
    }

    /// A batch for the one whose turn it is already.
    pub(crate) fn in_turn(shared: &'a Shared<K>, turn: Turn<'a, K>) -> Self {
        let effects = shared.effects();
        let root = Root::clone(&turn);
        Self {
            shared,
            turn,
            root,
            effects,
            is_changed: false,
        }
    }

    /// Adds an object, or replaces the one of the same key, which is returned. A transaction of client-go goes on
    /// after an object without a key; so can the caller of this.
    ///
    /// # Errors
    /// When the object has no name; the batch is as it was.
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

    /// Takes the object of a key out, whatever it is.
    pub fn remove<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> Option<Arc<K>> {
        self.is_changed |= self.root.find(key).is_some();
        self.root.remove(key, &mut self.effects)
    }

    /// Takes the object of a key out as a server reported it. The deletion of an earlier life (another UID, and not
    /// known to be newer) does nothing.
    pub fn delete(&mut self, key: &ObjectKey, deletion: &Deletion<K>) -> Option<Arc<K>> {
        self.is_changed |= self.root.find(key).is_some();
        self.root.delete(key, deletion, &mut self.effects)
    }

    /// Takes all objects out, those added by hand too.
    pub fn clear(&mut self) {
        self.is_changed = true;
        self.root.clear(&mut self.effects);
    }

    /// Ends a whole list, all of which was written: objects [added by hand](crate::Store::overlay) that the server
    /// did not list go, unless they are known to be newer than the list. If the server went back in time all of them
    /// go: they are of a future that never came. Returns how many.
    ///
    /// ```
    /// use std::time::Instant;
    /// use informer_store::{ReplaceEnd, Store};
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
    /// let mut batch = store.begin_batch();
    /// // Everything that was listed is added here; "early" and "late" were not.
    /// assert_eq!(batch.end_list(&ReplaceEnd::new(7.into())), 1);
    /// batch.commit();
    /// assert!(store.contains("late"));
    /// # Ok::<(), informer_store::KeyError>(())
    /// ```
    pub fn end_list(&mut self, end: &ReplaceEnd) -> usize {
        let count = self.root.lift_unlisted(end, &mut self.effects);
        self.is_changed |= count > 0;
        count
    }

    /// The object of a key as this batch leaves it, without what was [added by hand](crate::Store::overlay).
    #[must_use]
    pub fn get<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        self.root.base(key)
    }

    /// True if [`get`](Self::get) has an object.
    #[must_use]
    pub fn contains<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.get(key).is_some()
    }

    /// How many objects this batch leaves, those added by hand included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.root.len()
    }

    /// True if this batch leaves no object, by hand or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.root.len() == 0
    }

    /// The resource version as this batch leaves it.
    #[must_use]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.root.resource_version.as_ref()
    }

    /// Sets the resource version up to which the store has everything once this batch is committed.
    pub fn set_resource_version(&mut self, resource_version: ResourceVersion) {
        self.is_changed |= self.root.resource_version.as_ref() != Some(&resource_version);
        self.root.settle(&resource_version, &mut self.effects);
        self.root.resource_version = Some(resource_version);
    }

    /// Marks an object as out of date, since a newer copy of it could not be decoded. A later write of the object
    /// clears the mark, and so does [`confirm`](Self::confirm). Returns false if there is no such object.
    pub fn mark_stale<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> bool {
        let is_here = self.root.mark_stale(key, true);
        self.is_changed |= is_here;
        is_here
    }

    /// Says that the stored copy of an object is the newest, since a list held that very copy: clears its
    /// [mark](Self::mark_stale). Returns false if there is no such object.
    pub fn confirm<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> bool {
        let Some(slot) = self.root.find(key) else {
            return false;
        };
        if self.root.stale().get(slot) {
            self.is_changed |= self.root.mark_stale(key, false);
        }
        true
    }

    /// Publishes all of it in one step. A batch that changed nothing publishes nothing.
    pub fn commit(self) {
        let Self {
            shared,
            turn,
            root,
            effects,
            is_changed,
        } = self;
        if is_changed {
            shared.publish(turn, root, effects);
        }
    }
}

/// What the store itself does in batches.
impl<K: Object> Batch<'_, K> {
    /// Writes an object where it belongs.
    pub(crate) fn write(&mut self, target: Target, object: Arc<K>) -> Option<Arc<K>> {
        self.is_changed = true;
        self.root.write(target, object, &mut self.effects)
    }

    pub(crate) const fn root(&self) -> &Root<K> {
        &self.root
    }

    pub(crate) fn root_mut(&mut self) -> (&mut Root<K>, &mut Effects<K>) {
        self.is_changed = true;
        (&mut self.root, &mut self.effects)
    }

    pub(crate) fn lay_over(&mut self, key: ObjectKey, object: Arc<K>, now: Instant) -> Overlaid {
        let overlaid = self.root.lay_over(key, object, now, &mut self.effects);
        self.is_changed |= overlaid == Overlaid::Visible;
        let capacity = self.shared.overlay_capacity.load(Ordering::Relaxed);
        let surplus = self
            .root
            .overlay
            .as_ref()
            .map(|overlay| overlay.surplus(capacity));
        for key in surplus.into_iter().flatten() {
            self.root.lift(key, &mut self.effects);
        }
        overlaid
    }

    /// Takes away what was laid over the store before this moment. Returns how much.
    pub(crate) fn lift_older(&mut self, before: Instant) -> usize {
        let is_old = |_: &Root<K>, _: &ObjectKey, laid: &Laid<K>| laid.since < before;
        let count = self.root.lift_where(&mut self.effects, is_old);
        self.is_changed |= count > 0;
        count
    }
}
