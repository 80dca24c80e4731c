//! Any value of any setting, in any order of calls: no panic, and what the documentation says.

mod common;

use common::{Calls, NaiveStore, Thing, key, thing};
use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig, QueueOrder};
use informer_store::DeltaSink;
use proptest::prelude::*;

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        0..5usize,
        Just(usize::MAX),
        Just(usize::MAX - 1),
        any::<usize>()
    ]
}

/// One setter.
#[derive(Debug, Clone)]
enum Setting {
    Known,
    MaxDeltas(Option<usize>),
    MaxQueued(Option<usize>),
    Order(QueueOrder),
    Clock(std::time::Duration),
}

fn setting() -> impl Strategy<Value = Setting> {
    use std::time::Duration;
    prop_oneof![
        Just(Setting::Known),
        prop::option::of(size()).prop_map(Setting::MaxDeltas),
        prop::option::of(size()).prop_map(Setting::MaxQueued),
        prop::sample::select(vec![QueueOrder::ByKey, QueueOrder::InOrder]).prop_map(Setting::Order),
        prop::sample::select(vec![Duration::ZERO, Duration::MAX, Duration::from_nanos(1)])
            .prop_map(Setting::Clock),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1000)
    })]

    #[test]
    fn settings_are_honoured_in_any_order_and_never_panic(
        settings in prop::collection::vec(setting(), 0..6),
        pop in size(),
    ) {
        let store = NaiveStore::holding(&[]);
        let start = std::time::Instant::now();
        let mut config = DeltaFifoConfig::<Thing>::new();
        let (mut max_deltas, mut max_queued) = (Some(8), None);
        let (mut order, mut is_known) = (QueueOrder::ByKey, false);
        for setting in settings {
            config = match setting {
                Setting::Known => {
                    is_known = true;
                    config.known(std::sync::Arc::clone(&store))
                }
                Setting::MaxDeltas(max) => {
                    max_deltas = max.map(|max| max.max(3));
                    config.max_deltas(max)
                }
                Setting::MaxQueued(max) => {
                    max_queued = max.map(|max| max.max(1));
                    config.max_queued(max)
                }
                Setting::Order(given) => {
                    order = given;
                    config.order(given)
                }
                // A clock that jumps as far as it can, and back.
                Setting::Clock(step) => {
                    let calls = std::sync::atomic::AtomicU32::new(0);
                    config.clock(move || {
                        let call = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        let late = start.checked_add(step).unwrap_or(start);
                        if call.is_multiple_of(2) { start } else { late }
                    })
                }
            };
        }
        let fifo = DeltaFifo::new(config.clone());
        prop_assert_ne!(format!("{:?} {:?}", config, fifo), "");
        (1..=20).for_each(|version| fifo.updated(&thing("a", 1, version)));
        fifo.deleted(&thing("a", 1, 21));
        let _ = fifo.lag();
        let stats = fifo.stats();
        let is_ordered = order == QueueOrder::InOrder;
        if max_queued.is_none() && is_ordered {
            prop_assert_eq!(stats.queued_deltas, 21);
        } else if max_queued.is_none() && is_known && max_deltas.is_some() {
            prop_assert_eq!(stats.queued_deltas, 0, "nobody saw it");
        } else if max_queued.is_none() {
            let max = max_deltas.unwrap_or(usize::MAX).min(21);
            prop_assert!(stats.queued_deltas <= max && stats.queued_deltas > 0);
        }
        prop_assert!(stats.queued_deltas <= max_queued.unwrap_or(usize::MAX));
        let limit_is_reached = max_queued.is_some_and(|max| {
            max < if is_ordered { 21 } else { 2 }
        });
        prop_assert!(!limit_is_reached || fifo.needs_list() || is_known);
        fifo.replaced(&[thing("a", 2, 30)], 30);
        prop_assert!(!fifo.needs_list());
        prop_assert!(fifo.newest(&key("a")).is_some());
        while let Some(batch) = fifo.try_pop_batch(pop) {
            prop_assert!(batch.list_end().is_some() || batch.len() <= pop.max(1));
            store.apply(&batch);
            batch.ack();
        }
        prop_assert!(!is_known || store.contents().len() == 1);
    }
}
