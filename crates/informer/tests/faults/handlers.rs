//! Handlers that are slow, panic or are late; kinds that never sync; and all faults at random.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer::http::{HttpConfig, HttpSource};
use informer::shared::EndReason;
use informer::{Client, Event, InformerFactory, ListMode};
use informer_testkit::{Answer, Fault, RequestMatcher, Status, StreamEnd};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use crate::history::History;
use crate::rig::{
    MODES, Rig, any_list, any_watch, config, delete, listed, record, server, within, write,
};

/// peers 60, 61
#[tokio::test]
async fn blocked_handler_delays_nothing_and_queues_each_key_once() {
    let rig = Rig::synced(ListMode::Stream, 20).await;
    let open = Arc::new(AtomicBool::new(false));
    let (gate, history) = (Arc::clone(&open), History::default());
    let received = history.clone();
    let blocked = rig
        .informer
        .add_blocking_handler(move |event: Event<ConfigMap>| {
            while !gate.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(2));
            }
            received.take(&event);
        });
    let blocked = blocked.unwrap();
    for round in 0..300 {
        for number in 0..20 {
            write(&rig.server, number, &format!("{round}"));
        }
        if round % 10 == 9 {
            delete(&rig.server, round % 20);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    rig.agrees().await;
    let status = blocked.status();
    assert!(status.queue_depth <= 40, "{status:?}");
    assert_eq!(rig.lists(), 1);
    open.store(true, Ordering::Release);
    rig.until("the blocked handler", |rig| {
        history.live() == listed(&rig.server)
    })
    .await;
    history.check();
    rig.end().await;
}

/// peers 58
#[tokio::test]
async fn handler_panic_affects_no_other_handler() {
    let server = server().await;
    (0..10).for_each(|number| write(&server, number, "red"));
    server.fail_next(any_list(), Fault::Delay(Duration::from_millis(200)));
    let rig = Rig::start(server, ListMode::List);
    let mut events = 0;
    let panicking = rig.informer.add_handler(move |_: Event<ConfigMap>| {
        events += 1;
        assert!(events != 3, "the third event is too much");
        std::future::ready(())
    });
    let panicking = panicking.unwrap();
    rig.agrees().await;
    assert!(matches!(
        within(panicking.ended().into_future()).await,
        Ok(EndReason::Failed(_))
    ));
    assert!(within(panicking.synced().into_future()).await.is_err());
    let status = rig.informer.status();
    assert!(status.handlers_synced && status.watching, "{status:?}");
    write(&rig.server, 1, "green");
    rig.agrees().await;
    rig.end().await;
}

/// peers 64
#[tokio::test]
async fn handlers_added_and_removed_during_churn_are_correct() {
    let rig = Rig::synced(ListMode::Stream, 20).await;
    let mut late = Vec::new();
    for round in 0..200 {
        write(&rig.server, round % 25, &format!("{round}"));
        if round % 3 == 0 {
            delete(&rig.server, round % 25);
        }
        let history = History::default();
        let registration = record(&rig.informer, &history);
        if round % 4 == 0 {
            late.push((registration, history));
        } else if round % 4 == 1 {
            within(registration.remove().into_future()).await.unwrap();
        } else {
            drop(registration.scoped());
        }
        match round % 50 {
            17 => rig.server.drop_watches(),
            34 => {
                let expired = Status::failure(410, "Expired", "too old");
                rig.server.end_watches(StreamEnd::Error(expired));
            }
            _ => tokio::task::yield_now().await,
        }
    }
    rig.agrees().await;
    for (registration, history) in &late {
        within(registration.synced().into_future()).await.unwrap();
        rig.until("a late handler", |rig| {
            history.live() == listed(&rig.server)
        })
        .await;
        history.check();
    }
    rig.until("only those kept", |rig| {
        rig.informer.status().handlers.len() == late.len() + 1
    })
    .await;
    rig.end().await;
}

/// peers 36, 67
#[tokio::test]
async fn one_refused_kind_delays_no_other_and_is_named() {
    let server = server().await;
    (0..5).for_each(|number| write(&server, number, "red"));
    let secrets = RequestMatcher::any().resource("secrets");
    server.fail(
        secrets,
        Status::failure(403, "Forbidden", "secrets is forbidden: no"),
        1_000_000,
    );
    let source = HttpSource::new(
        Client::anonymous(&server.url()).unwrap(),
        HttpConfig::default(),
    );
    let factory = InformerFactory::builder(source)
        .reflector_config(config(ListMode::Auto))
        .build()
        .unwrap();
    let config_maps = factory.informer::<ConfigMap>();
    let dead = factory.informer::<Secret>();
    factory.start().unwrap();
    within(config_maps.synced().into_future()).await.unwrap();
    let all = factory
        .wait_for_cache_sync()
        .deadline(Duration::from_millis(500));
    let late = within(all.into_future()).await.unwrap_err().to_string();
    assert!(late.contains("secrets") && late.contains("403"), "{late}");
    assert!(!late.contains("configmaps"), "{late}");
    assert_eq!(config_maps.store().len(), 5);
    assert!(!dead.has_synced());
    server.clear_faults();
    within(factory.wait_for_cache_sync().into_future())
        .await
        .unwrap();
    within(factory.shutdown()).await.unwrap();
}

fn random_fault(random: &mut Random) -> Fault {
    let after = random.below(2500);
    match random.below(14) {
        0 => Status::failure(410, "Expired", "too old").into(),
        1 => Fault::ErrorEvent(Status::failure(410, "Expired", "too old")),
        2 => Status::failure(500, "InternalError", "x").into(),
        3 => Fault::ErrorEvent(Status::failure(500, "InternalError", "x")),
        4 => Answer::text(502, "<html>").into(),
        5 => Fault::Disconnect,
        6 | 7 => Fault::Cut { after },
        8 | 9 => Fault::End { after },
        10 => Status::failure(503, "ServiceUnavailable", "x").into(),
        11 => Status::failure(403, "Forbidden", "x").into(),
        12 => Status::failure(504, "Timeout", "Too large resource version: 9, current: 8").into(),
        _ => Fault::Delay(Duration::from_millis(random.below(60))),
    }
}

/// Good enough to mix faults: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Everything at once, from several seeds. `FAULT_SEED` runs one alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_faults_during_churn_end_in_agreement() {
    let seeds = match std::env::var("FAULT_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (1..=12).collect(),
    };
    let (runs, mut events) = (seeds.len(), 0);
    for seed in seeds {
        eprintln!("seed {seed}");
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (seed << 40));
        let mode = MODES[usize::try_from(seed % 2).unwrap()];
        let server = server().await;
        (0..15).for_each(|number| write(&server, number, "red"));
        let rig = Rig::start(server, mode);
        for _ in 0..60 {
            for _ in 0..random.below(8) {
                let number = usize::try_from(random.below(20)).unwrap();
                if random.below(3) == 0 && rig.server.resource_version() > 0 {
                    let namespace = ["default", "shop"][number % 2];
                    let _ = rig
                        .server
                        .delete("configmaps", namespace, &format!("c{number}"));
                } else {
                    write(&rig.server, number, &format!("{}", random.below(4)));
                }
            }
            let matcher = if random.below(2) == 0 {
                any_watch()
            } else {
                any_list()
            };
            if random.below(2) == 0 {
                rig.server.fail_next(matcher, random_fault(&mut random));
            }
            match random.below(6) {
                0 => rig.server.drop_watches(),
                1 => rig.server.end_watches(StreamEnd::Cut),
                2 => rig
                    .server
                    .end_watches(StreamEnd::Error(Status::failure(410, "Expired", "old"))),
                3 => rig.server.compact(),
                _ => {}
            }
            tokio::time::sleep(Duration::from_millis(random.below(40))).await;
        }
        rig.server.clear_faults();
        rig.agrees().await;
        events += rig.history.len();
        rig.end().await;
    }
    // Not in each: after a refusal a cache may wait for longer than its run.
    assert!(events > 20 * runs, "{events} events in {runs} runs");
}
