//! Taking in a whole list: what it holds, and what it no longer holds.

use std::collections::HashSet;
use std::sync::Arc;

use informer_store::{Object, ObjectKey, ReplaceEnd, mutant};

use crate::chain::Chain;
use crate::clock::Moment;
use crate::delta::{Deleted, Delta};
use crate::state::append::listed_delta;
use crate::state::arrival::Opened;
use crate::state::flight::{Flight, FlightReplace};
use crate::state::line::Line;
use crate::state::list::{ListTable, Listed};
use crate::state::queue::Place;
use crate::state::rules::{ListOrder, Newest, Verdict, judge_listed, outlives_list};
use crate::state::{Replacement, State, Sync};

/// A list that has come to its end.
#[derive(Debug)]
struct Ended<'a> {
    end: &'a ReplaceEnd,
    opened: Opened,
    now: Moment,
    /// It is older than what has arrived already.
    is_stale: bool,
}

/// What becomes of one item of a list.
enum Outcome<K> {
    /// There is nothing to tell.
    Nothing,
    /// The whole of what is queued of the key.
    Tell(Listed<K>),
    /// A new object under an old name: the end of the old one must be told first.
    NewLife(Arc<K>, Listed<K>),
}

impl<K: Object> State<K> {
    pub(crate) fn open_list(&mut self) -> Opened {
        self.arrival.open_list()
    }

    /// A list was given up. It leaves nothing.
    pub(crate) fn abandon_list(&mut self) {
        if mutant!("fifo-given-up-list-stays-open") {
            return;
        }
        self.arrival.close_list();
    }

    /// A list is complete. Everything queued becomes part of one replace.
    pub(crate) fn finish_list(
        &mut self,
        list: ListTable<K>,
        end: ReplaceEnd,
        opened: Opened,
        now: Moment,
    ) {
        let complete = self.arrival.complete();
        let ended = Ended {
            end: &end,
            opened,
            now,
            is_stale: !end.rewind
                && complete.is_some_and(|complete| end.resource_version.is_older_than(complete)),
        };
        if self.line.is_some() {
            self.queue_in_line(list, &ended);
        } else {
            self.delete_unlisted(&list, &ended);
            match self.replace.take() {
                None => self.adopt(list, &ended),
                Some(earlier) => self.merge(earlier, list, &ended),
            }
            self.queue.join_replace();
        }
        self.arrival.listed(&end.resource_version, end.rewind);
        self.arrival.close_list();
        if self.sync == Sync::Unpopulated {
            self.count_initial();
        }
    }

    /// The first list: synced once it is applied, at once if there is nothing to apply (client-go's D7).
    fn count_initial(&mut self) {
        let is_empty = self.depth() == 0 && self.flight.is_none();
        self.sync = if is_empty || mutant!("fifo-synced-before-applied") {
            Sync::Synced
        } else {
            Sync::Pending
        };
        if let Some(replace) = &mut self.replace {
            replace.completes_sync = !is_empty;
        }
        let last = self.line.as_mut().and_then(Line::last_list);
        if let Some(replace) = last.and_then(|list| list.replace.as_mut()) {
            replace.completes_sync = !is_empty;
        }
    }

    /// The list takes its place in the line as one unit: deletions first, then its objects.
    fn queue_in_line(&mut self, mut list: ListTable<K>, ended: &Ended<'_>) {
        let mut unit = Flight::empty();
        for key in self.unlisted_outside_entries(&list) {
            if let Some(object) = self.find_lost(&key, ended) {
                let deleted = Delta::Deleted(Deleted::FinalStateUnknown(object));
                let mut entry = self.new_entry(key, Chain::from(deleted), ended.now);
                entry.deleted_at = Some(Box::new(ended.end.resource_version.clone()));
                unit.entries.push_back(entry, Place::Replace);
            }
        }
        for at in 0..list.positions() {
            if matches!(list.item(at).what, Listed::Removed) {
                continue;
            }
            let what = list.set(at, Listed::Told);
            let key = list.item(at).key.clone();
            match self.judge_item(&key, what, ended) {
                Outcome::Nothing => {}
                Outcome::Tell(what) => drop(list.set(at, what)),
                Outcome::NewLife(old, what) => {
                    let ended_life = Delta::Deleted(Deleted::FinalStateUnknown(old));
                    let chain =
                        std::iter::once(ended_life).chain(listed_delta(what, self.emit_replaced));
                    let entry = self.new_entry(key, chain.collect(), ended.now);
                    unit.entries.insert_listed(entry);
                }
            }
        }
        unit.since = Some(ended.now);
        unit.replace = Some(Box::new(FlightReplace {
            list,
            end: ended.end.clone(),
            before: self.arrival.complete().cloned(),
            completes_sync: false,
        }));
        if let Some(line) = &mut self.line {
            line.push_list_back(unit);
        }
    }

    /// Appends deletions of what is queued, in flight or known but not listed (client-go's D5).
    fn delete_unlisted(&mut self, list: &ListTable<K>, ended: &Ended<'_>) {
        for id in 0..self.queue.end() {
            let Some(entry) = self.queue.entry(id) else {
                continue;
            };
            if !list.contains(&entry.key) {
                let key = entry.key.clone();
                self.delete_lost(key, ended);
            }
        }
        for key in self.unlisted_outside_entries(list) {
            self.delete_lost(key, ended);
        }
    }

    /// Unlisted keys of the earlier list, of the batch that is out, and of the store.
    fn unlisted_outside_entries(&self, list: &ListTable<K>) -> Vec<ObjectKey> {
        let mut keys = Vec::new();
        let mut visit = |key: &ObjectKey| {
            if !list.contains(key) {
                keys.push(key.clone());
            }
        };
        if let Some(line) = &self.line {
            let mut seen = HashSet::new();
            line.keys()
                .filter(|key| seen.insert(*key))
                .for_each(&mut visit);
        }
        if let Some(earlier) = &self.replace {
            earlier.list.live_items().for_each(|item| visit(&item.key));
        }
        if let Some(flight) = &self.flight {
            flight
                .iter()
                .map(|(key, _)| key)
                .filter(|key| !self.is_queued(key))
                .for_each(&mut visit);
        }
        if let Some(known) = &self.known {
            known.for_each(&mut |key, _| {
                if !list.contains(key) && !self.is_queued(key) && !self.is_in_flight(key) {
                    keys.push(key.clone());
                }
            });
        }
        keys
    }

    fn delete_lost(&mut self, key: ObjectKey, ended: &Ended<'_>) {
        if let Some(object) = self.find_lost(&key, ended) {
            let at = Some(ended.end.resource_version.clone());
            self.append_deleted(key, Deleted::FinalStateUnknown(object), at, ended.now);
        }
    }

    /// The last known state of an object that is gone, since the list lacks it.
    fn find_lost(&self, key: &ObjectKey, ended: &Ended<'_>) -> Option<Arc<K>> {
        let meanwhile = self.arrival.touched_since(key, ended.opened).is_some();
        let (object, stays) = match self.newest(key) {
            Newest::Present(object) => {
                let stays = outlives_list(&*object, ended.end, meanwhile);
                (object, stays)
            }
            Newest::Undone(object) => (object, meanwhile),
            Newest::Gone(_) | Newest::Absent => return None,
        };
        let stays = stays || mutant!("fifo-lose-tombstone");
        (!stays).then_some(object)
    }

    /// The list becomes the replace at the head of the queue, item for item in its own memory.
    fn adopt(&mut self, mut list: ListTable<K>, ended: &Ended<'_>) {
        for at in 0..list.positions() {
            if matches!(list.item(at).what, Listed::Removed) {
                continue;
            }
            let what = list.set(at, Listed::Told);
            let key = list.item(at).key.clone();
            if let Some(what) = self.take_item(&key, what, ended) {
                list.set(at, what);
            }
        }
        self.replace = Some(Replacement {
            list,
            end: ended.end.clone(),
            completes_sync: false,
            since: ended.now,
        });
    }

    /// An earlier list still waits: this one is told after it, key by key, in one replace.
    fn merge(&mut self, mut earlier: Replacement<K>, list: ListTable<K>, ended: &Ended<'_>) {
        earlier.end = ReplaceEnd::new(ended.end.resource_version.clone())
            .rewind(ended.end.rewind || earlier.end.rewind);
        self.replace = Some(earlier);
        for item in list.into_items() {
            let (key, what) = (item.key, item.what);
            if matches!(what, Listed::Removed) {
                continue;
            }
            if let Some(what) = self.take_item(&key, what, ended)
                && let Some(replace) = &mut self.replace
            {
                replace.list.insert(key, what);
            }
        }
    }

    /// Takes in one item. Returns what the list itself must tell, if it is to tell anything.
    fn take_item(
        &mut self,
        key: &ObjectKey,
        what: Listed<K>,
        ended: &Ended<'_>,
    ) -> Option<Listed<K>> {
        let outcome = self.judge_item(key, what, ended);
        let queued = self.queue.find(key).or_else(|| match outcome {
            Outcome::Nothing => None,
            _ => self.promote(key),
        });
        match (outcome, queued) {
            (Outcome::Nothing, _) => None,
            (Outcome::Tell(what), None) => Some(what),
            (Outcome::Tell(what), Some(_)) => {
                let delta = listed_delta(what, self.emit_replaced)?;
                self.append(key.clone(), delta, ended.now);
                None
            }
            (Outcome::NewLife(old, what), queued) => {
                let deltas = [
                    Delta::Deleted(Deleted::FinalStateUnknown(old)),
                    listed_delta(what, self.emit_replaced)?,
                ];
                if queued.is_some() {
                    self.append_chain(key.clone(), Chain::from_iter(deltas), None, ended.now);
                } else {
                    let entry = self.new_entry(key.clone(), Chain::from_iter(deltas), ended.now);
                    self.queue.insert_listed(entry);
                    if let Some(earlier) = &mut self.replace {
                        earlier.list.insert(key.clone(), Listed::Told);
                    }
                }
                None
            }
        }
    }

    fn judge_item(&mut self, key: &ObjectKey, what: Listed<K>, ended: &Ended<'_>) -> Outcome<K> {
        let newest = self.newest(key);
        let object = match (what, newest) {
            (Listed::Object(object), newest) => {
                return self.judge_listed_object(key, object, newest, ended);
            }
            (Listed::Keep, Newest::Present(object) | Newest::Undone(object)) => object,
            (Listed::SetAside, Newest::Present(_) | Newest::Undone(_)) => {
                return Outcome::Tell(Listed::SetAside);
            }
            _ => return Outcome::Nothing,
        };
        self.tell_unchanged(key, object)
    }

    fn judge_listed_object(
        &mut self,
        key: &ObjectKey,
        object: Arc<K>,
        newest: Newest<K>,
        ended: &Ended<'_>,
    ) -> Outcome<K> {
        let touch = self.arrival.touched_since(key, ended.opened);
        let order = ListOrder {
            rewind: ended.end.rewind,
            arrived_meanwhile: touch.is_some(),
        };
        let newest = match (newest, touch) {
            // Deleted meanwhile, and that is applied already.
            (Newest::Absent, Some(touch)) => Newest::Gone(touch.version.clone()),
            // The list lags behind what has arrived: had the object lived on, it would be known.
            (Newest::Absent | Newest::Gone(_), None) if ended.is_stale => {
                Newest::Gone(self.arrival.complete().cloned())
            }
            (newest, _) => newest,
        };
        match judge_listed(newest, &*object, order) {
            Verdict::Take => Outcome::Tell(Listed::Object(object)),
            Verdict::NewLife(old) => Outcome::NewLife(old, Listed::Object(object)),
            Verdict::Stale => {
                self.counts.stale += 1;
                self.discard(object);
                Outcome::Nothing
            }
            Verdict::Unchanged(known) => {
                self.discard(object);
                self.tell_unchanged(key, known)
            }
        }
    }

    /// The copy that is known is told again, unless it is on its way already.
    fn tell_unchanged(&mut self, key: &ObjectKey, known: Arc<K>) -> Outcome<K> {
        self.counts.unchanged += 1;
        if self.is_queued(key) || self.is_in_flight(key) {
            return Outcome::Nothing;
        }
        Outcome::Tell(Listed::Object(known))
    }
}
