//! Random sequences of calls, one by one against a naive model, each call also while a batch is out.

mod common;
#[path = "common/naive/mod.rs"]
mod naive;

use std::sync::Arc;

use common::{NaiveStore, Thing, key, short};
use informer_delta_fifo::{Batch, Config, DeltaFifo, FifoReplace, Order};
use informer_store::{Deletion, DeltaSink, Known, Object, Replace, ReplaceEnd};
use naive::{Model, OpenList, Said};
use proptest::prelude::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// An object but for its value, which tells copies apart.
#[derive(Debug, Clone)]
struct Shape {
    name: usize,
    uid: Option<u32>,
    version: Option<u64>,
}

#[derive(Debug, Clone)]
enum Item {
    Insert(Shape),
    /// The copy that is known, in a new allocation.
    Same(usize),
    Keep(usize),
    SetAside(usize),
    Remove(usize),
}

#[derive(Debug, Clone)]
enum Call {
    Add(Shape),
    Update(Shape),
    Delete(Shape, bool),
    SetAside(usize, Option<u64>),
    Bookmark(u64),
    Resync,
    /// A whole list at once.
    List(Vec<Item>, u64, bool),
    /// A list in steps, with other calls between.
    Begin,
    Say(Item),
    Finish(u64, bool),
    Abandon,
    Pop(usize),
    Ack,
    /// This name could not be applied.
    AckExcept(usize),
    /// Dropped, perhaps after it was applied.
    Drop {
        applied: bool,
    },
}

fn shape() -> impl Strategy<Value = Shape> {
    let uid = prop_oneof![4 => (1..4u32).prop_map(Some), 1 => Just(None)];
    (0..NAMES.len(), uid, version()).prop_map(|(name, uid, version)| Shape { name, uid, version })
}

fn version() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![6 => (1..30u64).prop_map(Some), 1 => Just(None)]
}

fn item() -> impl Strategy<Value = Item> {
    let name = 0..NAMES.len();
    prop_oneof![
        5 => shape().prop_map(Item::Insert),
        2 => name.clone().prop_map(Item::Same),
        2 => name.clone().prop_map(Item::Keep),
        1 => name.clone().prop_map(Item::SetAside),
        1 => name.prop_map(Item::Remove),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => shape().prop_map(Call::Add),
        5 => shape().prop_map(Call::Update),
        4 => (shape(), any::<bool>()).prop_map(|(shape, state)| Call::Delete(shape, state)),
        1 => (0..NAMES.len(), version()).prop_map(|(name, version)| Call::SetAside(name, version)),
        1 => (1..30u64).prop_map(Call::Bookmark),
        1 => Just(Call::Resync),
        3 => (prop::collection::vec(item(), 0..5), 1..30u64, prop::bool::weighted(0.2))
            .prop_map(|(items, version, rewind)| Call::List(items, version, rewind)),
        1 => Just(Call::Begin),
        3 => item().prop_map(Call::Say),
        1 => (1..30u64, prop::bool::weighted(0.2)).prop_map(|(v, rewind)| Call::Finish(v, rewind)),
        1 => Just(Call::Abandon),
        5 => (0..4usize).prop_map(Call::Pop),
        3 => Just(Call::Ack),
        2 => (0..NAMES.len()).prop_map(Call::AckExcept),
        2 => any::<bool>().prop_map(|applied| Call::Drop { applied }),
    ]
}

/// The queue and its model, side by side.
struct Twins {
    fifo: DeltaFifo<Thing>,
    store: Arc<NaiveStore>,
    batch: Option<Batch<Thing>>,
    list: Option<(FifoReplace<Thing>, OpenList)>,
    model: Model,
    value: u64,
}

impl Twins {
    fn new(order: Order) -> Self {
        let store = NaiveStore::holding(&[]);
        let config = Config::new()
            .known_objects(Arc::clone(&store))
            .max_deltas(None)
            .order(order);
        Self {
            fifo: DeltaFifo::with_config(&config),
            store,
            batch: None,
            list: None,
            model: match order {
                Order::InOrder => Model::in_order(),
                _ => Model::default(),
            },
            value: 0,
        }
    }

    fn object(&mut self, shape: &Shape) -> Arc<Thing> {
        self.value += 1;
        Arc::new(Thing {
            name: NAMES[shape.name].into(),
            uid: shape.uid,
            version: shape.version,
            value: self.value,
        })
    }

    fn say(&mut self, item: &Item, real: &mut FifoReplace<Thing>, open: &mut OpenList) {
        match item {
            Item::Insert(shape) => {
                let object = self.object(shape);
                real.insert(key(&object.name), Arc::clone(&object));
                open.say(NAMES[shape.name], Said::Object(object));
            }
            Item::Same(name) => {
                let Some((uid, version)) = self.model.known(NAMES[*name]) else {
                    return;
                };
                let shape = Shape {
                    name: *name,
                    uid,
                    version,
                };
                self.say(&Item::Insert(shape), real, open);
            }
            Item::Keep(name) => {
                real.keep(key(NAMES[*name]));
                open.say(NAMES[*name], Said::Keep);
            }
            Item::SetAside(name) => {
                real.set_aside(key(NAMES[*name]));
                open.say(NAMES[*name], Said::SetAside);
            }
            Item::Remove(name) => {
                real.remove(&key(NAMES[*name]));
                open.remove(NAMES[*name]);
            }
        }
    }

    fn run(&mut self, call: &Call) {
        match call {
            Call::Add(shape) => {
                let object = self.object(shape);
                self.fifo.add(key(&object.name), Arc::clone(&object));
                self.model.upsert(true, &object);
            }
            Call::Update(shape) => {
                let object = self.object(shape);
                self.fifo.update(key(&object.name), Arc::clone(&object));
                self.model.upsert(false, &object);
            }
            Call::Delete(shape, with_state) => {
                let object = self.object(shape);
                let deletion = if *with_state {
                    Deletion::of(Arc::clone(&object))
                } else {
                    Deletion::without_object(object.uid(), object.resource_version())
                };
                self.fifo.delete(key(&object.name), deletion);
                self.model.delete(&object, *with_state);
            }
            Call::SetAside(name, version) => {
                self.fifo
                    .set_aside(key(NAMES[*name]), version.map(Into::into));
                self.model.set_aside(NAMES[*name], *version);
            }
            Call::Bookmark(version) => {
                self.fifo.bookmark((*version).into());
                self.model.bookmark(*version);
            }
            Call::Resync => {
                self.fifo.resync();
                self.model.resync();
            }
            Call::List(..) | Call::Begin | Call::Say(_) | Call::Finish(..) | Call::Abandon => {
                self.run_list(call);
            }
            Call::Pop(max) => self.pop(*max),
            Call::Ack => self.ack(),
            Call::AckExcept(name) => self.ack_except(NAMES[*name]),
            Call::Drop { applied } => self.drop_batch(*applied),
        }
    }

    fn run_list(&mut self, call: &Call) {
        match call {
            Call::List(items, version, rewind) => {
                let (mut real, mut open) = (self.fifo.begin_replace(), self.model.begin_replace());
                for item in items {
                    self.say(item, &mut real, &mut open);
                }
                real.finish(ReplaceEnd::new((*version).into()).rewind(*rewind));
                self.model.finish(open, *version, *rewind);
            }
            Call::Begin if self.list.is_none() => {
                self.list = Some((self.fifo.begin_replace(), self.model.begin_replace()));
            }
            Call::Say(item) => {
                let Some((mut real, mut open)) = self.list.take() else {
                    return;
                };
                self.say(item, &mut real, &mut open);
                self.list = Some((real, open));
            }
            Call::Finish(version, rewind) => {
                let Some((real, open)) = self.list.take() else {
                    return;
                };
                real.finish(ReplaceEnd::new((*version).into()).rewind(*rewind));
                self.model.finish(open, *version, *rewind);
            }
            Call::Abandon if self.list.take().is_some() => self.model.abandon(),
            _ => {}
        }
    }

    fn pop(&mut self, max: usize) {
        let batch = self.fifo.try_pop_batch(max);
        if self.batch.is_some() {
            assert!(batch.is_none(), "one batch at a time");
            return;
        }
        let expected = self.model.pop(max);
        assert_eq!(batch.is_some(), expected.is_some(), "is there a batch?");
        let (Some(batch), Some(expected)) = (batch, expected) else {
            return;
        };
        assert_eq!(short(&batch), expected.short());
        assert_eq!(batch.len(), expected.short().len());
        assert_eq!(batch.is_initial(), expected.is_initial, "is it initial?");
        assert_eq!(
            batch.applied_up_to().cloned(),
            expected.applied_up_to.map(Into::into)
        );
        let end = batch
            .replace()
            .map(|end| (end.resource_version.as_u64(), end.rewind));
        let expected_end = expected
            .replace
            .as_ref()
            .map(|end| (Some(end.version), end.rewind));
        assert_eq!(end, expected_end);
        self.batch = Some(batch);
    }

    fn ack(&mut self) {
        let Some(batch) = self.batch.take() else {
            return;
        };
        self.store.apply(&batch);
        self.model.apply(None);
        batch.ack();
        self.model.ack();
    }

    fn ack_except(&mut self, name: &str) {
        let Some(batch) = self.batch.take() else {
            return;
        };
        self.store.apply_except(&batch, Some(&key(name)));
        self.model.apply(Some(name));
        batch.ack_except([&key(name)]);
        self.model.ack_except(name);
    }

    fn drop_batch(&mut self, applied: bool) {
        let Some(batch) = self.batch.take() else {
            return;
        };
        if applied {
            self.store.apply(&batch);
            self.model.apply(None);
        }
        drop(batch);
        self.model.give_back();
    }

    fn check(&mut self) {
        assert_eq!(self.fifo.has_synced(), self.model.synced, "synced");
        assert_eq!(self.fifo.depth(), self.model.depth(), "depth");
        for name in NAMES {
            let known = self.model.known(name).map(|(uid, version)| {
                let object = Thing {
                    name: name.into(),
                    uid,
                    version,
                    value: 0,
                };
                Known::of(&object)
            });
            assert_eq!(self.fifo.known(&key(name)), known, "known copy of {name}");
        }
        let stored: Vec<_> = self.store.contents().into_values().collect();
        let expected: Vec<_> = self.model.store.values().cloned().collect();
        assert_eq!(stored, expected, "store");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // D1–D9, INV-FIFO-1 to 12, 18
    #[test]
    fn the_queue_does_what_the_model_does(calls in prop::collection::vec(call(), 1..60)) {
        compare(Order::ByKey, &calls);
    }

    // R1–R9, INV-FIFO-1 to 3, 5 to 12, 16, 18
    #[test]
    fn the_queue_in_order_does_what_its_model_does(calls in prop::collection::vec(call(), 1..60)) {
        compare(Order::InOrder, &calls);
    }
}

fn compare(order: Order, calls: &[Call]) {
    let mut twins = Twins::new(order);
    for call in calls {
        twins.run(call);
        twins.check();
    }
    // In the end everything comes out.
    twins.ack();
    twins.pop(2);
    while twins.batch.is_some() {
        twins.ack();
        twins.check();
        twins.pop(2);
    }
    assert_eq!(twins.fifo.depth(), 0);
    assert_eq!(twins.fifo.stats().queued_deltas, 0);
}
