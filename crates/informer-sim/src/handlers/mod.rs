//! Handlers of every kind, under every queue policy: they join, stall, fail, panic and leave, and what each was told
//! is judged against what there was to tell.

mod history;
mod in_order;
mod judge;
mod kinds;
mod reference;
mod single;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use fastrand::Rng;
use informer_delta_fifo::Order;
use informer_shared::{
    FailurePolicy, HandlerEnd, HandlerStatus, InformerStopped, QueuePolicy, SharedInformer,
};
use informer_store::Snapshot;
use parking_lot::Mutex;
use tokio::time::timeout;

use self::history::Terms;
pub(crate) use self::in_order::InOrder;
use self::judge::{Judge, Told, is_shown};
use self::kinds::{Kind, Place};
pub(crate) use self::reference::Reference;
pub(crate) use self::single::Single;
use crate::chaos::Chaos;
use crate::object::Item;
use crate::oracle::Oracle;
use crate::trace::{Trace, holds};

/// What a handler is, beside its kind.
#[derive(Debug, Clone, Copy)]
struct Character {
    slow: bool,
    /// Some calls last for minutes while there is trouble.
    stalls: bool,
    fails: bool,
    /// Its failures stop the informer.
    fatal: bool,
    /// A call may never return, of its own accord.
    blocks: bool,
    /// Whether it sees the objects with an even value alone.
    filtered: bool,
    coalesces: bool,
    /// It asked to be reminded.
    reminded: bool,
    recreated_as_update: bool,
}

/// What handlers share with the world.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) oracle: Arc<Mutex<Oracle>>,
    pub(crate) chaos: Chaos,
    pub(crate) trace: Trace,
    /// From then on nobody stalls.
    pub(crate) calm: Arc<AtomicBool>,
    pub(crate) recreated_as_update: bool,
    /// The handlers of the present informer that failed and were to stop it, the first first.
    pub(crate) fatal: Arc<Mutex<Vec<Arc<str>>>>,
    /// How many handlers of the present informer are there still, removed ones too.
    pub(crate) alive: Arc<AtomicUsize>,
}

impl Surroundings {
    /// What to judge events by where a queue keeps this order.
    pub(crate) fn in_order(&self, order: Order) -> Option<InOrder> {
        let oracle = Some(Arc::clone(&self.oracle));
        (order == Order::InOrder).then(|| InOrder::new(oracle, self.trace.clone()))
    }
}

/// A handler and its place in the informer.
pub(crate) struct Handler {
    place: Place,
    told: Arc<Mutex<Told>>,
    character: Character,
    trace: Trace,
    name: u32,
    /// How many events its queue holds, where that is said.
    limit: Option<usize>,
    /// Between which changes it started: it joined after the first of these, and had been taken in at the second.
    since: usize,
    until: Option<usize>,
    /// How many initial objects it had been told of when it was found to be synced.
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
    ) -> Result<Self, InformerStopped> {
        let kind = Kind::ALL[rng.usize(0..Kind::ALL.len())];
        let mut character = Character {
            slow: rng.bool(),
            stalls: rng.u8(0..6) == 0,
            fails: rng.u8(0..3) == 0,
            fatal: false,
            blocks: kind.takes_time() && rng.u8(0..8) == 0,
            filtered: rng.u8(0..4) == 0,
            coalesces: true,
            reminded: rng.u8(0..3) == 0,
            recreated_as_update: around.recreated_as_update,
        };
        let mut builder = informer.handler();
        if character.filtered {
            builder = builder.filter(is_shown);
        }
        if character.reminded {
            // One that needs longer than that for all objects would never come to rest.
            let least = if character.slow { 15 } else { 1 };
            let period = rng.u64(1..200).max(least);
            builder = builder.resync_period(Duration::from_secs(period));
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
        let told = Arc::default();
        let judge = Judge::new(
            Arc::clone(&told),
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
            told,
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

    /// Whether nothing waits for it and no call of it runs, or it has ended.
    pub(crate) fn is_at_rest(&self) -> bool {
        let status = self.status();
        status.ended.is_some() || (status.queue_depth == 0 && !self.told.lock().busy)
    }

    /// Whether a call of it never returns.
    pub(crate) fn is_stuck(&self) -> bool {
        self.told.lock().stuck
    }

    /// Whether it is at rest and has been told of all that it started from, or never will be.
    pub(crate) fn is_done(&self) -> bool {
        if self.is_stuck() {
            return true;
        }
        let status = self.status();
        self.is_at_rest() && (status.synced || status.ended.is_some())
    }

    /// What holds at every moment, after so many changes, where there are so many names.
    pub(crate) fn look(&mut self, snapshot: &Snapshot<Item>, changes: usize, names: usize) {
        self.until.get_or_insert(changes);
        let status = self.status();
        self.judge_backlog(&status, names);
        if status.synced {
            // INV-SHARED-5; protocol 3.3: 11: once it is synced it has handled all that it started from.
            let told = self.told.lock().initial;
            let at_sync = *self.initial_at_sync.get_or_insert(told);
            holds!(
                self.trace,
                told == at_sync,
                "h{}: synced, then {} more of what was there first were handled",
                self.name,
                told - at_sync
            );
            // Protocol 3.3: 7: whoever has nothing waiting knows just what is cached, wherever it started.
            if self.is_at_rest() && status.ended.is_none() {
                self.judge_knowledge(snapshot);
            }
        }
    }

    /// However slow it is, and also where it hangs (INV-SHARED-3, INV-SHARED-4).
    fn judge_backlog(&self, status: &HandlerStatus, names: usize) {
        let depth = status.queue_depth;
        // What it starts from and reminders come on top.
        let bound = match (self.limit, self.character.coalesces) {
            _ if status.ended.is_some() => 0,
            (Some(limit), _) => limit + 2 * names + 4,
            (None, true) => 2 * names + 4,
            (None, false) => usize::MAX,
        };
        holds!(
            self.trace,
            depth <= bound,
            "{depth} events wait for h{}, {bound} may",
            self.name
        );
    }

    /// Its history against all that there was to tell (protocol 3.3: 5, 6, 8; INV-SHARED-1, INV-SHARED-2,
    /// INV-SHARED-8). With `whole` nothing may be left that it has not been told of.
    pub(crate) fn judge_history(&self, reference: &Reference, whole: bool) {
        let told = self.told.lock();
        let terms = Terms {
            filtered: self.character.filtered,
            coalesces: self.character.coalesces,
            whole: whole && !self.is_cut_off() && !told.stuck,
            starts: self.since..=self.until.unwrap_or_else(|| reference.events().len()),
        };
        let verdict = history::judge(reference.events(), &told.log, &terms);
        holds!(
            self.trace,
            verdict.is_ok(),
            "h{}: {}",
            self.name,
            verdict.err().unwrap_or_default()
        );
    }

    /// It ended while the informer went on, for a reason of its own.
    fn is_cut_off(&self) -> bool {
        let end = self.status().ended;
        end.is_some_and(|end| !matches!(end, HandlerEnd::InformerStopped))
    }

    /// At rest it must know just what is cached, unless it was cut off (protocol 3.3: 7, 9).
    pub(crate) fn judge_end(&self, snapshot: &Snapshot<Item>, synced: bool) {
        let status = self.status();
        if self.is_cut_off() {
            let known = matches!(
                status.ended,
                Some(HandlerEnd::QueueFull { .. } | HandlerEnd::Failure(_))
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

    /// After the end of the informer each has heard why there is nothing more.
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
        let told = self.told.lock();
        let shown = |item: &&Arc<Item>| !self.character.filtered || is_shown(item);
        let cached = snapshot.objects().filter(shown);
        if let Err(why) = told.equals(cached) {
            holds!(self.trace, false, "h{} {why}", self.name);
        }
    }

    /// Leaves the informer at once, or when its last call has ended. It must hear of nothing more.
    pub(crate) async fn leave(self, reference: &Reference, wait: bool) {
        self.judge_history(reference, false);
        // What runs is running; nothing is told from here on (INV-SHARED-11).
        self.told.lock().gone = true;
        if !(wait && self.is_stuck() && self.place.is_awaited()) {
            return self.place.leave(wait).await;
        }
        // Its call never returns, so there is no end to wait for. Whoever stops waiting has removed it all the same.
        let removed = timeout(Duration::from_secs(5), self.place.leave(true)).await;
        holds!(
            self.trace,
            removed.is_err(),
            "h{}: removed, though a call runs",
            self.name
        );
    }

    /// Waits until all that is left of it after a stop has been taken. Only a stream is taken later.
    pub(crate) async fn taken(&mut self) {
        let stuck = self.is_stuck();
        self.place.taken(stuck).await;
    }
}
