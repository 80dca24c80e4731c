//! A server with a history, a watch that breaks and lists again, a consumer that fails: the store ends as the server.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use common::{NaiveStore, Thing, key, thing};
use informer_delta_fifo::{Batch, Config, Delta, DeltaFifo, Order};
use informer_store::{
    Deletion, DeltaSink, Object, ObjectKey, Replace, ReplaceEnd, ResourceVersion,
};
use proptest::prelude::*;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// One change on the server.
struct Change {
    version: u64,
    name: &'static str,
    before: Option<Arc<Thing>>,
    after: Option<Arc<Thing>>,
}

#[derive(Default)]
struct Server {
    log: Vec<Change>,
    objects: BTreeMap<&'static str, Arc<Thing>>,
    head: u64,
    lives: u32,
}

impl Server {
    fn change(&mut self, name: &'static str, delete: bool) {
        self.head += 1;
        let version = self.head;
        let before = self.objects.get(name).cloned();
        let after = match &before {
            Some(_) if delete => None,
            Some(old) => Some(thing(name, old.uid.unwrap_or_default(), version)),
            None => {
                self.lives += 1;
                Some(thing(name, self.lives, version))
            }
        };
        match &after {
            Some(object) => self.objects.insert(name, Arc::clone(object)),
            None => self.objects.remove(name),
        };
        self.log.push(Change {
            version,
            name,
            before,
            after,
        });
    }

    fn state_at(&self, version: u64) -> BTreeMap<&'static str, Arc<Thing>> {
        let mut objects = BTreeMap::new();
        for change in self.log.iter().filter(|change| change.version <= version) {
            match &change.after {
                Some(object) => objects.insert(change.name, Arc::clone(object)),
                None => objects.remove(change.name),
            };
        }
        objects
    }

    /// Whether the key was in this state at some time from `version` on.
    fn had(&self, name: &str, state: Option<&Arc<Thing>>, version: u64) -> bool {
        let mark = |object: Option<&Arc<Thing>>| object.map(|object| (object.uid, object.version));
        let changes = self.log.iter().filter(|change| change.name == name);
        let (before, after): (Vec<_>, Vec<_>) = changes.partition(|c| c.version <= version);
        let at = before.last().and_then(|change| change.after.as_ref());
        mark(at) == mark(state)
            || after
                .iter()
                .any(|change| mark(change.after.as_ref()) == mark(state))
    }
}

#[derive(Debug, Clone)]
enum Step {
    Change {
        name: usize,
        delete: bool,
    },
    /// The watch delivers what comes next.
    Watch(usize),
    /// It delivers the next change without a readable body.
    WatchUnreadable,
    /// It delivers some of the last changes again.
    Again(u64),
    Bookmark,
    /// The watch broke: a list from a replica that lags behind, then a watch from there.
    Relist {
        lag: u64,
        keep: bool,
    },
    /// A list that breaks off.
    BrokenList,
    Resync,
    Pop(usize),
    Ack,
    Drop {
        applied: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..NAMES.len(), prop::bool::weighted(0.4))
            .prop_map(|(name, delete)| Step::Change { name, delete }),
        6 => (1..6usize).prop_map(Step::Watch),
        1 => Just(Step::WatchUnreadable),
        1 => (1..5u64).prop_map(Step::Again),
        1 => Just(Step::Bookmark),
        2 => (0..6u64, any::<bool>()).prop_map(|(lag, keep)| Step::Relist { lag, keep }),
        1 => Just(Step::BrokenList),
        1 => Just(Step::Resync),
        4 => (0..4usize).prop_map(Step::Pop),
        4 => Just(Step::Ack),
        1 => any::<bool>().prop_map(|applied| Step::Drop { applied }),
    ]
}

struct World {
    server: Server,
    /// Up to where the watch has delivered.
    seen: u64,
    /// The last list.
    listed: u64,
    fifo: DeltaFifo<Thing>,
    store: Arc<NaiveStore>,
    batch: Option<Batch<Thing>>,
    /// The newest version of anything that the consumer was given and has acknowledged.
    acknowledged: u64,
    /// Of these keys the store may be ahead, having applied a batch that was not acknowledged.
    ahead: BTreeSet<ObjectKey>,
    max_deltas: Option<usize>,
    /// Something could not be read: until the last list the store may lack it.
    has_gaps: bool,
}

impl World {
    fn new(max_deltas: Option<usize>, order: Order) -> Self {
        let store = NaiveStore::holding(&[]);
        let config = Config::new()
            .known_objects(Arc::clone(&store))
            .max_deltas(max_deltas)
            .order(order);
        Self {
            // Version 0 is none.
            server: Server {
                head: 1,
                ..Server::default()
            },
            seen: 1,
            listed: 1,
            fifo: DeltaFifo::with_config(&config),
            store,
            batch: None,
            acknowledged: 0,
            ahead: BTreeSet::new(),
            max_deltas,
            has_gaps: false,
        }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Change { name, delete } => self.server.change(NAMES[name], delete),
            Step::Watch(count) => (0..count).for_each(|_| self.watch(false)),
            Step::WatchUnreadable => self.watch(true),
            Step::Again(back) => {
                let from = self.seen.saturating_sub(back);
                (from + 1..=self.seen).for_each(|version| self.deliver(version, false));
            }
            Step::Bookmark => self.fifo.bookmark(self.seen.into()),
            Step::Relist { lag, keep } => self.relist(lag, keep),
            Step::BrokenList => {
                let mut replace = self.fifo.begin_replace();
                replace.insert(key("a"), thing("a", 99, 99));
            }
            Step::Resync => self.fifo.resync(),
            Step::Pop(max) if self.batch.is_none() => self.batch = self.fifo.try_pop_batch(max),
            Step::Pop(max) => assert!(self.fifo.try_pop_batch(max).is_none()),
            Step::Ack => self.ack(),
            Step::Drop { applied } => self.drop_batch(applied),
        }
        let stats = self.fifo.stats();
        let bound = self.max_deltas.unwrap_or(usize::MAX);
        assert!(
            stats.queued_deltas <= stats.queued_keys.saturating_mul(bound),
            "{stats:?}"
        );
    }

    fn watch(&mut self, is_unreadable: bool) {
        if self.seen < self.server.head {
            self.seen += 1;
            self.deliver(self.seen, is_unreadable);
        }
    }

    fn deliver(&mut self, version: u64, is_unreadable: bool) {
        let mut log = self.server.log.iter();
        let Some(change) = log.find(|change| change.version == version) else {
            return;
        };
        let key = key(change.name);
        self.has_gaps |= is_unreadable;
        match (&change.before, &change.after) {
            (_, Some(_)) if is_unreadable => {
                self.fifo.set_aside(key, Some(version.into()));
            }
            (None, Some(object)) => self.fifo.add(key, Arc::clone(object)),
            (Some(_), Some(object)) => self.fifo.update(key, Arc::clone(object)),
            (Some(old), None) if is_unreadable => {
                self.fifo.delete(
                    key,
                    Deletion::without_object(old.uid(), Some(version.into())),
                );
            }
            (Some(old), None) => {
                let last = thing(change.name, old.uid.unwrap_or_default(), version);
                self.fifo.delete(key, Deletion::of(last));
            }
            (None, None) => {}
        }
    }

    /// Lists from a replica that may lag, but not behind what the consumer has acknowledged: the reflector refuses
    /// such a list.
    fn relist(&mut self, lag: u64, keep: bool) {
        let version = self
            .server
            .head
            .saturating_sub(lag)
            .max(self.acknowledged)
            .max(1);
        let mut replace = self.fifo.begin_replace();
        for (name, object) in self.server.state_at(version) {
            let is_known = self.fifo.known(&key(name)).is_some_and(|known| {
                known.uid == object.uid() && known.resource_version == object.resource_version()
            });
            if keep && is_known {
                replace.keep(key(name));
            } else {
                replace.insert(key(name), Arc::new((*object).clone()));
            }
        }
        replace.finish(ReplaceEnd::new(version.into()));
        // A watch never resumes before what it has delivered.
        self.seen = self.seen.max(version);
        self.listed = self.listed.max(version);
    }

    /// Applies the batch, and checks that no life of a key is mixed up with another and none goes back in time.
    fn apply(&self) {
        let Some(batch) = &self.batch else { return };
        let mut shadow = self.store.contents();
        for deltas in batch.iter() {
            for delta in deltas.deltas() {
                match delta {
                    Delta::SetAside(_) => {}
                    Delta::Deleted(_) => {
                        shadow.remove(deltas.key());
                    }
                    Delta::Sync(_) if !shadow.contains_key(deltas.key()) => {}
                    other => {
                        let new = Arc::clone(other.object().expect("an object"));
                        let old = shadow.insert(deltas.key().clone(), Arc::clone(&new));
                        if let Some(old) = old.filter(|_| !self.ahead.contains(deltas.key())) {
                            assert_eq!(old.uid, new.uid, "an update within one life");
                            assert!(old.version <= new.version, "{old:?} to {new:?}");
                        }
                    }
                }
            }
        }
        self.store.apply(batch);
    }

    fn ack(&mut self) {
        self.apply();
        let Some(batch) = self.batch.take() else {
            return;
        };
        for deltas in batch.iter() {
            self.ahead.remove(deltas.key());
        }
        let versions = batch
            .iter()
            .flat_map(|deltas| deltas.deltas().collect::<Vec<_>>());
        let newest = versions
            .filter_map(|delta| delta.object().and_then(|o| o.version))
            .max();
        let end = batch
            .replace()
            .and_then(|end| end.resource_version.as_u64());
        let up_to = batch.applied_up_to().and_then(ResourceVersion::as_u64);
        self.acknowledged = self
            .acknowledged
            .max(newest.max(end).max(up_to).unwrap_or(0));
        batch.ack();
        if let Some(version) = up_to.filter(|_| !self.has_gaps) {
            self.check_store_has(version);
        }
    }

    /// The store holds of each key a state that it had at this version or later.
    fn check_store_has(&self, version: u64) {
        let store = self.store.contents();
        for name in NAMES {
            let state = store.get(name);
            assert!(
                self.server.had(name, state, version),
                "{name} is {state:?} at {version}"
            );
        }
    }

    fn drop_batch(&mut self, applied: bool) {
        if applied && let Some(batch) = &self.batch {
            let keys: Vec<_> = batch.iter().map(|deltas| deltas.key().clone()).collect();
            self.apply();
            self.ahead.extend(keys);
        }
        self.batch = None;
    }

    fn settle(&mut self) {
        self.ack();
        self.relist(0, false);
        self.run(&Step::Pop(2));
        while self.batch.is_some() {
            self.ack();
            self.run(&Step::Pop(2));
        }
        let store: Vec<_> = self.store.contents().into_values().collect();
        let server: Vec<_> = self.server.objects.values().cloned().collect();
        assert_eq!(store, server);
        assert!(self.fifo.has_synced());
        assert_eq!(self.fifo.depth(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // INV-FIFO-1, 5, 8, 9, 13
    #[test]
    fn the_store_ends_as_the_server_and_never_claims_too_much(
        steps in prop::collection::vec(step(), 1..120),
        max_deltas in prop::sample::select(vec![None, Some(3), Some(8)]),
        order in prop::sample::select(vec![Order::ByKey, Order::InOrder]),
    ) {
        let mut world = World::new(max_deltas, order);
        for step in &steps {
            world.run(step);
        }
        world.settle();
    }
}
