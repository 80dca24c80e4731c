//! The example `provisioner`: two replicas make volumes for 300 claims while leaders and the server are killed.
//!
//! No controller manager runs here. The example binds claims itself, as the volume controller would, and lets deleted
//! claims and volumes go.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;

use crate::provisioning::{
    self, DELETES, LEASE, Replica, claims, claims_path, each_claim_has_one_volume, make_claims,
    make_classes, names, volumes,
};
use crate::world::World;

/// Claims come in three waves, each of so many.
const WAVE: usize = 100;
/// How much of a wave is provisioned when something is killed.
const PART: usize = 40;
/// How long anything may take: a lease of 15 s has to end first.
const LIMIT: Duration = Duration::from_secs(180);

pub(crate) async fn run() -> anyhow::Result<()> {
    let mut world = World::start().await?;
    make_classes(&world).await?;
    let mut replicas = Replicas::start(world.server.kubeconfig())?;

    make_claims(&world, 0..WAVE).await?;
    volumes_reach(&world, PART).await?;
    replicas.kill_leader(&world).await?;
    volumes_reach(&world, WAVE).await?;

    make_claims(&world, WAVE..2 * WAVE).await?;
    volumes_reach(&world, WAVE + PART).await?;
    world.server.kill().await?;
    world.server.restart().await?;
    volumes_reach(&world, 2 * WAVE).await?;

    make_claims(&world, 2 * WAVE..3 * WAVE).await?;
    volumes_reach(&world, 2 * WAVE + PART).await?;
    replicas.kill_leader(&world).await?;

    each_claim_has_one_volume(&world, 3 * WAVE, LIMIT, || replicas.directories()).await?;
    deletes_clean_up(&world, &replicas).await?;
    replicas.end(&world).await
}

/// Waits until there are so many volumes.
async fn volumes_reach(world: &World, wanted: usize) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let found = volumes(world).await?.len();
        if found >= wanted {
            println!(
                "{found} volumes after {:.1} s",
                started.elapsed().as_secs_f64()
            );
            return Ok(());
        }
        ensure!(
            started.elapsed() < LIMIT,
            "{found} of {wanted} volumes after {LIMIT:?}"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Every third claim is deleted: volumes and storage of one class go, those of the other stay until a volume is deleted.
async fn deletes_clean_up(world: &World, replicas: &Replicas) -> anyhow::Result<()> {
    let (mut gone, mut released) = (BTreeSet::new(), BTreeSet::new());
    for claim in claims(world).await? {
        let [name, namespace] =
            ["name", "namespace"].map(|field| claim["metadata"][field].as_str());
        let (Some(name), Some(namespace)) = (name, namespace) else {
            bail!("a claim has no name");
        };
        let number: usize = name.trim_start_matches("claim-").parse()?;
        if number.is_multiple_of(3) {
            let volume = claim["spec"]["volumeName"]
                .as_str()
                .context("it is bound")?
                .to_owned();
            let deletes = claim["spec"]["storageClassName"] == DELETES;
            if deletes { &mut gone } else { &mut released }.insert(volume);
            world
                .judge
                .delete(&format!("{}/{name}", claims_path(namespace)))
                .await?;
        }
    }
    let before = replicas.directories()?;
    until_gone(world, &gone).await?;
    ensure!(
        replicas.directories()? == &before - &gone,
        "other storage went than was to go"
    );
    let left = names(&volumes(world).await?);
    ensure!(released.is_subset(&left), "volumes went that were to stay");
    println!(
        "{} volumes went with their claims, {} stayed",
        gone.len(),
        released.len()
    );

    for volume in &released {
        world
            .judge
            .delete(&format!("/api/v1/persistentvolumes/{volume}"))
            .await?;
    }
    until_gone(world, &released).await?;
    ensure!(
        replicas.directories()? == &before - &gone,
        "storage went that was to stay"
    );
    let (claims, volumes) = (claims(world).await?.len(), volumes(world).await?.len());
    ensure!(
        claims == 2 * WAVE && volumes == claims,
        "{claims} claims and {volumes} volumes are left"
    );
    Ok(())
}

async fn until_gone(world: &World, gone: &BTreeSet<String>) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let left = names(&volumes(world).await?);
        let late: Vec<&String> = left.intersection(gone).collect();
        if late.is_empty() {
            return Ok(());
        }
        ensure!(
            started.elapsed() < LIMIT,
            "{} volumes did not go: {:?} …",
            late.len(),
            late[0]
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The replicas of the provisioner, and where they make volumes.
struct Replicas {
    kubeconfig: PathBuf,
    dir: TempDir,
    running: Vec<Replica>,
    started: usize,
}

impl Replicas {
    fn start(kubeconfig: PathBuf) -> anyhow::Result<Self> {
        let mut replicas = Self {
            kubeconfig,
            dir: tempfile::Builder::new().prefix("informer-e2e-").tempdir()?,
            running: Vec::new(),
            started: 0,
        };
        replicas.start_one()?;
        replicas.start_one()?;
        Ok(replicas)
    }

    fn start_one(&mut self) -> anyhow::Result<()> {
        self.started += 1;
        let name = format!("replica-{}", self.started);
        let replica = Replica::start(&name, &self.kubeconfig, self.dir.path(), &[])?;
        self.running.push(replica);
        Ok(())
    }

    /// The names of all storage.
    fn directories(&self) -> anyhow::Result<BTreeSet<String>> {
        provisioning::directories(self.dir.path())
    }

    /// Kills the leader as a crash would, and starts another replica.
    async fn kill_leader(&mut self, world: &World) -> anyhow::Result<()> {
        let holder = holder(world).await?;
        let leader = self.running.iter().position(|replica| replica.is(&holder));
        let leader = leader.with_context(|| format!("no replica is the holder {holder:?}"))?;
        let leader = self.running.remove(leader);
        let name = leader.name.clone();
        leader.kill().await?;
        println!("killed the leader {name}");
        self.start_one()
    }

    /// Tells all to end. They end well, and nobody holds the lease.
    async fn end(self, world: &World) -> anyhow::Result<()> {
        for replica in self.running {
            replica.end().await?;
        }
        let holder = holder(world).await?;
        ensure!(holder.is_empty(), "{holder} still holds the lease");
        Ok(())
    }
}

/// The identity that the lease names, empty if there is none.
async fn holder(world: &World) -> anyhow::Result<String> {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = world.judge.get(&format!("{leases}/{LEASE}")).await?;
    let holder = lease["spec"]["holderIdentity"].as_str();
    Ok(holder.unwrap_or_default().to_owned())
}
