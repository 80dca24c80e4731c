//! What a shared informer does with batches: the cache in one step, then the queue of each handler.

use std::sync::Arc;

use informer_delta_fifo::Batch;
use informer_store::{Object, ObjectKey, Snapshot, Store, mutant};
use tokio::time::{Instant, sleep_until};

use super::process::{Failures, Process};
use super::write::write;
use crate::error::RunError;
use crate::informer::{OnStop, Shared};
use crate::processor::Processor;
use crate::queue::Replay;
use crate::tasks::HandlerTasks;

/// The cache and the handlers of one shared informer.
pub(crate) struct SharedProcess<K: Object> {
    shared: Arc<Shared<K>>,
    processor: Processor<K>,
    handlers: HandlerTasks,
}

impl<K: Object> SharedProcess<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>) -> Self {
        Self {
            processor: Processor::new(Arc::clone(&shared.registry)),
            handlers: HandlerTasks::new(),
            shared,
        }
    }

    /// Starts the handlers that are new. Between batches, so that a replay of the cache and the events after it
    /// leave no gap and tell nothing twice.
    pub(crate) fn take_in_handlers(&mut self) {
        let store = &self.shared.store;
        let starts = self.processor.refresh(Instant::now(), || replay(store));
        for start in starts {
            self.handlers.start(start);
        }
    }

    fn resync(&mut self) {
        let store = &self.shared.store;
        self.processor.resync(Instant::now(), || {
            let snapshot = store.snapshot();
            told(&snapshot)
                .map(|(key, object)| (key.clone(), Arc::clone(object)))
                .collect()
        });
    }

    /// Waits for the handlers to end.
    pub(crate) async fn join_handlers(&mut self, on_stop: OnStop) {
        let listeners = self.shared.registry.listeners();
        self.handlers.join(&listeners, on_stop).await;
    }
}

impl<K: Object> Process<K> for SharedProcess<K> {
    async fn process(&mut self, batch: &Batch<K>) -> Result<(), Failures> {
        let reminds = self.processor.reminds();
        let (notifications, counts) =
            write(&self.shared.store, batch, self.shared.recreated, reminds);
        self.processor.distribute(&notifications, Instant::now());
        self.shared.totals.add(counts);
        Ok(())
    }

    async fn between(&mut self) -> Result<(), RunError> {
        loop {
            self.take_in_handlers();
            let resync = self.processor.next_resync();
            tokio::select! {
                biased;
                error = self.shared.fatal.reported() => return Err(error),
                () = self.handlers.reap() => {}
                () = self.shared.registry.changed() => {}
                () = sleep_until(resync.unwrap_or_else(Instant::now)), if resync.is_some() => {
                    self.resync();
                }
            }
        }
    }

    fn synced(&mut self) {
        self.processor.mark_synced();
        self.shared.phase.send_modify(|phase| phase.synced = true);
    }
}

fn replay<K: Object>(store: &Store<K>) -> Replay<K> {
    let snapshot = store.snapshot();
    let at_most = snapshot.len();
    let store = mutant!("handler-replay-a-later-state").then(|| store.clone());
    let objects = move || {
        let snapshot = store.map_or(snapshot, |store| store.snapshot());
        told(&snapshot)
            .map(|(_, object)| Arc::clone(object))
            .collect()
    };
    Replay {
        at_most,
        objects: Box::new(objects),
    }
}

/// What handlers have been told of: the cache without what was put over it by hand.
fn told<K: Object>(snapshot: &Snapshot<K>) -> impl Iterator<Item = (&ObjectKey, &Arc<K>)> {
    snapshot.iter().filter_map(|(key, object)| {
        let told = if snapshot.is_overlaid(key) {
            snapshot.base(key)
        } else {
            Some(object)
        };
        told.map(|object| (key, object))
    })
}
