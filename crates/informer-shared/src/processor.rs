//! Fan-out: pushes notifications into each handler's queue, and knows who is due for a resync. It never waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_store::{Object, ObjectKey};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::event::Event;
use crate::handler::Listener;
use crate::notification::{Delivery, Notification};
use crate::schedule::Schedule;

/// The listeners of one informer as its process loop uses them.
///
/// # Invariants
/// - No listener whose queue takes no more events is kept, so that none is ever due.
/// - `resync_at` has the earliest due time of a listener, and none before the first list is applied.
#[doc(alias = "sharedProcessor")]
pub(crate) struct Processor<K> {
    /// By their ids, which is the order in which they were added.
    listeners: BTreeMap<u64, Recipient<K>>,
    /// When the reflector is to queue a resync.
    resync_at: watch::Sender<Option<Instant>>,
    is_synced: bool,
}

struct Recipient<K> {
    listener: Arc<Listener<K>>,
    schedule: Option<Schedule>,
}

impl<K: Object> Processor<K> {
    pub(crate) const fn new(resync_at: watch::Sender<Option<Instant>>) -> Self {
        Self {
            listeners: BTreeMap::new(),
            resync_at,
            is_synced: false,
        }
    }

    /// Adds a listener. It starts from the objects that are cached now, and receives all that is distributed from now on.
    /// Returns `false` if it has ended already.
    pub(crate) fn add<'a>(
        &mut self,
        listener: &Arc<Listener<K>>,
        cached: impl Iterator<Item = (&'a ObjectKey, &'a Arc<K>)>,
        now: Instant,
    ) -> bool {
        let initial = cached.map(|(key, object)| (key, initial(object)));
        if !listener.queue.push_all(initial, now) {
            return false;
        }
        if self.is_synced {
            listener.queue.push_barrier();
        }
        let period = listener.options.resync_period;
        let schedule = period.map(|period| Schedule::starting_at(now, period));
        let recipient = Recipient {
            listener: Arc::clone(listener),
            schedule,
        };
        self.listeners.insert(listener.id, recipient);
        if let Some(due) = schedule.and_then(|schedule| schedule.due()) {
            let published = *self.resync_at.borrow();
            self.publish(Some(published.map_or(due, |published| published.min(due))));
        }
        true
    }

    /// Removes listeners that have ended.
    pub(crate) fn remove(&mut self, ended: &[u64]) {
        let removed = ended.iter().filter_map(|id| self.listeners.remove(id));
        if removed.filter(|r| r.schedule.is_some()).count() > 0 {
            self.publish_next();
        }
    }

    /// Pushes each notification to its recipients, in order. `is_resync` says that the batch holds a whole resync: it is
    /// for the listeners that are due now.
    pub(crate) fn distribute(
        &mut self,
        notifications: &[Notification<K>],
        is_resync: bool,
        now: Instant,
    ) {
        let before = self.listeners.len();
        self.listeners.retain(|_, recipient| {
            let is_due = is_resync && recipient.take_due(now);
            let has_period = recipient.schedule.is_some();
            let events = notifications
                .iter()
                .filter(|(_, delivery)| delivery.is_for(has_period, is_due))
                .map(|(key, delivery)| (key, delivery.clone()));
            recipient.listener.queue.push_all(events, now)
        });
        if is_resync || self.listeners.len() < before {
            self.publish_next();
        }
    }

    /// The first list was applied and distributed. Resyncs begin, and those that were due before are skipped.
    pub(crate) fn mark_synced(&mut self, now: Instant) {
        self.is_synced = true;
        for recipient in self.listeners.values_mut() {
            recipient.listener.queue.push_barrier();
            if let Some(schedule) = &mut recipient.schedule {
                schedule.take_due(now);
            }
        }
        self.publish_next();
    }

    /// Returns `true` if any listener receives objects that did not change.
    pub(crate) fn wants_unchanged(&self) -> bool {
        self.listeners.values().any(|r| r.schedule.is_some())
    }

    /// Publishes when the next listener is due.
    fn publish_next(&self) {
        let schedules = self.listeners.values().filter_map(|r| r.schedule.as_ref());
        self.publish(schedules.filter_map(Schedule::due).min());
    }

    fn publish(&self, next: Option<Instant>) {
        if !self.is_synced {
            return;
        }
        self.resync_at.send_if_modified(|published| {
            let is_other = *published != next;
            *published = next;
            is_other
        });
    }
}

impl<K> Recipient<K> {
    /// Returns `true` if the listener is due for a resync. One is skipped while events of the last one are queued.
    fn take_due(&mut self, now: Instant) -> bool {
        let schedule = self.schedule.as_mut();
        schedule.is_some_and(|schedule| schedule.take_due(now))
            && !self.listener.queue.has_resyncs()
    }
}

fn initial<K>(object: &Arc<K>) -> Delivery<K> {
    Event::Added {
        object: Arc::clone(object),
        initial: true,
    }
    .into()
}
