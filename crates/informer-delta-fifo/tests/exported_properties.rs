//! The properties that this crate exports hold of its own queue and of the store, and find what is broken.

mod common;

use std::sync::Arc;

use informer_delta_fifo::proptest::{BatchChecker, Objects, Sample, Step, World, steps};
use informer_delta_fifo::{Batch, Delta, DeltaFifo, DeltaFifoConfig, QueueOrder};
use informer_store::{DeltaSink, Object, ObjectKey, Store};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// What a consumer does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    ForgetsDeletions,
    ClaimsTooMuch,
    IgnoresLists,
}

/// A queue, its store, and a consumer.
struct Consumer<K: Object> {
    fifo: DeltaFifo<K>,
    store: Store<K>,
    checker: BatchChecker,
    flaw: Flaw,
}

impl<K: Object> Consumer<K> {
    fn new(config: DeltaFifoConfig<K>, store: Store<K>, flaw: Flaw) -> Self {
        Self {
            fifo: DeltaFifo::new(config),
            store,
            checker: BatchChecker::new(),
            flaw,
        }
    }

    /// Pops a batch, if there is one, and applies it, but for the first key if that is to fail.
    fn consume(&mut self, keys: usize, first_fails: bool) -> Result<bool, TestCaseError> {
        let Some(batch) = self.fifo.try_pop_batch(keys) else {
            return Ok(false);
        };
        let failed: Vec<_> = batch
            .iter()
            .take(usize::from(first_fails))
            .map(|(key, _)| key.clone())
            .collect();
        self.checker.check_except(&batch, &failed)?;
        self.apply(&batch, &failed);
        batch.ack_except(&failed);
        Ok(true)
    }

    fn apply(&self, batch: &Batch<K>, failed: &[ObjectKey]) {
        let mut transaction = self.store.transaction();
        for (key, deltas) in batch.iter().filter(|(key, _)| !failed.contains(key)) {
            for delta in deltas {
                match delta {
                    Delta::Replaced(_) if self.flaw == Flaw::IgnoresLists => {}
                    Delta::Added(object) | Delta::Updated(object) | Delta::Replaced(object) => {
                        transaction.upsert(key.clone(), Arc::clone(object));
                    }
                    Delta::Deleted(_) if self.flaw == Flaw::ForgetsDeletions => {}
                    Delta::Deleted(_) => drop(transaction.remove(key)),
                    Delta::Sync(_) | Delta::Undecodable(_) => {}
                }
            }
        }
        let is_whole = failed.is_empty() || self.flaw == Flaw::ClaimsTooMuch;
        let rewind = batch.list_end().filter(|end| end.rewind);
        match batch.applied_up_to() {
            Some(version) if is_whole => transaction.set_resource_version(version.clone()),
            _ if rewind.is_some() => transaction.set_resource_version("".into()),
            _ => {}
        }
        transaction.commit();
    }

    /// Follows a server through these steps.
    fn follow(&mut self, objects: Objects<K>, steps: &[Step<K>]) -> Result<(), TestCaseError>
    where
        K: Clone + std::fmt::Debug + PartialEq,
    {
        let mut world = World::new(objects);
        for step in steps {
            match step {
                Step::Consume(keys) => _ = self.consume(*keys, false)?,
                Step::Fail(keys) => _ = self.consume(*keys, true)?,
                Step::Requeue(keys) => drop(self.fifo.try_pop_batch(*keys)),
                Step::Close => self.fifo.close(),
                _ => world.perform(step, &self.fifo),
            }
            // What a reflector does about it.
            if self.fifo.needs_list() {
                world.finish(&self.fifo);
            }
            let held = self.store.list();
            world.check(held, self.store.resource_version().as_ref())?;
        }
        world.finish(&self.fifo);
        while self.consume(10, false)? {}
        world.check_finished(self.store.list())?;
        prop_assert!(self.fifo.has_synced());
        Ok(())
    }
}

/// Whether the properties find this flaw among many runs.
fn is_found(flaw: Flaw) -> bool {
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 0,
        ..ProptestConfig::with_cases(500)
    };
    let run = TestRunner::new(config).run(&steps(&Sample::objects(), 1..80), |steps| {
        let store = Store::new();
        let config = DeltaFifoConfig::new().known(store.clone());
        Consumer::new(config, store, flaw).follow(Sample::objects(), &steps)
    });
    run.is_err()
}

#[test]
fn wrong_consumers_are_found() {
    for flaw in [
        Flaw::ForgetsDeletions,
        Flaw::ClaimsTooMuch,
        Flaw::IgnoresLists,
    ] {
        assert!(is_found(flaw), "{flaw:?}");
    }
    assert!(!is_found(Flaw::None));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1500)
    })]

    // INV-FIFO-1, 4 to 6, 8 to 13, 16 to 18, 20
    #[test]
    fn store_behind_a_queue_follows_a_server(
        steps in steps(&Sample::objects(), 1..100),
        order in prop::sample::select(vec![QueueOrder::ByKey, QueueOrder::InOrder]),
        max_deltas in prop::sample::select(vec![None, Some(3), Some(8)]),
        max_queued in prop::sample::select(vec![None, None, Some(5)]),
    ) {
        let store = Store::new();
        let config = DeltaFifoConfig::new()
            .known(store.clone())
            .order(order)
            .max_deltas(max_deltas)
            .max_queued(max_queued);
        Consumer::new(config, store, Flaw::None).follow(Sample::objects(), &steps)?;
    }

    // INV-STORE-8
    #[test]
    fn store_as_the_sink_follows_a_server(steps in steps(&Sample::objects(), 1..100)) {
        let store: Store<Sample> = Store::new();
        let mut world = World::new(Sample::objects());
        for step in &steps {
            world.perform(step, &store);
            world.check(store.list(), store.resource_version().as_ref())?;
        }
        world.finish(&store);
        world.check_finished(store.list())?;
    }
}

#[test]
fn states_that_never_were_are_found() {
    let (store, mut world) = (Store::new(), World::new(Sample::objects()));
    let content = || {
        let mut runner = TestRunner::deterministic();
        let step = steps(&Sample::objects(), 200)
            .new_tree(&mut runner)
            .expect("steps");
        let change = step.current().into_iter().find_map(|step| match step {
            Step::Change { content, .. } => Some(content),
            _ => None,
        });
        change.expect("a change")
    };
    let change = Step::Change {
        name: 0,
        content: content(),
    };
    world.perform(&change, &store);
    world.finish(&store);
    let version = store
        .resource_version()
        .and_then(|version| version.as_u64())
        .expect("a list");
    let object = store.list().pop().expect("one object");
    let check = |held: &[&Arc<Sample>], version: u64| {
        world
            .check(held.iter().copied().cloned(), Some(&version.into()))
            .is_ok()
    };
    assert!(check(&[&object], version));
    assert!(!check(&[], version), "it is missing");
    assert!(!check(&[&object, &object], version), "it is held twice");
    assert!(!check(&[&object], version + 1), "the server is not there");

    // A queue that does not know what is stored has a new UID without the deletion of the old object.
    let fifo: DeltaFifo<Sample> = DeltaFifo::default();
    let (mut world, mut checker) = (World::new(Sample::objects()), BatchChecker::new());
    let mut results = Vec::new();
    for _ in 0..2 {
        world.perform(
            &Step::Recreate {
                name: 0,
                content: content(),
            },
            &fifo,
        );
        world.finish(&fifo);
        let batch = fifo.try_pop_batch(1).expect("the list");
        results.push(checker.check(&batch).is_ok());
        batch.ack();
    }
    assert_eq!(results, [true, false]);
}
