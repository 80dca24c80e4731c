//! What the model hands out, and what becomes of it.

use super::{Entry, Flight, Model, Newest, Unit};

impl Model {
    pub(crate) fn pop(&mut self, max: usize) -> Option<&Flight> {
        let has_news = self.complete.is_some() && self.complete != self.applied;
        let has_work = self.queued().next().is_some()
            || self.replace.is_some()
            || !self.line.is_empty()
            || has_news;
        if self.flight.is_some() || !has_work {
            return None;
        }
        let mut flight = if self.in_order {
            self.pop_in_order(max.max(1))
        } else {
            self.pop_by_key(max.max(1))
        };
        flight.is_initial = !self.synced;
        self.flight = Some(flight);
        self.flight.as_ref()
    }

    fn pop_by_key(&mut self, max: usize) -> Flight {
        let replace = self.replace.take();
        let lead = if replace.is_some() {
            std::mem::take(&mut self.lead)
        } else {
            self.rest.drain(..max.min(self.rest.len())).collect()
        };
        let left = self.rest.iter().flat_map(|entry| &entry.chain);
        let applied_up_to = match left.min_by_key(|queued| queued.arrival) {
            Some(oldest) => oldest.before,
            None => self.complete,
        };
        let list = std::mem::take(&mut self.list);
        Flight {
            lead,
            list,
            replace,
            is_initial: false,
            applied_up_to,
        }
    }

    fn pop_in_order(&mut self, max: usize) -> Flight {
        let mut flight = Flight {
            lead: vec![],
            list: vec![],
            replace: None,
            is_initial: false,
            applied_up_to: None,
        };
        while flight.lead.len() < max && flight.replace.is_none() && !self.line.is_empty() {
            let next = &self.line[0];
            let is_again = |entry: &Entry| flight.lead.iter().any(|f| f.name == entry.name);
            let is_apart = next.replace.is_some() || next.lead.iter().any(is_again);
            if is_apart && !flight.lead.is_empty() {
                break;
            }
            let unit = self.line.remove(0);
            flight.lead.extend(unit.lead);
            flight.list = unit.list;
            flight.replace = unit.replace;
        }
        flight.applied_up_to = match self.line.first() {
            Some(next) => next.before,
            None => self.complete,
        };
        flight
    }

    /// Applies what is out to the store, in its own way: the end of each chain.
    pub(crate) fn apply(&mut self, but: Option<&str>) {
        let flying: Vec<Entry> = self.flying().into_iter().cloned().collect();
        for entry in flying.into_iter().filter(|entry| Some(&*entry.name) != but) {
            match entry.newest() {
                Some(Newest::Present(object)) => {
                    self.store.insert(entry.name, object);
                }
                Some(_) => {
                    self.store.remove(&entry.name);
                }
                None => {}
            }
        }
    }

    pub(crate) fn ack(&mut self) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        self.synced |= flight.replace.is_some_and(|replace| replace.completes_sync);
        if flight.applied_up_to.is_some() {
            self.applied = flight
                .applied_up_to
                .filter(|_| self.complete >= flight.applied_up_to);
        }
    }

    /// What is out was applied but for this name, which comes back.
    pub(crate) fn ack_except(&mut self, name: &str) {
        let mut back: Vec<Entry> = self.flying().into_iter().cloned().collect();
        back.retain(|entry| entry.name == name);
        let Some(mut entry) = back.pop() else {
            return self.ack();
        };
        let applied = self.applied;
        entry
            .chain
            .iter_mut()
            .for_each(|queued| queued.before = applied);
        let Some(flight) = self.flight.take() else {
            return;
        };
        self.synced |= flight.replace.is_some_and(|replace| replace.completes_sync);
        if self.in_order {
            self.line.insert(
                0,
                Unit {
                    lead: vec![entry],
                    list: vec![],
                    replace: None,
                    before: applied,
                },
            );
            return;
        }
        self.merge_newer(&mut entry);
        if self.replace.is_some() {
            self.lead.insert(0, entry);
        } else {
            self.rest.insert(0, entry);
        }
    }

    /// The batch comes back.
    pub(crate) fn give_back(&mut self) {
        let Some(mut flight) = self.flight.take() else {
            return;
        };
        if self.in_order {
            return self.give_back_in_order(flight);
        }
        for entry in flight.lead.iter_mut().chain(&mut flight.list) {
            if !entry.chain.is_empty() {
                self.merge_newer(entry);
            }
        }
        flight.lead.retain(|entry| !entry.chain.is_empty());
        match (flight.replace, &mut self.replace) {
            (None, None) => self.rest.splice(..0, flight.lead).for_each(drop),
            (None, Some(_)) => self.lead.splice(..0, flight.lead).for_each(drop),
            (Some(older), None) => {
                self.replace = Some(older);
                self.lead = flight.lead;
                self.list = flight.list;
            }
            (Some(older), Some(newer)) => {
                newer.rewind |= older.rewind;
                newer.completes_sync |= older.completes_sync;
                flight.list.retain(|entry| !entry.chain.is_empty());
                self.lead
                    .splice(..0, flight.lead.into_iter().chain(flight.list))
                    .for_each(drop);
            }
        }
    }

    fn give_back_in_order(&mut self, flight: Flight) {
        if flight.replace.is_none() {
            let unit = |entry: Entry| Unit {
                before: entry.chain[0].before,
                lead: vec![entry],
                list: vec![],
                replace: None,
            };
            self.line
                .splice(..0, flight.lead.into_iter().map(unit))
                .for_each(drop);
            return;
        }
        let entries = flight.lead.iter().chain(&flight.list);
        let first = entries.flat_map(|entry| &entry.chain).next();
        let before = first.map_or(self.complete, |queued| queued.before);
        let unit = Unit {
            lead: flight.lead,
            list: flight.list,
            replace: flight.replace,
            before,
        };
        self.line.insert(0, unit);
    }

    /// Takes the newer deltas of a key out of the queue and puts them behind the older ones.
    fn merge_newer(&mut self, older: &mut Entry) {
        let is_same = |entry: &Entry| entry.name == older.name && !entry.chain.is_empty();
        for part in [&mut self.lead, &mut self.rest] {
            if let Some(at) = part.iter().position(is_same) {
                let mut newer = part.remove(at);
                older.chain.append(&mut newer.chain);
                older.deleted_at = newer.deleted_at;
                return;
            }
        }
        // In the list its place stays.
        if let Some(newer) = self.list.iter_mut().find(|entry| is_same(entry)) {
            older.chain.append(&mut newer.chain);
            older.deleted_at = newer.deleted_at;
        }
    }
}
