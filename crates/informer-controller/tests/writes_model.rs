//! Random writes of many keys over a cache that lags now and then, by seed.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use informer_client::{DeleteOptions, Patch};
use k8s_openapi::api::core::v1::Secret;
use parking_lot::Mutex;
use serde_json::json;
use support::lagging::{BEHIND, secret, touch, world};
use support::{key, until};
use tokio::time::sleep;

// INV-CONTROL-9: many keys, every verb, a cache that lags now and then; by seed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reconcile_sees_a_cache_without_its_own_writes() {
    for seed in 0..12 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let names = ["a", "b", "c", "d"];
        let mut world = world(&names).await;
        world.controller = world.controller.workers(3);
        let (status, store) = (world.controller.status(), world.secrets.store().clone());
        // What each key wrote last: its version, or that it was deleted.
        let written = Arc::new(Mutex::new(BTreeMap::<String, Option<u64>>::new()));
        let choices = Mutex::new(rng.fork());
        let (running, server, seen) = world.start(move |api, name, is_there| {
            let (cached, written) = (store.get(&key(&name)), Arc::clone(&written));
            if let Some(last) = written.lock().get(&name) {
                let version = |secret: &Secret| secret.metadata.resource_version.clone();
                let cached = cached.as_deref().and_then(version);
                let cached = cached.map(|text| text.parse::<u64>().expect("a number"));
                assert!(
                    cached >= *last && cached.is_some() == last.is_some(),
                    "{name}: {cached:?} {last:?}"
                );
            }
            let choice = choices.lock().u8(0..5);
            async move {
                let change = json!({"metadata": {"labels": {"n": fastrand::u32(..).to_string()}}});
                let object = if !is_there {
                    Some(api.create(&secret(&name)).await?)
                } else {
                    match choice {
                        0 => Some(api.patch(&name, &Patch::Merge(&change)).await?),
                        1 => {
                            let mut object = (*cached.expect("there")).clone();
                            object.type_ = None;
                            object.metadata.annotations =
                                Some([("n".into(), fastrand::u32(..).to_string())].into());
                            Some(api.replace(&name, &object).await?)
                        }
                        2 | 3 => {
                            api.delete(&name, &DeleteOptions::default()).await?;
                            None
                        }
                        _ => return Ok(()),
                    }
                };
                let version = object.and_then(|object| object.metadata.resource_version);
                written
                    .lock()
                    .insert(name, version.map(|text| text.parse().expect("a number")));
                Ok(())
            }
        });
        for round in 0..40 {
            match rng.u8(0..6) {
                0 => server.hold_replica(BEHIND, server.resource_version()),
                1 | 2 => server.release_replica(BEHIND),
                _ => touch(&server, names[rng.usize(..names.len())], round),
            }
            sleep(Duration::from_millis(rng.u64(0..6))).await;
        }
        server.release_replica(BEHIND);
        until("all is seen", || status.borrow().unseen_writes == 0).await;
        let end = status.borrow().clone();
        assert_eq!(
            (end.failures, end.waiting_for_writes),
            (0, 0),
            "seed {seed}: {:?}",
            end.last_error
        );
        assert!(seen.lock().len() > 10, "seed {seed}");
        running.end().await;
        server.shutdown().await;
    }
}
