//! What a shared informer does with batches: one transaction of the store, then the queue of each handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use informer_delta_fifo::Batch;
use informer_store::{Object, ObjectKey, Snapshot, Store};
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::Instant;

use super::options::OnStop;
use crate::apply::{Applier, Counts, RecreatedAs, Rules};
use crate::error::{EndReason, RunError};
use crate::handler::Listeners;
use crate::notification::Notification;
use crate::process_loop::{FailedKeys, Process};
use crate::processor::Processor;
use crate::tasks::HandlerTasks;

/// After so many initial objects for late handlers others get the runtime.
const INITIAL_AT_ONCE: usize = 10_000;

/// The store and the handlers of one shared informer.
pub(super) struct SharedProcess<K: Object> {
    store: Store<K>,
    listeners: Arc<Listeners<K>>,
    processor: Processor<K>,
    handlers: HandlerTasks,
    recreated: RecreatedAs,
    totals: Arc<Totals>,
}

/// The results of all deltas so far.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) applied: AtomicU64,
    pub(super) without_effect: AtomicU64,
    pub(super) batches: AtomicU64,
}

impl Totals {
    fn add(&self, counts: Counts) {
        self.applied.fetch_add(counts.applied, Ordering::Relaxed);
        self.without_effect
            .fetch_add(counts.without_effect, Ordering::Relaxed);
        self.batches.fetch_add(1, Ordering::Relaxed);
    }
}

impl<K: Object> SharedProcess<K> {
    pub(super) fn new(
        store: Store<K>,
        listeners: Arc<Listeners<K>>,
        resync_at: watch::Sender<Option<Instant>>,
        recreated: RecreatedAs,
        totals: Arc<Totals>,
    ) -> Self {
        Self {
            store,
            listeners,
            processor: Processor::new(resync_at),
            handlers: HandlerTasks::new(),
            recreated,
            totals,
        }
    }

    /// Starts the handlers that are new, until enough was done at once. Between batches, so that their initial objects and
    /// the events after them leave no gap and repeat nothing. Returns `false` if there may be more.
    pub(super) fn add_listeners(&mut self, at_once: usize) -> bool {
        let mut objects = 0;
        while objects < at_once {
            let Some(new) = self.listeners.take_new() else {
                return true;
            };
            let snapshot = self.store.snapshot();
            objects += snapshot.len();
            let is_open = self
                .processor
                .add(&new.listener, observed(&snapshot), Instant::now());
            if is_open {
                self.handlers.start(new);
            }
        }
        false
    }

    /// Writes a batch to the store in one transaction.
    fn write(&self, batch: &Batch<K>) -> (Vec<Notification<K>>, Counts) {
        let rules = Rules {
            recreated: self.recreated,
            initial: batch.is_initial(),
            rewind: batch.list_end().is_some_and(|end| end.rewind),
            unchanged: self.processor.wants_unchanged(),
        };
        let mut transaction = self.store.transaction();
        let mut applier = Applier::new(&mut transaction, rules);
        for (key, deltas) in batch.iter() {
            applier.apply(key, deltas);
        }
        let Applier {
            notifications,
            counts,
            ..
        } = applier;
        if let Some(end) = batch.list_end() {
            transaction.end_list(end);
        }
        if let Some(version) = batch.applied_up_to() {
            transaction.set_resource_version(version.clone());
        }
        transaction.commit();
        (notifications, counts)
    }

    /// Ends the handlers and waits for them.
    pub(super) async fn join_handlers(&mut self, on_stop: OnStop) {
        for listener in self.listeners.all() {
            if on_stop.drains() {
                listener.drain_with(EndReason::InformerStopped);
            } else {
                listener.end_with(EndReason::InformerStopped);
            }
        }
        self.handlers.join_all(on_stop.grace()).await;
    }
}

impl<K: Object> Process<K> for SharedProcess<K> {
    async fn process(&mut self, batch: &Batch<K>) -> Result<(), FailedKeys> {
        let (notifications, counts) = self.write(batch);
        self.processor
            .distribute(&notifications, batch.is_resync(), Instant::now());
        self.totals.add(counts);
        Ok(())
    }

    async fn between(&mut self) -> Result<(), RunError> {
        loop {
            self.processor.remove(&self.listeners.take_ended());
            if let Some(failure) = self.listeners.failure() {
                return Err(failure);
            }
            if !self.add_listeners(INITIAL_AT_ONCE) {
                yield_now().await;
                continue;
            }
            tokio::select! {
                biased;
                () = self.listeners.changed() => {}
                () = self.handlers.reap() => {}
            }
        }
    }

    fn synced(&mut self) {
        self.processor.mark_synced(Instant::now());
    }
}

/// Returns the objects that handlers have received: the store without its overlay.
fn observed<K: Object>(snapshot: &Snapshot<K>) -> impl Iterator<Item = (&ObjectKey, &Arc<K>)> {
    snapshot.iter().filter_map(|(key, object)| {
        let observed = if snapshot.is_overlaid(key) {
            snapshot.observed(key)
        } else {
            Some(object)
        };
        observed.map(|object| (key, object))
    })
}
