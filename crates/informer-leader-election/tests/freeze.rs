//! A leader whose process was frozen, or whose work blocks its thread; the gate of its requests.

mod support;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use informer_leader_election::{LeaderElector, Leadership, LeadershipLost, NotLeading, Renewal};
use parking_lot::Mutex;
use support::{Lock, Server, seconds, short};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Lets an elector lead with work that writes every 100 ms. Freezes it after a second, as SIGSTOP or a suspended machine
/// does: every timer is due at once. Returns how many writes began after the lease had ended.
async fn late_writes(renewal: Renewal, frozen: Duration) -> (usize, Result<(), LeadershipLost>) {
    let config = short("a").renewal(renewal);
    let elector = LeaderElector::new(Lock::default(), config).expect("good settings");
    let writes = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&writes);
    let run = tokio::spawn(async move {
        let stop = CancellationToken::new();
        let work = |_lost| async move {
            loop {
                sleep(Duration::from_millis(100)).await;
                written.lock().push(Instant::now());
            }
        };
        elector.run(&stop, work).await.map(|_: Leadership<()>| ())
    });
    sleep(seconds(1)).await;
    let began = Instant::now();
    tokio::time::advance(frozen).await;
    let ended = timeout(seconds(30), run).await;
    // One that is not frozen beyond its lease goes on.
    let ended = ended.map_or(Ok(()), |ended| ended.expect("no panic"));
    let late = |at: &&Instant| ended.is_err() && **at > began + seconds(3);
    (writes.lock().iter().filter(late).count(), ended)
}

// INV-ELECT-2
#[tokio::test(start_paused = true)]
async fn work_of_a_frozen_leader_takes_no_step_after_its_lease() {
    for renewal in [Renewal::Thread, Renewal::Task, Renewal::InPlace] {
        for frozen in [4, 10, 3600] {
            let (late, ended) = late_writes(renewal, seconds(frozen)).await;
            assert_eq!(late, 0, "{renewal:?}: writes after the lease had ended");
            assert_eq!(ended, Err(LeadershipLost::NotRenewed), "{renewal:?}");
        }
        let (_, ended) = late_writes(renewal, Duration::from_millis(1200)).await;
        assert_eq!(
            ended,
            Ok(()),
            "{renewal:?}: within the renew deadline nothing is lost"
        );
    }
}

// INV-ELECT-2: the clock decides, not whether those who renew have noticed.
#[tokio::test]
async fn work_ends_with_the_lease_though_the_thread_that_renews_hangs() {
    let server = Arc::new(Server::default());
    server.separates.store(true, Ordering::SeqCst);
    let config = informer_leader_election::ElectionConfig::new("a")
        .lease_duration(seconds(1))
        .renew_deadline(Duration::from_millis(700))
        .retry_period(Duration::from_millis(100));
    let elector = LeaderElector::new(Lock(Arc::clone(&server)), config).expect("good settings");
    let gate = elector.gate();
    let stop = CancellationToken::new();
    let led = elector.run(&stop, |_| async {
        server.blocks.store(3000, Ordering::SeqCst);
        loop {
            sleep(Duration::from_millis(20)).await;
            if gate.remaining().is_err() {
                // Returned to nobody if all is well: this is not polled any more.
                return "a step after the lease had ended";
            }
        }
    });
    assert_eq!(led.await, Err(LeadershipLost::NotRenewed));
}

// INV-ELECT-1, INV-ELECT-2: a lease whose acquisition was answered too late is none.
#[tokio::test(start_paused = true)]
async fn replica_that_is_frozen_while_it_acquires_does_not_lead_by_that() {
    let server = Arc::new(Server::default());
    server.delay.store(100, Ordering::SeqCst);
    let config = short("a").renewal(Renewal::InPlace);
    let elector = LeaderElector::new(Lock(Arc::clone(&server)), config).expect("good settings");
    let stop = CancellationToken::new();
    let mut run = Box::pin(elector.run(&stop, |_| async { elector.status().is_leader() }));
    // Created after 300 ms; the response would come after 400 ms.
    assert!(timeout(Duration::from_millis(350), &mut run).await.is_err());
    assert_eq!(server.holder(), "a");
    tokio::time::advance(seconds(20)).await;
    assert_eq!(
        run.await,
        Ok(Leadership::Worked(true)),
        "it is acquired once more"
    );
}

// INV-ELECT-1: nor does it ask for more once its time is over.
#[tokio::test(start_paused = true)]
async fn leader_that_is_frozen_while_it_renews_sends_nothing_after_its_deadline() {
    let server = Arc::new(Server::default());
    server.delay.store(100, Ordering::SeqCst);
    let config = short("a").renewal(Renewal::InPlace);
    let elector = LeaderElector::new(Lock(Arc::clone(&server)), config).expect("good settings");
    let stop = CancellationToken::new();
    let mut run = Box::pin(elector.run(&stop, |_| pending::<()>()));
    assert!(timeout(seconds(2), &mut run).await.is_err());
    // The next renewal fails, and a leader would read the lease then. This one is frozen while it waits for the answer.
    *server.refusal.lock() = Some(("update", "no"));
    let asked = server.asked.lock().len();
    while server.asked.lock().len() == asked {
        assert!(timeout(Duration::from_millis(10), &mut run).await.is_err());
    }
    tokio::time::advance(seconds(20)).await;
    assert!(run.await.is_err());
    assert_eq!(server.asked.lock()[asked..], ["update"]);
}

/// Two replicas with runtimes of their own. The first one's work blocks its thread for longer than its lease. Returns who
/// holds the lease then.
fn holder_after_blocking_work(threads: usize, separates: bool) -> String {
    let server = Arc::new(Server::default());
    server.separates.store(separates, Ordering::SeqCst);
    let replica = |who: &'static str| {
        let server = Arc::clone(&server);
        move || {
            let runtime = match threads {
                1 => tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build(),
                _ => tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(threads)
                    .enable_all()
                    .build(),
            };
            runtime.expect("a runtime").block_on(async {
                let lock = Lock(Arc::clone(&server));
                let elector = LeaderElector::new(lock, short(who)).expect("good settings");
                let work = |_lost| async {
                    std::thread::sleep(seconds(5));
                    // A write goes out here.
                    (server.holder(), elector.gate().remaining().is_ok())
                };
                let led = elector.run(&CancellationToken::new(), work).await;
                let led = led.expect("not lost").worked();
                let (holder, is_open) = led.expect("not stopped");
                assert!(is_open || holder != who);
                holder
            })
        }
    };
    let first = std::thread::spawn(replica("a"));
    while server.holder().is_empty() {
        std::thread::yield_now();
    }
    // It is not waited for: it leads once the first has ended.
    drop(std::thread::spawn(replica("b")));
    first.join().expect("no panic")
}

// INV-ELECT-5
#[test]
fn lease_is_renewed_while_the_work_blocks_its_thread() {
    assert_eq!(
        holder_after_blocking_work(4, false),
        "a",
        "by a task on another thread"
    );
    assert_eq!(
        holder_after_blocking_work(1, true),
        "a",
        "by a thread of its own"
    );
}

// INV-ELECT-5, INV-ELECT-6: the thread ends with the run, however that ends.
#[tokio::test]
async fn thread_that_renews_ends_with_the_run() {
    let server = Arc::new(Server::default());
    server.separates.store(true, Ordering::SeqCst);
    let lock = Lock(Arc::clone(&server));
    let elector = LeaderElector::new(lock, short("a")).expect("good settings");
    assert_eq!(server.separated.load(Ordering::SeqCst), 1);
    let stop = CancellationToken::new();
    let led = elector
        .run(&stop, |_| async { elector.status().is_leader() })
        .await;
    assert_eq!(led, Ok(Leadership::Worked(true)));
    assert_eq!(server.holder(), "", "released by the thread");
    let mut led = Box::pin(elector.run(&stop, |_| pending::<()>()));
    let mut status = elector.subscribe();
    tokio::select! {
        _ = &mut led => panic!("it goes on"),
        leads = status.wait_for(|status| status.is_leader()) => drop(leads.expect("not dropped")),
    }
    drop(led);
    assert!(!elector.status().is_leader());
    // The lock goes with the thread.
    drop((elector, status));
    while Arc::strong_count(&server) > 1 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        server.holder(),
        "a",
        "it was dropped, so nothing is released"
    );
}

// INV-ELECT-10
#[tokio::test(start_paused = true)]
async fn gate_lets_nothing_pass_without_the_lease() {
    let server = Arc::new(Server::default());
    let config = short("a").renewal(Renewal::InPlace);
    let elector = LeaderElector::new(Lock(server), config).expect("good settings");
    let gate = elector.gate();
    let begun = Mutex::new(0);
    let request = |takes: u64| {
        let begun = &begun;
        async move {
            *begun.lock() += 1;
            sleep(seconds(takes)).await;
        }
    };
    assert_eq!(gate.run(request(0)).await, Err(NotLeading));
    assert_eq!(*begun.lock(), 0, "it was not even begun");
    let stop = CancellationToken::new();
    let mut run = Box::pin(elector.run(&stop, |_| pending::<()>()));
    assert!(timeout(seconds(1), &mut run).await.is_err());
    // The lease is renewed while a long request goes on.
    let long = gate.run(request(20));
    tokio::select! {
        _ = &mut run => panic!("it goes on"),
        done = long => assert_eq!(done, Ok(())),
    }
    // One that is sent before the run stops is given no longer than the lease has left.
    let began = Instant::now();
    assert_eq!(gate.run(request(20)).await, Err(NotLeading));
    assert!(began.elapsed() <= seconds(3), "{:?}", began.elapsed());
    assert_eq!(*begun.lock(), 2);
    assert_eq!(gate.run(request(0)).await, Err(NotLeading));
    assert_eq!(*begun.lock(), 2);
}

// INV-ELECT-10: timers of a process that was frozen come late; the gate looks at the clock.
#[tokio::test(start_paused = true)]
async fn gate_lets_no_step_pass_after_a_freeze() {
    let server = Arc::new(Server::default());
    let elector = Arc::new(LeaderElector::new(Lock(server), short("a")).expect("good settings"));
    let gate = elector.gate();
    let run = tokio::spawn({
        let elector = Arc::clone(&elector);
        async move {
            let stop = CancellationToken::new();
            elector.run(&stop, |_| pending::<()>()).await.map(|_| ())
        }
    });
    sleep(seconds(1)).await;
    let steps = Arc::new(Mutex::new(0));
    let request = tokio::spawn({
        let (gate, steps) = (gate.clone(), Arc::clone(&steps));
        async move {
            let request = async {
                // Reading a token, opening a connection: then it is sent.
                sleep(Duration::from_millis(100)).await;
                *steps.lock() += 1;
            };
            gate.run(request).await
        }
    });
    tokio::task::yield_now().await;
    tokio::time::advance(seconds(10)).await;
    assert_eq!(request.await.expect("no panic"), Err(NotLeading));
    assert_eq!(*steps.lock(), 0);
    assert!(run.await.expect("no panic").is_err());
}

// INV-ELECT-10: it stays open for what remains of the lease after a loss.
#[tokio::test(start_paused = true)]
async fn gate_is_open_for_the_rest_of_the_lease_after_a_loss() {
    let server = Arc::new(Server::default());
    let elector = LeaderElector::new(Lock(Arc::clone(&server)), short("a")).expect("good settings");
    let gate = elector.gate();
    let stop = CancellationToken::new();
    let led = elector.run(&stop, |lost| {
        let (server, gate, elector) = (&server, &gate, &elector);
        async move {
            *server.hang.lock() = Some("update");
            lost.cancelled().await;
            assert!(!elector.status().is_leader(), "no new work is begun");
            assert_eq!(gate.remaining(), Ok(seconds(1)));
            gate.run(sleep(Duration::from_millis(900))).await
        }
    });
    assert_eq!(led.await, Err(LeadershipLost::NotRenewed));
    assert!(gate.remaining().is_err());
}
