//! Elections of several replicas over one lease, in virtual time, with a server that fails, hangs and is slow.

mod support;

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use informer_leader_election::{
    ElectionConfig, LeaderElector, Leadership, LeadershipLost, Lease, LeaseRecord, Renewal,
};
use parking_lot::Mutex;
use support::{Lock, Server, elector, seconds};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

// INV-ELECT-3
#[tokio::test(start_paused = true)]
async fn lease_is_released_when_work_ends() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    assert!(!elector.status().is_leader());
    let outcome = elector
        .run(&stop, |_| async {
            assert!(elector.status().is_leader());
            assert_eq!(elector.status().leader.as_deref(), Some("a"));
            sleep(seconds(60)).await;
            "done"
        })
        .await;
    assert_eq!(outcome, Ok(Leadership::Worked("done")));
    assert!(!elector.status().is_leader());
    let record = server.record().expect("there is one");
    assert_eq!((record.holder.as_str(), record.duration), ("", seconds(1)));
    let asked = server.asked.lock();
    assert_eq!(asked[..4], ["get", "create", "update", "update"]);
    assert!(
        (28..=34).contains(&asked.len()),
        "one renewal every 2 s: {}",
        asked.len()
    );
}

// INV-ELECT-3: after a stop the lease is held until the work has ended.
#[tokio::test(start_paused = true)]
async fn work_ends_under_lease_after_stop() {
    let server = Arc::new(Server::default());
    let (stop, other_stop) = (CancellationToken::new(), CancellationToken::new());
    let (first, second) = (elector(&server, "a"), elector(&server, "b"));
    let ended = Mutex::new(None);
    let work = first.run(&stop, |token| {
        let (stop, ended) = (stop.clone(), &ended);
        async move {
            stop.cancel();
            token.cancelled().await;
            sleep(seconds(100)).await;
            *ended.lock() = Some(Instant::now());
        }
    });
    let takes_over = second.run(&other_stop, |_| async {
        let ended = ended.lock().expect("the first has ended");
        assert!(ended.elapsed() < seconds(6), "the lease was given back");
    });
    let (first, second) = tokio::join!(work, takes_over);
    assert_eq!(
        (first, second),
        (Ok(Leadership::Worked(())), Ok(Leadership::Worked(())))
    );
}

// INV-ELECT-2
#[tokio::test(start_paused = true)]
async fn work_ends_before_lease_without_server() {
    for hangs in [false, true] {
        let server = Arc::new(Server::default());
        let elector = elector(&server, "a");
        let stop = CancellationToken::new();
        let cancelled_at = Mutex::new(None);
        let began = Mutex::new(None);
        let result = elector
            .run(&stop, |lost| {
                let (server, cancelled_at, began) = (&server, &cancelled_at, &began);
                async move {
                    *began.lock() = Some(Instant::now());
                    if hangs {
                        *server.hang.lock() = Some("update");
                    } else {
                        server.is_down.store(true, Ordering::SeqCst);
                    }
                    lost.cancelled().await;
                    *cancelled_at.lock() = Some(Instant::now());
                    // It does not return; it is dropped.
                    pending::<()>().await;
                }
            })
            .await;
        let lost = result.expect_err("it cannot renew");
        assert_eq!(lost == LeadershipLost::NotRenewed, hangs, "{lost:?}");
        assert_eq!(lost.to_string().contains("the server is down"), !hangs);
        let began = began.into_inner().expect("it led");
        assert_eq!(
            cancelled_at
                .into_inner()
                .map(|cancelled_at| cancelled_at - began),
            Some(seconds(10))
        );
        assert_eq!(began.elapsed(), seconds(15));
        assert!(!elector.status().is_leader());
    }
}

// INV-ELECT-2
#[tokio::test(start_paused = true)]
async fn work_ends_when_another_takes_lease() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    let result = elector
        .run(&stop, |lost| {
            let thief = LeaseRecord::held_by("thief", seconds(15));
            server.store(Lease::new("lease", &thief).as_json().clone());
            async move { lost.cancelled_owned().await }
        })
        .await;
    assert_eq!(result, Err(LeadershipLost::Taken));
    assert_eq!(elector.status().leader.as_deref(), Some("thief"));
}

// LE4
#[tokio::test(start_paused = true)]
async fn release_reads_first_and_retries_on_conflict() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    let ended = elector.run(&stop, |_| async {
        sleep(seconds(1)).await;
        server.conflicts.store(2, Ordering::SeqCst);
        server.asked.lock().clear();
    });
    assert_eq!(ended.await, Ok(Leadership::Worked(())));
    let expected = ["get", "update", "get", "update", "get", "update"];
    assert_eq!(*server.asked.lock(), expected);
    assert_eq!(
        server.record().map(|record| record.holder),
        Some(String::new())
    );
}

// LE4: the stop comes while a request is under way.
#[tokio::test(start_paused = true)]
async fn stop_during_request_releases_lease() {
    for verb in ["get", "create", "update"] {
        let server = Arc::new(Server::default());
        if verb == "update" {
            let own = LeaseRecord::held_by("a", seconds(15));
            server.store(Lease::new("lease", &own).as_json().clone());
        }
        *server.hang.lock() = Some(verb);
        let elector = elector(&server, "a");
        let stop = CancellationToken::new();
        let run = elector.run(&stop, |_| pending::<()>());
        let stopper = async {
            sleep(seconds(1)).await;
            *server.hang.lock() = None;
            stop.cancel();
        };
        let (outcome, ()) = tokio::join!(run, stopper);
        assert_eq!(outcome, Ok(Leadership::NeverLed));
        let holder = server
            .record()
            .map(|record| record.holder)
            .unwrap_or_default();
        assert_eq!(holder, "", "stopped in {verb}");
    }
}

// LE4: nor does a server that hangs hold up the end.
#[tokio::test(start_paused = true)]
async fn release_has_time_limit() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    let ended = elector.run(&stop, |_| async { *server.hang.lock() = Some("get") });
    let began = Instant::now();
    assert_eq!(ended.await, Ok(Leadership::Worked(())));
    assert_eq!(began.elapsed(), seconds(10));
}

// LE6
#[tokio::test(start_paused = true)]
async fn health_is_overdue_for_leader_without_renewal() {
    let server = Arc::new(Server::default());
    // In place, so that nobody polls the renewals either.
    let [first, second] = ["a", "b"].map(|identity| {
        let config = ElectionConfig::new(identity).renewal(Renewal::InPlace);
        LeaderElector::new(Lock(Arc::clone(&server)), config).expect("good settings")
    });
    let tolerance = seconds(5);
    assert!(first.health(tolerance).is_well(), "it has not begun");
    let stop = CancellationToken::new();
    let mut run = Box::pin(first.run(&stop, |_| pending::<()>()));
    let mut other = Box::pin(second.run(&stop, |_| pending::<()>()));
    let both = async { tokio::join!(&mut run, &mut other) };
    tokio::time::timeout(seconds(60), both)
        .await
        .expect_err("they go on");
    assert!(first.status().is_leader() && !second.status().is_leader());
    // From now on nobody polls them: they hang.
    tokio::time::advance(seconds(12)).await;
    assert!(first.health(tolerance).is_well(), "within the tolerance");
    tokio::time::advance(seconds(12)).await;
    assert!(!first.health(tolerance).is_well());
    assert!(second.health(tolerance).is_well(), "the lease is another's");
}

/// One replica that takes part again and again, and checks that it leads alone.
async fn replica(
    server: Arc<Server>,
    name: String,
    busy: Arc<AtomicBool>,
    led: Arc<AtomicU32>,
    mut random: fastrand::Rng,
) {
    struct Alone(Arc<AtomicBool>);
    impl Drop for Alone {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }
    loop {
        let config = ElectionConfig::new(&name).seed(random.u64(..));
        let elector = LeaderElector::new(Lock(Arc::clone(&server)), config).expect("good settings");
        let stop = CancellationToken::new();
        let stays = random.bool();
        let work = |lost: CancellationToken| {
            let (busy, led, stays) = (Arc::clone(&busy), Arc::clone(&led), stays);
            async move {
                assert!(!busy.swap(true, Ordering::SeqCst), "two lead at once");
                let _alone = Alone(busy);
                led.fetch_add(1, Ordering::SeqCst);
                if stays {
                    pending::<()>().await;
                }
                lost.cancelled().await;
            }
        };
        let running = elector.run(&stop, work);
        // Some are stopped, some are killed.
        let (stopped, killed) = (random.u64(1..200), random.u64(1..400));
        let stopper = async {
            sleep(seconds(stopped)).await;
            stop.cancel();
            pending::<()>().await;
        };
        tokio::select! {
            _ = running => {}
            () = sleep(seconds(killed)) => {}
            () = stopper => {}
        }
    }
}

// INV-ELECT-1, LE1: whatever fails, whoever dies, two never lead at once, and someone leads in the end.
#[test]
fn two_replicas_never_lead_at_once() {
    for seed in 0..40 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let server = Arc::new(Server::default());
            server.slow.store(3000, Ordering::SeqCst);
            server.faults.store(20, Ordering::SeqCst);
            *server.random.lock() = Some(fastrand::Rng::with_seed(seed));
            let (busy, led) = (Arc::<AtomicBool>::default(), Arc::<AtomicU32>::default());
            let mut replicas = tokio::task::JoinSet::new();
            for number in 0..3 {
                let random = fastrand::Rng::with_seed(seed * 10 + number);
                replicas.spawn(replica(
                    Arc::clone(&server),
                    format!("replica-{number}"),
                    Arc::clone(&busy),
                    Arc::clone(&led),
                    random,
                ));
            }
            tokio::select! {
                Some(ended) = replicas.join_next() => panic!("seed {seed}: {ended:?}"),
                () = sleep(seconds(5000)) => {}
            }
            assert!(
                led.load(Ordering::SeqCst) > 5,
                "seed {seed}: hardly anyone led"
            );
        });
    }
}

/// A replica whose process is frozen now and then: nothing of it is polled, while the time goes on.
struct Frozen<F> {
    replica: std::pin::Pin<Box<F>>,
    random: fastrand::Rng,
    /// When it is frozen or thawed next.
    turns: std::pin::Pin<Box<tokio::time::Sleep>>,
    is_frozen: bool,
}

impl<F: Future<Output = ()>> Future for Frozen<F> {
    type Output = ();

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        while self.turns.as_mut().poll(context).is_ready() {
            self.is_frozen = !self.is_frozen;
            let longest = if self.is_frozen { 40_000 } else { 60_000 };
            let turns = Duration::from_millis(self.random.u64(..longest));
            self.turns.as_mut().reset(Instant::now() + turns);
        }
        if self.is_frozen {
            return std::task::Poll::Pending;
        }
        self.replica.as_mut().poll(context)
    }
}

/// Leads again and again, with work that takes a step every 100 ms, each of which must be under the lease of nobody else.
async fn stepping_replica(
    server: Arc<Server>,
    number: u64,
    seed: u64,
    led: Arc<Mutex<(u64, u64)>>,
) {
    let config = ElectionConfig::new(format!("replica-{number}"))
        .renewal(Renewal::InPlace)
        .seed(seed);
    let elector = LeaderElector::new(Lock(server), config).expect("good settings");
    let gate = elector.gate();
    loop {
        let stop = CancellationToken::new();
        let work = |lost: CancellationToken| {
            let (led, gate) = (&led, &gate);
            async move {
                let term = {
                    let mut led = led.lock();
                    *led = (number, led.1 + 1);
                    led.1
                };
                loop {
                    let step = gate.run(sleep(Duration::from_millis(100))).await;
                    assert!(
                        step.is_ok(),
                        "the work takes no step without the lease, so it cannot see this"
                    );
                    assert_eq!(
                        *led.lock(),
                        (number, term),
                        "a step after another has begun to lead"
                    );
                    if lost.is_cancelled() && term.is_multiple_of(2) {
                        break;
                    }
                }
            }
        };
        let _ = elector.run(&stop, work).await;
    }
}

// INV-ELECT-1, INV-ELECT-2: whoever is frozen, for as long as you like.
#[test]
fn frozen_replica_takes_no_step_after_another_leads() {
    for seed in 0..12 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let server = Arc::new(Server::default());
            server.slow.store(2000, Ordering::SeqCst);
            server.faults.store(5, Ordering::SeqCst);
            *server.random.lock() = Some(fastrand::Rng::with_seed(seed));
            let led = Arc::new(Mutex::new((0, 0)));
            let mut replicas = tokio::task::JoinSet::new();
            for number in 0..3 {
                let replica = stepping_replica(Arc::clone(&server), number, seed, Arc::clone(&led));
                replicas.spawn(Frozen {
                    replica: Box::pin(replica),
                    random: fastrand::Rng::with_seed(seed * 10 + number),
                    turns: Box::pin(sleep(seconds(1))),
                    is_frozen: true,
                });
            }
            tokio::select! {
                Some(ended) = replicas.join_next() => panic!("seed {seed}: {ended:?}"),
                () = sleep(seconds(3000)) => {}
            }
            assert!(led.lock().1 > 10, "seed {seed}: hardly anyone led");
        });
    }
}
