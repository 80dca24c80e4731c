//! Reminders: who gets them, when, and that they are told apart from changes.

mod support;

use std::time::Duration;

use informer_shared::{Event, Registration, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;
use support::{Cluster, SECONDS, Seen, informer, settle, soon, started};

const MS: Duration = Duration::from_millis(1);

fn reminded(informer: &SharedInformer<ConfigMap>, period: Duration) -> (Registration, Seen) {
    let seen = Seen::new();
    let builder = informer.handler().resync_period(period);
    (
        builder.register(seen.clone()).expect("it has not stopped"),
        seen,
    )
}

fn reminders(seen: &Seen) -> usize {
    seen.lines()
        .iter()
        .filter(|line| *line == "=0 resync")
        .count()
}

// INV-SHARED-9, SI2, peers 48
#[tokio::test(start_paused = true)]
async fn each_handler_is_reminded_at_its_own_period_from_the_first_one_on() {
    let informer = informer(&Cluster::with(1));
    let never = reminded(&informer, Duration::ZERO);
    let each = [1000, 1100, 5000].map(|ms| (ms, reminded(&informer, ms * MS)));
    let raised = reminded(&informer, 10 * MS);
    let begin = tokio::time::Instant::now();
    started(&informer).await;
    for after in (500..22_000).step_by(250) {
        tokio::time::sleep_until(begin + after * MS).await;
        settle().await;
        for (ms, (_, seen)) in &each {
            let (count, ideal) = (reminders(seen), (after / ms) as usize);
            // At the very tick, the timer of this test may fire first.
            let fits = count == ideal || (after % ms == 0 && count + 1 == ideal);
            assert!(fits, "{count} of {ideal} at {after} ms, each {ms} ms");
        }
    }
    assert_eq!(reminders(&never.1), 0);
    assert!(
        (20..=22).contains(&reminders(&raised.1)),
        "the shortest period is a second"
    );
}

// INV-SHARED-9, SI4: the informer's period is only the default.
#[tokio::test(start_paused = true)]
async fn the_informers_period_is_the_default_and_no_bound() {
    let cluster = Cluster::with(1);
    let informer = SharedInformer::builder(cluster)
        .resync_period(10 * SECONDS)
        .build()
        .unwrap();
    let by_default = Seen::new();
    let _kept = informer.add_handler(by_default.clone()).unwrap();
    let shorter = reminded(&informer, 3 * SECONDS);
    let longer = reminded(&informer, 25 * SECONDS);
    let never = reminded(&informer, Duration::ZERO);
    started(&informer).await;
    tokio::time::sleep(Duration::from_millis(50_500)).await;
    let counts = [&by_default, &shorter.1, &longer.1, &never.1].map(reminders);
    assert_eq!(counts, [5, 16, 2, 0]);
}

// INV-SHARED-9: a late handler's first period begins when it joins.
#[tokio::test(start_paused = true)]
async fn a_late_handler_has_its_own_due_times() {
    let informer = informer(&Cluster::with(1));
    started(&informer).await;
    tokio::time::sleep(Duration::from_millis(1700)).await;
    let late = reminded(&informer, 2 * SECONDS);
    settle().await;
    assert_eq!(late.1.lines(), ["+0=first initial"]);
    tokio::time::sleep(Duration::from_millis(1900)).await;
    assert_eq!(reminders(&late.1), 0);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(reminders(&late.1), 1);
}

// INV-SHARED-9, peers 49, 47; protocol 3.3 (14)
#[tokio::test(start_paused = true)]
async fn reminders_are_of_present_objects_and_bring_nothing_back() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    let seen = reminded(&informer, SECONDS);
    started(&informer).await;
    settle().await;
    seen.1.take();
    cluster.delete("1");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // `=` is written only where old and new are one allocation.
    assert_eq!(seen.1.take(), ["-1", "=0 resync"]);
    assert_eq!(seen.1.contents(), cluster.contents());
    assert_eq!(
        (cluster.lists(), cluster.watches_opened()),
        (1, 1),
        "the server is not asked"
    );
    soon(informer.stop()).await.unwrap();
    tokio::time::sleep(10 * SECONDS).await;
    assert!(
        seen.1.take().is_empty(),
        "a stopped informer reminds of nothing"
    );
}

// INV-SHARED-9, peers 62: with no handler, and with one that never returns.
#[tokio::test(start_paused = true)]
async fn rounds_do_not_pile_up_before_a_stuck_handler() {
    let cluster = Cluster::with(5);
    let informer = SharedInformer::builder(cluster.clone())
        .resync_period(SECONDS)
        .build()
        .unwrap();
    started(&informer).await;
    tokio::time::sleep(3 * SECONDS).await;
    let stuck = informer
        .handler()
        .queue(informer_shared::QueuePolicy::Unbounded)
        .register(|_: Event<ConfigMap>| std::future::pending::<()>())
        .unwrap();
    tokio::time::sleep(100 * SECONDS).await;
    // Four of the first state, and one round of five.
    assert_eq!(stuck.status().queue_depth, 9);
    assert!(stuck.status().lag >= 99 * SECONDS);
}

// INV-SHARED-9, SI3: client-go waited for its processor for ever where a resync came before that had started.
#[tokio::test(start_paused = true)]
async fn handlers_that_wait_long_for_the_start_are_reminded_from_it_on() {
    let informer = informer(&Cluster::with(1));
    let handlers = [0, 2, 3].map(|seconds| reminded(&informer, seconds * SECONDS));
    tokio::time::sleep(100 * SECONDS).await;
    assert!(handlers.iter().all(|(_, seen)| seen.lines().is_empty()));
    started(&informer).await;
    for (handler, seen) in &handlers {
        soon(handler.synced()).await.expect("it is synced");
        assert_eq!(seen.lines(), ["+0=first initial"]);
    }
    tokio::time::sleep(6 * SECONDS + 500 * MS).await;
    settle().await;
    let counts = handlers.each_ref().map(|(_, seen)| reminders(seen));
    assert_eq!(counts, [0, 3, 2]);
}
