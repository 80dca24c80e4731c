//! What the other scenarios take for granted: data outlives a kill, and old versions can be made to expire.

use std::time::Duration;

use anyhow::{Context, ensure};
use informer_e2e::{ApiClient, RealApiServer, ServerOptions};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const EVENT_LIMIT: Duration = Duration::from_secs(30);

pub(crate) async fn run() -> anyhow::Result<()> {
    let mut server = RealApiServer::start(ServerOptions::default()).await?;
    println!("started at {}", server.url());
    let client = server.client()?;
    for name in ["a", "b"] {
        create_pod(&client, name).await?;
    }
    let (before, pods) = client.list(PODS).await?;
    ensure!(names(&pods) == ["a", "b"], "listed {:?}", names(&pods));

    server.restart().await?;
    let (_, pods) = client.list(PODS).await?;
    ensure!(
        names(&pods) == ["a", "b"],
        "after the kill: {:?}",
        names(&pods)
    );
    println!("killed and restarted: both pods are still there");

    create_pod(&client, "c").await?;
    let compacted = server.compact().await?;
    println!("compacted at {compacted}");
    let (middle, _) = client.list(PODS).await?;
    let page = client.get(&format!("{PODS}?limit=1")).await?;
    let token = page["metadata"]["continue"]
        .as_str()
        .context("a first page of several")?;
    create_pod(&client, "d").await?;
    let event = client.first_event(PODS, &middle, EVENT_LIMIT).await?;
    ensure!(
        event["object"]["metadata"]["name"] == "d",
        "after the compaction: {event}"
    );

    let oldest = server.expire_history().await?;
    println!("compacted at {oldest} and restarted");
    for version in [&before, &middle] {
        let event = client.first_event(PODS, version, EVENT_LIMIT).await?;
        let code = &event["object"]["code"];
        ensure!(
            event["type"] == "ERROR" && *code == 410,
            "watch from {version}: {event}"
        );
    }
    let exact = format!("{PODS}?resourceVersion={before}&resourceVersionMatch=Exact");
    for list in [exact, format!("{PODS}?limit=1&continue={token}")] {
        let ended = client
            .get(&list)
            .await
            .err()
            .and_then(|error| error.http_status());
        ensure!(ended == Some(410), "{list} ended with {ended:?}");
    }
    println!("watches from {before} and {middle} end in 410, as do an exact list and an old page");
    server.stop().await.context("graceful stop")
}

async fn create_pod(client: &ApiClient, name: &str) -> anyhow::Result<()> {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "none" }] },
    });
    client
        .create(PODS, &pod)
        .await
        .map(drop)
        .with_context(|| format!("create pod {name}"))
}

fn names(objects: &[Value]) -> Vec<&str> {
    objects
        .iter()
        .filter_map(|object| object["metadata"]["name"].as_str())
        .collect()
}
