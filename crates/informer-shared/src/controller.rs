//! The controller: takes batches out of the queue, writes the cache in one step, hands what changed to handlers.

use std::sync::Arc;

use informer_delta_fifo::Batch;
use informer_store::{Deletion, Object, ObjectKey, Snapshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::apply::{Applier, Cache, Counts};
use crate::error::RunError;
use crate::informer::{OnStop, Shared, Source};
use crate::notification::Notification;
use crate::processor::Processor;
use crate::queue::Replay;
use crate::tasks::{HandlerTasks, ReflectorTask};

/// The most keys in one batch, so that handlers hear of the first ones soon.
const BATCH: usize = 1000;

/// One informer at work. Its methods are its steps; between two of them no batch is out.
pub(crate) struct Controller<K: Object> {
    shared: Arc<Shared<K>>,
    processor: Processor<K>,
    reflector: ReflectorTask,
    handlers: HandlerTasks,
    synced: bool,
}

impl<K: Object> Controller<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>) -> Self {
        let processor = Processor::new(Arc::clone(&shared.registry));
        let (reflector, handlers) = (ReflectorTask::new(), HandlerTasks::new());
        Self {
            shared,
            processor,
            reflector,
            handlers,
            synced: false,
        }
    }

    /// Works until `stop` is cancelled, the informer's own stop is, or a handler's failure ends it.
    pub(crate) async fn run(
        &mut self,
        source: Source,
        stop: &CancellationToken,
    ) -> Result<(), RunError> {
        let shared = Arc::clone(&self.shared);
        self.reflector.start(source.run(shared.stop.child_token()));
        loop {
            self.take_in_handlers();
            let resync = self.processor.next_resync();
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                () = shared.stop.cancelled() => return Ok(()),
                error = shared.fatal.reported() => return Err(error),
                error = self.reflector.ended() => {
                    let was_told = shared.stop.is_cancelled();
                    return if was_told { Ok(()) } else { Err(error) };
                }
                () = self.handlers.reap() => {}
                () = shared.registry.changed() => {}
                () = sleep_until(resync.unwrap_or_else(Instant::now)), if resync.is_some() => {
                    self.resync();
                }
                batch = shared.fifo.pop_batch(BATCH) => match batch {
                    Ok(batch) => self.process(batch),
                    Err(_closed) => return Ok(()),
                },
            }
            // A queue that is never empty must not keep others from the runtime.
            tokio::task::coop::consume_budget().await;
        }
    }

    /// Starts the handlers that are new. Between batches, so that a replay of the cache and the events after it
    /// leave no gap and tell nothing twice.
    fn take_in_handlers(&mut self) {
        let store = &self.shared.store;
        let starts = self
            .processor
            .refresh(Instant::now(), || replay(store.snapshot()));
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

    /// The whole of one batch: cache, handlers, acknowledgement, in this order.
    fn process(&mut self, batch: Batch<K>) {
        let (notifications, counts) = self.write(&batch);
        self.processor.distribute(&notifications, Instant::now());
        batch.ack();
        self.shared.totals.add(counts);
        if !self.synced && self.shared.fifo.has_synced() {
            self.synced = true;
            self.processor.mark_synced();
            self.shared.phase.send_modify(|phase| phase.synced = true);
        }
    }

    fn write(&self, batch: &Batch<K>) -> (Vec<Notification<K>>, Counts) {
        let mut cache = Write(self.shared.store.begin_batch());
        let rewind = batch.replace().is_some_and(|end| end.rewind);
        let mut applier =
            Applier::new(&mut cache, self.shared.recreated, batch.is_initial()).rewind(rewind);
        for deltas in batch.iter() {
            applier.apply_all(deltas.key(), deltas.deltas());
        }
        let Applier {
            notifications,
            counts,
            ..
        } = applier;
        if let Some(end) = batch.replace() {
            cache.0.end_list(end);
        }
        if let Some(version) = batch.applied_up_to() {
            cache.0.set_resource_version(version.clone());
        }
        cache.0.commit();
        (notifications, counts)
    }

    /// Ends everything that runs, in order: what feeds the cache, the cache, the handlers.
    pub(crate) async fn shut_down(&mut self, on_stop: OnStop) {
        let shared = Arc::clone(&self.shared);
        shared.stop.cancel();
        self.take_in_handlers();
        shared.registry.close();
        self.reflector.join().await;
        if on_stop.drains() {
            while let Some(batch) = shared.fifo.try_pop_batch(BATCH) {
                self.process(batch);
            }
        }
        self.handlers
            .join(&shared.registry.listeners(), on_stop)
            .await;
    }
}

fn replay<K: Object>(snapshot: Snapshot<K>) -> Replay<K> {
    let at_most = snapshot.len();
    let objects = move || {
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

/// The store's batch, as deltas are applied to it.
struct Write<'a, K: Object>(informer_store::Batch<'a, K>);

impl<K: Object> Cache<K> for Write<'_, K> {
    fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.0.get(key).cloned()
    }

    fn put(&mut self, key: &ObjectKey, object: Arc<K>) {
        self.0.upsert(key.clone(), object);
    }

    fn remove(&mut self, key: &ObjectKey, last: Option<&Arc<K>>) {
        // A deletion that was seen leaves alone what was put over the object by hand and is of a later life.
        if let Some(last) = last {
            self.0.delete(key, &Deletion::of(Arc::clone(last)));
        }
        if self.0.contains(key) {
            self.0.remove(key);
        }
    }

    fn mark_stale(&mut self, key: &ObjectKey) {
        self.0.mark_stale(key);
    }

    fn confirm(&mut self, key: &ObjectKey) {
        self.0.confirm(key);
    }
}
