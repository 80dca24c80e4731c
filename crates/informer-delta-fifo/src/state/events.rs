//! Taking in what a watch says, one change at a time.

use std::sync::Arc;

use informer_store::{Deletion, Object, ObjectKey, ResourceVersion, mutant};

use crate::chain::Chain;
use crate::clock::Moment;
use crate::delta::{Deleted, Delta};
use crate::state::rules::{DeleteVerdict, Newest, Verdict, judge_deletion, judge_event};
use crate::state::{State, Sync};

/// Whether a watch says that an object was added or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Add,
    Update,
}

impl<K: Object> State<K> {
    /// Takes in a copy of an object.
    pub(crate) fn upsert(&mut self, change: Change, key: ObjectKey, object: Arc<K>, now: Moment) {
        self.populate();
        let version = object.resource_version();
        let queued = self.queue.find(&key);
        let newest = self.newest_at(&key, queued);
        match self.judge_upsert(newest, &*object, version.as_ref()) {
            Verdict::Unchanged(_) => {
                self.counts.unchanged += 1;
                self.discard(object);
            }
            Verdict::Stale => {
                self.counts.stale += 1;
                self.discard(object);
            }
            Verdict::Take => {
                let delta = match change {
                    Change::Add => Delta::Added(object),
                    Change::Update => Delta::Updated(object),
                };
                self.touch(&key, version.as_ref());
                self.append_to(queued, key, Chain::from(delta), None, now);
            }
            Verdict::NewLife(old) => {
                self.touch(&key, version.as_ref());
                let deleted = Delta::Deleted(Deleted::FinalStateUnknown(old));
                let chain = Chain::from_iter([deleted, Delta::Added(object)]);
                self.append_to(queued, key, chain, None, now);
            }
        }
        match change {
            Change::Add => self.arrival.arrive_added(version),
            Change::Update => self.arrival.arrive(version),
        }
    }

    fn judge_upsert(
        &self,
        newest: Newest<K>,
        object: &K,
        version: Option<&ResourceVersion>,
    ) -> Verdict<K> {
        // What is older than all that has arrived has been deleted since.
        if matches!(newest, Newest::Absent)
            && !mutant!("fifo-bring-deleted-back")
            && version
                .zip(self.arrival.complete())
                .is_some_and(|(own, complete)| own.is_older_than(complete))
        {
            return Verdict::Stale;
        }
        judge_event(newest, object)
    }

    /// Takes in a deletion.
    pub(crate) fn delete(&mut self, key: ObjectKey, deletion: Deletion<K>, now: Moment) {
        self.populate();
        let version = deletion.resource_version.clone();
        match judge_deletion(self.newest(&key), deletion) {
            DeleteVerdict::Unknown => self.counts.unknown_deletions += 1,
            DeleteVerdict::Stale => self.counts.stale += 1,
            DeleteVerdict::Again(None) => {}
            DeleteVerdict::Again(Some(object)) => self.improve_tombstone(&key, object),
            DeleteVerdict::Take(deleted) => {
                self.touch(&key, version.as_ref());
                self.append_deleted(key, deleted, version.clone(), now);
            }
        }
        self.arrival.arrive(version);
    }

    /// Takes in that a newer copy cannot be decoded.
    pub(crate) fn set_aside(
        &mut self,
        key: ObjectKey,
        version: Option<ResourceVersion>,
        now: Moment,
    ) {
        if matches!(self.newest(&key), Newest::Present(_) | Newest::Undone(_)) {
            self.append(key, Delta::SetAside(version.clone()), now);
        }
        self.arrival.arrive(version);
    }

    /// Takes in that everything up to a version has arrived.
    pub(crate) fn bookmark(&mut self, version: ResourceVersion) {
        self.arrival.arrive(Some(version));
    }

    /// Appends a reminder of every known object of which nothing is queued or in flight (client-go's D6).
    pub(crate) fn resync(&mut self, now: Moment) {
        let Some(known) = self.known.clone() else {
            return;
        };
        let mut silent = Vec::new();
        known.for_each(&mut |key, object| {
            let is_out = self.is_in_flight(key) && !mutant!("fifo-resync-what-is-out");
            if !self.is_queued(key) && !is_out {
                silent.push((key.clone(), Arc::clone(object)));
            }
        });
        for (key, object) in silent {
            self.append(key, Delta::Sync(object), now);
        }
    }

    /// A change before any list: there is no initial list to wait for (client-go's D7).
    fn populate(&mut self) {
        if self.sync == Sync::Unpopulated && !self.arrival.is_list_open() {
            self.sync = Sync::Synced;
        }
    }

    /// A list that is open now must not undo this change.
    fn touch(&mut self, key: &ObjectKey, version: Option<&ResourceVersion>) {
        self.arrival.touch(key, version);
    }
}
