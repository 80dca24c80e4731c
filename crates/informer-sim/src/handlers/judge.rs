//! The events that a handler received, and the judgement of each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use fastrand::Rng;
use informer_shared::{Cause, Event};
use informer_store::{ObjectKey, StoreReader};
use parking_lot::Mutex;

use super::{Character, Surroundings};
use crate::chaos::Chaos;
use crate::object::{Item, revision_of, short, value_of};
use crate::oracle::Oracle;
use crate::trace::{Trace, holds, note};

/// What a handler received.
#[derive(Default)]
pub(super) struct Received {
    known: BTreeMap<ObjectKey, Arc<Item>>,
    pub(super) log: Vec<Event<Item>>,
    /// How many initial objects are handled.
    pub(super) initial: usize,
    /// The running call is about one of those.
    first: bool,
    /// A call runs.
    pub(super) busy: bool,
    /// It was removed.
    pub(super) removed: bool,
    /// The call that runs never returns.
    pub(super) stuck: bool,
}

impl Received {
    /// Compares what it knows with the cache.
    pub(super) fn equals<'a>(
        &self,
        cached: impl Iterator<Item = &'a Arc<Item>>,
    ) -> Result<(), String> {
        let mut count = 0;
        for item in cached {
            count += 1;
            let known = self.known.get(&ObjectKey::of(&**item));
            if !known.is_some_and(|known| Arc::ptr_eq(known, item)) {
                let known = known.map(|known| short(known));
                return Err(format!("knows {known:?}, cached is {}", short(item)));
            }
        }
        match self.known.len() == count {
            true => Ok(()),
            false => Err(format!("knows {} objects, not {count}", self.known.len())),
        }
    }
}

/// How a call ends.
pub(super) enum Mood {
    Good,
    Fails,
    Panics,
}

/// Judges each event when it is received.
pub(super) struct Judge {
    received: Arc<Mutex<Received>>,
    /// If set, the cache must have everything first.
    store: Option<StoreReader<Item>>,
    oracle: Arc<Mutex<Oracle>>,
    trace: Trace,
    chaos: Chaos,
    calm: Arc<AtomicBool>,
    fatal: Arc<Mutex<Vec<Arc<str>>>>,
    alive: Arc<AtomicUsize>,
    character: Character,
    name: u32,
    rng: Rng,
}

impl Judge {
    pub(super) fn new(
        received: Arc<Mutex<Received>>,
        store: Option<StoreReader<Item>>,
        around: &Surroundings,
        character: Character,
        name: u32,
        rng: Rng,
    ) -> Self {
        around.alive.fetch_add(1, Ordering::Relaxed);
        Self {
            received,
            store,
            oracle: Arc::clone(&around.oracle),
            trace: around.trace.clone(),
            chaos: around.chaos.clone(),
            calm: Arc::clone(&around.calm),
            fatal: Arc::clone(&around.fatal),
            alive: Arc::clone(&around.alive),
            character,
            name,
            rng,
        }
    }

    /// Starts a call.
    pub(super) fn begin(&self, event: Event<Item>) {
        self.judge(&event);
        let mut received = self.received.lock();
        holds!(
            self.trace,
            !received.busy,
            "h{}: two calls at once (INV-SHARED-1)",
            self.name
        );
        received.first = event.is_initial();
        received.busy = true;
        received.log.push(event);
    }

    /// Returns how long the call lasts.
    pub(super) fn pause(&mut self) -> Duration {
        let calm = self.calm.load(Ordering::Relaxed);
        if self.character.blocks && !calm && self.rng.u8(0..20) == 0 {
            self.count("handler hangs");
            note!(self.trace, "h{} hangs", self.name);
            self.received.lock().stuck = true;
            return Duration::MAX;
        }
        if self.character.stalls && !calm && self.rng.u8(0..30) == 0 {
            self.count("handler stalled");
            return Duration::from_secs(self.rng.u64(10..400));
        }
        match self.character.slow {
            true => Duration::from_millis(self.rng.u64(0..900)),
            false => Duration::ZERO,
        }
    }

    /// Ends the call, and returns how. Its event counts as received, also if it fails.
    pub(super) fn end(&mut self) -> Mood {
        {
            let mut received = self.received.lock();
            received.initial += usize::from(received.first);
            received.busy = false;
        }
        // At rest the informer must last.
        let spares = self.character.fatal && self.calm.load(Ordering::Relaxed);
        let mood = match self.rng.u8(0..40) {
            0 => Mood::Fails,
            1 => Mood::Panics,
            _ => return Mood::Good,
        };
        if !self.character.fails || spares {
            return Mood::Good;
        }
        self.count(match mood {
            Mood::Panics => "handler panicked",
            _ => "handler failed",
        });
        if self.character.fatal {
            note!(self.trace, "h{} stops the informer", self.name);
            self.fatal.lock().push(full_name(self.name).into());
        }
        mood
    }

    fn count(&self, what: &'static str) {
        self.chaos.tally(|tally| tally.event(what));
    }

    /// Protocol 3.3: 2, 5, 6, 9, 10, 14; INV-SHARED-1, INV-SHARED-6, INV-SHARED-7, INV-SHARED-9, INV-SHARED-11.
    fn judge(&self, event: &Event<Item>) {
        let key = event.key();
        let mut received = self.received.lock();
        let (name, trace) = (self.name, &self.trace);
        holds!(
            trace,
            !received.removed,
            "h{name}: received {key} after its removal"
        );
        match event {
            Event::Added { object, initial } => {
                let suffix = if *initial { " initial" } else { "" };
                note!(trace, "h{name} + {}{suffix}", short(object));
                self.count(if *initial { "initial" } else { "added" });
                let before = received.known.insert(key, Arc::clone(object));
                holds!(
                    trace,
                    before.is_none(),
                    "h{name}: {} added twice",
                    short(object)
                );
            }
            Event::Updated { old, new, cause } => {
                note!(trace, "h{name} ~ {} to {} {cause}", short(old), short(new));
                let before = received.known.insert(key, Arc::clone(new));
                let fits = before.is_some_and(|before| Arc::ptr_eq(&before, old));
                holds!(
                    trace,
                    fits,
                    "h{name}: {} updated from what it had not received",
                    short(new)
                );
                self.judge_update(old, new, *cause);
            }
            Event::Deleted {
                object,
                final_state_unknown,
            } => {
                let suffix = if *final_state_unknown { " unknown" } else { "" };
                note!(trace, "h{name} - {}{suffix}", short(object));
                self.count(if *final_state_unknown {
                    "final state unknown"
                } else {
                    "deleted"
                });
                match received.known.remove(&key) {
                    Some(before) => self.judge_deletion(&key, &before),
                    None => holds!(
                        trace,
                        false,
                        "h{name}: {} deleted, which it had not received",
                        short(object)
                    ),
                }
            }
        }
        drop(received);
        if !self.character.filtered {
            self.judge_known(event);
        }
    }

    fn judge_update(&self, old: &Arc<Item>, new: &Arc<Item>, cause: Cause) {
        let name = self.name;
        if Arc::ptr_eq(old, new) {
            self.count("resync");
            holds!(
                self.trace,
                self.character.resyncs && cause != Cause::Watch,
                "h{name}: resync of {} without a period",
                short(new)
            );
            return;
        }
        self.count("updated");
        holds!(
            self.trace,
            cause != Cause::Resync,
            "h{name}: a change is called a resync"
        );
        let same_uid = old.metadata.uid() == new.metadata.uid();
        holds!(
            self.trace,
            same_uid || self.character.recreated_as_update,
            "h{name}: a recreation is an update"
        );
        let forward = revision_of(new) >= revision_of(old);
        let back = forward || self.oracle.lock().may_go_back(revision_of(old));
        holds!(
            self.trace,
            back,
            "h{name}: back from {} to {}",
            short(old),
            short(new)
        );
    }

    /// Nothing is deleted that exists, least of all what a list holds.
    fn judge_deletion(&self, key: &ObjectKey, before: &Item) {
        let unshown = self.character.filtered;
        let uid = before.metadata.uid().map(ToString::to_string);
        let ended = self.oracle.lock().has_ended(
            key.as_str(),
            uid.as_deref().unwrap_or_default(),
            revision_of(before),
        );
        holds!(
            self.trace,
            ended || unshown,
            "h{}: {} deleted, which exists",
            self.name,
            short(before)
        );
    }

    /// The cache has it no later than the handler.
    fn judge_known(&self, event: &Event<Item>) {
        let at = revision_of(event.object());
        let Some(store) = &self.store else { return };
        let cached = store
            .get(&event.key())
            .map_or(u64::MAX, |item| revision_of(&item));
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

impl Drop for Judge {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the name of a handler.
pub(super) fn full_name(name: u32) -> String {
    format!("h{name}")
}

/// Whether a handler with a filter receives it.
pub(super) fn is_shown(item: &Item) -> bool {
    value_of(item).ends_with(['0', '2', '4', '6', '8'])
}
