//! Removing handlers: before, during and after a run, from outside and from within.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_shared::{EndReason, Event, Registration, WaitError};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{Cluster, SECONDS, Seen, informer, settle, soon, started, until};

// INV-SHARED-11, SI21
#[tokio::test(start_paused = true)]
async fn removal_waits_for_the_running_call_and_drops_queued_events() {
    let cluster = Cluster::with(3);
    let informer = informer(&cluster);
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let slow = informer
        .add_handler(move |_: Event<ConfigMap>| {
            let count = Arc::clone(&count);
            async move {
                tokio::time::sleep(SECONDS).await;
                count.fetch_add(1, Ordering::SeqCst);
            }
        })
        .unwrap();
    started(&informer).await;
    settle().await;
    let before = tokio::time::Instant::now();
    let end = soon(slow.remove()).await;
    assert!(matches!(end, Ok(EndReason::Removed)), "{end:?}");
    assert_eq!(before.elapsed(), SECONDS);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    tokio::time::sleep(10 * SECONDS).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert!(informer.status().handlers.is_empty());
}

// INV-SHARED-11
#[tokio::test]
async fn handler_can_remove_itself() {
    let cluster = Cluster::with(3);
    let informer = informer(&cluster);
    let own: Arc<Mutex<Option<Registration>>> = Arc::default();
    let calls = Arc::new(AtomicUsize::new(0));
    let (mine, count) = (Arc::clone(&own), Arc::clone(&calls));
    let registration = informer
        .add_handler(move |_: Event<ConfigMap>| {
            count.fetch_add(1, Ordering::SeqCst);
            let registration = mine.lock().take();
            async move {
                if let Some(registration) = registration {
                    soon(registration.remove()).await.unwrap();
                }
            }
        })
        .unwrap();
    *own.lock() = Some(registration);
    started(&informer).await;
    until("its removal", || informer.status().handlers.is_empty()).await;
    cluster.put("3", "x");
    settle().await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);

    // The same on a thread, where the registration is dropped.
    let (hand_over, handed_over) = std::sync::mpsc::channel::<Registration>();
    let blocking = informer
        .add_blocking_handler(move |_: Event<ConfigMap>| drop(handed_over.recv()))
        .unwrap();
    hand_over.send(blocking.scoped()).unwrap();
    until("its removal", || informer.status().handlers.is_empty()).await;
}

// INV-SHARED-11, SI11: a registration leads to its own informer only.
#[tokio::test(start_paused = true)]
async fn removal_from_one_informer_leaves_others_alone() {
    let (one, other) = (informer(&Cluster::with(1)), informer(&Cluster::with(1)));
    let (a, b) = (Seen::new(), Seen::new());
    let first = one.add_handler(a.clone()).unwrap();
    let _second = other.add_handler(b.clone()).unwrap();
    started(&one).await;
    started(&other).await;
    drop(first.scoped());
    until("the other", || b.lines().len() == 1).await;
    assert_eq!(
        (one.status().handlers.len(), other.status().handlers.len()),
        (0, 1)
    );
}

// INV-SHARED-11
#[tokio::test(start_paused = true)]
async fn dropping_a_registration_keeps_the_handler() {
    let cluster = Cluster::with(1);
    let informer = informer(&cluster);
    let seen = Seen::new();
    drop(informer.add_handler(seen.clone()).unwrap());
    started(&informer).await;
    cluster.put("1", "x");
    until("both", || seen.lines().len() == 2).await;
}

// INV-SHARED-11, SI13, SI17, SI22: before the start, after it, added late, never started, after the stop.
#[tokio::test(start_paused = true)]
async fn removed_handler_receives_nothing_whenever_it_was_removed() {
    let cluster = Cluster::with(2);
    let never = informer(&cluster);
    let seen = Seen::new();
    let registration = never.add_handler(seen.clone()).unwrap();
    soon(registration.remove()).await.unwrap();
    assert!(seen.lines().is_empty());

    let informer = informer(&cluster);
    let [before, idle, late, kept] = [(); 4].map(|()| Seen::new());
    let registration = informer.add_handler(before.clone()).unwrap();
    soon(registration.remove()).await.unwrap();
    let registration = informer.add_handler(idle.clone()).unwrap();
    let stays = informer.add_handler(kept.clone()).unwrap();
    started(&informer).await;
    soon(registration.synced()).await.unwrap();
    soon(registration.remove()).await.unwrap();
    let registration = informer.add_handler(late.clone()).unwrap();
    soon(registration.synced()).await.unwrap();
    soon(registration.remove()).await.unwrap();

    cluster.put("0", "second");
    until("the one that stays", || kept.lines().len() == 3).await;
    settle().await;
    let first = ["+0=first initial", "+1=first initial"];
    assert!(before.lines().is_empty());
    assert_eq!(idle.take(), first);
    assert_eq!(late.take(), first);

    soon(informer.stop()).await.unwrap();
    soon(stays.remove()).await.unwrap();
}

// INV-SHARED-11: two handlers that remove each other wait for neither.
#[tokio::test(start_paused = true)]
async fn two_handlers_can_remove_each_other() {
    let informer = informer(&Cluster::with(1));
    let slots: [Arc<Mutex<Option<Registration>>>; 2] = Default::default();
    let ends = Arc::new(Mutex::new(Vec::new()));
    let registrations = [0, 1].map(|own: usize| {
        let (other, ends) = (Arc::clone(&slots[1 - own]), Arc::clone(&ends));
        let handler = move |_: Event<ConfigMap>| {
            let (other, ends) = (other.lock().take(), Arc::clone(&ends));
            async move {
                tokio::task::yield_now().await;
                if let Some(other) = other {
                    let end = other.remove().await;
                    ends.lock().push(end);
                }
            }
        };
        informer.add_handler(handler).unwrap()
    });
    for (slot, registration) in slots.iter().zip(registrations) {
        *slot.lock() = Some(registration);
    }
    started(&informer).await;
    until("both are removed", || informer.status().handlers.is_empty()).await;
    until("both calls ended", || ends.lock().len() == 2).await;
    for end in ends.lock().iter() {
        assert!(
            matches!(end, Err(WaitError::WithinHandler { .. })),
            "{end:?}"
        );
    }
    soon(informer.stop()).await.unwrap();
}

// INV-SHARED-11: of two informers, where each wait is legitimate by itself.
#[tokio::test(start_paused = true)]
async fn handlers_of_two_informers_can_remove_each_other_and_stop_each_other() {
    let informers = [Cluster::with(1), Cluster::with(1)].map(|cluster| informer(&cluster));
    let slots: [Arc<Mutex<Option<Registration>>>; 2] = Default::default();
    let ends = Arc::new(Mutex::new(Vec::new()));
    for own in [0, 1] {
        let (other, ends) = (Arc::clone(&slots[1 - own]), Arc::clone(&ends));
        let (weak, is_remover) = (informers[1 - own].downgrade(), Arc::clone(&slots[own]));
        let handler = move |_: Event<ConfigMap>| {
            let (other, ends, weak) = (other.lock().take(), Arc::clone(&ends), weak.clone());
            async move {
                tokio::task::yield_now().await;
                if let Some(other) = other {
                    let end = other.remove().await;
                    ends.lock().push(end);
                }
                if let Some(informer) = weak.upgrade() {
                    let _ = informer.stop().await;
                }
            }
        };
        *is_remover.lock() = Some(informers[own].add_handler(handler).unwrap());
    }
    for informer in &informers {
        informer.start().unwrap();
    }
    for informer in &informers {
        let outcome = tokio::time::timeout(60 * SECONDS, informer.stopped()).await;
        outcome.expect("it stops").unwrap();
    }
    let ends = ends.lock();
    assert!(!ends.is_empty());
    for end in ends.iter() {
        let is_released = matches!(
            end,
            Err(WaitError::NotEnded { .. }) | Ok(EndReason::Removed)
        );
        assert!(is_released, "{end:?}");
    }
}
