//! Random runs of an informer in virtual time: the cluster changes, watches break, handlers are added and removed, stall,
//! fail and panic. Each handler's history is legal, and in the end cache and handlers equal the cluster.
//!
//! A seed that fails is printed; `INFORMER_SEED=n` runs it alone, `INFORMER_SEEDS=n` runs n of them.

mod support;

use std::sync::Arc;
use std::time::Duration;

use informer_shared::{
    BoxError, EndReason, Event, EventHandler, EventStream, FailurePolicy, OnStop, QueuePolicy,
    Registration, SharedInformer, WaitError,
};
use informer_store::Expectation;
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use support::{Cluster, SECONDS, Seen, soon, value_of};
use tokio::task::JoinHandle;

/// A small generator, so that a seed gives the same run everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Records its events, after a random time, and fails at random.
struct Moody {
    seen: Seen,
    random: Arc<Mutex<Random>>,
    stalls: bool,
    fails: bool,
}

impl EventHandler<ConfigMap> for Moody {
    async fn handle(&mut self, event: Event<ConfigMap>) -> Result<(), BoxError> {
        // An event counts as received, also where the handler fails afterwards.
        self.seen.note(&event);
        let (pause, mood) = {
            let mut random = self.random.lock();
            (random.below(400), random.below(30))
        };
        if self.stalls {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        match mood {
            0 if self.fails => Err("a bad day".into()),
            1 if self.fails => panic!("a very bad day"),
            _ => Ok(()),
        }
    }
}

struct Handler {
    seen: Seen,
    registration: Registration,
    /// Which objects it sees.
    filtered: bool,
}

struct World {
    random: Random,
    cluster: Cluster,
    informer: SharedInformer<ConfigMap>,
    handlers: Vec<Handler>,
    /// Streams that nobody polls until the end.
    streams: Vec<(EventStream<ConfigMap>, Seen)>,
    /// Waits for writes to be cached.
    waits: Vec<JoinHandle<Result<(), WaitError>>>,
}

fn is_shown(object: &ConfigMap) -> bool {
    value_of(object).ends_with(['0', '2', '4', '6', '8'])
}

impl World {
    fn new(seed: u64) -> Self {
        let cluster = Cluster::with((seed % 7) as usize);
        let informer = SharedInformer::builder(cluster.clone())
            .reflector_config(informer_reflector::ReflectorConfig::default().seed(seed))
            .on_stop(OnStop::Drain {
                timeout: 3600 * SECONDS,
            })
            .build()
            .expect("no indexes clash");
        let random = Random(seed);
        Self {
            random,
            cluster,
            informer,
            handlers: Vec::new(),
            streams: Vec::new(),
            waits: Vec::new(),
        }
    }

    fn join(&mut self) {
        let seen = Seen::new();
        let mut builder = self.informer.handler();
        let filtered = self.random.one_in(4);
        if filtered {
            builder = builder.filter(is_shown);
        }
        if self.random.one_in(2) {
            builder = builder.resync_period(SECONDS * (1 + self.random.below(5) as u32));
        }
        builder = match self.random.below(4) {
            0 => builder.queue(QueuePolicy::Unbounded),
            1 => builder.queue(QueuePolicy::Bounded(1 + self.random.below(40) as usize)),
            _ => builder,
        };
        if self.random.one_in(6) {
            let stream = builder.stream().expect("it has not stopped");
            return self.streams.push((stream, seen));
        }
        let policy = if self.random.one_in(2) {
            FailurePolicy::Skip
        } else {
            FailurePolicy::StopHandler
        };
        let handler = Moody {
            seen: seen.clone(),
            random: Arc::new(Mutex::new(Random(self.random.next()))),
            stalls: self.random.one_in(2),
            fails: self.random.one_in(3),
        };
        let builder = builder.on_error(policy).on_panic(policy);
        let registration = builder.register(handler).expect("it has not stopped");
        self.handlers.push(Handler {
            seen,
            registration,
            filtered,
        });
    }

    fn change(&mut self) {
        let name = self.random.below(8).to_string();
        let version = if self.cluster.contents().contains_key(&name) && self.random.one_in(3) {
            self.cluster.delete(&name)
        } else {
            self.cluster.put(&name, &self.random.below(100).to_string())
        };
        if self.random.one_in(4) {
            self.expect(&name, version);
        }
    }

    /// Waits for a write, beside all else; once it is over the cache must not be behind the write.
    fn expect(&mut self, name: &str, version: u64) {
        let written = support::config_map(name, "any", version, "");
        let written = Expectation::written(&written).expect("it has a name");
        let wait = self.informer.wait_for(written.clone());
        let store = self.informer.store().clone();
        self.waits.push(tokio::spawn(async move {
            wait.await?;
            assert_eq!(written.is_met_by(&store.snapshot()), Ok(true), "{written}");
            Ok(())
        }));
    }

    async fn step(&mut self) {
        match self.random.below(20) {
            0 | 1 => self.join(),
            2 if !self.handlers.is_empty() => {
                let at = self.random.below(self.handlers.len() as u64) as usize;
                let Handler {
                    seen, registration, ..
                } = self.handlers.swap_remove(at);
                if self.random.one_in(2) {
                    soon(registration.remove()).await.expect("it ends");
                    let received = seen.lines().len();
                    tokio::time::sleep(SECONDS).await;
                    assert_eq!(seen.lines().len(), received, "an event after its removal");
                } else {
                    drop(registration.scoped());
                }
            }
            3 => self.cluster.close_watches(),
            4 => {
                let mut away = Random(self.random.next());
                self.cluster.while_away(|cluster| {
                    for _ in 0..away.below(6) {
                        let name = away.below(8).to_string();
                        if cluster.contents().contains_key(&name) {
                            cluster.delete(&name);
                        }
                        if away.one_in(2) {
                            cluster.put(&name, &away.below(100).to_string());
                        }
                    }
                });
            }
            5 => self.cluster.fail_lists(Some(500)),
            6 | 7 => self.cluster.fail_lists(None),
            8 | 9 => {
                let pause = self.random.below(4000);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            10 => {
                self.cluster.bookmark();
            }
            _ => self.change(),
        }
        if self.random.one_in(3) {
            tokio::time::sleep(Duration::from_millis(self.random.below(50))).await;
        }
    }

    /// Faults are over: all must reach the state of the cluster.
    async fn settle(self) {
        let Self {
            cluster,
            informer,
            handlers,
            streams,
            waits,
            ..
        } = self;
        cluster.fail_lists(None);
        let last = cluster.bookmark();
        // A bookmark reaches only open watches; the next one comes soon.
        let caught_up = async {
            let mut last = last;
            while informer
                .wait_until(last.into())
                .deadline(5 * SECONDS)
                .await
                .is_err()
            {
                last = cluster.bookmark();
            }
        };
        let limit = tokio::time::timeout(3600 * SECONDS, caught_up).await;
        assert!(limit.is_ok(), "never caught up: {:?}", informer.status());
        for wait in waits {
            // INV-SHARED-14
            soon(wait).await.expect("no panic").expect("it is met");
        }
        let store = informer.store().snapshot();
        let cached: std::collections::BTreeMap<_, _> = store
            .objects()
            .map(|o| (o.metadata.name.clone().unwrap_or_default(), value_of(o)))
            .collect();
        assert_eq!(cached, cluster.contents(), "the cache");
        drop(store);
        tokio::time::timeout(7200 * SECONDS, informer.stop())
            .await
            .expect("handlers end in time")
            .expect("no handler may end it");
        let mut shown = cached.clone();
        shown.retain(|_, value| value.ends_with(['0', '2', '4', '6', '8']));
        for handler in &handlers {
            let seen = handler.seen.contents();
            let status = handler.registration.status();
            match &status.ended {
                Some(EndReason::InformerStopped) => {
                    let expected = if handler.filtered { &shown } else { &cached };
                    assert_eq!(&seen, expected, "{status:?}");
                    assert!(status.synced, "{status:?}");
                }
                // Cut off; what it saw until then was legal, or `contents` would have panicked.
                Some(EndReason::QueueFull { .. } | EndReason::Failed(_)) => {}
                other => panic!("ended as {other:?}"),
            }
        }
        for (mut stream, seen) in streams {
            while let Some(event) = futures_util::StreamExt::next(&mut stream).await {
                seen.note(&event);
            }
            if matches!(stream.status().ended, Some(EndReason::InformerStopped)) {
                let all = seen.contents();
                assert!(
                    all == cached || all == shown,
                    "a stream: {all:?}, not {cached:?}"
                );
            }
        }
    }
}

fn run(seed: u64) -> Result<(), String> {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async move {
            let mut world = World::new(seed);
            if world.random.one_in(2) {
                world.join();
            }
            world.informer.start().expect("it was not started");
            for _ in 0..120 {
                world.step().await;
            }
            world.settle().await;
        });
    };
    std::panic::catch_unwind(run).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.unwrap_or_else(|| "see above".to_owned())
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

// INV-SHARED-1 to INV-SHARED-10; protocol 3.3: 5–10, 13, 14, 16, 20
#[test]
fn random_runs_keep_every_promise() {
    let seeds: Vec<u64> = match number("INFORMER_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("INFORMER_SEEDS").unwrap_or(150)).collect(),
    };
    // The handlers' own panics are part of the game and need no lines.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let expected = info.payload().downcast_ref::<&str>() == Some(&"a very bad day");
        if !expected {
            hook(info);
        }
    }));
    for seed in seeds {
        if let Err(message) = run(seed) {
            panic!("seed {seed} failed; run INFORMER_SEED={seed} to repeat it: {message}");
        }
    }
}
