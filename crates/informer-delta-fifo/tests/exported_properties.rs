//! The properties that this crate exports hold of its own queue and of the store, and see what is broken.

use std::sync::Arc;

use informer_delta_fifo::proptest::{BatchChecker, Sample, Step, World, steps};
use informer_delta_fifo::{Config, Delta, DeltaFifo, Order};
use informer_store::Store;
use proptest::prelude::*;

/// Applies a batch. `flaw` is what this consumer does wrong.
fn consume(
    fifo: &DeltaFifo<Sample>,
    store: &Store<Sample>,
    keys: usize,
    checker: &mut BatchChecker,
    flaw: Flaw,
) -> Result<(), TestCaseError> {
    let Some(batch) = fifo.try_pop_batch(keys) else {
        return Ok(());
    };
    let seen = checker.check(&batch);
    prop_assert!(seen.is_ok(), "{seen:?}");
    let mut write = store.begin_batch();
    for deltas in batch.iter() {
        for delta in deltas.deltas() {
            match delta {
                Delta::Deleted(_) if flaw == Flaw::ForgetsDeletions => {}
                Delta::Deleted(_) => drop(write.remove(deltas.key())),
                Delta::Sync(_) | Delta::SetAside(_) => {}
                other => {
                    if let Some(object) = other.into_object() {
                        write.upsert(deltas.key().clone(), object);
                    }
                }
            }
        }
    }
    if let Some(version) = batch.applied_up_to() {
        write.set_resource_version(version.clone());
    }
    write.commit();
    batch.ack();
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    ForgetsDeletions,
}

fn follows(steps: &[Step], order: Order, flaw: Flaw) -> Result<(), TestCaseError> {
    let store = Store::new();
    let config = Config::new().known_objects(store.clone()).order(order);
    let fifo = DeltaFifo::with_config(&config);
    let (mut world, mut checker) = (World::new(), BatchChecker::new());
    for step in steps {
        match step {
            Step::Consume(keys) => consume(&fifo, &store, *keys, &mut checker, flaw)?,
            Step::GiveBack(keys) => drop(fifo.try_pop_batch(*keys)),
            _ => world.perform(step, &fifo),
        }
        let held = world.check(store.list(), store.resource_version().as_ref());
        prop_assert!(held.is_ok(), "{held:?}");
    }
    world.settle(&fifo);
    while fifo.depth() > 0 {
        consume(&fifo, &store, 10, &mut checker, flaw)?;
    }
    let held = world.check_settled(store.list());
    prop_assert!(held.is_ok(), "{held:?}");
    Ok(())
}

/// Whether the properties see this flaw, of a consumer, among many runs.
fn is_seen(flaw: Flaw) -> bool {
    let config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 0,
        ..ProptestConfig::with_cases(300)
    };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let run = runner.run(&steps(1..80), |steps| follows(&steps, Order::ByKey, flaw));
    run.is_err()
}

#[test]
fn a_consumer_that_is_wrong_is_seen() {
    assert!(is_seen(Flaw::ForgetsDeletions));
    assert!(!is_seen(Flaw::None));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    // INV-FIFO-1, 5, 8, 9, 16
    #[test]
    fn a_queue_and_a_store_follow_a_server(
        steps in steps(1..80),
        order in prop::sample::select(vec![Order::ByKey, Order::InOrder]),
    ) {
        follows(&steps, order, Flaw::None)?;
    }

    // INV-STORE-8
    #[test]
    fn a_store_that_is_the_sink_follows_a_server(steps in steps(1..80)) {
        let store: Store<Sample> = Store::new();
        let mut world = World::new();
        for step in &steps {
            world.perform(step, &store);
            let held = world.check(store.list(), store.resource_version().as_ref());
            prop_assert!(held.is_ok(), "{:?}", held);
        }
        world.settle(&store);
        prop_assert!(world.check_settled(store.list()).is_ok());
    }
}

#[test]
fn what_never_was_is_seen() {
    let (store, mut world) = (Store::new(), World::new());
    world.perform(
        &Step::Change {
            name: 0,
            delete: false,
        },
        &store,
    );
    world.settle(&store);
    let object = store.list().pop().expect("one object");
    assert!(world.check([Arc::clone(&object)], Some(&2.into())).is_ok());
    assert!(world.check([], Some(&2.into())).is_err(), "it is missing");
    assert!(
        world.check([Arc::clone(&object), object], None).is_err(),
        "it is there twice"
    );
    assert!(
        world.check(store.list(), Some(&3.into())).is_err(),
        "nobody is at 3"
    );

    // A queue that knows nothing of what is stored tells a new life without the end of the old one.
    let fifo: DeltaFifo<Sample> = DeltaFifo::with_config(&Config::new());
    let (mut world, mut checker) = (World::new(), BatchChecker::new());
    let mut verdicts = Vec::new();
    for delete in [false, true, false] {
        world.perform(&Step::Change { name: 0, delete }, &fifo);
        if !delete {
            world.settle(&fifo);
            let batch = fifo.try_pop_batch(1).expect("the list");
            verdicts.push(checker.check(&batch).is_ok());
            batch.ack();
        }
    }
    assert_eq!(verdicts, [true, false]);
}
