//! Elections of several replicas over one lease, in virtual time, with a server that fails, hangs and is slow.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use informer_leader_election::{
    Config, LeaderElector, LeadershipLost, Lease, LeaseLock, LeaseRecord, LockError, Outcome,
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// A server that keeps one lease, and what it does to requests.
#[derive(Default)]
struct Server {
    lease: Mutex<Option<(u64, serde_json::Value)>>,
    asked: Mutex<Vec<&'static str>>,
    /// Requests of this kind hang.
    hang: Mutex<Option<&'static str>>,
    is_down: AtomicBool,
    /// Updates that meet a conflict.
    conflicts: AtomicU32,
    /// At most so many milliseconds for each way.
    slow: AtomicU32,
    random: Mutex<Option<fastrand::Rng>>,
    /// Of a hundred requests so many fail, half of them after they were done.
    faults: AtomicU32,
}

#[derive(Clone, Default)]
struct Lock(Arc<Server>);

impl Server {
    fn random(&self, below: u32) -> u32 {
        match &mut *self.random.lock() {
            Some(random) if below > 0 => random.u32(..below),
            _ => 0,
        }
    }

    async fn travel(&self) {
        let millis = self.random(self.slow.load(Ordering::SeqCst));
        sleep(Duration::from_millis(u64::from(millis))).await;
    }

    fn record(&self) -> Option<LeaseRecord> {
        let lease = self.lease.lock();
        lease
            .as_ref()
            .map(|(_, lease)| Lease::from_json(lease.clone()).record())
    }

    async fn serve<T>(
        &self,
        verb: &'static str,
        act: impl FnOnce(&Self) -> Result<T, LockError>,
    ) -> Result<T, LockError> {
        let failed = || LockError::Failed("the server is down".into());
        self.asked.lock().push(verb);
        self.travel().await;
        if *self.hang.lock() == Some(verb) {
            return pending().await;
        }
        let fault = self.random(200) < 2 * self.faults.load(Ordering::SeqCst);
        if self.is_down.load(Ordering::SeqCst) || fault && self.random(2) == 0 {
            return Err(failed());
        }
        let result = act(self);
        self.travel().await;
        if fault { Err(failed()) } else { result }
    }

    fn store(&self, mut lease: serde_json::Value) -> Lease {
        let mut stored = self.lease.lock();
        let version = stored.as_ref().map_or(1, |(version, _)| version + 1);
        lease["metadata"]["resourceVersion"] = version.to_string().into();
        *stored = Some((version, lease.clone()));
        Lease::from_json(lease)
    }
}

impl LeaseLock for Lock {
    async fn get(&self) -> Result<Option<Lease>, LockError> {
        let read = |server: &Server| {
            let lease = server.lease.lock();
            Ok(lease
                .as_ref()
                .map(|(_, lease)| Lease::from_json(lease.clone())))
        };
        self.0.serve("get", read).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, LockError> {
        let lease = lease.as_json().clone();
        let create = |server: &Server| {
            if server.lease.lock().is_some() {
                return Err(LockError::Conflict);
            }
            Ok(server.store(lease))
        };
        self.0.serve("create", create).await
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, LockError> {
        let version = lease.resource_version().map(str::to_owned);
        let lease = lease.as_json().clone();
        let update = |server: &Server| {
            let one_less = |left: u32| left.checked_sub(1);
            let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
            if server.conflicts.fetch_update(set, fetch, one_less).is_ok() {
                return Err(LockError::Conflict);
            }
            let current = server
                .lease
                .lock()
                .as_ref()
                .map(|(version, _)| version.to_string());
            if current != version {
                return Err(LockError::Conflict);
            }
            Ok(server.store(lease))
        };
        self.0.serve("update", update).await
    }

    fn name(&self) -> &str {
        "lease"
    }
}

fn elector(server: &Arc<Server>, identity: &str) -> LeaderElector<Lock> {
    LeaderElector::new(Lock(Arc::clone(server)), Config::new(identity)).expect("good settings")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// INV-ELECT-3
#[tokio::test(start_paused = true)]
async fn work_that_ends_gives_the_lease_back() {
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
    assert_eq!(outcome, Ok(Outcome::Worked("done")));
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
async fn a_stop_lets_the_work_end_under_the_lease() {
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
        (Ok(Outcome::Worked(())), Ok(Outcome::Worked(())))
    );
}

// INV-ELECT-2
#[tokio::test(start_paused = true)]
async fn a_leader_without_server_ends_its_work_before_the_lease_ends() {
    for hangs in [false, true] {
        let server = Arc::new(Server::default());
        let elector = elector(&server, "a");
        let stop = CancellationToken::new();
        let told = Mutex::new(None);
        let began = Mutex::new(None);
        let result = elector
            .run(&stop, |lost| {
                let (server, told, began) = (&server, &told, &began);
                async move {
                    *began.lock() = Some(Instant::now());
                    if hangs {
                        *server.hang.lock() = Some("update");
                    } else {
                        server.is_down.store(true, Ordering::SeqCst);
                    }
                    lost.cancelled().await;
                    *told.lock() = Some(Instant::now());
                    // It does not end; it is ended.
                    pending::<()>().await;
                }
            })
            .await;
        assert_eq!(result, Err(LeadershipLost::NotRenewed));
        let began = began.into_inner().expect("it led");
        assert_eq!(
            told.into_inner().map(|told| told - began),
            Some(seconds(10))
        );
        assert_eq!(began.elapsed(), seconds(15));
        assert!(!elector.status().is_leader());
    }
}

// INV-ELECT-2
#[tokio::test(start_paused = true)]
async fn a_lease_that_another_takes_ends_the_work() {
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
async fn a_release_reads_first_and_tries_again_on_conflict() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    let ended = elector.run(&stop, |_| async {
        sleep(seconds(1)).await;
        server.conflicts.store(2, Ordering::SeqCst);
        server.asked.lock().clear();
    });
    assert_eq!(ended.await, Ok(Outcome::Worked(())));
    let expected = ["get", "update", "get", "update", "get", "update"];
    assert_eq!(*server.asked.lock(), expected);
    assert_eq!(
        server.record().map(|record| record.holder),
        Some(String::new())
    );
}

// LE4: the stop comes while a request is under way.
#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_request_gives_the_lease_back() {
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
        assert_eq!(outcome, Ok(Outcome::NeverLed));
        let holder = server
            .record()
            .map(|record| record.holder)
            .unwrap_or_default();
        assert_eq!(holder, "", "stopped in {verb}");
    }
}

// LE4: nor does a server that hangs hold up the end.
#[tokio::test(start_paused = true)]
async fn a_release_has_an_end() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    let ended = elector.run(&stop, |_| async { *server.hang.lock() = Some("get") });
    let began = Instant::now();
    assert_eq!(ended.await, Ok(Outcome::Worked(())));
    assert_eq!(began.elapsed(), seconds(10));
}

// LE6
#[tokio::test(start_paused = true)]
async fn health_is_bad_only_for_a_leader_that_has_not_renewed() {
    let server = Arc::new(Server::default());
    let (first, second) = (elector(&server, "a"), elector(&server, "b"));
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
        let config = Config::new(&name).seed(random.u64(..));
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
        let life = elector.run(&stop, work);
        // Some are stopped, some are killed.
        let (stopped, killed) = (random.u64(1..200), random.u64(1..400));
        let stopper = async {
            sleep(seconds(stopped)).await;
            stop.cancel();
            pending::<()>().await;
        };
        tokio::select! {
            _ = life => {}
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
