//! Resyncs: who receives them, and when.

mod support;

use std::time::Duration;

use informer_shared::{Event, Registration, SharedInformer};
use k8s_openapi::api::core::v1::ConfigMap;
use support::{Cluster, SECONDS, Seen, informer, settle, soon, started};

const MS: Duration = Duration::from_millis(1);

fn with_period(informer: &SharedInformer<ConfigMap>, period: Duration) -> (Registration, Seen) {
    let seen = Seen::new();
    let builder = informer.handler().resync_period(period);
    (
        builder.register(seen.clone()).expect("it has not stopped"),
        seen,
    )
}

fn resyncs(seen: &Seen) -> usize {
    seen.lines()
        .iter()
        .filter(|line| *line == "=0 resync")
        .count()
}

// INV-SHARED-9, SI2, peers 48
#[tokio::test(start_paused = true)]
async fn each_handler_is_resynced_at_its_own_period() {
    let informer = informer(&Cluster::with(1));
    let never = with_period(&informer, Duration::ZERO);
    let each = [1000, 1100, 5000].map(|ms| (ms, with_period(&informer, ms * MS)));
    let raised = with_period(&informer, 10 * MS);
    let begin = tokio::time::Instant::now();
    started(&informer).await;
    for after in (500..22_000).step_by(250) {
        tokio::time::sleep_until(begin + after * MS).await;
        settle().await;
        for (ms, (_, seen)) in &each {
            let (count, ideal) = (resyncs(seen), (after / ms) as usize);
            // At the very tick, the timer of this test may fire first.
            let fits = count == ideal || (after % ms == 0 && count + 1 == ideal);
            assert!(fits, "{count} of {ideal} at {after} ms, each {ms} ms");
        }
    }
    assert_eq!(resyncs(&never.1), 0);
    assert!(
        (20..=22).contains(&resyncs(&raised.1)),
        "the shortest period is a second"
    );
}

// INV-SHARED-9, SI4: the informer's period is only the default.
#[tokio::test(start_paused = true)]
async fn period_of_the_informer_is_the_default_and_no_bound() {
    let cluster = Cluster::with(1);
    let informer = SharedInformer::builder(cluster)
        .resync_period(10 * SECONDS)
        .build()
        .unwrap();
    let by_default = Seen::new();
    let _kept = informer.add_handler(by_default.clone()).unwrap();
    let shorter = with_period(&informer, 3 * SECONDS);
    let longer = with_period(&informer, 25 * SECONDS);
    let never = with_period(&informer, Duration::ZERO);
    started(&informer).await;
    tokio::time::sleep(Duration::from_millis(50_500)).await;
    let counts = [&by_default, &shorter.1, &longer.1, &never.1].map(resyncs);
    assert_eq!(counts, [5, 16, 2, 0]);
}

// INV-SHARED-9: a late handler's first period begins when it is added.
#[tokio::test(start_paused = true)]
async fn late_handler_has_its_own_due_times() {
    let informer = informer(&Cluster::with(1));
    started(&informer).await;
    tokio::time::sleep(Duration::from_millis(1700)).await;
    let late = with_period(&informer, 2 * SECONDS);
    settle().await;
    assert_eq!(late.1.lines(), ["+0=first initial"]);
    tokio::time::sleep(Duration::from_millis(1900)).await;
    assert_eq!(resyncs(&late.1), 0);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(resyncs(&late.1), 1);
}

// INV-SHARED-9, peers 49, 47; protocol 3.3 (14)
#[tokio::test(start_paused = true)]
async fn resync_sends_cached_objects_and_brings_nothing_back() {
    let cluster = Cluster::with(2);
    let informer = informer(&cluster);
    let seen = with_period(&informer, SECONDS);
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
        "a stopped informer resyncs nothing"
    );
}

// INV-SHARED-9, peers 62: with no handler, and with one that never returns.
#[tokio::test(start_paused = true)]
async fn resyncs_do_not_accumulate_for_a_stuck_handler() {
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
    // Four initial objects, and one resync of five.
    assert_eq!(stuck.status().queue_depth, 9);
    assert!(stuck.status().lag >= 99 * SECONDS);
}

// INV-SHARED-9, SI3: client-go waited for its processor for ever where a resync came before that had started.
#[tokio::test(start_paused = true)]
async fn handlers_added_long_before_the_start_are_resynced_from_it_on() {
    let informer = informer(&Cluster::with(1));
    let handlers = [0, 2, 3].map(|seconds| with_period(&informer, seconds * SECONDS));
    tokio::time::sleep(100 * SECONDS).await;
    assert!(handlers.iter().all(|(_, seen)| seen.lines().is_empty()));
    started(&informer).await;
    for (handler, seen) in &handlers {
        soon(handler.synced()).await.expect("it is synced");
        assert_eq!(seen.lines(), ["+0=first initial"]);
    }
    tokio::time::sleep(6 * SECONDS + 500 * MS).await;
    settle().await;
    let counts = handlers.each_ref().map(|(_, seen)| resyncs(seen));
    assert_eq!(counts, [0, 3, 2]);
}

// INV-SHARED-9: no pass over the cache for nobody: a resync would count as deltas without effect.
#[tokio::test(start_paused = true)]
async fn nothing_is_resynced_without_a_handler_with_a_period() {
    let informer = informer(&Cluster::with(5));
    let never = with_period(&informer, Duration::ZERO);
    let longest = with_period(&informer, Duration::MAX);
    let stopped = informer
        .handler()
        .resync_period(10 * SECONDS)
        .register(|_: Event<ConfigMap>| -> std::future::Ready<()> { panic!("at the first event") })
        .unwrap();
    let removed = with_period(&informer, 10 * SECONDS);
    started(&informer).await;
    soon(never.0.synced()).await.unwrap();
    assert!(soon(stopped.ended()).await.is_ok());
    soon(removed.0.remove()).await.unwrap();
    let before = informer.status();
    tokio::time::sleep(100_000 * SECONDS).await;
    let after = informer.status();
    assert_eq!(after.without_effect, 0);
    assert_eq!(after.batches, before.batches);
    assert_eq!(after.handlers.len(), 3, "one that ended is still listed");
    assert_eq!((resyncs(&never.1), resyncs(&longest.1)), (0, 0));
}

// INV-SHARED-9, INV-SHARED-4: a bounded queue that a resync fills is due no more.
#[tokio::test(start_paused = true)]
async fn handler_whose_queue_is_full_is_never_due_again() {
    let informer = informer(&Cluster::with(5));
    let full = informer
        .handler()
        .resync_period(10 * SECONDS)
        .queue(informer_shared::QueuePolicy::Bounded(4))
        .stream()
        .unwrap();
    started(&informer).await;
    tokio::time::sleep(15 * SECONDS).await;
    assert!(full.status().ended.is_some());
    assert_eq!(informer.status().without_effect, 5);
    tokio::time::sleep(100_000 * SECONDS).await;
    assert_eq!(informer.status().without_effect, 5);
}

// INV-SHARED-9: one handler's resync is not another's, however close their due times are.
#[tokio::test(start_paused = true)]
async fn resync_reaches_the_handlers_that_are_due_alone() {
    let cluster = Cluster::with(1);
    let builder = SharedInformer::builder(cluster.clone()).resync_period(SECONDS);
    let informer = builder.build().unwrap();
    let often = with_period(&informer, 3 * SECONDS);
    let seldom = with_period(&informer, 100 * SECONDS);
    started(&informer).await;
    tokio::time::sleep(31 * SECONDS).await;
    assert_eq!((resyncs(&often.1), resyncs(&seldom.1)), (10, 0));
    // A change that is queued with a resync is sent as the change.
    often.1.take();
    tokio::time::sleep(1900 * MS).await;
    cluster.put("0", "second");
    tokio::time::sleep(300 * MS).await;
    settle().await;
    let last = often.1.take();
    assert_eq!(last[0], "~0=first>second watch", "{last:?}");
    assert!(last.len() <= 2, "{last:?}");
}

// INV-SHARED-9: what fell due while the first list was received is skipped, and multiples of the period hold after it.
#[tokio::test(start_paused = true)]
async fn resyncs_begin_after_the_first_list() {
    let cluster = Cluster::with(1);
    cluster.fail_lists(Some(500));
    let informer = informer(&cluster);
    let often = with_period(&informer, 10 * SECONDS);
    informer.start().unwrap();
    let begin = tokio::time::Instant::now();
    tokio::time::sleep(95 * SECONDS).await;
    cluster.fail_lists(None);
    informer.synced().deadline(60 * SECONDS).await.unwrap();
    settle().await;
    assert_eq!(often.1.lines(), ["+0=first initial"]);
    let synced = begin.elapsed().as_secs() / 10;
    tokio::time::sleep_until(begin + 200 * SECONDS + 5 * SECONDS).await;
    assert_eq!(resyncs(&often.1) as u64, 20 - synced);
}
