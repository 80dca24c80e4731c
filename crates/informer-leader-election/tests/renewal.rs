//! Renewals without a response, runs that are dropped, hand-overs, leases that others change.

mod support;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use informer_leader_election::{
    ElectionConfig, LeaderElector, Leadership, LeadershipLost, Lease, LeaseRecord, Renewal,
};
use parking_lot::Mutex;
use support::{Lock, Server, elector, seconds, short};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

// INV-ELECT-4: a connection that died silently costs one request. client-go gives each half of the renew deadline too.
#[tokio::test(start_paused = true)]
async fn renewal_without_response_is_tried_again() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    // Two in a row are too much for the default settings.
    for unanswered in [1, 0, 1, 2] {
        let led = elector.run(&stop, |_| {
            server.unanswered.store(unanswered, Ordering::SeqCst);
            sleep(seconds(60))
        });
        let expected = if unanswered < 2 {
            Ok(Leadership::Worked(()))
        } else {
            Err(LeadershipLost::NotRenewed)
        };
        assert_eq!(led.await, expected, "{unanswered}");
    }
}

// INV-ELECT-4
#[tokio::test(start_paused = true)]
async fn request_may_take_half_the_renew_deadline_and_at_least_a_second() {
    for (deadline, limit) in [(10_000, 5000), (3000, 1500), (1500, 1000)] {
        let server = Arc::new(Server::default());
        *server.hang.lock() = Some("get");
        let config = ElectionConfig::new("a")
            .lease_duration(seconds(15))
            .renew_deadline(Duration::from_millis(deadline))
            .retry_period(Duration::from_millis(100));
        let elector = LeaderElector::new(Lock(Arc::clone(&server)), config).expect("good settings");
        let stop = CancellationToken::new();
        let run = elector.run(&stop, |_| pending::<()>());
        let waited = Duration::from_millis(10 * limit + 1);
        assert!(timeout(waited, run).await.is_err());
        assert_eq!(
            server.asked.lock().len(),
            11,
            "one after the other, {limit} ms each"
        );
    }
}

// INV-ELECT-6: it was dropped, so it leads no longer.
#[tokio::test(start_paused = true)]
async fn dropped_run_leads_no_longer() {
    for renewal in [Renewal::Task, Renewal::InPlace] {
        let server = Arc::new(Server::default());
        let config = ElectionConfig::new("a").renewal(renewal);
        let elector = LeaderElector::new(Lock(Arc::clone(&server)), config).expect("good settings");
        let stop = CancellationToken::new();
        let run = elector.run(&stop, |_| pending::<()>());
        assert!(timeout(seconds(5), run).await.is_err());
        let asked = server.asked.lock().len();
        assert!(!elector.status().is_leader());
        assert!(elector.gate().remaining().is_err());
        sleep(seconds(60)).await;
        assert!(elector.health(Duration::ZERO).is_well());
        assert_eq!(server.asked.lock().len(), asked, "nobody renews any more");
    }
}

// INV-ELECT-6
#[tokio::test(start_paused = true)]
async fn run_whose_work_panics_leads_no_longer() {
    let server = Arc::new(Server::default());
    let elector = Arc::new(elector(&server, "a"));
    let run = tokio::spawn({
        let elector = Arc::clone(&elector);
        async move {
            let work = |_| async { panic!("a panic that the test wants") };
            elector
                .run(&CancellationToken::new(), work)
                .await
                .map(|_: Leadership<()>| ())
        }
    });
    assert!(run.await.is_err_and(|error| error.is_panic()));
    assert!(!elector.status().is_leader());
}

// INV-ELECT-6: by the clock, whether anybody polls the run or not.
#[tokio::test(start_paused = true)]
async fn status_and_gate_compare_with_the_clock() {
    let server = Arc::new(Server::default());
    let config = short("a").renewal(Renewal::InPlace);
    let elector = LeaderElector::new(Lock(server), config).expect("good settings");
    let stop = CancellationToken::new();
    let mut run = Box::pin(elector.run(&stop, |_| pending::<()>()));
    assert!(
        timeout(Duration::from_millis(1200), &mut run)
            .await
            .is_err()
    );
    assert!(elector.status().is_leader());
    // Renewed after 1 s.
    let gate = elector.gate();
    assert_eq!(gate.remaining(), Ok(Duration::from_millis(2800)));
    tokio::time::advance(Duration::from_millis(2800)).await;
    assert!(!elector.status().is_leader());
    assert!(gate.remaining().is_err());
}

// INV-ELECT-7: the lease is still this one's, so the work has the rest of it, and then it is released.
#[tokio::test(start_paused = true)]
async fn coordinated_hand_over_gives_the_work_time_and_releases_the_lease() {
    for tidies in [1, 3600] {
        let server = Arc::new(Server::default());
        server.write(&LeaseRecord::held_by("a", seconds(15)));
        let config = ElectionConfig::new("a").coordinated(true);
        let elector = LeaderElector::new(Lock(Arc::clone(&server)), config).expect("good settings");
        let gate = elector.gate();
        let (stop, tidied) = (CancellationToken::new(), Mutex::new(None));
        let preferred = Mutex::new(None);
        let result = elector
            .run(&stop, |lost| {
                let (server, gate, tidied, preferred) = (&server, &gate, &tidied, &preferred);
                async move {
                    sleep(seconds(5)).await;
                    let mut record = server.record().expect("there");
                    record.preferred_holder = Some("b".to_owned());
                    server.write(&record);
                    *preferred.lock() = Some(Instant::now());
                    lost.cancelled().await;
                    sleep(seconds(tidies)).await;
                    *tidied.lock() = Some(gate.remaining());
                }
            })
            .await;
        assert_eq!(result, Err(LeadershipLost::OtherPreferred));
        assert_eq!(server.holder(), "", "it is released");
        let (tidied, waited) = (
            tidied.into_inner(),
            preferred.into_inner().expect("set").elapsed(),
        );
        if tidies == 1 {
            assert!(
                tidied.is_some_and(|gate| gate.is_ok()),
                "it may still write: {tidied:?}"
            );
            assert!(waited <= seconds(4), "{waited:?}");
        } else {
            assert_eq!(tidied, None, "dropped when the lease ends");
            assert!(waited <= seconds(15), "{waited:?}");
        }
    }
}

// INV-ELECT-7: what it cannot renew it may still be able to release.
#[tokio::test(start_paused = true)]
async fn lease_that_was_not_renewed_is_released_if_the_server_is_back() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    let led = elector.run(&stop, |lost| {
        let server = Arc::clone(&server);
        async move {
            server.is_down.store(true, Ordering::SeqCst);
            lost.cancelled().await;
            server.is_down.store(false, Ordering::SeqCst);
        }
    });
    assert!(led.await.is_err());
    assert_eq!(server.holder(), "");
}

// INV-ELECT-7: a write whose response was not waited for is not overtaken by the release.
#[tokio::test(start_paused = true)]
async fn late_write_does_not_leave_the_lease_to_a_replica_that_has_ended() {
    for (late, existing) in [(3, false), (3, true)] {
        let server = Arc::new(Server::default());
        if existing {
            server.write(&LeaseRecord::held_by("", seconds(1)));
        }
        server.late.store(late, Ordering::SeqCst);
        let elector = elector(&server, "a");
        let stop = CancellationToken::new();
        let run = elector.run(&stop, |_| pending::<()>());
        let stopper = async {
            sleep(seconds(1)).await;
            stop.cancel();
        };
        let (led, ()) = tokio::join!(run, stopper);
        assert_eq!(led, Ok(Leadership::NeverLed));
        sleep(seconds(60)).await;
        assert_eq!(server.holder(), "", "{existing}");
    }
}

// INV-ELECT-8: conflicts without end are no reason for requests without end.
#[tokio::test(start_paused = true)]
async fn release_pauses_between_conflicts() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    let led = elector.run(&stop, |_| async {
        server.conflicts.store(u32::MAX, Ordering::SeqCst);
        server.asked.lock().clear();
    });
    assert_eq!(led.await, Ok(Leadership::Worked(())));
    let asked = server.asked.lock().len();
    assert!(
        (10..=30).contains(&asked),
        "{asked} requests in ten seconds"
    );
}

// INV-ELECT-8: whatever the server does, no more than three requests for each retry period.
#[tokio::test(start_paused = true)]
async fn number_of_requests_is_bounded() {
    for trouble in ["none", "down", "conflicts", "refused"] {
        let server = Arc::new(Server::default());
        server.is_down.store(trouble == "down", Ordering::SeqCst);
        if trouble == "conflicts" {
            server.conflicts.store(u32::MAX, Ordering::SeqCst);
        }
        if trouble == "refused" {
            *server.refusal.lock() = Some(("all", "no"));
        }
        let elector = elector(&server, "a");
        let stop = CancellationToken::new();
        let runs = async {
            loop {
                let _ = elector.run(&stop, |_| pending::<()>()).await;
            }
        };
        assert!(timeout(seconds(600), runs).await.is_err());
        let asked = server.asked.lock().len();
        assert!(
            asked <= 3 * 600 / 2 + 3,
            "{trouble}: {asked} requests in ten minutes"
        );
    }
}

// INV-ELECT-1: whoever has the lease next may have worked and released it already.
#[tokio::test(start_paused = true)]
async fn leader_whose_lease_was_emptied_steps_down() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let stop = CancellationToken::new();
    let led = elector.run(&stop, |lost| {
        server.write(&LeaseRecord::held_by("", seconds(1)));
        lost.cancelled_owned()
    });
    let led = timeout(seconds(60), led).await.expect("it steps down");
    assert_eq!(led, Err(LeadershipLost::Taken));
}

// INV-ELECT-1: a lease that somebody deletes still counts, since its holder does not know of it yet.
#[tokio::test(start_paused = true)]
async fn deleted_lease_is_respected_until_it_would_have_ended() {
    let server = Arc::new(Server::default());
    let (first, second) = (elector(&server, "a"), elector(&server, "b"));
    server.write(&LeaseRecord::held_by("somebody", seconds(15)));
    let began = Instant::now();
    let deleted = async {
        sleep(seconds(5)).await;
        *server.lease.lock() = None;
    };
    let stop = CancellationToken::new();
    let led = first.run(&stop, |_| async { began.elapsed() });
    let (led, ()) = tokio::join!(led, deleted);
    let waited = led.expect("it leads").worked().expect("it leads");
    assert!((seconds(15)..seconds(20)).contains(&waited), "{waited:?}");
    // Nobody has seen it: it is free.
    *server.lease.lock() = None;
    let began = Instant::now();
    let led = second.run(&stop, |_| async { began.elapsed() }).await;
    assert!(led.expect("it leads").worked() < Some(seconds(1)));
}

// INV-ELECT-1: one at a time, also of one elector.
#[tokio::test(start_paused = true)]
async fn two_runs_of_one_elector_take_turns() {
    let server = Arc::new(Server::default());
    let elector = elector(&server, "a");
    let (stop, other_stop) = (CancellationToken::new(), CancellationToken::new());
    let began = Instant::now();
    let first = elector.run(&stop, |_| sleep(seconds(60)));
    let second = elector.run(&stop, |_| async { began.elapsed() });
    let third = elector.run(&other_stop, |_| pending::<()>());
    other_stop.cancel();
    let (first, second, third) = tokio::join!(first, second, third);
    assert_eq!(first, Ok(Leadership::Worked(())));
    assert!(second.expect("it leads").worked() >= Some(seconds(60)));
    assert_eq!(third, Ok(Leadership::NeverLed));
}

// SECURITY.md: what a server sends is no reason to panic.
#[tokio::test(start_paused = true)]
async fn lease_of_any_length_can_be_read() {
    for length in [
        serde_json::json!(u64::MAX),
        serde_json::json!(i64::MIN),
        serde_json::json!(1e300),
        serde_json::json!("15"),
        serde_json::json!(null),
    ] {
        let server = Arc::new(Server::default());
        let mut lease = Lease::new("lease", &LeaseRecord::held_by("b", seconds(15)));
        lease.set_record(&LeaseRecord::held_by("b", Duration::MAX));
        let mut object = lease.as_json().clone();
        object["spec"]["leaseDurationSeconds"] = length.clone();
        object["spec"]["leaseTransitions"] = serde_json::json!(i64::MAX);
        server.store(object);
        let elector = elector(&server, "a");
        let stop = CancellationToken::new();
        let leads = timeout(seconds(60), elector.run(&stop, |_| pending::<()>()));
        assert!(leads.await.is_err());
        let waits = server.holder() == "b";
        assert_eq!(waits, length == serde_json::json!(u64::MAX), "{length}");
    }
}
