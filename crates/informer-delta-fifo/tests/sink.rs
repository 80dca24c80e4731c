//! The suite of the store's crate for all sinks, with a queue as the sink of a store behind it.

use std::sync::Arc;

use informer_delta_fifo::{Batch, Delta, DeltaFifo, DeltaFifoConfig, QueueOrder};
use informer_store::proptest::{
    Applied, SinkUnderTest, check_steps, check_table, sink_steps, versions,
};
use informer_store::{ObjectKey, ObjectVersion, Store};
use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

/// A queue, and a consumer that applies a part of it from time to time.
struct Consumer {
    fifo: DeltaFifo<ConfigMap>,
    store: Store<ConfigMap>,
    in_flight: Option<Batch<ConfigMap>>,
}

impl Consumer {
    fn new(order: QueueOrder, max_deltas: Option<usize>) -> Self {
        let store = Store::new();
        let config = DeltaFifoConfig::new().known(store.clone()).order(order);
        Self {
            fifo: DeltaFifo::new(config.max_deltas(max_deltas)),
            store,
            in_flight: None,
        }
    }

    fn apply(&mut self) {
        let Some(batch) = self.in_flight.take() else {
            return;
        };
        let mut transaction = self.store.transaction();
        for (key, deltas) in batch.iter() {
            for delta in deltas {
                match delta {
                    Delta::Added(object) | Delta::Updated(object) | Delta::Replaced(object) => {
                        transaction.upsert(key.clone(), Arc::clone(object));
                    }
                    Delta::Deleted(_) => drop(transaction.remove(key)),
                    Delta::Undecodable(_) => _ = transaction.mark_stale(key),
                    Delta::Sync(_) => {}
                }
            }
        }
        if let Some(end) = batch.list_end() {
            transaction.set_resource_version(end.resource_version.clone());
        }
        if let Some(version) = batch.applied_up_to() {
            transaction.set_resource_version(version.clone());
        }
        transaction.commit();
        batch.ack();
    }
}

impl SinkUnderTest<ConfigMap> for Consumer {
    type Sink = DeltaFifo<ConfigMap>;

    fn sink(&self) -> &DeltaFifo<ConfigMap> {
        &self.fifo
    }

    fn applied(&mut self) -> Applied<ConfigMap> {
        loop {
            self.apply();
            self.in_flight = self.fifo.try_pop_batch(3);
            if self.in_flight.is_none() {
                return Applied::of(&self.store);
            }
        }
    }

    fn between(&mut self, choice: u8) {
        match choice % 4 {
            0 => {}
            1 => {
                self.apply();
                self.in_flight = self.fifo.try_pop_batch(1);
            }
            2 => {
                self.in_flight = None;
                self.in_flight = self.fifo.try_pop_batch(2);
            }
            _ => drop(self.applied()),
        }
    }
}

fn map((key, version): (ObjectKey, ObjectVersion)) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.namespace = key.namespace().map(str::to_owned);
    map.metadata.name = Some(key.name().to_owned());
    map.metadata.uid = version.uid.map(|uid| uid.to_string());
    map.metadata.resource_version = version.resource_version.map(|version| version.to_string());
    map
}

fn consumers() -> impl Iterator<Item = (QueueOrder, Option<usize>)> {
    let orders = [QueueOrder::ByKey, QueueOrder::InOrder];
    orders
        .into_iter()
        .flat_map(|order| [(order, None), (order, Some(3))])
}

// INV-FIFO-8 to 12, 18
#[test]
fn queue_follows_the_table_of_sinks() {
    for (order, max_deltas) in consumers() {
        check_table(|| Consumer::new(order, max_deltas), map);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(500)
    })]

    // INV-FIFO-8 to 12, 18
    #[test]
    fn queue_matches_sink_model(steps in sink_steps(versions().prop_map(map), 0..25)) {
        for (order, max_deltas) in consumers() {
            check_steps(&mut Consumer::new(order, max_deltas), &steps)?;
        }
    }
}
