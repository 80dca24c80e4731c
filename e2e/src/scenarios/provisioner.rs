//! The example `provisioner`: two replicas make volumes for 300 claims while leaders and the server are killed.
//!
//! No controller manager runs here. The example binds claims itself, as the volume controller would, and lets deleted
//! claims and volumes go.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::world::{NAMESPACES, World};

const NAME: &str = "e2e.example/host-path";
/// Its claims are provisioned at once, and their storage goes with them.
const DELETES: &str = "deletes";
/// Its claims wait for a node, and their storage stays.
const RETAINS: &str = "retains";
const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/default/leases/provisioner-e2e-example-host-path";

/// Claims come in three waves, each of so many.
const WAVE: usize = 100;
/// How much of a wave is provisioned when something is killed.
const PART: usize = 40;
/// How long anything may take: a lease of 15 s has to end first.
const LIMIT: Duration = Duration::from_secs(180);
/// How long a replica may take to end once it is told to.
const END_LIMIT: Duration = Duration::from_secs(20);

pub(crate) async fn run() -> anyhow::Result<()> {
    let mut world = World::start().await?;
    make_classes(&world).await?;
    let mut replicas = Replicas::start(&world.server.kubeconfig())?;

    make_claims(&world, 0).await?;
    volumes_reach(&world, PART).await?;
    replicas.kill_leader(&world).await?;
    volumes_reach(&world, WAVE).await?;

    make_claims(&world, WAVE).await?;
    volumes_reach(&world, WAVE + PART).await?;
    world.server.kill().await?;
    world.server.restart().await?;
    volumes_reach(&world, 2 * WAVE).await?;

    make_claims(&world, 2 * WAVE).await?;
    volumes_reach(&world, 2 * WAVE + PART).await?;
    replicas.kill_leader(&world).await?;

    each_claim_has_one_volume(&world, &replicas).await?;
    deletes_clean_up(&world, &replicas).await?;
    replicas.end(&world).await
}

async fn make_classes(world: &World) -> anyhow::Result<()> {
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

fn claims_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}

/// Makes a wave of claims. Those of the waiting class get their node afterwards, as from a scheduler.
async fn make_claims(world: &World, first: usize) -> anyhow::Result<()> {
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
    stream::iter(first..first + WAVE)
        .map(make)
        .buffer_unordered(8)
        .try_collect::<()>()
        .await
}

async fn volumes(world: &World) -> anyhow::Result<Vec<Value>> {
    Ok(world.judge.list("/api/v1/persistentvolumes").await?.1)
}

async fn claims(world: &World) -> anyhow::Result<Vec<Value>> {
    Ok(world.judge.list("/api/v1/persistentvolumeclaims").await?.1)
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

/// Every claim is bound to a volume, and no volume is for a claim that has another.
async fn each_claim_has_one_volume(world: &World, replicas: &Replicas) -> anyhow::Result<()> {
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
            started.elapsed() < LIMIT,
            "{unbound} claims are not bound after {LIMIT:?}"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let volumes = volumes(world).await?;
    ensure!(claims.len() == 3 * WAVE, "{} claims", claims.len());
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
        replicas.directories()? == names(&volumes),
        "storage and volumes are not the same"
    );
    println!("{} claims have one volume each", claims.len());
    Ok(())
}

fn names(objects: &[Value]) -> BTreeSet<String> {
    let names = objects
        .iter()
        .filter_map(|object| object["metadata"]["name"].as_str());
    names.map(str::to_owned).collect()
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
    running: Vec<(String, Child)>,
    started: usize,
}

impl Replicas {
    fn start(kubeconfig: &Path) -> anyhow::Result<Self> {
        let mut replicas = Self {
            kubeconfig: kubeconfig.to_owned(),
            dir: tempfile::Builder::new().prefix("informer-e2e-").tempdir()?,
            running: Vec::new(),
            started: 0,
        };
        replicas.start_one()?;
        replicas.start_one()?;
        Ok(replicas)
    }

    fn start_one(&mut self) -> anyhow::Result<()> {
        let program = std::env::current_exe()?.with_file_name("provisioner");
        ensure!(
            program.is_file(),
            "{} is not built; `cargo xtask e2e` builds it",
            program.display()
        );
        self.started += 1;
        let name = format!("replica-{}", self.started);
        let log = std::fs::File::create(self.dir.path().join(format!("{name}.log")))?;
        let child = Command::new(program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args([
                "--provisioner",
                NAME,
                "--workers",
                "4",
                "--resync",
                "30s",
                "--lease-namespace",
                "default",
            ])
            .arg("--dir")
            .arg(self.volumes())
            // By which the lease names it.
            .env("HOSTNAME", &name)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        self.running.push((name, child));
        Ok(())
    }

    fn volumes(&self) -> PathBuf {
        self.dir.path().join("volumes")
    }

    /// The names of all storage.
    fn directories(&self) -> anyhow::Result<BTreeSet<String>> {
        let entries = std::fs::read_dir(self.volumes())?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    /// Kills the leader as a crash would, and starts another replica.
    async fn kill_leader(&mut self, world: &World) -> anyhow::Result<()> {
        let lease = world.judge.get(LEASE).await?;
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
        let leads = |(name, _): &(String, Child)| holder.starts_with(&format!("{name}_"));
        let leader = self.running.iter().position(leads);
        let leader = leader.with_context(|| format!("no replica is the holder {holder:?}"))?;
        let (name, mut child) = self.running.remove(leader);
        child.kill().await?;
        println!("killed the leader {name}");
        self.start_one()
    }

    /// Tells all to end. They end well, and nobody holds the lease.
    async fn end(self, world: &World) -> anyhow::Result<()> {
        for (name, mut child) in self.running {
            let pid = child
                .id()
                .with_context(|| format!("{name} has ended by itself"))?;
            let sent = Command::new("kill")
                .arg("-TERM")
                .arg(pid.to_string())
                .status()
                .await?;
            ensure!(sent.success(), "cannot signal {name}");
            let ended = tokio::time::timeout(END_LIMIT, child.wait()).await;
            let ended = ended.with_context(|| format!("{name} does not end"))??;
            ensure!(ended.success(), "{name} ended with {ended}");
        }
        let lease = world.judge.get(LEASE).await?;
        let holder = &lease["spec"]["holderIdentity"];
        ensure!(
            holder == "" || holder.is_null(),
            "{holder} still holds the lease"
        );
        Ok(())
    }
}
