//! The harness holds what it says, shown on a real server. Skipped, and said so, unless `cargo xtask e2e` runs it.

use std::time::Duration;

use informer_e2e::{ApiClient, HarnessError, RealApiServer, ServerOptions};
use serde_json::json;

const PODS: &str = "/api/v1/namespaces/default/pods";

/// Starts a server; nothing if none was built for this run.
async fn start(options: ServerOptions) -> Option<RealApiServer> {
    match RealApiServer::start(options).await {
        Ok(server) => Some(server),
        Err(HarnessError::NotBuilt) => {
            eprintln!("skipped: {}", HarnessError::NotBuilt);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

async fn create_pod(client: &ApiClient, name: &str) -> String {
    let pod = json!({
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "none" }] },
    });
    let created = client
        .create(PODS, &pod)
        .await
        .expect("the administrator may create pods");
    created["metadata"]["resourceVersion"]
        .as_str()
        .expect("a version")
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_watch_cache_a_compaction_alone_expires_a_watch() {
    let Some(mut server) = start(ServerOptions::default().flag("--watch-cache=false")).await else {
        return;
    };
    let client = server.client().expect("the authority is there");
    let old = create_pod(&client, "a").await;
    create_pod(&client, "b").await;
    let newest = create_pod(&client, "c").await;
    let compacted = server.compact().await.expect("there is history to drop");
    assert!(compacted >= newest.parse().expect("a number"));
    let event = client
        .first_event(PODS, &old, Duration::from_secs(30))
        .await
        .expect("an event");
    assert_eq!(event["object"]["code"], 410, "{event}");
    assert!(server.revision().await.expect("it runs") >= compacted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_graceful_even_with_a_watch_open_and_the_data_stays() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = ServerOptions::default().dir(dir.path());
    let Some(mut server) = start(options.clone()).await else {
        return;
    };
    let client = server.client().expect("the authority is there");
    let version = create_pod(&client, "a").await;
    let watch = {
        let client = client.clone();
        tokio::spawn(async move {
            client
                .first_event(PODS, &version, Duration::from_secs(120))
                .await
        })
    };
    // One more request after the watch's, so that the watch is most likely open by now.
    client
        .get("/version")
        .await
        .expect("anyone may read the version");
    server.stop().await.expect("a graceful stop");
    assert!(
        watch.await.expect("no panic").is_err(),
        "a watch without events ends without one"
    );
    assert!(matches!(server.kill().await, Err(HarnessError::NotRunning)));

    // Kept state is found again; without `keep` it is gone.
    let mut server = RealApiServer::start(options.clone().keep(true))
        .await
        .expect("it starts");
    let client = server.client().expect("the authority is there");
    assert_eq!(client.list(PODS).await.expect("a list").1.len(), 1);
    server.kill().await.expect("it runs");
    let server = RealApiServer::start(options).await.expect("it starts");
    let client = server.client().expect("the authority is there");
    assert!(client.list(PODS).await.expect("a list").1.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_told_apart_and_a_frozen_server_answers_nothing() {
    let Some(server) = start(ServerOptions::default()).await else {
        return;
    };
    let as_user = |token| ApiClient::new(&server.url(), token, &server.authority()).expect("valid");
    let refused = as_user("nobody-token")
        .get(PODS)
        .await
        .expect_err("nobody may list");
    assert_eq!(refused.http_status(), Some(403));
    let unknown = as_user("wrong")
        .get(PODS)
        .await
        .expect_err("an unknown user");
    assert_eq!(unknown.http_status(), Some(401));
    for file in [
        server.kubeconfig(),
        server.kubeconfig_token(),
        server.kubeconfig_nobody(),
    ] {
        let text = std::fs::read_to_string(&file).expect("each kubeconfig is written");
        assert!(text.contains(&server.url()), "{text}");
    }

    let client = server.client().expect("the authority is there");
    server.freeze().await.expect("it runs");
    let silent = tokio::time::timeout(Duration::from_secs(2), client.get("/version")).await;
    assert!(silent.is_err(), "{silent:?}");
    server.thaw().await.expect("it runs");
    client.get("/version").await.expect("it answers again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_start_says_why() {
    match RealApiServer::start(ServerOptions::default().flag("--no-such-flag")).await {
        Err(HarnessError::Ended { log, .. }) => assert!(log.contains("no-such-flag"), "{log}"),
        Err(HarnessError::NotBuilt) => eprintln!("skipped: {}", HarnessError::NotBuilt),
        other => panic!("{other:?}"),
    }
}
