//! Claims, and the volumes that are made for them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::NAME;
use crate::world::{NAMESPACES, World};

/// Its claims are provisioned at once, and their storage goes with them.
pub(crate) const DELETES: &str = "deletes";
/// Its claims wait for a node, and their storage stays.
const RETAINS: &str = "retains";

pub(crate) async fn make_classes(world: &World) -> anyhow::Result<()> {
    for (name, policy, mode) in [
        (DELETES, "Delete", "Immediate"),
        (RETAINS, "Retain", "WaitForFirstConsumer"),
    ] {
        let class = json!({
            "metadata": {"name": name}, "provisioner": NAME,
            "reclaimPolicy": policy, "volumeBindingMode": mode,
        });
        world
            .judge
            .create("/apis/storage.k8s.io/v1/storageclasses", &class)
            .await?;
    }
    Ok(())
}

/// Which class the claim of a number has.
const fn class_of(number: usize) -> &'static str {
    if number.is_multiple_of(2) {
        DELETES
    } else {
        RETAINS
    }
}

pub(crate) fn claims_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}

/// Makes the claims of these numbers. Those of the waiting class get their node afterwards, as from a scheduler.
pub(crate) async fn make_claims(world: &World, numbers: Range<usize>) -> anyhow::Result<()> {
    let make = |number: usize| async move {
        let collection = claims_path(NAMESPACES[number % NAMESPACES.len()]);
        let claim = json!({
            "metadata": {"name": format!("claim-{number}")},
            "spec": {
                "storageClassName": class_of(number), "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Mi"}},
            },
        });
        world.judge.create(&collection, &claim).await?;
        if class_of(number) == RETAINS {
            let node = json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}});
            world
                .judge
                .patch(&format!("{collection}/claim-{number}"), &node)
                .await?;
        }
        anyhow::Ok(())
    };
    stream::iter(numbers)
        .map(make)
        .buffer_unordered(8)
        .try_collect::<()>()
        .await
}

pub(crate) async fn volumes(world: &World) -> anyhow::Result<Vec<Value>> {
    Ok(world.judge.list("/api/v1/persistentvolumes").await?.1)
}

pub(crate) async fn claims(world: &World) -> anyhow::Result<Vec<Value>> {
    Ok(world.judge.list("/api/v1/persistentvolumeclaims").await?.1)
}

/// Waits until so many claims, which are all, are each bound to a volume. None may have two, and storage be where
/// volumes are and nowhere else.
pub(crate) async fn each_claim_has_one_volume(
    world: &World,
    count: usize,
    limit: Duration,
    directories: impl Fn() -> anyhow::Result<BTreeSet<String>>,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let claims = loop {
        let claims = claims(world).await?;
        let unbound = claims
            .iter()
            .filter(|claim| claim["status"]["phase"] != "Bound")
            .count();
        if unbound == 0 {
            break claims;
        }
        ensure!(
            started.elapsed() < limit,
            "{unbound} claims are not bound after {limit:?}"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let volumes = volumes(world).await?;
    ensure!(claims.len() == count, "{} claims", claims.len());
    ensure!(
        volumes.len() == claims.len(),
        "{} volumes for {} claims",
        volumes.len(),
        claims.len()
    );
    let of_claims: BTreeSet<String> = claims
        .iter()
        .map(|claim| {
            format!(
                "{} {}",
                claim["metadata"]["uid"], claim["spec"]["volumeName"]
            )
        })
        .collect();
    let of_volumes: BTreeSet<String> = volumes
        .iter()
        .map(|volume| {
            format!(
                "{} {}",
                volume["spec"]["claimRef"]["uid"], volume["metadata"]["name"]
            )
        })
        .collect();
    ensure!(
        of_claims == of_volumes,
        "claims and volumes do not name each other"
    );
    ensure!(
        of_claims.len() == claims.len(),
        "two claims have one volume"
    );
    ensure!(
        directories()? == names(&volumes),
        "storage and volumes are not the same"
    );
    println!("{} claims have one volume each", claims.len());
    Ok(())
}

pub(crate) fn names(objects: &[Value]) -> BTreeSet<String> {
    let names = objects
        .iter()
        .filter_map(|object| object["metadata"]["name"].as_str());
    names.map(str::to_owned).collect()
}
