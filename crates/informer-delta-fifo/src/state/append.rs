//! Adding a delta to its key.

use std::sync::Arc;

use informer_store::{Object, ObjectKey, ResourceVersion, mutant};

use crate::chain::Chain;
use crate::clock::Moment;
use crate::delta::{Deleted, Delta};
use crate::state::State;
use crate::state::compress::compress;
use crate::state::list::Listed;
use crate::state::queue::{Entry, Place};
use crate::state::rules::Newest;

impl<K: Object> State<K> {
    pub(super) fn new_entry(&self, key: ObjectKey, chain: Chain<K>, since: Moment) -> Entry<K> {
        let before = self.arrival.complete().cloned();
        Entry {
            key,
            chain,
            deleted_at: None,
            before,
            since,
        }
    }

    /// Appends a delta to its key, which keeps its place if it has one (client-go's D2).
    pub(super) fn append(&mut self, key: ObjectKey, delta: Delta<K>, now: Moment) {
        self.append_chain(key, Chain::from(delta), None, now);
    }

    pub(super) fn append_deleted(
        &mut self,
        key: ObjectKey,
        deleted: Deleted<K>,
        at: Option<ResourceVersion>,
        now: Moment,
    ) {
        self.append_chain(key, Chain::from(Delta::Deleted(deleted)), at, now);
    }

    /// Appends deltas that belong together; `deleted_at` tells of a deletion at their end.
    pub(super) fn append_chain(
        &mut self,
        key: ObjectKey,
        chain: Chain<K>,
        deleted_at: Option<ResourceVersion>,
        now: Moment,
    ) {
        let queued = self.queue.find(&key);
        self.append_to(queued, key, chain, deleted_at, now);
    }

    /// Appends to a key whose entry in the queue has been looked for.
    pub(super) fn append_to(
        &mut self,
        queued: Option<u32>,
        key: ObjectKey,
        chain: Chain<K>,
        deleted_at: Option<ResourceVersion>,
        now: Moment,
    ) {
        let deleted_at = deleted_at.map(Box::new);
        if let Some(id) = queued.or_else(|| self.promote(&key)) {
            self.queue.edit(id, |entry| {
                entry.chain.extend(chain);
                entry.deleted_at = deleted_at;
            });
            return self.compress_if_long(id);
        }
        let mut entry = self.new_entry(key, chain, now);
        entry.deleted_at = deleted_at;
        match &mut self.line {
            Some(line) => line.push_back(entry),
            None if mutant!("fifo-jump-the-line") => {
                self.queue.push_front(entry, Place::Single);
            }
            None => {
                self.queue.push_back(entry, Place::Single);
            }
        }
    }

    /// Turns an item of the replace's list into an entry at the same place.
    pub(super) fn promote(&mut self, key: &ObjectKey) -> Option<u32> {
        let at = self.find_listed(key)?;
        let replace = self.replace.as_mut()?;
        let key = replace.list.item(at).key.clone();
        let delta = listed_delta(replace.list.set(at, Listed::Told), self.emit_replaced)?;
        let since = replace.since;
        let entry = self.new_entry(key, Chain::from(delta), since);
        Some(self.queue.insert_listed(entry))
    }

    /// Of two deletions in a row the older stays, unless it is a tombstone (client-go's D3).
    pub(super) fn improve_tombstone(&mut self, key: &ObjectKey, object: Arc<K>) {
        if let Some(line) = &mut self.line {
            if let Some(deleted) = line.newest_deletion(key)
                && deleted.is_final_state_unknown()
            {
                *deleted = Deleted::LastState(object);
            }
            return;
        }
        if let Some(id) = self.queue.find(key)
            && let Some(Delta::Deleted(deleted)) = self.queue.newest_delta_mut(id)
            && deleted.is_final_state_unknown()
        {
            *deleted = Deleted::LastState(object);
        }
    }

    pub(super) fn compress_if_long(&mut self, id: u32) {
        let Some(max) = self.max_deltas else { return };
        let Some(entry) = self.queue.entry(id).filter(|entry| entry.chain.len() > max) else {
            return;
        };
        let base = match self.newest_taken(&entry.key) {
            Newest::Present(object) | Newest::Undone(object) => Some(object),
            Newest::Gone(_) | Newest::Absent => None,
        };
        let short = compress(&entry.chain, base.as_ref());
        let dropped = entry.chain.len() - short.len();
        self.counts.compressed += u64::try_from(dropped).unwrap_or(u64::MAX);
        let mut old = None;
        self.queue.edit(id, |entry| {
            old = Some(std::mem::replace(&mut entry.chain, short));
        });
        let objects = old.into_iter().flatten().filter_map(Delta::into_object);
        objects.for_each(|object| self.discard(object));
    }
}

/// The delta that tells of a list item.
pub(super) fn listed_delta<K>(listed: Listed<K>, emit_replaced: bool) -> Option<Delta<K>> {
    match listed {
        Listed::Object(object) if emit_replaced => Some(Delta::Replaced(object)),
        Listed::Object(object) => Some(Delta::Sync(object)),
        Listed::SetAside => Some(Delta::SetAside(None)),
        Listed::Keep | Listed::Told | Listed::Removed => None,
    }
}
