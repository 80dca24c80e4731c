//! Events, as the model queues them.

use std::cmp::Ordering;
use std::sync::Arc;

use informer_store::{Deletion, Object, ObjectKey, ResourceVersion};

use super::deltas::{newest, shorten};
use super::{Entry, Item, Newest, State, identity, is_old, is_other_uid, order};
use crate::delta::{Deleted, Delta};

impl<K: Object> State<K> {
    pub(super) fn upsert(&mut self, is_add: bool, key: &ObjectKey, object: Arc<K>) {
        if self.needs_list {
            return;
        }
        let version = object.resource_version();
        let own = identity(&*object);
        let event = if is_add { Delta::Added } else { Delta::Updated };
        let deltas = match self.newest(key) {
            Newest::Absent => vec![event(object)],
            Newest::Deleted(old) => {
                let have_uids = own.0.is_some() && identity(&*old).0.is_some();
                let added = if have_uids { Delta::Added } else { event };
                vec![added(object)]
            }
            Newest::Present(newest) => {
                let newest_identity = identity(&*newest);
                if is_old(&own, &newest_identity) {
                    vec![]
                } else if is_other_uid(&own, &newest_identity) {
                    let tombstone = Deleted::FinalStateUnknown(newest);
                    vec![Delta::Deleted(tombstone), Delta::Added(object)]
                } else {
                    vec![event(object)]
                }
            }
        };
        self.populate();
        if !is_add || self.latest().is_some() {
            self.receive(version);
        }
        self.push_event(key, deltas);
    }

    pub(super) fn delete(&mut self, key: &ObjectKey, deletion: Deletion<K>) {
        if self.needs_list {
            return;
        }
        let version = deletion.version.resource_version.clone();
        let own = (deletion.version.uid, deletion.version.resource_version);
        match self.newest(key) {
            Newest::Absent => {}
            Newest::Deleted(old) => {
                if let Some(better) = deletion.object
                    && !is_other_uid(&own, &identity(&*old))
                    && let Some(entry) = self.entry(key)
                    && let Some(Delta::Deleted(queued)) = entry.deltas.last_mut()
                    && queued.is_final_state_unknown()
                {
                    *queued = Deleted::LastState(better);
                }
            }
            Newest::Present(newest) => {
                let newest_identity = identity(&*newest);
                let is_other = is_other_uid(&own, &newest_identity);
                if !is_other || order(&own, &newest_identity) == Some(Ordering::Greater) {
                    let deleted = match deletion.object.filter(|_| !is_other) {
                        Some(object) => Deleted::LastState(object),
                        None => Deleted::FinalStateUnknown(newest),
                    };
                    if self.is_unseen(key) {
                        self.forget(key);
                        self.bound_units();
                    } else {
                        self.push_event(key, vec![Delta::Deleted(deleted)]);
                    }
                }
            }
        }
        self.populate();
        if !self.needs_list {
            self.receive(version);
        }
    }

    pub(super) fn undecodable(&mut self, key: &ObjectKey, version: Option<ResourceVersion>) {
        if self.needs_list {
            return;
        }
        self.populate();
        self.receive(version.clone());
        if matches!(self.newest(key), Newest::Present(_)) {
            self.push_event(key, vec![Delta::Undecodable(version.map(Box::new))]);
        }
    }

    fn populate(&mut self) {
        self.is_synced |= !self.is_populated;
        self.is_populated = true;
    }

    /// No consumer has the object or will have it but by what is queued, which may be shortened.
    pub(super) fn is_unseen(&self, key: &ObjectKey) -> bool {
        self.by_key()
            && self.config.max_deltas.is_some()
            && self.config.known.is_some()
            && self.known(key).is_none()
            && !self.is_flying(key)
            && !self.is_tried(key)
    }

    fn is_tried(&self, key: &ObjectKey) -> bool {
        self.entries().any(|entry| entry.tried && entry.key == *key)
    }

    pub(super) fn forget(&mut self, key: &ObjectKey) {
        self.queue
            .retain(|item| !matches!(item, Item::Entry(entry) if entry.key == *key));
    }

    /// What a unit queued and was shortened counts no more.
    pub(super) fn bound_units(&mut self) {
        let queued = self.queued_deltas();
        for item in &mut self.queue {
            if let Item::End(unit, _) = item {
                unit.deltas = unit.deltas.min(queued);
            }
        }
    }

    fn push_event(&mut self, key: &ObjectKey, deltas: Vec<Delta<K>>) {
        if deltas.is_empty() {
            return;
        }
        self.push(key, deltas);
        self.bound_units();
        let units = self.queue.iter().map(|item| match item {
            Item::End(unit, _) => unit.deltas,
            _ => 0,
        });
        let events = self.queued_deltas().saturating_sub(units.sum());
        if self.config.max_queued.is_some_and(|max| events > max) {
            self.queue.clear();
            self.set_received(None);
            self.needs_list = true;
        }
    }

    pub(super) fn push(&mut self, key: &ObjectKey, deltas: Vec<Delta<K>>) {
        self.tick += 1;
        if self.by_key()
            && let Some(entry) = self.entry(key)
        {
            entry.deltas.extend(deltas);
            return self.shorten(key);
        }
        self.queue.push(Item::Entry(Entry {
            key: key.clone(),
            deltas,
            tick: self.tick,
            tried: false,
        }));
    }

    /// Shortens what is queued of a key, if it is long.
    pub(super) fn shorten(&mut self, key: &ObjectKey) {
        let flying = self.flying().find(|entry| entry.key == *key);
        let base = match flying.and_then(|entry| newest(&entry.deltas)) {
            Some(Newest::Present(object)) => Some(Some(object)),
            Some(Newest::Deleted(_) | Newest::Absent) => Some(None),
            None => match self.known(key) {
                None if self.config.known.is_none() || self.is_tried(key) => None,
                known => Some(known),
            },
        };
        let max = self.config.max_deltas.filter(|_| self.by_key());
        if let (Some(max), Some(entry)) = (max, self.entry(key))
            && entry.deltas.len() > max
        {
            entry.deltas = shorten(&entry.deltas, base);
        }
    }
}
