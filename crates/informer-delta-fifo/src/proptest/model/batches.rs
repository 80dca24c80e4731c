//! What the model pops, and what becomes of it.

use informer_store::{Object, ObjectKey, ResourceVersion};

use super::lists::merged;
use super::{Entry, Flight, Item, State, Unit, Violation};
use crate::delta::Delta;
use crate::proptest::under_test::Popped;

impl<K: Object> State<K> {
    pub(super) fn check_pop(
        &mut self,
        max: usize,
        popped: Option<&Popped<K>>,
    ) -> Result<(), Violation> {
        let latest = self.latest();
        let has_units = self.queue.iter().any(|item| matches!(item, Item::End(..)));
        let has_queued = self.entries().next().is_some() || has_units;
        let has_work = has_queued || latest.is_some() && latest != self.applied;
        let is_expected = self.flight.is_none() && has_work;
        let Some(popped) = popped.filter(|_| is_expected) else {
            return expect("whether there is a batch", popped.is_some(), is_expected);
        };
        let (entries, unit) = self.take(max.max(1));
        let given = popped.entries.iter().map(|(key, deltas)| line(key, deltas));
        let expected = entries.iter().map(|entry| line(&entry.key, &entry.deltas));
        expect("deltas", given.collect::<Vec<_>>(), expected.collect())?;
        expect("initial", popped.is_initial, !self.is_synced)?;
        let (list, is_resync) = match &unit {
            Some(unit) => (unit.list.clone(), unit.is_resync),
            None => (None, false),
        };
        expect("end of a list", popped.list_end.clone(), list)?;
        expect("resync", popped.is_resync, is_resync)?;
        self.check_claim(popped.applied_up_to.as_ref(), latest)?;
        self.flight = Some(Flight {
            entries,
            unit,
            claimed: popped.applied_up_to.clone(),
        });
        Ok(())
    }

    /// Takes what is popped next: a unit whole, or up to `max` keys.
    fn take(&mut self, max: usize) -> (Vec<Entry<K>>, Option<Unit>) {
        let mut entries: Vec<Entry<K>> = Vec::new();
        let whole = match self.queue.first() {
            Some(Item::Start(_)) => {
                self.queue.remove(0);
                true
            }
            _ => self.by_key() && self.queue.iter().any(|item| matches!(item, Item::End(..))),
        };
        while let Some(item) = self.queue.first() {
            match item {
                Item::Start(_) => break,
                Item::Entry(entry) if !whole => {
                    let is_again = entries.iter().any(|taken| taken.key == entry.key);
                    if is_again || entries.len() == max {
                        break;
                    }
                }
                _ => {}
            }
            match self.queue.remove(0) {
                Item::Entry(entry) => entries.push(entry),
                Item::End(unit, _) => return (entries, Some(unit)),
                Item::Start(_) => {}
            }
        }
        (entries, None)
    }

    /// Nothing that is still queued was received when the version was, and the store does not go back.
    fn check_claim(
        &self,
        claimed: Option<&ResourceVersion>,
        latest: Option<ResourceVersion>,
    ) -> Result<(), Violation> {
        let ticks = self.queue.iter().map(|item| match item {
            Item::Entry(entry) => entry.tick,
            Item::Start(tick) | Item::End(_, tick) => *tick,
        });
        let Some(oldest) = ticks.min() else {
            return expect("version of an emptied queue", claimed, latest.as_ref());
        };
        let Some(claimed) = claimed else {
            return Ok(());
        };
        let before = self
            .received
            .iter()
            .rposition(|(tick, version)| *tick < oldest && version.as_ref() == Some(claimed));
        let applied = self
            .received
            .iter()
            .position(|(_, version)| *version == self.applied);
        let goes_back = self.applied.is_some() && before < applied;
        match before {
            Some(_) if !goes_back => Ok(()),
            _ => Err(Violation(format!(
                "the version {claimed} is reached before what is queued since {oldest}, after {:?}: {:?}",
                self.applied, self.received
            ))),
        }
    }

    /// What is in flight was applied but for these keys, which return to the front.
    pub(super) fn ack_except(&mut self, keys: &[ObjectKey]) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        self.is_synced |= flight.unit.is_some_and(|unit| unit.list.is_some());
        let entries = flight.entries.into_iter();
        let failed: Vec<_> = entries.filter(|entry| keys.contains(&entry.key)).collect();
        if failed.is_empty() {
            self.applied = flight.claimed.or_else(|| self.applied.take());
            self.rewound &= self.needs_list || !self.queue.is_empty();
        }
        self.put_front(failed);
    }

    pub(super) fn requeue(&mut self) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        let Some(unit) = flight.unit else {
            return self.put_front(flight.entries);
        };
        let queued = self.queue.iter_mut().find_map(|item| match item {
            Item::End(unit, _) => Some(unit),
            _ => None,
        });
        match queued.filter(|_| self.config.order == crate::QueueOrder::ByKey) {
            Some(queued) => {
                *queued = merged(unit, std::mem::take(queued));
                self.put_front(flight.entries);
            }
            None => {
                let tick = flight.entries.iter().map(|entry| entry.tick).min();
                let tick = tick.unwrap_or_default();
                self.queue.insert(0, Item::End(unit, tick));
                self.put_front(flight.entries);
                if !self.by_key() {
                    self.queue.insert(0, Item::Start(tick));
                }
            }
        }
    }

    fn put_front(&mut self, entries: Vec<Entry<K>>) {
        for mut entry in entries.into_iter().rev() {
            entry.tried = true;
            let key = entry.key.clone();
            if self.by_key()
                && let Some(newer) = self.entry(&key)
            {
                entry.deltas.append(&mut newer.deltas);
                self.forget(&key);
            }
            self.queue.insert(0, Item::Entry(entry));
            self.shorten(&key);
        }
        self.bound_units();
    }
}

fn line<K>(key: &ObjectKey, deltas: &[Delta<K>]) -> String {
    let delta = |delta: &Delta<K>| {
        let tombstone =
            matches!(delta, Delta::Deleted(deleted) if deleted.is_final_state_unknown());
        let object = delta.object().map(std::sync::Arc::as_ptr);
        let mark = if tombstone { "?" } else { "" };
        match delta {
            Delta::Undecodable(version) => format!("Undecodable {version:?}"),
            _ => format!("{}{mark} {object:?}", delta.type_name()),
        }
    };
    let deltas: Vec<_> = deltas.iter().map(delta).collect();
    format!("{key}: {}", deltas.join(", "))
}

fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    given: T,
    expected: T,
) -> Result<(), Violation> {
    if given == expected {
        return Ok(());
    }
    Err(Violation(format!("{what}: {given:?}, not {expected:?}")))
}
