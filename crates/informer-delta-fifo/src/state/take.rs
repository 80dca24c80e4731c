//! Taking out what comes next, and hearing that it was applied.

use std::sync::Arc;

use informer_store::{Object, mutant};

use crate::state::flight::{Flight, FlightReplace};
use crate::state::list::Listed;
use crate::state::queue::Place;
use crate::state::{Replacement, State, Sync};

impl<K: Object> State<K> {
    /// Takes out what comes next: a whole replace, or up to `max` keys. `None` if there is nothing, or a batch is
    /// out.
    pub(crate) fn pop(&mut self, max: usize) -> Option<Arc<Flight<K>>> {
        if !self.is_ready() {
            return None;
        }
        let is_initial = self.sync != Sync::Synced;
        let mut flight = match self.replace.take() {
            Some(replace) => self.pop_replace(replace),
            None => self.pop_entries(max.max(1)),
        };
        flight.is_initial = is_initial;
        flight.emit_replaced = self.emit_replaced;
        flight.applied_up_to = match self.queue.head() {
            Some(head) if !mutant!("fifo-claim-what-is-queued") => head.before.clone(),
            _ => self.arrival.complete().cloned(),
        };
        let flight = Arc::new(flight);
        self.flight = Some(Arc::clone(&flight));
        Some(flight)
    }

    fn pop_entries(&mut self, max: usize) -> Flight<K> {
        let mut entries = Vec::with_capacity(max.min(self.queue.len()));
        while entries.len() < max
            && let Some(entry) = self.queue.pop_front()
        {
            entries.push(entry);
        }
        let lead = entries.len();
        let since = entries.first().map(|entry| entry.since);
        let mut flight = Flight::new(entries, lead);
        flight.since = since;
        flight
    }

    fn pop_replace(&mut self, replace: Replacement<K>) -> Flight<K> {
        let mut entries = Vec::new();
        while self.queue.head_place() == Some(Place::Replace)
            && let Some(entry) = self.queue.pop_front()
        {
            entries.push(entry);
        }
        let lead = entries.len();
        if replace.list.has_told() {
            for item in replace
                .list
                .iter()
                .filter(|item| matches!(item.what, Listed::Told))
            {
                let Some(id) = self.queue.find(&item.key) else {
                    continue;
                };
                if self.queue.place(id) == Some(Place::Listed) {
                    entries.extend(self.queue.remove(id));
                }
            }
        }
        let since = entries
            .first()
            .map_or(replace.since, |entry| entry.since.min(replace.since));
        let mut flight = Flight::new(entries, lead);
        flight.since = Some(since);
        let Replacement {
            list,
            end,
            completes_sync,
            ..
        } = replace;
        flight.replace = Some(Box::new(FlightReplace {
            list,
            end,
            completes_sync,
        }));
        flight
    }

    /// The batch that is out was applied. What it held may be dropped.
    pub(crate) fn ack(&mut self) -> Option<Arc<Flight<K>>> {
        let flight = self.flight.take()?;
        if flight
            .replace
            .as_ref()
            .is_some_and(|replace| replace.completes_sync)
            && !mutant!("fifo-lose-sync-count")
        {
            self.sync = Sync::Synced;
        }
        self.arrival.applied(flight.applied_up_to.as_ref());
        Some(flight)
    }
}
