//! The plain informer: one handler in the loop that writes the store. While it works its batch is out, and what comes
//! meanwhile waits in the queue.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use informer_reflector::Report;
use informer_shared::{ControllerMonitor, Informer, RunError};
use informer_store::{Snapshot, Store};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::judge::{Judge, Told};
use super::kinds::Async;
use super::{Character, InOrder, Surroundings};
use crate::checked::Checked;
use crate::object::Item;
use crate::plan::Plan;
use crate::trace::{Trace, holds};
use crate::world::World;

/// A plain informer at work.
pub(crate) struct Single {
    pub(crate) store: Store<Item>,
    pub(crate) monitor: ControllerMonitor<Item>,
    told: Arc<Mutex<Told>>,
    /// How many initial objects it had handled when it was found to be synced.
    initial_at_sync: Option<usize>,
    /// Where its queue keeps the order.
    in_order: Option<InOrder>,
    stop: CancellationToken,
    task: JoinHandle<Result<(), RunError>>,
}

impl Single {
    pub(crate) fn start(plan: &Plan, seed: u64, checked: &Checked, around: &Surroundings) -> Self {
        let mut rng = Rng::with_seed(seed);
        let character = Character {
            slow: rng.u8(0..4) > 0,
            stalls: rng.bool(),
            // What it failed at is told again, which is no legal history.
            fails: false,
            fatal: false,
            // It would hold up the queue for good.
            blocks: false,
            filtered: false,
            coalesces: false,
            reminded: plan.resync.is_some(),
            recreated_as_update: plan.recreated_as_update,
        };
        let told = Arc::default();
        let judge = Judge::new(Arc::clone(&told), None, around, character, 0, rng);
        let (chaos, trace) = (around.chaos.clone(), around.trace.clone());
        let informer = Informer::builder(checked.clone(), Async(judge))
            .reflector_config(plan.reflector_config(seed))
            .resync_period(plan.resync.unwrap_or(Duration::ZERO))
            .recreated_as(plan.recreated_as())
            .max_deltas(plan.max_deltas)
            .queue_order(plan.order)
            .watch_error_handler(move |report: &Report<'_>| World::hear(&chaos, &trace, report))
            .build()
            .unwrap_or_else(|error| panic!("no index clashes: {error}"));
        let (store, monitor) = (informer.store().clone(), informer.monitor());
        let stop = CancellationToken::new();
        let task = tokio::spawn(informer.run(stop.clone()));
        Self {
            store,
            monitor,
            told,
            initial_at_sync: None,
            in_order: around.in_order(plan.order),
            stop,
            task,
        }
    }

    /// Whether nothing waits between watch and handler.
    pub(crate) fn is_drained(&self) -> bool {
        let queue = self.monitor.status().queue;
        queue.queued_keys + queue.in_flight_keys == 0
    }

    /// INV-CTRL-3: a batch is done once the handler has heard of it.
    pub(crate) fn look(&mut self, snapshot: &Snapshot<Item>, trace: &Trace) {
        let told = self.told.lock();
        if let Some(in_order) = &mut self.in_order {
            in_order.judge(&told.log);
        }
        if self.monitor.has_synced() {
            // INV-FIFO-7: what the first list brought has been acknowledged.
            let at_sync = *self.initial_at_sync.get_or_insert(told.initial);
            holds!(
                trace,
                told.initial == at_sync,
                "synced, then {} more of what was there first were handled",
                told.initial - at_sync
            );
        }
        if !self.is_drained() {
            return;
        }
        if let Err(why) = told.equals(snapshot.objects()) {
            holds!(trace, false, "the one handler {why}");
        }
    }

    pub(crate) async fn stop(self, trace: &Trace) {
        self.stop.cancel();
        let ended = self.task.await;
        let well = matches!(ended, Ok(Ok(())));
        holds!(trace, well, "it did not end well: {ended:?}");
    }
}
