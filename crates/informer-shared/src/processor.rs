//! Fan-out: hands what changed to each handler's queue. It never waits for a handler.

use std::sync::Arc;

use informer_store::{Object, ObjectKey, mutant};
use tokio::time::Instant;

use crate::event::{Cause, Event};
use crate::handler::{Arrival, Listener, Registry, Runner};
use crate::notification::{Audience, Delivery, Notification};
use crate::queue::Replay;
use crate::resync::Schedule;

/// The handlers as the controller sees them. Only the controller uses it.
#[doc(alias = "sharedProcessor")]
pub(crate) struct Processor<K> {
    registry: Arc<Registry<K>>,
    active: Vec<Active<K>>,
    source_synced: bool,
}

struct Active<K> {
    listener: Arc<Listener<K>>,
    schedule: Option<Schedule>,
}

/// A handler whose code is to be started.
pub(crate) struct Start<K> {
    pub(crate) listener: Arc<Listener<K>>,
    pub(crate) runner: Runner,
}

impl<K: Object> Processor<K> {
    pub(crate) const fn new(registry: Arc<Registry<K>>) -> Self {
        Self {
            registry,
            active: Vec::new(),
            source_synced: false,
        }
    }

    /// Takes in handlers that were added and drops those that are gone. A new one starts from `replay`, which is
    /// asked for once for each, and hears of everything that is distributed from now on.
    pub(crate) fn refresh(
        &mut self,
        now: Instant,
        replay: impl Fn() -> Replay<K>,
    ) -> Vec<Start<K>> {
        let Some(changes) = self.registry.take_changes() else {
            return Vec::new();
        };
        // Both are in the order of ids.
        let mut kept = std::mem::take(&mut self.active).into_iter().peekable();
        for listener in changes.listeners {
            while kept
                .next_if(|active| active.listener.id < listener.id)
                .is_some()
            {}
            let active = kept.next_if(|active| active.listener.id == listener.id);
            self.active
                .push(active.unwrap_or_else(|| Active::new(listener, now)));
        }
        changes
            .arrivals
            .into_iter()
            .map(|arrival| self.welcome(arrival, now, &replay))
            .collect()
    }

    fn welcome(
        &self,
        arrival: Arrival<K>,
        now: Instant,
        replay: &impl Fn() -> Replay<K>,
    ) -> Start<K> {
        let Arrival { listener, runner } = arrival;
        let replay = replay();
        if replay.at_most > 0 && !mutant!("handler-forget-the-replay") {
            listener.queue.replay(replay, now);
        }
        if self.source_synced {
            listener.queue.mark_source_synced();
        }
        Start { listener, runner }
    }

    /// Hands these to all handlers that they are for, in order.
    pub(crate) fn distribute(&mut self, notifications: &[Notification<K>], now: Instant) {
        if notifications.is_empty() {
            return;
        }
        self.active.retain(|active| {
            let reminded = active.schedule.is_some();
            let events = notifications
                .iter()
                .filter(|n| {
                    let everybody = mutant!("handler-remind-everybody");
                    reminded || n.audience == Audience::All || everybody
                })
                .map(|n| (&n.key, n.delivery.clone()));
            active.listener.queue.push_all(events, now)
        });
    }

    /// Says that the first state of the cache has been distributed to the end.
    pub(crate) fn mark_synced(&mut self) {
        if std::mem::replace(&mut self.source_synced, true) {
            return;
        }
        for active in &self.active {
            active.listener.queue.mark_source_synced();
        }
    }

    /// Whether any handler hears of objects that did not change.
    pub(crate) fn reminds(&self) -> bool {
        let mut handlers = self.active.iter();
        handlers.any(|active| active.schedule.is_some())
    }

    /// When the next handler is due to be reminded.
    pub(crate) fn next_resync(&self) -> Option<Instant> {
        self.active
            .iter()
            .filter_map(|active| Some(active.schedule.as_ref()?.due()))
            .min()
    }

    /// Reminds the handlers that are due of all objects, which are asked for only if there are any.
    pub(crate) fn resync(
        &mut self,
        now: Instant,
        objects: impl FnOnce() -> Vec<(ObjectKey, Arc<K>)>,
    ) {
        let due: Vec<_> = self
            .active
            .iter_mut()
            .filter_map(|Active { listener, schedule }| {
                schedule
                    .as_mut()?
                    .take_due(now)
                    .then(|| Arc::clone(listener))
            })
            .filter(|listener| !listener.queue.has_resyncs())
            .collect();
        if due.is_empty() {
            return;
        }
        let objects = objects();
        for listener in due {
            let events = objects.iter().map(|(key, object)| (key, reminder(object)));
            listener.queue.push_all(events, now);
        }
    }
}

fn reminder<K>(object: &Arc<K>) -> Delivery<K> {
    let (old, new) = (Arc::clone(object), Arc::clone(object));
    Event::Updated {
        old,
        new,
        cause: Cause::Resync,
    }
    .into()
}

impl<K> Active<K> {
    fn new(listener: Arc<Listener<K>>, now: Instant) -> Self {
        let schedule = listener
            .resync_period
            .and_then(|period| Schedule::starting_at(now, period));
        Self { listener, schedule }
    }
}
