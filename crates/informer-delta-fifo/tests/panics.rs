//! User code that panics under the queue's lock: known objects, and the metadata of objects. The call that needed it panics; the
//! queue stays as it was, and who waits is woken.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use common::uid;
use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig, KnownObjects, QueueOrder};
use informer_store::{
    Deletion, DeltaSink, ListEnd, Object, ObjectKey, ObjectList, ObjectMetadata, ObjectVersion,
    OwnerReference, ResourceVersion, Uid,
};
use parking_lot::Mutex;
use proptest::prelude::*;

/// How many calls of user code are left until one panics; negative for never.
#[derive(Clone, Default)]
struct Fuse(Arc<AtomicI64>);

impl Fuse {
    fn never() -> Self {
        Self(Arc::new(AtomicI64::new(-1)))
    }

    fn burn(&self) {
        if self.0.load(Ordering::SeqCst) >= 0 && self.0.fetch_sub(1, Ordering::SeqCst) == 0 {
            panic!("user code panicked");
        }
    }
}

#[derive(Clone)]
struct Fragile {
    uid: u32,
    version: u64,
    fuse: Fuse,
}

impl ObjectMetadata for Fragile {
    fn name(&self) -> Option<&str> {
        Some("fragile")
    }
    fn namespace(&self) -> Option<&str> {
        None
    }
    fn uid(&self) -> Option<Uid> {
        self.fuse.burn();
        Some(uid(self.uid))
    }
    fn resource_version(&self) -> Option<ResourceVersion> {
        self.fuse.burn();
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

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
}

impl Object for Fragile {
    type Metadata = Self;
    fn metadata(&self) -> &Self {
        self
    }
}

/// Known objects that never change.
struct Known {
    objects: Vec<(ObjectKey, Arc<Fragile>)>,
    fuse: Fuse,
}

impl KnownObjects<Fragile> for Known {
    fn known(&self, key: &ObjectKey) -> Option<Arc<Fragile>> {
        self.fuse.burn();
        let found = self.objects.iter().find(|(known, _)| known == key);
        Some(Arc::clone(&found?.1))
    }
    fn for_each_known(&self, visit: &mut dyn FnMut(&ObjectKey, &Arc<Fragile>)) {
        for (key, object) in &self.objects {
            self.fuse.burn();
            visit(key, object);
        }
    }
    fn known_key(&self, key: &ObjectKey) -> Option<ObjectKey> {
        self.fuse.burn();
        Some(key.clone())
    }
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Add(u8, u32, u64),
    Update(u8, u32, u64),
    Delete(u8, u32, u64),
    Undecodable(u8, u64),
    Newest(u8),
    Resync,
    Replace(u8, u32, u64, bool),
    Pop(usize),
    Ack,
    AckExcept(u8),
    Requeue,
}

fn call() -> impl Strategy<Value = Call> {
    let object = || (0..3u8, 1..3u32, 1..20u64);
    prop_oneof![
        1 => object().prop_map(|(name, uid, version)| Call::Add(name, uid, version)),
        3 => object().prop_map(|(name, uid, version)| Call::Update(name, uid, version)),
        1 => object().prop_map(|(name, uid, version)| Call::Delete(name, uid, version)),
        1 => (0..3u8, 1..20u64).prop_map(|(name, version)| Call::Undecodable(name, version)),
        1 => (0..3u8).prop_map(Call::Newest),
        1 => Just(Call::Resync),
        1 => (object(), any::<bool>())
            .prop_map(|((name, uid, version), rewind)| Call::Replace(name, uid, version, rewind)),
        3 => (1..4usize).prop_map(Call::Pop),
        1 => Just(Call::Ack),
        1 => (0..3u8).prop_map(Call::AckExcept),
        2 => Just(Call::Requeue),
    ]
}

fn key(name: u8) -> ObjectKey {
    ObjectKey::cluster_scoped(&format!("k{name}"))
}

/// A queue and its batch in flight.
struct Run {
    fifo: DeltaFifo<Fragile>,
    in_flight: Option<informer_delta_fifo::Batch<Fragile>>,
    fuse: Fuse,
}

impl Run {
    fn new(order: QueueOrder, max_deltas: Option<usize>) -> Self {
        let fuse = Fuse::never();
        let known = Fragile {
            uid: 1,
            version: 3,
            fuse: fuse.clone(),
        };
        let known = Known {
            objects: vec![(key(0), Arc::new(known))],
            fuse: fuse.clone(),
        };
        let config = DeltaFifoConfig::new().known(known).order(order);
        Self {
            fifo: DeltaFifo::new(config.max_deltas(max_deltas)),
            in_flight: None,
            fuse,
        }
    }

    fn object(&self, uid: u32, version: u64) -> Arc<Fragile> {
        let fuse = self.fuse.clone();
        Arc::new(Fragile { uid, version, fuse })
    }

    fn perform(&mut self, call: Call) {
        match call {
            Call::Add(name, uid, version) => self.fifo.add(key(name), self.object(uid, version)),
            Call::Update(name, uid, version) => {
                self.fifo.update(key(name), self.object(uid, version));
            }
            Call::Delete(name, number, version) => {
                let mut deletion = Deletion::without_object(ObjectVersion::new(
                    Some(uid(number)),
                    Some(version.into()),
                ));
                deletion.object = Some(self.object(number, version));
                self.fifo.delete(key(name), deletion);
            }
            Call::Undecodable(name, version) => {
                self.fifo.undecodable(key(name), Some(version.into()));
            }
            Call::Newest(name) => drop(self.fifo.newest(&key(name))),
            Call::Resync => self.fifo.resync(),
            Call::Replace(name, uid, version, rewind) => {
                let list = ObjectList::from_iter([(key(name), self.object(uid, version))]);
                self.fifo
                    .replace(list, ListEnd::new(version.into()).rewind(rewind));
            }
            Call::Pop(max) => {
                let popped = self.fifo.try_pop_batch(max);
                self.in_flight = popped.or_else(|| self.in_flight.take());
            }
            Call::Ack => self
                .in_flight
                .take()
                .into_iter()
                .for_each(|batch| batch.ack()),
            Call::AckExcept(name) => {
                let batch = self.in_flight.take().into_iter();
                batch.for_each(|batch| batch.ack_except([&key(name)]));
            }
            Call::Requeue => self.in_flight = None,
        }
    }

    /// Everything that is queued, without changing it.
    fn content(&self) -> (String, String) {
        let mut stats = self.fifo.stats();
        // What is ignored or coalesced may be counted before a panic.
        (stats.coalesced, stats.unchanged, stats.outdated) = (0, 0, 0);
        (stats.requeued_batches, stats.requeued_keys) = (0, 0);
        let keys = self.in_flight.as_ref().map(|batch| batch.len());
        let flags = (self.fifo.has_synced(), self.fifo.needs_list());
        (format!("{keys:?} {flags:?}"), format!("{stats:?}"))
    }

    /// Pops all that is queued.
    fn drain(&mut self) -> Vec<String> {
        self.in_flight = None;
        let mut all = Vec::new();
        while let Some(batch) = self.fifo.try_pop_batch(2) {
            for (key, deltas) in batch.iter() {
                let delta = |delta: &informer_delta_fifo::Delta<Fragile>| {
                    let version = delta.object().map(|object| (object.uid, object.version));
                    format!("{} {version:?}", delta.type_name())
                };
                let deltas: Vec<_> = deltas.iter().map(delta).collect();
                all.push(format!("{key}: {}", deltas.join(", ")));
            }
            all.push(format!(
                "{:?} {:?}",
                batch.list_end(),
                batch.applied_up_to()
            ));
            batch.ack();
        }
        all
    }
}

fn silently<R>(run: impl FnOnce() -> R) -> std::thread::Result<R> {
    catch_unwind(AssertUnwindSafe(run))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    // INV-FIFO-21: a call whose user code panics has no effect; or, if only coalescing panicked, all of its effect.
    #[test]
    fn panics_of_user_code_leave_the_queue_as_it_was(
        calls in prop::collection::vec(call(), 1..25),
        last in call(),
        fuse in 0..12i64,
        order in prop::sample::select(vec![QueueOrder::ByKey, QueueOrder::InOrder]),
        max_deltas in prop::sample::select(vec![None, Some(3)]),
    ) {
        let run = || {
            let mut run = Run::new(order, max_deltas);
            calls.iter().for_each(|call| run.perform(*call));
            run
        };
        let (mut untouched, mut whole, mut tested) = (run(), run(), run());
        whole.perform(last);
        tested.fuse.0.store(fuse, Ordering::SeqCst);
        let panicked = silently(|| tested.perform(last)).is_err();
        tested.fuse.0.store(-1, Ordering::SeqCst);
        let content = tested.content();
        let (before, after) = (untouched.content(), whole.content());
        if !panicked {
            prop_assert_eq!(content.0, after.0);
        } else if max_deltas.is_none() {
            prop_assert_eq!(content, before);
            prop_assert_eq!(tested.drain(), untouched.drain());
        } else if content.1 != before.1 {
            prop_assert_eq!(content.0, after.0, "all of its effect, but for coalescing");
        }
        // It goes on.
        calls.iter().for_each(|call| tested.perform(*call));
        tested.drain();
        prop_assert_eq!(tested.fifo.depth(), 0);
        prop_assert_eq!(tested.fifo.stats().queued_deltas, 0);
    }
}

// INV-FIFO-21: a list whose coalescing panics has all of its effect.
#[test]
fn list_is_queued_though_coalescing_panics() {
    for fuse in 0..60 {
        let mut run = Run::new(QueueOrder::ByKey, Some(3));
        (4..7).for_each(|version| run.perform(Call::Update(0, 1, version)));
        let before = run.fifo.stats().queued_deltas;
        run.fuse.0.store(fuse, Ordering::SeqCst);
        let panicked = silently(|| run.perform(Call::Replace(0, 1, 9, false))).is_err();
        run.fuse.0.store(-1, Ordering::SeqCst);
        let batch = run.fifo.try_pop_batch(1).expect("k0");
        let deltas = batch.iter().map(|(_, deltas)| deltas.len()).sum::<usize>();
        let expected = match batch.list_end() {
            None => before,
            Some(_) if panicked => before + 1,
            Some(_) => 1,
        };
        assert_eq!(deltas, expected);
        batch.ack();
    }
}

// INV-FIFO-1, 21: a batch that is dropped by a panic is requeued even if coalescing panics too.
#[test]
fn requeue_during_a_panic_does_not_panic() {
    let mut run = Run::new(QueueOrder::ByKey, Some(3));
    (5..8).for_each(|version| run.perform(Call::Update(0, 1, version)));
    let batch = run.fifo.try_pop_batch(1).expect("k0");
    (8..11).for_each(|version| run.perform(Call::Update(0, 1, version)));
    let fuse = run.fuse.clone();
    let consumer = silently(move || {
        let _batch = batch;
        fuse.0.store(0, Ordering::SeqCst);
        panic!("applying failed");
    });
    assert!(consumer.is_err());
    run.fuse.0.store(-1, Ordering::SeqCst);
    assert_eq!(
        run.fifo.stats().queued_deltas,
        6,
        "it is too long, and complete"
    );
    let all = Mutex::new(run.drain());
    assert!(all.lock()[0].contains("(1, 5)") && all.lock()[0].contains("(1, 10)"));
}

// INV-FIFO-1, 21: a batch is requeued without the clock, which may panic; else nothing could be popped any more.
#[test]
fn batch_is_requeued_though_the_clock_panics() {
    for order in [QueueOrder::ByKey, QueueOrder::InOrder] {
        let fuse = Fuse::never();
        let clock = fuse.clone();
        let config = DeltaFifoConfig::new().order(order).clock(move || {
            clock.burn();
            std::time::Instant::now()
        });
        let fifo: DeltaFifo<Fragile> = DeltaFifo::new(config);
        let object = Fragile {
            uid: 1,
            version: 5,
            fuse: Fuse::never(),
        };
        let list = ObjectList::from_iter([(key(0), Arc::new(object))]);
        fifo.replace(list, ListEnd::new(5.into()));
        let batch = fifo.try_pop_batch(1).expect("the list");
        fuse.0.store(0, Ordering::SeqCst);
        drop(batch);
        fuse.0.store(-1, Ordering::SeqCst);
        let batch = fifo.try_pop_batch(1).expect("it was requeued");
        assert_eq!(batch.list_end(), Some(&ListEnd::new(5.into())));
        batch.ack();
        assert!(fifo.lag().is_none() && fifo.has_synced());
    }
}
