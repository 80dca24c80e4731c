//! Connections are cut and the server is killed while objects change. Informers go on, and list only where they must.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use fastrand::Rng;
use informer::client::Patch;
use informer::{Api, ResourceVersion};
use serde_json::{Value, json};

use super::churn::{report, start_informers, until};
use crate::forwarder::Forwarder;
use crate::observed::{self, Observed};
use crate::world::{Kind, World, Writers, new_object};

/// Cuts of the network, each in the middle of so many writes.
const CUTS: usize = 3;
const WRITES_PER_CUT: usize = 100;
/// The kill comes after a third of these.
const WRITES: usize = 450;
/// How long the killed server stays away.
const AWAY: Duration = Duration::from_millis(500);
/// A killed server writes again when it starts, and every few seconds while it runs. So a kill right behind a write may
/// miss, and is tried again.
const IDLE_KILLS: usize = 4;

pub(crate) async fn run(seed: u64) -> anyhow::Result<()> {
    let mut world = World::start().await?;
    let network = Forwarder::start(world.port()?).await?;
    let observed = start_informers(&world.informers_client(Some(network.port()))?)?;
    observed::all_synced(&observed).await?;
    let writers = Writers::new(&world.client, seed);

    let writers = cut(&network, &observed, writers).await?;
    kill_idle(&mut world, &observed).await?;
    kill_busy(&mut world, writers.interrupted(), seed).await?;

    observed::all_agree(&world, &observed, "marker").await?;
    for one in &observed {
        report(&**one)?;
        only_expired_lists(&**one)?;
    }
    Ok(())
}

/// Connections break while objects change: each watch is resumed where it was.
async fn cut(
    network: &Forwarder,
    observed: &[Box<dyn Observed>],
    mut writers: Writers,
) -> anyhow::Result<Writers> {
    for _ in 0..CUTS {
        let before: Vec<usize> = observed.iter().map(|one| opened(&**one)).collect();
        let progress = Arc::new(AtomicUsize::new(0));
        let changes = tokio::spawn(writers.write(WRITES_PER_CUT, Arc::clone(&progress)));
        until(&progress, WRITES_PER_CUT / 2, &changes).await;
        network.cut();
        (writers, _) = changes.await.context("the writers panicked")??;
        for (one, before) in observed.iter().zip(before) {
            watches_again(&**one, before).await?;
        }
    }
    for one in observed {
        let (requests, troubles) = (one.requests(), one.troubles());
        ensure!(
            requests.full() == 1,
            "{}: listed anew although only connections broke: {requests}, {troubles:?}",
            one.setup()
        );
    }
    println!("cut all connections {CUTS} times: every watch was resumed, nothing was listed");
    Ok(writers)
}

/// Waits until an informer watches again, by a watch after so many.
async fn watches_again(one: &dyn Observed, before: usize) -> anyhow::Result<()> {
    let again = async {
        while opened(one) <= before || !one.status().watching {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(observed::LIMIT, again).await;
    ensure!(
        waited.is_ok(),
        "{} does not watch again: {:?}",
        one.setup(),
        one.status().reflector
    );
    Ok(())
}

/// How many watches of either sort were asked for.
fn opened(one: &dyn Observed) -> usize {
    one.requests().watches + one.requests().streams
}

/// Kills the server when nothing was written after what informers of pods have seen. Then the restarted server still has
/// all that they need, and they must not list.
async fn kill_idle(world: &mut World, observed: &[Box<dyn Observed>]) -> anyhow::Result<()> {
    let pods: Vec<&dyn Observed> = observed
        .iter()
        .map(|one| &**one)
        .filter(|one| one.setup().kind == Kind::Pods)
        .collect();
    let api = world.api(Kind::Pods, "default");
    api.create(&new_object(&mut Rng::new(), Kind::Pods, "last"))
        .await?;
    for _ in 0..IDLE_KILLS {
        let seen = touch(&api, &pods).await?;
        let idle = world.server.revision().await?.to_string() == seen;
        world.server.kill().await?;
        let before: Vec<_> = pods.iter().map(|one| asked(*one)).collect();
        world.server.restart().await?;
        touch(&api, &pods).await?;
        let after: Vec<_> = pods.iter().map(|one| asked(*one)).collect();
        if idle && before == after {
            println!(
                "killed the idle server: {} watches of pods were resumed, nothing was listed",
                pods.len()
            );
            return Ok(());
        }
    }
    anyhow::bail!(
        "in {IDLE_KILLS} kills of the idle server informers of pods never got by without a list"
    )
}

/// Changes a pod and waits until all informers have seen it. Returns the version.
async fn touch(api: &Api<Value>, pods: &[&dyn Observed]) -> anyhow::Result<String> {
    let patch = json!({ "metadata": { "labels": { "touched": Rng::new().u64(..).to_string() } } });
    let patched = api.patch("last", &Patch::Merge(&patch)).await?;
    let version = patched["metadata"]["resourceVersion"].as_str();
    let version = version.context("a patched object has a version")?;
    for one in pods {
        one.reaches(ResourceVersion::new(version)).await?;
    }
    Ok(version.to_owned())
}

/// How often an informer has asked for everything, and how often it was told to.
fn asked(one: &dyn Observed) -> (usize, usize) {
    (one.requests().full(), one.troubles().expired_watches)
}

/// Kills the server in the middle of changes and starts it again on the same data.
async fn kill_busy(world: &mut World, writers: Writers, seed: u64) -> anyhow::Result<()> {
    let progress = Arc::new(AtomicUsize::new(0));
    let changes = tokio::spawn(writers.write(WRITES, Arc::clone(&progress)));
    until(&progress, WRITES / 3, &changes).await;
    let started = Instant::now();
    world.server.kill().await?;
    tokio::time::sleep(AWAY).await;
    world.server.restart().await?;
    println!(
        "killed the busy server; it was back after {:.1} s",
        started.elapsed().as_secs_f64()
    );
    let (_, written) = changes.await.context("the writers panicked")??;
    println!("seed {seed}: {written}");
    Ok(())
}

/// Each list after the first must have had a reason: a watch that had expired, or a list before it that failed.
fn only_expired_lists(one: &dyn Observed) -> anyhow::Result<()> {
    let (requests, troubles) = (one.requests(), one.troubles());
    ensure!(
        requests.full() <= 1 + troubles.expired_watches + troubles.failed_lists,
        "{}: {requests} although only {} watches had expired; {:?}",
        one.setup(),
        troubles.expired_watches,
        troubles.failures
    );
    Ok(())
}
