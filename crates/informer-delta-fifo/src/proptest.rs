//! Property tests for whoever feeds from this queue, or takes its place: a server with a history, the steps of a
//! reflector that follows it, and what must hold of whoever listens. Needs the feature `proptest`.
//!
//! [`steps`] generates what happens, [`World`] does it to any [`DeltaSink`] and knows what may be held at each moment,
//! [`BatchChecker`] watches the batches of a [`DeltaFifo`](crate::DeltaFifo).
//!
//! ```
//! use informer_delta_fifo::proptest::{BatchChecker, Sample, Step, World, steps};
//! use informer_delta_fifo::{Delta, DeltaFifo};
//! use informer_store::Store;
//! use proptest::prelude::*;
//!
//! /// The consumer under test: yours, instead of this one.
//! fn consume(fifo: &DeltaFifo<Sample>, store: &Store<Sample>, keys: usize, checker: &mut BatchChecker) {
//!     let Some(batch) = fifo.try_pop_batch(keys) else { return };
//!     checker.check(&batch).unwrap();
//!     let mut write = store.begin_batch();
//!     for deltas in batch.iter() {
//!         for delta in deltas.deltas() {
//!             match delta {
//!                 Delta::Added(object) | Delta::Updated(object) | Delta::Replaced(object) => {
//!                     write.upsert(deltas.key().clone(), object);
//!                 }
//!                 Delta::Deleted(_) => drop(write.remove(deltas.key())),
//!                 Delta::Sync(_) | Delta::SetAside(_) => {}
//!             }
//!         }
//!     }
//!     if let Some(version) = batch.applied_up_to() {
//!         write.set_resource_version(version.clone());
//!     }
//!     write.commit();
//!     batch.ack();
//! }
//!
//! proptest!(ProptestConfig::with_cases(32), |(steps in steps(1..40))| {
//!     let store = Store::new();
//!     let fifo = DeltaFifo::new(store.clone());
//!     let (mut world, mut checker) = (World::new(), BatchChecker::new());
//!     for step in &steps {
//!         match step {
//!             Step::Consume(keys) => consume(&fifo, &store, *keys, &mut checker),
//!             // A batch that is dropped comes back.
//!             Step::GiveBack(keys) => drop(fifo.try_pop_batch(*keys)),
//!             _ => world.perform(step, &fifo),
//!         }
//!         world.check(store.list(), store.resource_version().as_ref()).unwrap();
//!     }
//!     world.settle(&fifo);
//!     while fifo.depth() > 0 {
//!         consume(&fifo, &store, 10, &mut checker);
//!     }
//!     world.check_settled(store.list()).unwrap();
//! });
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use informer_store::{
    Deletion, DeltaSink, Object, ObjectKey, ObjectMetadata, OwnerReference, Replace, ReplaceEnd,
    ResourceVersion, Uid,
};
use proptest::collection::SizeRange;
use proptest::prelude::*;

use crate::batch::Batch;
use crate::delta::Delta;

/// How many names there are. Few, so that much happens to each.
const NAMES: u8 = 5;

/// An object with as much identity as the rules of a queue look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    name: String,
    uid: Uid,
    version: u64,
}

impl Sample {
    fn new(name: u8, life: u32, version: u64) -> Arc<Self> {
        Arc::new(Self {
            name: format!("sample-{name}"),
            uid: Uid::new(&format!("00000000-0000-4000-8000-{life:012}")),
            version,
        })
    }
}

impl ObjectMetadata for Sample {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
    fn namespace(&self) -> Option<&str> {
        Some("samples")
    }
    fn uid(&self) -> Option<Uid> {
        Some(self.uid.clone())
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        Some(self.version.into())
    }
    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }
}

impl Object for Sample {
    type Metadata = Self;
    fn metadata(&self) -> &Self {
        self
    }
}

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// On the server an object is made, changed or deleted. Nobody hears of it yet.
    Change {
        /// Which one.
        name: u8,
        /// Whether it is deleted, if it is there.
        delete: bool,
    },
    /// The watch delivers the next changes, up to this many.
    Watch(usize),
    /// The watch delivers the last changes once more, as after a reconnect from too early a version.
    Again(u64),
    /// The watch delivers a bookmark.
    Bookmark,
    /// The watch was lost: a whole list at a version that lags behind the server's by up to this, but not behind what
    /// was delivered; the watch goes on from there.
    Relist(u64),
    /// A list that breaks off and must leave nothing.
    BrokenList,
    /// A resync.
    Resync,
    /// Up to this many keys are taken out and applied. The test's own; [`World::perform`] ignores it.
    Consume(usize),
    /// Up to this many keys are taken out and given back. The test's own; [`World::perform`] ignores it.
    GiveBack(usize),
}

/// Sequences of steps. They shrink well: every part of one is one.
pub fn steps(length: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), length)
}

/// One step.
pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..NAMES, prop::bool::weighted(0.4))
            .prop_map(|(name, delete)| Step::Change { name, delete }),
        6 => (1..6usize).prop_map(Step::Watch),
        1 => (1..6u64).prop_map(Step::Again),
        1 => Just(Step::Bookmark),
        2 => (0..6u64).prop_map(Step::Relist),
        1 => Just(Step::BrokenList),
        1 => Just(Step::Resync),
        6 => (1..4usize).prop_map(Step::Consume),
        1 => (1..4usize).prop_map(Step::GiveBack),
    ]
}

/// What must hold and does not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(String);

/// One change on the server.
#[derive(Debug)]
struct Change {
    version: u64,
    name: u8,
    before: Option<Arc<Sample>>,
    after: Option<Arc<Sample>>,
}

/// A server with its history, and how far its watch has come.
#[derive(Debug)]
pub struct World {
    log: Vec<Change>,
    objects: BTreeMap<u8, Arc<Sample>>,
    head: u64,
    lives: u32,
    seen: u64,
    listed: bool,
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// An empty server, of which nothing has been heard.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            log: Vec::new(),
            objects: BTreeMap::new(),
            // Version 0 is none.
            head: 1,
            lives: 0,
            seen: 1,
            listed: false,
        }
    }

    /// Does what the step says, to the server or to this sink. The first thing that a sink hears is a list.
    pub fn perform<S: DeltaSink<Sample>>(&mut self, step: &Step, sink: &S) {
        match *step {
            Step::Change { name, delete } => self.change(name, delete),
            Step::Relist(lag) => self.relist(lag, sink),
            Step::BrokenList => {
                let mut list = sink.begin_replace();
                let stray = Sample::new(0, 999_999, 999_999);
                list.insert(ObjectKey::of(&*stray), stray);
            }
            _ if !self.listed => {}
            Step::Watch(count) => {
                let from = self.seen;
                self.seen = self.head.min(from.saturating_add(count as u64));
                (from + 1..=self.seen).for_each(|version| self.deliver(version, sink));
            }
            Step::Again(count) => {
                let from = self.seen.saturating_sub(count);
                (from + 1..=self.seen).for_each(|version| self.deliver(version, sink));
            }
            Step::Bookmark => sink.bookmark(self.seen.into()),
            Step::Resync => sink.resync(),
            Step::Consume(_) | Step::GiveBack(_) => {}
        }
    }

    /// A last list of all that is there now.
    pub fn settle<S: DeltaSink<Sample>>(&mut self, sink: &S) {
        self.relist(0, sink);
    }

    /// Whether this can be held by one who says to have everything up to a version: each object in a state that it had
    /// at that version or later, and none that never was.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(
        &self,
        held: impl IntoIterator<Item = Arc<Sample>>,
        up_to: Option<&ResourceVersion>,
    ) -> Result<(), Violation> {
        let held = by_name(held)?;
        let claimed = up_to.and_then(ResourceVersion::as_u64).unwrap_or(0);
        if claimed > self.head {
            let text = format!(
                "everything up to {claimed} is claimed; the server is at {}",
                self.head
            );
            return Err(Violation(text));
        }
        for name in 0..NAMES {
            let state = held.get(&format!("sample-{name}"));
            if !self.had(name, state, claimed) {
                let text =
                    format!("sample-{name} is {state:?}, and was not so at {claimed} or later");
                return Err(Violation(text));
            }
        }
        Ok(())
    }

    /// Whether this is what the server has: for after [`settle`](Self::settle), once all is consumed.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_settled(
        &self,
        held: impl IntoIterator<Item = Arc<Sample>>,
    ) -> Result<(), Violation> {
        let held = by_name(held)?;
        let objects = self
            .objects
            .values()
            .map(|object| (object.name.clone(), Arc::clone(object)));
        let objects: BTreeMap<_, _> = objects.collect();
        if held == objects {
            return Ok(());
        }
        Err(Violation(format!(
            "in the end there is {held:?}, but on the server {objects:?}"
        )))
    }

    fn change(&mut self, name: u8, delete: bool) {
        self.head += 1;
        let before = self.objects.get(&name).cloned();
        let life = before.as_ref().map(|old| old.uid.clone());
        let after = match life {
            Some(_) if delete => None,
            Some(uid) => Some(Arc::new(Sample {
                name: format!("sample-{name}"),
                uid,
                version: self.head,
            })),
            None => {
                self.lives += 1;
                Some(Sample::new(name, self.lives, self.head))
            }
        };
        match &after {
            Some(object) => self.objects.insert(name, Arc::clone(object)),
            None => self.objects.remove(&name),
        };
        let version = self.head;
        self.log.push(Change {
            version,
            name,
            before,
            after,
        });
    }

    fn deliver<S: DeltaSink<Sample>>(&self, version: u64, sink: &S) {
        let Some(change) = self.log.iter().find(|change| change.version == version) else {
            return;
        };
        match (&change.before, &change.after) {
            (None, Some(object)) => sink.add(ObjectKey::of(&**object), Arc::clone(object)),
            (Some(_), Some(object)) => sink.update(ObjectKey::of(&**object), Arc::clone(object)),
            (Some(old), None) => {
                let last = Arc::new(Sample {
                    version,
                    ..(**old).clone()
                });
                sink.delete(ObjectKey::of(&*last), Deletion::of(last));
            }
            (None, None) => {}
        }
    }

    fn relist<S: DeltaSink<Sample>>(&mut self, lag: u64, sink: &S) {
        self.seen = self.seen.max(self.head.saturating_sub(lag));
        self.listed = true;
        let mut list = sink.begin_replace();
        for name in 0..NAMES {
            if let Some(object) = self.state_at(name, self.seen) {
                list.insert(ObjectKey::of(&**object), Arc::clone(object));
            }
        }
        list.finish(ReplaceEnd::new(self.seen.into()));
    }

    fn state_at(&self, name: u8, version: u64) -> Option<&Arc<Sample>> {
        let changes = self.log.iter().filter(|change| change.name == name);
        let last = changes
            .take_while(|change| change.version <= version)
            .last();
        last?.after.as_ref()
    }

    /// Whether the object was in this state at some time from this version on.
    fn had(&self, name: u8, state: Option<&Arc<Sample>>, version: u64) -> bool {
        let mut later = self
            .log
            .iter()
            .filter(|c| c.name == name && c.version > version);
        self.state_at(name, version) == state || later.any(|c| c.after.as_ref() == state)
    }
}

fn by_name(
    held: impl IntoIterator<Item = Arc<Sample>>,
) -> Result<BTreeMap<String, Arc<Sample>>, Violation> {
    let mut all = BTreeMap::new();
    for object in held {
        if let Some(twice) = all.insert(object.name.clone(), object) {
            return Err(Violation(format!("{} is held twice", twice.name)));
        }
    }
    Ok(all)
}

/// Watches the batches of one queue, as they are applied: no key twice in a batch, none without a delta; within one
/// life of an object no step back; a new life only after the end of the old one; no version taken back.
#[derive(Debug, Default)]
pub struct BatchChecker {
    held: BTreeMap<ObjectKey, Arc<Sample>>,
    up_to: Option<ResourceVersion>,
}

impl BatchChecker {
    /// Of a queue from which nothing was applied yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at a batch that is applied and acknowledged next.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&mut self, batch: &Batch<Sample>) -> Result<(), Violation> {
        let mut keys = BTreeSet::new();
        for deltas in batch.iter() {
            let key = deltas.key();
            if !keys.insert(key.clone()) {
                return Err(Violation(format!("{key} is in one batch twice")));
            }
            if deltas.deltas().len() == 0 {
                return Err(Violation(format!("{key} has no delta")));
            }
            for delta in deltas.deltas() {
                self.check_delta(key, &delta)?;
            }
        }
        let up_to = batch.applied_up_to().cloned();
        if let (Some(new), Some(old)) = (&up_to, &self.up_to)
            && new.is_older_than(old)
        {
            return Err(Violation(format!(
                "everything up to {new} is told after {old}"
            )));
        }
        self.up_to = up_to.or_else(|| self.up_to.take());
        Ok(())
    }

    fn check_delta(&mut self, key: &ObjectKey, delta: &Delta<Sample>) -> Result<(), Violation> {
        let held = self.held.get(key);
        let object = match delta {
            Delta::SetAside(_) => return Ok(()),
            Delta::Deleted(_) => {
                self.held.remove(key);
                return Ok(());
            }
            // It brings nothing back.
            Delta::Sync(_) if held.is_none() => return Ok(()),
            Delta::Added(object)
            | Delta::Updated(object)
            | Delta::Replaced(object)
            | Delta::Sync(object) => object,
        };
        if let Some(held) = held {
            if held.uid != object.uid {
                let text = format!("{key} is in a new life before the end of its old one is told");
                return Err(Violation(text));
            }
            if held.version > object.version {
                let text = format!(
                    "{key} goes from {} back to {}",
                    held.version, object.version
                );
                return Err(Violation(text));
            }
        }
        self.held.insert(key.clone(), Arc::clone(object));
        Ok(())
    }
}
