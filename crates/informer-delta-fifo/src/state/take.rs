//! Taking out what comes next, and hearing that it was applied.

use std::collections::HashSet;
use std::sync::Arc;

use informer_store::{Object, ObjectKey, ResourceVersion, mutant};

use crate::chain::Chain;
use crate::delta::Delta;
use crate::state::append::listed_delta;
use crate::state::flight::{Flight, FlightReplace, Told};
use crate::state::list::Listed;
use crate::state::queue::{Entry, KeyQueue, Place};
use crate::state::rules::Newest;
use crate::state::{Replacement, State, Sync};

/// What was applied, to be dropped once the lock is released.
pub(crate) enum Applied<K> {
    One(#[expect(dead_code, reason = "it is there to be dropped")] Entry<K>),
    Whole(Arc<Flight<K>>),
}

impl<K: Object> State<K> {
    /// Takes out what comes next: a whole replace, or up to `max` keys. `None` if there is nothing, or a batch is
    /// out.
    pub(crate) fn pop(&mut self, max: usize) -> Option<Arc<Flight<K>>> {
        if !self.is_ready() {
            return None;
        }
        let is_initial = self.sync != Sync::Synced;
        let max = max.max(1);
        let mut flight = self
            .spare
            .take()
            .unwrap_or_else(|| Arc::new(Flight::empty()));
        let content = Arc::get_mut(&mut flight)?;
        match (&mut self.line, self.replace.take()) {
            (Some(line), _) => line.pop(content, max),
            (None, Some(replace)) => self.pop_replace(content, replace),
            (None, None) => content.fill(&mut self.queue, max),
        }
        content.is_initial = is_initial;
        content.emit_replaced = self.emit_replaced;
        content.applied_up_to = self.applied_after();
        self.flight = Some(Arc::clone(&flight));
        Some(flight)
    }

    /// Up to where everything is applied once what is taken out now is applied.
    fn applied_after(&self) -> Option<ResourceVersion> {
        let head = self.queue.head().map(|head| head.before.as_ref());
        let before = head.or_else(|| self.line.as_ref()?.before());
        match before {
            Some(before) if !mutant!("fifo-claim-what-is-queued") => before.cloned(),
            _ => self.arrival.complete().cloned(),
        }
    }

    fn pop_replace(&mut self, flight: &mut Flight<K>, replace: Replacement<K>) {
        let first = self.queue.head().map(|entry| entry.since);
        flight.since = Some(first.map_or(replace.since, |first| first.min(replace.since)));
        if self.queue.tail_place() == Some(Place::Single) {
            self.pop_replaced_entries(&mut flight.entries, &replace);
        } else {
            std::mem::swap(&mut flight.entries, &mut self.queue);
        }
        let Replacement {
            list,
            end,
            completes_sync,
            ..
        } = replace;
        flight.replace = Some(Box::new(FlightReplace {
            list,
            end,
            before: None,
            completes_sync,
        }));
    }

    /// Takes out the entries of a replace, without those behind it.
    fn pop_replaced_entries(&mut self, entries: &mut KeyQueue<K>, replace: &Replacement<K>) {
        while self.queue.head_place() == Some(Place::Replace)
            && let Some(entry) = self.queue.pop_front()
        {
            entries.push_back(entry, Place::Replace);
        }
        if !replace.list.has_told() {
            return;
        }
        let items = replace.list.iter();
        for item in items.filter(|item| matches!(item.what, Listed::Told)) {
            if let Some(id) = self.queue.find_listed(&item.key)
                && let Some(entry) = self.queue.remove(id)
            {
                entries.insert_listed(entry);
            }
        }
    }

    /// The batch that is out was applied. What it held may be dropped.
    pub(crate) fn ack(&mut self) -> Option<Applied<K>> {
        let mut flight = self.flight.take()?;
        self.complete_sync(&flight);
        self.arrival.applied(flight.applied_up_to.as_ref());
        let content = Arc::get_mut(&mut flight)
            .filter(|content| content.replace.is_none() && content.entries.len() <= 1);
        let Some(content) = content else {
            return Some(Applied::Whole(flight));
        };
        let last = content.entries.pop_front();
        content.clear();
        self.reuse(flight);
        last.map(Applied::One)
    }

    /// Keeps the memory of an empty batch for the next ones: for one of them while nothing waits.
    pub(crate) fn reuse(&mut self, mut flight: Arc<Flight<K>>) {
        if let Some(content) = Arc::get_mut(&mut flight)
            && self.line.is_none()
            && self.queue.has_no_key()
        {
            if content.entries.room() > self.queue.room() {
                std::mem::swap(&mut content.entries, &mut self.queue);
            }
            content.entries = KeyQueue::new();
        }
        self.spare = Some(flight);
    }

    /// The batch that is out was applied but for these keys, which return. What it held may be dropped.
    pub(crate) fn ack_except(&mut self, keys: &HashSet<&ObjectKey>) -> Option<Applied<K>> {
        if !self
            .flight
            .as_ref()?
            .iter()
            .any(|(key, _)| keys.contains(key))
        {
            return self.ack();
        }
        let flight = self.flight.take()?;
        self.complete_sync(&flight);
        let entries: Vec<_> = flight
            .iter()
            .filter(|(key, _)| keys.contains(key))
            .filter_map(|(key, told)| self.returning_entry(&flight, key, told))
            .collect();
        self.counts.returned_keys += entries.len() as u64;
        if !mutant!("fifo-drop-what-failed") {
            self.return_entries(entries.into_iter().rev());
        }
        Some(Applied::Whole(flight))
    }

    fn complete_sync(&mut self, flight: &Flight<K>) {
        let completes_sync = flight
            .replace
            .as_ref()
            .is_some_and(|replace| replace.completes_sync);
        if completes_sync && !mutant!("fifo-lose-sync-count") {
            self.sync = Sync::Synced;
        }
    }

    fn returning_entry(
        &self,
        flight: &Flight<K>,
        key: &ObjectKey,
        told: Told<'_, K>,
    ) -> Option<Entry<K>> {
        let chain = match told {
            Told::Chain(chain) => chain.iter().cloned().collect(),
            Told::Listed(object) => Chain::from(listed_delta(
                Listed::Object(Arc::clone(object)),
                self.emit_replaced,
            )?),
            Told::SetAside => Chain::from(Delta::SetAside(None)),
        };
        let mut entry = self.new_entry(key.clone(), chain, flight.since?);
        entry.deleted_at = match flight.newest(key) {
            Some(Newest::Gone(at)) => at.map(Box::new),
            _ => None,
        };
        // Until it is applied, no more is than before.
        entry.before = self.arrival.applied_up_to().cloned();
        Some(entry)
    }
}
