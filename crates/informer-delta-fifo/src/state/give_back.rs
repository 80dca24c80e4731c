//! A batch that was not acknowledged: its deltas return to the front, older than whatever came meanwhile.

use informer_store::{Object, mutant};

use crate::chain::Chain;
use crate::state::append::listed_delta;
use crate::state::flight::{Flight, FlightReplace};
use crate::state::list::{Item, Listed};
use crate::state::queue::{Entry, KeyQueue, Place};
use crate::state::{Replacement, State};

impl<K: Object> State<K> {
    /// Forgets the batch that is out, so that it can be given back.
    pub(crate) fn recall(&mut self) {
        self.flight = None;
    }

    /// Puts a recalled batch back.
    pub(crate) fn give_back(&mut self, flight: Flight<K>) {
        self.counts.returned_batches += 1;
        if let Some(line) = &mut self.line {
            return line.give_back(flight);
        }
        let Flight {
            mut entries,
            replace,
            since,
            ..
        } = flight;
        match (replace, self.replace.is_some()) {
            (None, _) => {}
            (Some(replace), true) => self.unfold_list(*replace, &mut entries),
            (Some(replace), false) => {
                // What is queued behind it is no part of it.
                let Some(since) = since else { return };
                let FlightReplace {
                    list,
                    end,
                    completes_sync,
                    before: _,
                } = *replace;
                self.replace = Some(Replacement {
                    list,
                    end,
                    completes_sync,
                    since,
                });
                self.restore_list(entries.take_listed());
            }
        }
        self.return_entries(std::iter::from_fn(|| entries.pop_back()));
    }

    /// Puts entries back at the front, the last of them first.
    pub(super) fn return_entries(&mut self, from_last: impl Iterator<Item = Entry<K>>) {
        if let Some(line) = &mut self.line {
            return from_last.for_each(|entry| line.push_front(entry));
        }
        let place = if self.replace.is_some() {
            Place::Replace
        } else {
            Place::Single
        };
        for entry in from_last {
            self.put_front(entry, place);
        }
    }

    /// The list stands at the head again. Keys that have newer deltas move to their place in it.
    fn restore_list(&mut self, listed: Vec<Entry<K>>) {
        for entry in listed {
            match self.queue.find(&entry.key) {
                Some(id) => {
                    self.prepend(id, entry);
                    self.queue.move_to_list(id);
                }
                None => {
                    self.queue.insert_listed(entry);
                }
            }
        }
        for id in 0..self.queue.end() {
            let Some(entry) = self.queue.entry(id) else {
                continue;
            };
            let Some(replace) = &mut self.replace else {
                return;
            };
            let Some(at) = replace.list.find(&entry.key) else {
                continue;
            };
            let Some(delta) = listed_delta(replace.list.set(at, Listed::Told), self.emit_replaced)
            else {
                continue;
            };
            let since = replace.since;
            let older = self.new_entry(entry.key.clone(), Chain::from(delta), since);
            self.prepend(id, older);
            self.queue.move_to_list(id);
        }
    }

    /// A later list waits already: the older one comes before it, key by key.
    fn unfold_list(&mut self, older: FlightReplace<K>, returning: &mut KeyQueue<K>) {
        if let Some(replace) = &mut self.replace {
            replace.completes_sync |= older.completes_sync;
            replace.end = replace
                .end
                .clone()
                .rewind(replace.end.rewind || older.end.rewind);
        }
        let Some(since) = self.replace.as_ref().map(|replace| replace.since) else {
            return;
        };
        for Item { key, what } in older.list.into_items().rev() {
            if matches!(what, Listed::Told) {
                if let Some(id) = returning.find_listed(&key)
                    && let Some(entry) = returning.remove(id)
                {
                    self.put_front(entry, Place::Replace);
                }
            } else if let Some(delta) = listed_delta(what, self.emit_replaced) {
                let entry = self.new_entry(key, Chain::from(delta), since);
                self.put_front(entry, Place::Replace);
            }
        }
    }

    /// Puts an entry at the front, before the newer deltas of its key.
    fn put_front(&mut self, entry: Entry<K>, place: Place) {
        match self
            .queue
            .find(&entry.key)
            .or_else(|| self.promote(&entry.key))
        {
            Some(id) => {
                self.queue.move_to_front(id, place);
                self.prepend(id, entry);
            }
            None => {
                self.queue.push_front(entry, place);
            }
        }
    }

    /// Puts the deltas of an older entry before those of a newer one of the same key.
    fn prepend(&mut self, id: u32, older: Entry<K>) {
        self.queue.edit(id, |entry| {
            let newer = if mutant!("fifo-returned-batch-is-newest") {
                older.chain
            } else {
                std::mem::replace(&mut entry.chain, older.chain)
            };
            entry.chain.extend(newer);
            entry.before = older.before;
            entry.since = older.since;
        });
        self.compress_if_long(id);
    }
}
