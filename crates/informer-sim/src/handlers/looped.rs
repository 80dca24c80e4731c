//! A process loop with a process of its own: it keeps a store, and passes each change on as an event. While it works its
//! batch is in flight; keys that it fails at are requeued.

use std::sync::Arc;

use fastrand::Rng;
use informer_delta_fifo::{Batch, Deleted, Delta, DeltaFifo, DeltaFifoConfig};
use informer_reflector::{Reflector, ReflectorStatus, Report};
use informer_shared::{
    Cause, Event, FailedKeys, Process, ProcessLoop, ProcessLoopStatus, RunError,
};
use informer_store::{ObjectKey, ResourceVersion, Snapshot, Store, Transaction};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::judge::{Judge, Received};
use super::{Character, InOrder, Surroundings};
use crate::chaos::Chaos;
use crate::checked::Checked;
use crate::object::Item;
use crate::plan::Plan;
use crate::trace::{Trace, holds};
use crate::versions::{VersionKind, drop_version};
use crate::world::World;

/// A process loop that runs.
pub(crate) struct Looped {
    pub(crate) store: Store<Item>,
    pub(crate) queue: DeltaFifo<Item>,
    /// Whether keys fail. A batch with such a key does not move the version of the store.
    pub(crate) fails: bool,
    status: watch::Receiver<ProcessLoopStatus>,
    reflector: watch::Receiver<ReflectorStatus>,
    received: Arc<Mutex<Received>>,
    /// How many initial objects it had handled when it was found to be synced.
    initial_at_sync: Option<usize>,
    /// Where its queue keeps the order, and no key is requeued behind the changes of others.
    in_order: Option<InOrder>,
    stop: CancellationToken,
    task: JoinHandle<Result<(), RunError>>,
}

impl Looped {
    pub(crate) fn start(plan: &Plan, seed: u64, checked: &Checked, around: &Surroundings) -> Self {
        let mut rng = Rng::with_seed(seed);
        let character = Character {
            slow: rng.u8(0..4) > 0,
            stalls: rng.bool(),
            // Its failures are those of keys.
            fails: false,
            fatal: false,
            // It would stall the queue for good.
            blocks: false,
            filtered: false,
            coalesces: false,
            resyncs: plan.resync.is_some(),
            // The queue sends a tombstone.
            recreated_as_update: false,
        };
        let received = Arc::default();
        let fails = rng.u8(0..3) == 0;
        let store = Store::new();
        let reader = store.reader();
        let judge = Judge::new(
            Arc::clone(&received),
            Some(reader),
            around,
            character,
            0,
            rng.fork(),
        );
        let known = DeltaFifoConfig::new().known(store.clone());
        let queue = DeltaFifo::new(known.max_deltas(plan.max_deltas).order(plan.order));
        let (chaos, trace) = (around.chaos.clone(), around.trace.clone());
        let mut reflector = Reflector::new(checked.clone(), Arc::new(queue.clone()));
        if plan.versions == VersionKind::Transformed {
            reflector = reflector.transform(drop_version);
        }
        let reflector = reflector
            .config(plan.reflector_config(seed))
            .unwrap_or_else(|error| panic!("the selector is valid: {error}"))
            .resync_period(plan.resync.unwrap_or_default())
            .watch_error_handler(move |report: &Report| World::report(&chaos, &trace, report));
        let reflector_status = reflector.status();
        let process = Apply {
            store: store.clone(),
            judge,
            resyncs: character.resyncs,
            fails,
            rng,
            chaos: around.chaos.clone(),
        };
        let process_loop = ProcessLoop::new(queue.clone(), reflector, process);
        let status = process_loop.status();
        let stop = CancellationToken::new();
        let task = tokio::spawn(process_loop.run(stop.clone()));
        Self {
            store,
            queue,
            fails,
            status,
            reflector: reflector_status,
            received,
            initial_at_sync: None,
            in_order: around.in_order(plan).filter(|_| !fails),
            stop,
            task,
        }
    }

    pub(crate) fn reflector_status(&self) -> ReflectorStatus {
        self.reflector.borrow().clone()
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.status.borrow().synced
    }

    /// Whether nothing is queued or in flight.
    fn is_drained(&self) -> bool {
        let queue = self.queue.stats();
        queue.queued_keys + queue.in_flight_keys == 0
    }

    /// INV-CTRL-3: a batch is acknowledged once its events are handled.
    pub(crate) fn look(&mut self, snapshot: &Snapshot<Item>, trace: &Trace) {
        let received = self.received.lock();
        if let Some(in_order) = &mut self.in_order {
            in_order.judge(&received.log);
        }
        let status = self.status.borrow();
        if status.synced {
            // INV-FIFO-7: the first list has been acknowledged.
            let at_sync = *self.initial_at_sync.get_or_insert(received.initial);
            holds!(
                trace,
                received.initial == at_sync,
                "synced, then {} more initial objects were handled",
                received.initial - at_sync
            );
        }
        // INV-CTRL-2: a key that fails now and then is applied in the end.
        holds!(
            trace,
            status.given_up == 0,
            "keys were given up: {status:?}"
        );
        if !self.is_drained() {
            return;
        }
        holds!(
            trace,
            status.failing == 0,
            "failing keys are not queued: {status:?}"
        );
        if let Err(why) = received.equals(snapshot.objects()) {
            holds!(trace, false, "the process {why}");
        }
    }

    pub(crate) async fn stop(self, trace: &Trace) {
        self.stop.cancel();
        let ended = self.task.await;
        let well = matches!(ended, Ok(Ok(())));
        holds!(trace, well, "it did not end well: {ended:?}");
    }
}

/// Applies batches to a store, and handles the events that follow.
struct Apply {
    store: Store<Item>,
    judge: Judge,
    /// Whether unchanged objects are events.
    resyncs: bool,
    fails: bool,
    rng: Rng,
    chaos: Chaos,
}

impl Process<Item> for Apply {
    async fn process(&mut self, batch: &Batch<Item>) -> Result<(), FailedKeys> {
        let (failed, events) = self.apply(batch);
        for event in events {
            self.judge.begin(event);
            sleep(self.judge.pause()).await;
            // It does not fail as a handler would.
            let _ = self.judge.end();
        }
        failed.into_result()
    }
}

impl Apply {
    /// Writes a batch in one transaction. Returns the keys that failed and the events.
    fn apply(&mut self, batch: &Batch<Item>) -> (FailedKeys, Vec<Event<Item>>) {
        let (mut failed, mut events) = (FailedKeys::new(), Vec::new());
        let mut transaction = self.store.transaction();
        for (key, deltas) in batch.iter() {
            if self.fails && self.rng.u8(0..20) == 0 {
                self.chaos.tally(|tally| tally.event("key failed"));
                failed.push(key.clone(), "a bad day");
                continue;
            }
            for delta in deltas {
                let initial = batch.is_initial();
                let event = change(&mut transaction, key, delta, initial);
                let unchanged = event.as_ref().is_some_and(Event::is_unchanged);
                events.extend(event.filter(|_| self.resyncs || !unchanged));
            }
        }
        if let Some(version) = batch.applied_up_to() {
            let is_rewind = batch.list_end().is_some_and(|end| end.rewind);
            if failed.is_empty() {
                transaction.set_resource_version(version.clone());
            } else if is_rewind {
                transaction.set_resource_version(ResourceVersion::new(""));
            }
        }
        transaction.commit();
        (failed, events)
    }
}

/// Writes one delta, and returns the event that it is.
fn change(
    transaction: &mut Transaction<'_, Item>,
    key: &ObjectKey,
    delta: &Delta<Item>,
    initial: bool,
) -> Option<Event<Item>> {
    let cause = match delta {
        Delta::Added(_) | Delta::Updated(_) => Cause::Watch,
        Delta::Replaced(_) => Cause::Relist,
        Delta::Sync(_) => Cause::Resync,
        Delta::Deleted(deleted) => {
            transaction.remove(key)?;
            let final_state_unknown = deleted.is_final_state_unknown();
            let object = Arc::clone(Deleted::object(deleted));
            return Some(Event::Deleted {
                object,
                final_state_unknown,
            });
        }
        Delta::Undecodable(_) => {
            transaction.mark_stale(key);
            return None;
        }
    };
    let new = Arc::clone(delta.object()?);
    if cause == Cause::Resync && !transaction.contains(key) {
        return None;
    }
    let old = transaction.upsert(key.clone(), Arc::clone(&new));
    Some(match old {
        Some(old) => Event::Updated { old, new, cause },
        None => Event::Added {
            object: new,
            initial,
        },
    })
}
