//! What informers and handlers hold, measured by a counting allocator.

mod support;

use allocation_counter::measure;
use informer_shared::{Event, Registration, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;
use support::{Cluster, informer, settle, started};
use tokio::runtime::{Builder, Runtime};

/// All of an informer runs on this thread, so that all of it is counted.
fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build();
    runtime.expect("a runtime")
}

// INV-SHARED-19
#[test]
fn an_idle_informer_is_small() {
    let runtime = runtime();
    let mut informers: Vec<SharedInformer<ConfigMap>> = Vec::with_capacity(200);
    let held = measure(|| {
        runtime.block_on(async {
            for _ in 0..200 {
                let informer = informer(&Cluster::new());
                started(&informer).await;
                informers.push(informer);
            }
            settle().await;
        });
    });
    let each = held.bytes_current / 200;
    assert!(each < 256 * 1024, "{each} bytes each");
    assert!(each > 0, "nothing was counted");
}

// INV-SHARED-19
#[test]
fn handlers_that_leave_give_back_what_they_held() {
    let runtime = runtime();
    let informer = runtime.block_on(async {
        let informer = informer(&Cluster::with(10));
        started(&informer).await;
        informer
    });
    let come_and_go = || {
        runtime.block_on(async {
            let add = || informer.add_handler(|_: Event<ConfigMap>| async {});
            let handlers: Vec<Registration> = (0..1000)
                .map(|_| add().expect("the informer runs"))
                .collect();
            settle().await;
            assert!(handlers.iter().all(Registration::has_synced));
            drop(handlers);
            settle().await;
            assert!(informer.status().handlers.is_empty());
        });
    };
    // The first round makes room that is kept for the next.
    come_and_go();
    let held = measure(|| (0..5).for_each(|_| come_and_go()));
    assert!(held.bytes_total > 5_000_000, "{} counted", held.bytes_total);
    assert!(
        held.bytes_current < 16 * 1024,
        "{} kept",
        held.bytes_current
    );
}
