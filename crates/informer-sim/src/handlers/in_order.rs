//! Judges an informer's events where its queue keeps the order of changes.

use std::sync::Arc;

use informer_shared::{Cause, Event};
use parking_lot::Mutex;

use crate::object::{Item, revision_of, short};
use crate::oracle::Oracle;
use crate::trace::{Trace, holds};

/// Judges the events of an informer whose queue coalesces nothing and keeps the order over all keys.
pub(crate) struct InOrder {
    /// If set, it has what was written.
    oracle: Option<Arc<Mutex<Oracle>>>,
    trace: Trace,
    /// How many events were judged.
    judged: usize,
    /// The last version of a watch event.
    last: u64,
}

impl InOrder {
    pub(crate) const fn new(oracle: Option<Arc<Mutex<Oracle>>>, trace: Trace) -> Self {
        Self {
            oracle,
            trace,
            judged: 0,
            last: 0,
        }
    }

    /// Judges the events since the last time (INV-FIFO-16, INV-CTRL-5).
    pub(crate) fn judge(&mut self, events: &[Event<Item>]) {
        for event in &events[self.judged..] {
            if let Event::Updated {
                old,
                new,
                cause: Cause::Watch,
            } = event
            {
                self.judge_update(old, new);
            }
        }
        self.judged = events.len();
    }

    fn judge_update(&mut self, old: &Item, new: &Item) {
        let at = revision_of(new);
        let oracle = self.oracle.as_ref().map(|oracle| oracle.lock());
        if oracle.as_ref().is_some_and(|oracle| !oracle.is_straight()) {
            return;
        }
        holds!(
            self.trace,
            at > self.last,
            "{} came after {}, out of order",
            short(new),
            self.last
        );
        self.last = at;
        let key = informer_store::ObjectKey::of(new);
        let missed = oracle.and_then(|oracle| oracle.between(key.as_str(), revision_of(old), at));
        holds!(
            self.trace,
            missed.is_none(),
            "{} to {}: the state at {missed:?} was left out",
            short(old),
            short(new)
        );
    }
}
