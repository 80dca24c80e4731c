//! The lease on an API server, over HTTP.

use std::time::Duration;

use informer_client::{Api, Client, Cluster, Config as Connection};
use informer_leader_election::{
    ElectionConfig, HttpLeaseLock, LeaderElector, Leadership, Lease, LeaseCandidate, LeaseLock,
    LeaseRecord, LockError, NotLeading,
};
use informer_testkit::{ApiServer, ResourceType, Verb};
use k8s_openapi::api::coordination::v1 as api;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

async fn server() -> (ApiServer, Client) {
    let server = ApiServer::builder()
        .create_namespaces(true)
        .start()
        .await
        .expect("a server");
    let client = Client::new(Connection::new(Cluster::new(&server.url()).expect("a URL")))
        .expect("a client");
    (server, client)
}

fn lock(client: &Client) -> HttpLeaseLock {
    HttpLeaseLock::new(client.clone(), "kube-system", "lock")
}

#[tokio::test]
async fn lease_is_created_read_and_written_with_conflicts_as_errors() {
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
async fn second_replica_takes_over_after_first() {
    let (server, client) = server().await;
    let stop = CancellationToken::new();
    let replica = |name| {
        let config = ElectionConfig::new(name)
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
        (Ok(Leadership::Worked(())), Ok(Leadership::Worked(())))
    );
    let stored = server.get("leases", "kube-system", "lock").expect("there");
    assert_eq!(stored["spec"]["holderIdentity"], "");
    assert_eq!(stored["spec"]["leaseTransitions"], 1);
    server.shutdown().await;
}

// LE7, LE2
#[tokio::test]
async fn candidate_answers_ping_and_leads_once_chosen() {
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
    // It waits for pings by watching its own object, and does not read it all the time.
    let sent = |verb: Verb| {
        let requests = server.requests();
        let own = requests
            .iter()
            .filter(|request| request.resource == "leasecandidates");
        own.filter(|request| request.verb == verb).count()
    };
    until("it watches again", &|| sent(Verb::Watch) == 2).await;
    assert_eq!(
        (sent(Verb::Get), sent(Verb::Create), sent(Verb::Update)),
        (2, 1, 1)
    );

    // It does not lead before it is chosen.
    let config = ElectionConfig::new("a")
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
    assert_eq!(led, Ok(Leadership::Worked(())));
    stop.cancel();
    candidate.await.expect("no panic");
    server.shutdown().await;
}

/// A server on a thread and a runtime of its own, which nothing in the test blocks.
fn server_apart() -> (ApiServer, std::thread::JoinHandle<()>, CancellationToken) {
    let (send, receive) = std::sync::mpsc::channel();
    let done = CancellationToken::new();
    let until = done.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async {
            let server = ApiServer::builder()
                .create_namespaces(true)
                .start()
                .await
                .expect("a server");
            send.send(server).expect("the test waits for it");
            until.cancelled().await;
        });
    });
    (receive.recv().expect("it starts"), thread, done)
}

// INV-ELECT-5: over connections that the blocked runtime did not open.
#[tokio::test]
async fn lease_is_renewed_over_its_own_connection_while_the_work_blocks_the_runtime() {
    let (server, thread, done) = server_apart();
    let client = Client::anonymous(&server.url()).expect("a client");
    // Leaves an idle connection behind, which this runtime drives.
    assert!(lock(&client).get().await.expect("readable").is_none());
    let config = ElectionConfig::new("a")
        .lease_duration(Duration::from_secs(2))
        .renew_deadline(Duration::from_millis(1500))
        .retry_period(Duration::from_millis(200));
    let elector = LeaderElector::new(lock(&client), config).expect("good settings");
    let stop = CancellationToken::new();
    let work = |_| async {
        let updates = || {
            let requests = server.requests();
            requests
                .iter()
                .filter(|request| request.verb == Verb::Update)
                .count()
        };
        let before = updates();
        // This thread is the whole runtime.
        while updates() < before + 15 {
            std::thread::sleep(Duration::from_millis(10));
        }
        elector.status().is_leader()
    };
    let led = elector.run(&stop, work).await;
    assert_eq!(led, Ok(Leadership::Worked(true)));
    done.cancel();
    thread.join().expect("no panic");
}

// INV-ELECT-10, INV-CLIENT-17
#[tokio::test]
async fn gated_client_writes_only_while_it_leads() {
    let (server, client) = server().await;
    let elector =
        LeaderElector::new(lock(&client), ElectionConfig::new("a")).expect("good settings");
    let maps = Api::<ConfigMap>::namespaced(client.gated(elector.gate()), "shop");
    let write = async |name: &str| {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        maps.create(&map).await
    };
    let refused = write("before").await.expect_err("it does not lead");
    let source = std::error::Error::source(&refused).and_then(|source| source.downcast_ref());
    assert_eq!(source, Some(&NotLeading), "{refused:?}");
    let stop = CancellationToken::new();
    let led = elector
        .run(&stop, |_| write("meanwhile"))
        .await
        .expect("it leads");
    assert!(led.worked().expect("it leads").is_ok());
    write("after").await.expect_err("it leads no longer");
    assert!(server.get("configmaps", "shop", "meanwhile").is_ok());
    for name in ["before", "after"] {
        assert!(server.get("configmaps", "shop", name).is_err(), "{name}");
    }
    server.shutdown().await;
}
