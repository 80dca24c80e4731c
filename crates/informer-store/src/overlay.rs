//! Objects added by hand, laid over what the server said.
//!
//! # Invariants
//! - An overlaid object is what readers and indexes see of its key; what the server said last waits below.
//! - Whatever the server says that is equal or newer, of a later life, or a deletion, takes the overlay away.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::effects::Effects;
use crate::key::{KeyError, KeyLike, ObjectKey};
use crate::mutant;
use crate::object::Object;
use crate::root::{Plan, Root, Target};
use crate::sink::{Deletion, Known, ReplaceEnd};
use crate::store::Store;
use crate::version::ResourceVersion;

/// How many objects may be overlaid unless the store is told otherwise.
pub(crate) const DEFAULT_CAPACITY: usize = 100;

/// What became of an object that was to be overlaid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlaid {
    /// Readers and indexes see it from now on.
    Visible,
    /// The store has this state, or a newer one, from the server or by hand already; nothing was changed.
    Outdated,
}

pub(crate) struct Overlay<K> {
    pub(crate) laid: BTreeMap<ObjectKey, Laid<K>>,
    /// The order of the next one.
    next: u64,
}

pub(crate) struct Laid<K> {
    /// What the server said last, if it knows the object at all.
    pub(crate) base: Option<Arc<K>>,
    pub(crate) since: Instant,
    /// Grows with every object overlaid.
    pub(crate) order: u64,
}

impl<K> Clone for Laid<K> {
    fn clone(&self) -> Self {
        Self {
            base: self.base.clone(),
            since: self.since,
            order: self.order,
        }
    }
}

impl<K> Clone for Overlay<K> {
    fn clone(&self) -> Self {
        Self {
            laid: self.laid.clone(),
            next: self.next,
        }
    }
}

impl<K> Overlay<K> {
    /// The keys beyond `capacity`, oldest first.
    pub(crate) fn surplus(&self, capacity: usize) -> Vec<ObjectKey> {
        let mut by_age: Vec<_> = self
            .laid
            .iter()
            .map(|(key, laid)| (laid.order, key))
            .collect();
        by_age.sort_unstable_by_key(|(order, _)| *order);
        let surplus = by_age.len().saturating_sub(capacity);
        by_age
            .into_iter()
            .take(surplus)
            .map(|(_, key)| key.clone())
            .collect()
    }

    /// The keys for which `is_it` says yes.
    pub(crate) fn keys_where(
        &self,
        is_it: impl Fn(&ObjectKey, &Laid<K>) -> bool,
    ) -> Vec<ObjectKey> {
        self.laid
            .iter()
            .filter(|(key, laid)| is_it(key, laid))
            .map(|(key, _)| key.clone())
            .collect()
    }
}

pub(crate) fn is_older<K: Object>(object: &K, than: &K) -> bool {
    match (object.resource_version(), than.resource_version()) {
        (Some(a), Some(b)) => a.is_older_than(&b),
        _ => false,
    }
}

/// True if what the server says now takes the place of an overlaid object.
pub(crate) fn supersedes<K: Object>(new: &K, overlaid: &K, base: Option<&K>) -> bool {
    let is_repeated = base.is_some_and(|base| Known::of(base).is_same_copy(&Known::of(new)));
    !is_repeated && !is_older(new, overlaid)
}

/// True if a deletion of the object below ends the overlaid one too. It does not if that is of a later life.
pub(crate) fn ends_with<K: Object>(base: Option<&K>, overlaid: &K) -> bool {
    let Some(base) = base else { return true };
    let is_other_life = matches!((base.uid(), overlaid.uid()), (Some(a), Some(b)) if a != b);
    !(is_other_life && is_older(base, overlaid))
}

/// True if a deletion ends the life of this object: it is of the same life, or of a later one. The deletion of an
/// earlier life is late, and says nothing of this one.
pub(crate) fn ends<K: Object>(deletion: &Deletion<K>, object: &K) -> bool {
    let deleted = deletion.resource_version.as_ref();
    let present = object.resource_version();
    match (&deletion.uid, object.uid()) {
        (Some(a), Some(b)) if *a == b || mutant!("store-late-deletion-ends-the-next-life") => true,
        // Another life: only if the deletion is known to be the newer of the two.
        (Some(_), Some(_)) => deleted
            .zip(present.as_ref())
            .is_some_and(|(deleted, present)| present.is_older_than(deleted)),
        // It cannot be told which life it was: unless the deletion is known to be the older of the two.
        _ => !deleted
            .zip(present.as_ref())
            .is_some_and(|(deleted, present)| deleted.is_older_than(present)),
    }
}

/// What the server says and what was added by hand, over one version. All of it runs user code.
impl<K: Object> Root<K> {
    fn laid<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Laid<K>> {
        self.overlay.as_ref()?.laid.get(key.as_text())
    }

    fn laid_mut<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> Option<&mut Laid<K>> {
        let overlay = self.overlay.as_mut()?;
        self.contents += 1;
        triomphe::Arc::make_mut(overlay).laid.get_mut(key.as_text())
    }

    /// Takes a key out of the overlay; what readers see of it stays for the caller to change.
    fn unlay<Q: KeyLike + ?Sized>(&mut self, key: &Q) -> Option<Laid<K>> {
        let overlay = self.overlay.as_mut()?;
        self.contents += 1;
        let laid = triomphe::Arc::make_mut(overlay).laid.remove(key.as_text());
        if overlay.laid.is_empty() {
            self.overlay = None;
        }
        laid
    }

    pub(crate) fn is_overlaid<Q: KeyLike + ?Sized>(&self, key: &Q) -> bool {
        self.laid(key).is_some()
    }

    /// What the server said last of a key.
    pub(crate) fn base<Q: KeyLike + ?Sized>(&self, key: &Q) -> Option<&Arc<K>> {
        match self.laid(key) {
            Some(_) if mutant!("store-overlay-decides-events") => self.get(key),
            Some(laid) => laid.base.as_ref(),
            None => self.get(key),
        }
    }

    /// The same for a key whose slot was looked up.
    pub(crate) fn base_in(&self, slot: Option<u32>, key: &ObjectKey) -> Option<&Arc<K>> {
        match self.laid(key) {
            Some(laid) => laid.base.as_ref(),
            None => self.object(slot?),
        }
    }

    fn show(&mut self, key: ObjectKey, object: Arc<K>, effects: &mut Effects<K>) -> Option<Arc<K>> {
        let target = Self::target_in(self.find(&key), key);
        self.show_in(target, object, effects)
    }

    /// Shows what is seen of a key now that an overlay came or went: the server said nothing, so its last word is as
    /// far out of date as before.
    fn restack(&mut self, key: ObjectKey, object: Arc<K>, effects: &mut Effects<K>) {
        let slot = self.find(&key);
        let is_stale = slot.is_some_and(|slot| self.stale().get(slot));
        self.show_in(Self::target_in(slot, key.clone()), object, effects);
        if is_stale {
            self.mark_stale(&key, true);
        }
    }

    fn show_in(
        &mut self,
        target: Target,
        object: Arc<K>,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        let mut plan = Plan::default();
        self.plan(&target, &object, &mut plan);
        self.place(target, object, &mut plan, effects)
    }

    /// The server says this of a key. Returns what it had said before.
    pub(crate) fn write(
        &mut self,
        target: Target,
        object: Arc<K>,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        if self.overlay.is_none() {
            return self.show_in(target, object, effects);
        }
        let key = self.target_key(&target)?.clone();
        let Some(laid) = self.laid(&key) else {
            return self.show_in(target, object, effects);
        };
        let is_superseded = self
            .get(&key)
            .is_none_or(|overlaid| supersedes(&*object, &**overlaid, laid.base.as_deref()));
        if !is_superseded {
            self.mark_stale(&key, false);
            return self.laid_mut(&key)?.base.replace(object);
        }
        let laid = self.unlay(&key);
        self.show(key, object, effects);
        laid?.base
    }

    /// The server says that a key is gone. Returns what it had said before. An overlaid object of a later life stays.
    pub(crate) fn remove<Q: KeyLike + ?Sized>(
        &mut self,
        key: &Q,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        let Some(laid) = self.laid(key) else {
            return self.take(key, effects);
        };
        let ends = self
            .get(key)
            .is_none_or(|o| ends_with(laid.base.as_deref(), &**o));
        self.remove_laid(key, ends, effects)
    }

    /// The server reports a deletion. Does nothing if it is one of an earlier life.
    pub(crate) fn delete(
        &mut self,
        key: &ObjectKey,
        deletion: &Deletion<K>,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        let ended =
            |object: Option<&Arc<K>>| object.is_some_and(|object| ends(deletion, &**object));
        if !self.is_overlaid(key) {
            return if ended(self.get(key)) {
                self.take(key, effects)
            } else {
                None
            };
        }
        let ends_overlaid = ended(self.get(key));
        if !ends_overlaid && !ended(self.base(key)) {
            return None;
        }
        self.remove_laid(key, ends_overlaid, effects)
    }

    fn remove_laid<Q: KeyLike + ?Sized>(
        &mut self,
        key: &Q,
        ends_overlaid: bool,
        effects: &mut Effects<K>,
    ) -> Option<Arc<K>> {
        if !ends_overlaid {
            self.mark_stale(key, false);
            return self.laid_mut(key)?.base.take();
        }
        let laid = self.unlay(key);
        self.take(key, effects);
        laid?.base
    }

    /// Lays an object over what the server said, unless that is as new.
    pub(crate) fn lay_over(
        &mut self,
        key: ObjectKey,
        object: Arc<K>,
        now: Instant,
        effects: &mut Effects<K>,
    ) -> Overlaid {
        if self.is_outdated(&key, &object) {
            return Overlaid::Outdated;
        }
        let base = self.base(&key).cloned();
        let overlay = self.overlay.get_or_insert_with(|| {
            triomphe::Arc::new(Overlay {
                laid: BTreeMap::new(),
                next: 0,
            })
        });
        let overlay = triomphe::Arc::make_mut(overlay);
        overlay.laid.insert(
            key.clone(),
            Laid {
                base,
                since: now,
                order: overlay.next,
            },
        );
        overlay.next += 1;
        self.restack(key, object, effects);
        Overlaid::Visible
    }

    fn is_outdated(&self, key: &ObjectKey, object: &K) -> bool {
        let is_known = |known: &Arc<K>| {
            Known::of(&**known).is_same_copy(&Known::of(object)) || is_older(object, &**known)
        };
        // All that happened up to the store's version is here: this was overtaken, or does not belong here.
        let is_settled = |store: &ResourceVersion| {
            object
                .resource_version()
                .and_then(|own| own.compare(store))
                .is_some_and(|o| o.is_le())
        };
        self.resource_version.as_ref().is_some_and(is_settled)
            || self.get(key).is_some_and(is_known)
    }

    /// Takes an overlaid object away; what the server said is seen again.
    pub(crate) fn lift(&mut self, key: ObjectKey, effects: &mut Effects<K>) {
        let Some(laid) = self.unlay(&key) else { return };
        match laid.base {
            Some(base) => self.restack(key, base, effects),
            None => drop(self.take(&key, effects)),
        }
    }

    /// Takes away the overlaid objects for which `is_it` says yes. Returns how many.
    pub(crate) fn lift_where(
        &mut self,
        effects: &mut Effects<K>,
        is_it: impl Fn(&Self, &ObjectKey, &Laid<K>) -> bool,
    ) -> usize {
        let Some(overlay) = &self.overlay else {
            return 0;
        };
        let keys = overlay.keys_where(|key, laid| is_it(self, key, laid));
        let count = keys.len();
        keys.into_iter().for_each(|key| self.lift(key, effects));
        count
    }

    /// Which of an overlaid object and this resource version is newer, where that can be told.
    fn compare_laid(&self, key: &ObjectKey, other: &ResourceVersion) -> Option<Ordering> {
        self.get(key)?.resource_version()?.compare(other)
    }

    /// Everything up to this resource version is here: overlaid objects that are not newer have been overtaken.
    pub(crate) fn settle(&mut self, resource_version: &ResourceVersion, effects: &mut Effects<K>) {
        self.lift_where(effects, |root, key, _| {
            root.compare_laid(key, resource_version)
                .is_some_and(Ordering::is_le)
                && !mutant!("store-overlay-outlives-the-server")
        });
    }

    /// A whole list was written: overlaid objects that it could hold, and does not, have no place. Returns how many
    /// were taken away.
    pub(crate) fn lift_unlisted(&mut self, end: &ReplaceEnd, effects: &mut Effects<K>) -> usize {
        self.lift_where(effects, |root, key, laid| {
            let is_later = root.compare_laid(key, &end.resource_version) == Some(Ordering::Greater);
            let is_later = is_later && !mutant!("store-list-ends-newer-overlays");
            end.rewind || (laid.base.is_none() && !is_later)
        })
    }
}

impl<K: Object> Store<K> {
    /// Shows an object that was written to the server before the server tells of it, so that a controller reads its
    /// own writes. Readers and indexes see it at once; what a batch returns as the old object, and so what handlers
    /// are told, is decided without it.
    ///
    /// It goes away when the server says something equal or newer, deletes the object, or leaves it out of a list
    /// that is not older; and once the store has reached the object's resource version, which the bookmarks of a
    /// watch bring about within a minute or so. Only where a server's versions cannot be compared can an object stay
    /// that the server never tells of (one that the watch does not select): then call
    /// [`expire_overlay`](Self::expire_overlay) from time to time, as nobody else does. The store keeps the newest
    /// 100 of them, or as many as [`set_overlay_capacity`](Self::set_overlay_capacity) says.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use informer_store::{Overlaid, Store};
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// # let mut created = ConfigMap::default();
    /// # created.metadata.name = Some("settings".into());
    /// let store: Store<ConfigMap> = Store::new();
    /// // `created` is what the server answered to a create.
    /// let now = Instant::now();
    /// assert_eq!(store.overlay(created, now)?, Overlaid::Visible);
    /// assert!(store.contains("settings"));
    /// // The server never told of it: after five minutes it is dropped.
    /// let later = now + Duration::from_secs(301);
    /// assert_eq!(store.expire_overlay(later - Duration::from_secs(300)), 1);
    /// assert!(!store.contains("settings"));
    /// # Ok::<(), informer_store::KeyError>(())
    /// ```
    ///
    /// # Errors
    /// When the object has no name.
    #[doc(alias = "MutationCache")]
    #[doc(alias = "Mutation")]
    pub fn overlay(&self, object: impl Into<Arc<K>>, now: Instant) -> Result<Overlaid, KeyError> {
        let object = object.into();
        Ok(self.overlay_as(ObjectKey::try_of(&*object)?, object, now))
    }

    /// The same as [`overlay`](Self::overlay), under a key of the caller's choice.
    pub fn overlay_as(&self, key: ObjectKey, object: Arc<K>, now: Instant) -> Overlaid {
        let mut batch = self.begin_batch();
        let overlaid = batch.lay_over(key, object, now);
        batch.commit();
        overlaid
    }

    /// Takes away the objects that were overlaid before this moment. Returns how many. No informer calls it: whoever
    /// overlays knows how long to wait for the server.
    pub fn expire_overlay(&self, before: Instant) -> usize {
        let mut batch = self.begin_batch();
        let count = batch.lift_older(before);
        batch.commit();
        count
    }

    /// Sets how many objects may be overlaid; beyond that the oldest go away.
    pub fn set_overlay_capacity(&self, capacity: usize) {
        self.shared.overlay_capacity.store(capacity, Relaxed);
    }
}
