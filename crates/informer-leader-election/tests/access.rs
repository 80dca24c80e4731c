//! An election that may not touch leases: log, status, health and the error of a loss have the reason.

mod support;

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use informer_leader_election::{ElectionConfig, Health, LeaderElector, Leadership, LeadershipLost};
use support::{Lock, Log, Server, seconds, short};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

const REFUSAL: &str =
    r#"403 Forbidden: leases "lease" is forbidden: User "x" cannot get resource "leases""#;

fn elector(server: &Arc<Server>, config: ElectionConfig) -> LeaderElector<Lock> {
    LeaderElector::new(Lock(Arc::clone(server)), config).expect("good settings")
}

// INV-ELECT-9
#[tokio::test(start_paused = true)]
async fn refused_candidate_has_the_reason_in_log_status_and_health() {
    for (verb, attempts) in [("all", 30), ("get", 30), ("create", 30)] {
        let log = Log::default();
        let _logging = tracing::subscriber::set_default(log.clone());
        let server = Arc::new(Server::default());
        *server.refusal.lock() = Some((verb, REFUSAL));
        let elector = elector(&server, short("a"));
        assert_eq!(
            elector.health(Duration::ZERO),
            Health::Well,
            "it does not run"
        );
        let stop = CancellationToken::new();
        let mut run = Box::pin(elector.run(&stop, |_| sleep(seconds(1))));
        assert!(
            timeout(seconds(60), &mut run).await.is_err(),
            "it takes part"
        );

        let warnings = log.lines("WARN");
        assert_eq!(
            warnings.len(),
            1,
            "{verb}: once for the reason: {warnings:?}"
        );
        assert!(warnings[0].contains("403"), "{warnings:?}");
        let status = elector.status();
        assert!(
            status
                .last_error
                .as_ref()
                .is_some_and(|error| error.contains("403"))
        );
        assert!(status.failed_attempts > attempts, "{status:?}");
        assert_eq!(
            elector.health(seconds(1)),
            Health::NoAccess(seconds(60)),
            "{verb}"
        );
        assert!(
            elector.health(seconds(100)).is_well(),
            "within the tolerance"
        );
        assert!(elector.health(Duration::MAX).is_well());

        // The right is given.
        *server.refusal.lock() = None;
        assert_eq!(run.await, Ok(Leadership::Worked(())));
        assert_eq!(log.lines("succeed again").len(), 1);
        let status = elector.status();
        assert_eq!((status.failed_attempts, status.last_error), (0, None));
        assert!(elector.health(Duration::ZERO).is_well());
    }
}

// INV-ELECT-9
#[tokio::test(start_paused = true)]
async fn each_reason_is_logged_once() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let server = Arc::new(Server::default());
    let elector = elector(&server, short("a"));
    let stop = CancellationToken::new();
    let mut run = Box::pin(elector.run(&stop, |_| pending::<()>()));
    for round in 0..20 {
        *server.refusal.lock() = Some((
            "all",
            ["401 Unauthorized", "404 namespace not found"][round % 2],
        ));
        assert!(timeout(seconds(10), &mut run).await.is_err());
    }
    *server.refusal.lock() = None;
    *server.hang.lock() = Some("get");
    assert!(timeout(seconds(20), &mut run).await.is_err());
    let warnings = log.lines("WARN");
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[2].contains("no response"), "{warnings:?}");
}

// INV-ELECT-9
#[tokio::test(start_paused = true)]
async fn refused_leader_has_the_reason_in_its_error() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let server = Arc::new(Server::default());
    let elector = elector(&server, short("a"));
    let stop = CancellationToken::new();
    let work = |lost: CancellationToken| {
        *server.refusal.lock() = Some(("all", REFUSAL));
        async move { lost.cancelled().await }
    };
    let lost = elector
        .run(&stop, work)
        .await
        .expect_err("the right is taken away");
    assert!(
        matches!(lost, LeadershipLost::RenewalFailed { .. }),
        "{lost:?}"
    );
    assert!(lost.to_string().contains("403"), "{lost}");
    let source = std::error::Error::source(&lost).and_then(std::error::Error::source);
    assert_eq!(source.map(ToString::to_string).as_deref(), Some(REFUSAL));
    assert_eq!(log.lines("no longer leading").len(), 1);
    assert!(
        log.lines("no longer leading")[0].contains("403"),
        "{:?}",
        log.lines("")
    );
}

// INV-ELECT-9: another candidate that is faster is no failure.
#[tokio::test(start_paused = true)]
async fn candidate_that_waits_for_another_is_well() {
    let log = Log::default();
    let _logging = tracing::subscriber::set_default(log.clone());
    let server = Arc::new(Server::default());
    let (first, second) = (elector(&server, short("a")), elector(&server, short("b")));
    let stop = CancellationToken::new();
    let both = async {
        tokio::join!(
            first.run(&stop, |_| pending::<()>()),
            second.run(&stop, |_| pending::<()>())
        )
    };
    assert!(
        timeout(seconds(60), async {
            tokio::select! {
                _ = both => {}
                () = async {
                    sleep(seconds(59)).await;
                    for elector in [&first, &second] {
                        assert!(elector.health(Duration::ZERO).is_well());
                        assert_eq!(elector.status().failed_attempts, 0);
                        assert_eq!(elector.status().leader, first.status().leader);
                    }
                    pending::<()>().await;
                } => {}
            }
        })
        .await
        .is_err()
    );
    assert_eq!(log.lines("WARN"), [""; 0]);
}
