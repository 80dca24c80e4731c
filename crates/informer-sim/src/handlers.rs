//! Handlers that judge what they are told; some are slow, some fail.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use informer_shared::{
    BoxError, Event, EventHandler, FailurePolicy, HandlerEnd, InformerStopped, QueuePolicy,
    Registration, SharedInformer,
};
use informer_store::{ObjectKey, Snapshot, Store};
use parking_lot::Mutex;

use crate::chaos::Chaos;
use crate::object::{Item, short, value_of, version_of};
use crate::oracle::Oracle;
use crate::run::ON_PURPOSE;
use crate::trace::{Trace, holds, note};

/// What a handler knows from what it was told.
type Told = Arc<Mutex<BTreeMap<ObjectKey, Arc<Item>>>>;

/// A handler and its registration.
pub(crate) struct Handler {
    pub(crate) registration: Registration,
    told: Told,
    /// Whether it sees the objects with an even value alone.
    filtered: bool,
    pub(crate) coalesces: bool,
    busy: Arc<AtomicBool>,
    name: u32,
}

struct Judge {
    told: Told,
    store: Store<Item>,
    oracle: Arc<Mutex<Oracle>>,
    trace: Trace,
    chaos: Chaos,
    rng: Rng,
    slow: bool,
    fails: bool,
    filtered: bool,
    recreated_as_update: bool,
    busy: Arc<AtomicBool>,
    name: u32,
}

fn is_even(item: &Item) -> bool {
    value_of(item).ends_with(['0', '2', '4', '6', '8'])
}

impl Handler {
    /// Adds a handler of a random kind.
    pub(crate) fn join(
        informer: &SharedInformer<Item>,
        (oracle, chaos, trace): (&Arc<Mutex<Oracle>>, &Chaos, &Trace),
        recreated_as_update: bool,
        name: u32,
        rng: &mut Rng,
    ) -> Result<Self, InformerStopped> {
        let told = Told::default();
        let busy = Arc::new(AtomicBool::new(false));
        let filtered = rng.u8(0..4) == 0;
        let slow = rng.bool();
        let judge = Judge {
            told: Arc::clone(&told),
            store: informer.store().clone(),
            oracle: Arc::clone(oracle),
            trace: trace.clone(),
            chaos: chaos.clone(),
            rng: rng.fork(),
            slow,
            fails: rng.u8(0..3) == 0,
            filtered,
            recreated_as_update,
            busy: Arc::clone(&busy),
            name,
        };
        let mut builder = informer.handler();
        if filtered {
            builder = builder.filter(is_even);
        }
        if rng.u8(0..3) == 0 {
            // One that needs longer than that for all objects would never come to rest.
            let least = if slow { 15 } else { 1 };
            builder = builder.resync_period(Duration::from_secs(rng.u64(1..200).max(least)));
        }
        let queue = rng.u8(0..4);
        builder = match queue {
            0 => builder.queue(QueuePolicy::Unbounded),
            1 => builder.queue(QueuePolicy::Bounded(rng.usize(1..40))),
            _ => builder,
        };
        let policy = match rng.bool() {
            true => FailurePolicy::Skip,
            false => FailurePolicy::StopHandler,
        };
        let registration = builder.on_error(policy).on_panic(policy).register(judge)?;
        chaos.tally(|tally| tally.event("handler joined"));
        Ok(Self {
            registration,
            told,
            filtered,
            coalesces: queue > 1,
            busy,
            name,
        })
    }

    /// Whether no call of it runs.
    pub(crate) fn is_idle(&self) -> bool {
        !self.busy.load(Ordering::Relaxed)
    }

    /// At rest it must know just what is cached, unless it was cut off (protocol 3.3: 7, 9).
    pub(crate) fn judge_end(&self, snapshot: &Snapshot<Item>, trace: &Trace) {
        let status = self.registration.status();
        if let Some(end) = &status.ended {
            let known = matches!(end, HandlerEnd::QueueFull { .. } | HandlerEnd::Failure(_));
            holds!(trace, known, "handler {} ended: {end}", self.name);
            return;
        }
        holds!(
            trace,
            status.queue_depth == 0,
            "handler {} has {} events",
            self.name,
            status.queue_depth
        );
        holds!(trace, status.synced, "handler {} is not synced", self.name);
        let told = self.told.lock();
        let shown = |item: &&Arc<Item>| !self.filtered || is_even(item);
        let cached: Vec<_> = snapshot.objects().filter(shown).collect();
        holds!(
            trace,
            told.len() == cached.len(),
            "handler {} knows {}, not {}",
            self.name,
            told.len(),
            cached.len()
        );
        for item in cached {
            let same = told
                .get(&ObjectKey::of(&**item))
                .is_some_and(|known| Arc::ptr_eq(known, item));
            holds!(
                trace,
                same,
                "handler {} does not know {}",
                self.name,
                short(item)
            );
        }
    }
}

impl Judge {
    /// Protocol 3.3: 2, 5, 6, 14.
    fn judge(&self, event: &Event<Item>) {
        let key = event.key();
        let mut told = self.told.lock();
        let (name, trace) = (self.name, &self.trace);
        match event {
            Event::Added { object, initial } => {
                note!(
                    trace,
                    "h{name} + {}{}",
                    short(object),
                    if *initial { " initial" } else { "" }
                );
                self.count(if *initial { "initial" } else { "added" });
                let before = told.insert(key, Arc::clone(object));
                holds!(
                    trace,
                    before.is_none(),
                    "h{name}: {} added twice",
                    short(object)
                );
            }
            Event::Updated { old, new, cause } => {
                note!(trace, "h{name} ~ {} to {} {cause}", short(old), short(new));
                self.count(match cause.as_str() {
                    "resync" => "resync",
                    _ => "updated",
                });
                let before = told.insert(key, Arc::clone(new));
                let fits = before.is_some_and(|before| Arc::ptr_eq(&before, old));
                holds!(
                    trace,
                    fits,
                    "h{name}: {} updated from what it was not told",
                    short(new)
                );
                self.judge_order(old, new);
            }
            Event::Deleted {
                object,
                final_state_unknown,
            } => {
                let mark = if *final_state_unknown { " unknown" } else { "" };
                note!(trace, "h{name} - {}{mark}", short(object));
                self.count(if *final_state_unknown {
                    "final state unknown"
                } else {
                    "deleted"
                });
                let before = told.remove(&key);
                holds!(
                    trace,
                    before.is_some(),
                    "h{name}: {} deleted, which it was not told",
                    short(object)
                );
            }
            _ => {}
        }
        if !self.filtered {
            self.judge_known(event);
        }
    }

    fn count(&self, what: &'static str) {
        self.chaos.tally(|tally| tally.event(what));
    }

    fn judge_order(&self, old: &Item, new: &Item) {
        let same_life = old.metadata.uid() == new.metadata.uid();
        holds!(
            self.trace,
            same_life || self.recreated_as_update,
            "h{}: another life is an update",
            self.name
        );
        let forward = version_of(new) >= version_of(old);
        let back = forward || self.oracle.lock().may_go_back(version_of(old));
        holds!(
            self.trace,
            back,
            "h{}: back from {} to {}",
            self.name,
            short(old),
            short(new)
        );
    }

    /// The cache had it no later than the handler.
    fn judge_known(&self, event: &Event<Item>) {
        let at = version_of(event.object());
        let cached = self
            .store
            .get(&event.key())
            .map_or(u64::MAX, |item| version_of(&item));
        let fits = cached >= at || self.oracle.lock().may_go_back(at);
        let deleted = matches!(event, Event::Deleted { .. });
        holds!(
            self.trace,
            fits || deleted,
            "h{}: {} before it is cached",
            self.name,
            short(event.object())
        );
    }
}

impl EventHandler<Item> for Judge {
    async fn handle(&mut self, event: Event<Item>) -> Result<(), BoxError> {
        // What it is told counts as told, also where it fails afterwards.
        self.judge(&event);
        drop(event);
        self.busy.store(true, Ordering::Relaxed);
        if self.slow {
            tokio::time::sleep(Duration::from_millis(self.rng.u64(0..900))).await;
        }
        self.busy.store(false, Ordering::Relaxed);
        match self.rng.u8(0..40) {
            0 if self.fails => {
                self.count("handler failed");
                Err("a bad day".into())
            }
            1 if self.fails => {
                self.count("handler panicked");
                panic!("{ON_PURPOSE}")
            }
            _ => Ok(()),
        }
    }
}
