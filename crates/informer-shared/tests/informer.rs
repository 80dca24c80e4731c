//! The whole path in memory: a cluster, an informer, handlers of each sort.

mod support;

use std::time::Duration;

use futures_util::StreamExt;
use informer_shared::{Event, HandlerFns, RunError, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;
use support::{Cluster, Seen, settle, until};
use tokio_util::sync::CancellationToken;

fn informer(cluster: &Cluster) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(cluster.clone()).build().unwrap()
}

// INV-SHARED-1, SI17, SI18
#[tokio::test]
async fn handlers_of_every_sort_hear_the_first_state_and_then_changes() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    let (a, b, c) = (Seen::new(), Seen::new(), Seen::new());
    let by_closure = {
        let c = c.clone();
        move |event: Event<ConfigMap>| {
            c.tell(&event);
            async {}
        }
    };
    let registrations = [
        informer.add_handler(a.clone()).unwrap(),
        informer.add_blocking_handler(b.clone()).unwrap(),
        informer.add_handler(by_closure).unwrap(),
    ];
    let mut stream = informer.events().unwrap();
    assert!(!registrations[0].has_synced());
    informer.start().unwrap();
    for registration in &registrations {
        registration
            .synced()
            .deadline(Duration::from_secs(10))
            .await
            .unwrap();
    }
    assert_eq!(a.take(), ["+0=first initial", "+1=first initial"]);
    assert_eq!(b.take(), ["+0=first initial", "+1=first initial"]);
    assert_eq!(c.take(), ["+0=first initial", "+1=first initial"]);

    cluster.put("2", "new");
    cluster.put("0", "second");
    cluster.delete("1");
    let expected = ["+2=new", "~0=first>second watch", "-1"];
    until("three more", || {
        a.lines().len() == 3 && b.lines().len() == 3
    })
    .await;
    assert_eq!(a.take(), expected);
    assert_eq!(b.take(), expected);
    let mut streamed = Vec::new();
    for _ in 0..2 {
        streamed.push(support::line(&stream.next().await.unwrap()));
    }
    // The stream was not read meanwhile: its events joined, each key in its place.
    assert_eq!(streamed, ["+0=second initial", "+2=new"]);
}
