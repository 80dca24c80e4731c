//! Handlers of every kind, under every queue policy: they are added, stall, fail, panic and are removed, and the events
//! of each are judged against all events of the informer.

mod history;
mod in_order;
mod judge;
mod kinds;
mod looped;
mod reference;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use fastrand::Rng;
use informer_shared::{
    EndReason, FailurePolicy, HandlerStatus, QueueOrder, QueuePolicy, RunError, SharedInformer,
};
use informer_store::Snapshot;
use parking_lot::Mutex;
use tokio::time::timeout;

use self::history::Terms;
pub(crate) use self::in_order::InOrder;
use self::judge::{Judge, Received, is_shown};
use self::kinds::{Kind, Place};
pub(crate) use self::looped::Looped;
pub(crate) use self::reference::Reference;
use crate::chaos::Chaos;
use crate::object::Item;
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::trace::{Trace, holds};

/// The behaviour of a handler, beside its kind.
#[derive(Debug, Clone, Copy)]
struct Character {
    slow: bool,
    /// Some calls last for minutes while there is trouble.
    stalls: bool,
    fails: bool,
    /// Its failures stop the informer.
    fatal: bool,
    /// A call may never return.
    blocks: bool,
    /// Whether it receives only objects with an even value.
    filtered: bool,
    coalesces: bool,
    /// It has a resync period.
    resyncs: bool,
    recreated_as_update: bool,
}

/// What handlers share with the world.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) oracle: Arc<Mutex<Oracle>>,
    pub(crate) chaos: Chaos,
    pub(crate) trace: Trace,
    /// From then on no handler stalls.
    pub(crate) calm: Arc<AtomicBool>,
    pub(crate) recreated_as_update: bool,
    /// Whether the informer has a resync period, for handlers without one.
    pub(crate) resyncs: bool,
    /// The handlers of the present informer that failed and thereby stop it, in order.
    pub(crate) fatal: Arc<Mutex<Vec<Arc<str>>>>,
    /// How many handlers of the present informer exist, removed ones too.
    pub(crate) alive: Arc<AtomicUsize>,
}

impl Surroundings {
    /// Returns the judge of events where the queue keeps the order of changes, and none is sent again.
    pub(crate) fn in_order(&self, plan: &Plan) -> Option<InOrder> {
        let oracle = Some(Arc::clone(&self.oracle));
        (plan.order == QueueOrder::InOrder && plan.versions.is_history())
            .then(|| InOrder::new(oracle, self.trace.clone()))
    }
}

/// A handler and its place in the informer.
pub(crate) struct Handler {
    place: Place,
    received: Arc<Mutex<Received>>,
    character: Character,
    trace: Trace,
    name: u32,
    /// How many events its queue holds, where that is said.
    limit: Option<usize>,
    /// Between which changes it started: it was added after the first of these, and active at the second.
    since: usize,
    until: Option<usize>,
    /// How many initial objects it had received when it was found to be synced.
    initial_at_sync: Option<usize>,
}

impl Handler {
    /// Adds a handler of a random kind, after so many changes.
    pub(crate) fn join(
        informer: &SharedInformer<Item>,
        around: &Surroundings,
        since: usize,
        name: u32,
        rng: &mut Rng,
    ) -> Result<Self, RunError> {
        let kind = Kind::ALL[rng.usize(0..Kind::ALL.len())];
        let mut character = Character {
            slow: rng.bool(),
            stalls: rng.u8(0..6) == 0,
            fails: rng.u8(0..3) == 0,
            fatal: false,
            blocks: kind.takes_time() && rng.u8(0..8) == 0,
            filtered: rng.u8(0..4) == 0,
            coalesces: true,
            resyncs: false,
            recreated_as_update: around.recreated_as_update,
        };
        let mut builder = informer.handler();
        if character.filtered {
            builder = builder.filter(is_shown);
        }
        match rng.u8(0..3) {
            0 => {
                // One that needs longer than that for all objects would never come to rest.
                let least = if character.slow { 15 } else { 1 };
                let period = rng.u64(1..200).max(least);
                builder = builder.resync_period(Duration::from_secs(period));
                character.resyncs = true;
            }
            1 => builder = builder.resync_period(Duration::ZERO),
            // The informer's.
            _ => character.resyncs = around.resyncs,
        }
        let policy = match rng.u8(0..4) {
            0 => QueuePolicy::Unbounded,
            1 => QueuePolicy::Bounded(rng.usize(1..40)),
            _ => QueuePolicy::Coalesce,
        };
        character.coalesces = policy == QueuePolicy::Coalesce;
        let limit = match policy {
            QueuePolicy::Bounded(limit) => Some(limit),
            _ => None,
        };
        let on_failure = match rng.u8(0..5) {
            0 => FailurePolicy::StopInformer,
            1 | 2 => FailurePolicy::Skip,
            _ => FailurePolicy::StopHandler,
        };
        character.fatal = on_failure == FailurePolicy::StopInformer && kind.can_fail();
        let received = Arc::default();
        let judge = Judge::new(
            Arc::clone(&received),
            Some(informer.store().clone()),
            around,
            character,
            name,
            rng.fork(),
        );
        let builder = builder
            .name(judge::full_name(name))
            .queue(policy)
            .on_error(on_failure)
            .on_panic(on_failure);
        let place = kinds::register(kind, builder, judge)?;
        around.chaos.tally(|tally| {
            tally.event("handler joined");
            tally.event(kind.name());
        });
        Ok(Self {
            place,
            received,
            character,
            trace: around.trace.clone(),
            name,
            limit,
            since,
            until: None,
            initial_at_sync: None,
        })
    }

    pub(crate) fn status(&self) -> HandlerStatus {
        self.place.status()
    }

    /// Whether nothing is queued for it and no call of it runs, or it has ended.
    pub(crate) fn is_at_rest(&self) -> bool {
        let status = self.status();
        status.ended.is_some() || (status.queue_depth == 0 && !self.received.lock().busy)
    }

    /// Whether a call of it never returns.
    pub(crate) fn is_stuck(&self) -> bool {
        self.received.lock().stuck
    }

    /// Whether it is at rest and has received all its initial objects, or never will.
    pub(crate) fn is_done(&self) -> bool {
        if self.is_stuck() {
            return true;
        }
        let status = self.status();
        self.is_at_rest() && (status.synced || status.ended.is_some())
    }

    /// Judges what must hold at every moment, after so many changes, with so many names.
    pub(crate) fn look(&mut self, snapshot: &Snapshot<Item>, changes: usize, names: usize) {
        self.until.get_or_insert(changes);
        let status = self.status();
        self.judge_backlog(&status, names);
        if status.synced {
            // INV-SHARED-5; protocol 3.3: 11: once it is synced it has handled all its initial objects.
            let received = self.received.lock().initial;
            let at_sync = *self.initial_at_sync.get_or_insert(received);
            holds!(
                self.trace,
                received == at_sync,
                "h{}: synced, then {} more initial objects were handled",
                self.name,
                received - at_sync
            );
            // Protocol 3.3: 7: with an empty queue it has exactly what is cached, wherever it started.
            if self.is_at_rest() && status.ended.is_none() {
                self.judge_knowledge(snapshot);
            }
        }
    }

    /// However slow it is, and also where it hangs (INV-SHARED-3, INV-SHARED-4).
    fn judge_backlog(&self, status: &HandlerStatus, names: usize) {
        let depth = status.queue_depth;
        // Initial objects and resyncs come on top.
        let bound = match (self.limit, self.character.coalesces) {
            _ if status.ended.is_some() => 0,
            (Some(limit), _) => limit + 2 * names + 4,
            (None, true) => 2 * names + 4,
            (None, false) => usize::MAX,
        };
        holds!(
            self.trace,
            depth <= bound,
            "{depth} events are queued for h{}, {bound} may be",
            self.name
        );
    }

    /// Judges its history against all events (protocol 3.3: 5, 6, 8; INV-SHARED-1, INV-SHARED-2, INV-SHARED-8). With
    /// `whole` no event may be left that it has not received.
    pub(crate) fn judge_history(&self, reference: &Reference, whole: bool) {
        let received = self.received.lock();
        let terms = Terms {
            filtered: self.character.filtered,
            coalesces: self.character.coalesces,
            whole: whole && !self.is_cut_off() && !received.stuck,
            starts: self.since..=self.until.unwrap_or_else(|| reference.events().len()),
        };
        let verdict = history::judge(reference.events(), &received.log, &terms);
        holds!(
            self.trace,
            verdict.is_ok(),
            "h{}: {}",
            self.name,
            verdict.err().unwrap_or_default()
        );
    }

    /// Whether it ended while the informer ran.
    fn is_cut_off(&self) -> bool {
        let end = self.status().ended;
        end.is_some_and(|end| !matches!(end, EndReason::InformerStopped))
    }

    /// At rest it must have exactly what is cached, unless it was cut off (protocol 3.3: 7, 9).
    pub(crate) fn judge_end(&self, snapshot: &Snapshot<Item>, synced: bool) {
        let status = self.status();
        if self.is_cut_off() {
            let known = matches!(
                status.ended,
                Some(EndReason::QueueFull { .. } | EndReason::Failed(_))
            );
            holds!(
                self.trace,
                known,
                "h{} ended: {:?}",
                self.name,
                status.ended
            );
            return;
        }
        if self.is_stuck() {
            return;
        }
        holds!(
            self.trace,
            status.queue_depth == 0,
            "h{} has {} events",
            self.name,
            status.queue_depth
        );
        holds!(
            self.trace,
            status.synced || !synced,
            "h{} is not synced",
            self.name
        );
        self.judge_knowledge(snapshot);
    }

    /// After the end of the informer each handler has ended, with a reason.
    pub(crate) fn judge_stopped(&self) {
        let ended = self.status().ended;
        holds!(
            self.trace,
            ended.is_some(),
            "h{} waits for a stopped informer",
            self.name
        );
    }

    fn judge_knowledge(&self, snapshot: &Snapshot<Item>) {
        let received = self.received.lock();
        let shown = |item: &&Arc<Item>| !self.character.filtered || is_shown(item);
        let cached = snapshot.objects().filter(shown);
        if let Err(why) = received.equals(cached) {
            holds!(self.trace, false, "h{} {why}", self.name);
        }
    }

    /// Removes it, and waits for its last call or not. It must receive nothing more.
    /// `is_stopping` says whether another handler stops the informer meanwhile, which ends running calls.
    pub(crate) async fn leave(
        self,
        reference: &Reference,
        wait: bool,
        is_stopping: impl Fn() -> bool,
    ) {
        self.judge_history(reference, false);
        // A running call goes on; no other starts from here on (INV-SHARED-11).
        self.received.lock().removed = true;
        if !(wait && self.is_stuck() && self.place.is_awaited()) {
            return self.place.leave(wait).await;
        }
        // Its call never returns, so there is no end to wait for. It is removed all the same.
        let removed = timeout(Duration::from_secs(5), self.place.leave(true)).await;
        holds!(
            self.trace,
            removed.is_err() || is_stopping(),
            "h{}: removed, though a call runs",
            self.name
        );
    }

    /// Waits until its remaining events after a stop are read. Only a stream is read later.
    pub(crate) async fn taken(&mut self) {
        let stuck = self.is_stuck();
        self.place.taken(stuck).await;
    }
}
