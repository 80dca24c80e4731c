//! The lease on an API server, over HTTP.

use std::time::Duration;

use informer_client::{Client, Cluster, Config as Connection};
use informer_leader_election::{
    Config, HttpLeaseLock, LeaderElector, Lease, LeaseCandidate, LeaseLock, LeaseRecord, LockError,
    Outcome,
};
use informer_testkit::{ApiServer, ResourceType};
use k8s_openapi::api::coordination::v1 as api;
use tokio_util::sync::CancellationToken;

async fn server() -> (ApiServer, Client) {
    let server = ApiServer::start().await.expect("a server");
    let client = Client::new(Connection::new(Cluster::new(&server.url()).expect("a URL")))
        .expect("a client");
    (server, client)
}

fn lock(client: &Client) -> HttpLeaseLock {
    HttpLeaseLock::new(client.clone(), "kube-system", "lock")
}

#[tokio::test]
async fn a_lease_is_created_read_and_written_and_conflicts_are_told() {
    let (server, client) = server().await;
    let lock = lock(&client);
    assert!(lock.get().await.expect("readable").is_none());
    let record = LeaseRecord::held_by("a", Duration::from_secs(15));
    let created = lock
        .create(&Lease::new(lock.name(), &record))
        .await
        .expect("new");
    assert!(matches!(
        lock.create(&Lease::new(lock.name(), &record)).await,
        Err(LockError::Conflict)
    ));
    // What others wrote beside the record stays.
    server
        .merge_patch(
            "leases",
            "kube-system",
            "lock",
            serde_json::json!({"metadata": {"labels": {"a": "b"}}}),
        )
        .expect("there");
    let mut lease = lock.get().await.expect("readable").expect("there");
    lease.set_record(&LeaseRecord::held_by("b", Duration::from_secs(15)));
    lock.update(&lease).await.expect("current");
    assert!(matches!(
        lock.update(&created).await,
        Err(LockError::Conflict)
    ));
    let stored = server.get("leases", "kube-system", "lock").expect("there");
    let stored: api::Lease = serde_json::from_value(stored).expect("a Lease");
    assert_eq!(
        stored.spec.and_then(|spec| spec.holder_identity).as_deref(),
        Some("b")
    );
    assert_eq!(stored.metadata.labels.map(|labels| labels.len()), Some(1));
    server.shutdown().await;
}

// INV-ELECT-3
#[tokio::test]
async fn one_of_two_works_and_the_other_takes_over() {
    let (server, client) = server().await;
    let stop = CancellationToken::new();
    let replica = |name| {
        let config = Config::new(name)
            .lease_duration(Duration::from_secs(3))
            .renew_deadline(Duration::from_secs(2))
            .retry_period(Duration::from_millis(50));
        let elector = LeaderElector::new(lock(&client), config).expect("good settings");
        let stop = stop.clone();
        async move {
            elector
                .run(&stop, |_| tokio::time::sleep(Duration::from_millis(200)))
                .await
        }
    };
    let (first, second) = tokio::join!(replica("a"), replica("b"));
    assert_eq!(
        (first, second),
        (Ok(Outcome::Worked(())), Ok(Outcome::Worked(())))
    );
    let stored = server.get("leases", "kube-system", "lock").expect("there");
    assert_eq!(stored["spec"]["holderIdentity"], "");
    assert_eq!(stored["spec"]["leaseTransitions"], 1);
    server.shutdown().await;
}

// LE7, LE2
#[tokio::test]
async fn a_candidate_is_created_answers_and_leads_once_it_is_chosen() {
    let (server, client) = server().await;
    let (group, kind) = ("coordination.k8s.io", "LeaseCandidate");
    server.register(ResourceType::new(group, "v1beta1", kind, "leasecandidates"));
    let stop = CancellationToken::new();
    let candidate = LeaseCandidate::new(client.clone(), "kube-system", "a", "lock", "1.2.0");
    let candidate = tokio::spawn({
        let stop = stop.clone();
        async move { candidate.run(&stop).await }
    });
    let spec = || {
        let stored = server.get("leasecandidates", "kube-system", "a").ok()?;
        Some(stored["spec"].clone())
    };
    let until = async |what: &str, holds: &dyn Fn() -> bool| {
        let waited = tokio::time::timeout(Duration::from_secs(30), async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert!(waited.await.is_ok(), "never: {what}");
    };
    until("it is created", &|| spec().is_some()).await;
    let created = spec().expect("there");
    assert_eq!(
        (&created["leaseName"], &created["binaryVersion"]),
        (&"lock".into(), &"1.2.0".into())
    );
    // The control plane asks.
    let asked = jiff::Timestamp::now() + Duration::from_millis(1);
    let ping = serde_json::json!({"spec": {"pingTime": format!("{asked:.6}")}});
    server
        .merge_patch("leasecandidates", "kube-system", "a", ping)
        .expect("there");
    let answered = || {
        let spec = spec().expect("there");
        let time = |field: &str| {
            spec[field]
                .as_str()
                .and_then(|time| time.parse::<jiff::Timestamp>().ok())
        };
        time("renewTime") > time("pingTime") && time("pingTime").is_some()
    };
    until("it answers", &answered).await;

    // It does not lead before it is chosen.
    let config = Config::new("a")
        .coordinated(true)
        .retry_period(Duration::from_millis(50));
    let elector = LeaderElector::new(lock(&client), config).expect("good settings");
    let led = tokio::time::timeout(Duration::from_millis(500), elector.run(&stop, |_| async {}));
    led.await.expect_err("nobody is chosen");
    let chosen = LeaseRecord::held_by("a", Duration::from_secs(15));
    lock(&client)
        .create(&Lease::new("lock", &chosen))
        .await
        .expect("new");
    let led = elector.run(&stop, |_| async {}).await;
    assert_eq!(led, Ok(Outcome::Worked(())));
    stop.cancel();
    candidate.await.expect("no panic");
    server.shutdown().await;
}
