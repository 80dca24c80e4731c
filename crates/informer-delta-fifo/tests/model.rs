//! Any calls, one by one against the naive model that this crate exports.

use informer_delta_fifo::proptest::{
    Call, FifoUnderTest, Model, Objects, Sample, TestStore, calls, check_calls,
};
use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig, QueueOrder};
use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

/// Settings: what is known, how long deltas get, how much may be queued, in which order.
fn configs<K: informer_store::Object>(
    store: &TestStore<K>,
    order: QueueOrder,
) -> impl Iterator<Item = DeltaFifoConfig<K>> {
    let store = store.clone();
    let deltas = [None, Some(3), Some(8)].into_iter();
    deltas.flat_map(move |max_deltas| {
        let store = store.clone();
        [None, Some(0), Some(6)]
            .into_iter()
            .flat_map(move |max_queued| {
                let config = DeltaFifoConfig::new().order(order).max_deltas(max_deltas);
                let config = config.max_queued(max_queued);
                [config.clone(), config.known(store.clone())]
            })
    })
}

fn compare<K>(
    config: DeltaFifoConfig<K>,
    store: &TestStore<K>,
    calls: &[Call<K>],
) -> Result<(), TestCaseError>
where
    K: informer_store::Object,
{
    let mut fifo = FifoUnderTest::new(DeltaFifo::new(config.clone()));
    check_calls(&mut fifo, &Model::new(config), store, calls)
}

fn compare_with(
    order: QueueOrder,
    settings: prop::sample::Index,
    calls: &[Call<Sample>],
) -> Result<(), TestCaseError> {
    let store = TestStore::new();
    let configs: Vec<_> = configs(&store, order).collect();
    compare(settings.get(&configs).clone(), &store, calls)
}

fn maps() -> Objects<ConfigMap> {
    let content = prop::option::of(any::<bool>()).prop_map(|immutable| ConfigMap {
        immutable,
        ..ConfigMap::default()
    });
    Objects::new(content, |map, key, version| {
        map.metadata.namespace = key.namespace().map(str::to_owned);
        map.metadata.name = Some(key.name().to_owned());
        map.metadata.uid = version.uid.as_ref().map(ToString::to_string);
        let version = version.resource_version.as_ref();
        map.metadata.resource_version = version.map(ToString::to_string);
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    // D1–D9, INV-FIFO-1 to 13, 17, 18, 20
    #[test]
    fn queue_by_key_matches_model(
        settings in any::<prop::sample::Index>(),
        calls in calls(&Sample::objects(), 1..60),
    ) {
        compare_with(QueueOrder::ByKey, settings, &calls)?;
    }

    // R1–R9, INV-FIFO-1 to 12, 16 to 18, 20
    #[test]
    fn queue_in_order_matches_model(
        settings in any::<prop::sample::Index>(),
        calls in calls(&Sample::objects(), 1..60),
    ) {
        compare_with(QueueOrder::InOrder, settings, &calls)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn model_takes_any_type_of_object(
        in_order in any::<bool>(),
        calls in calls(&maps(), 1..40),
    ) {
        let order = if in_order { QueueOrder::InOrder } else { QueueOrder::ByKey };
        let store = TestStore::new();
        let config = DeltaFifoConfig::new().known(store.clone()).order(order);
        compare(config, &store, &calls)?;
    }
}
