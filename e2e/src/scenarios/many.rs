//! Many informers on one client, over each version of HTTP, beside watches that nobody reads.

use std::time::Instant;

use anyhow::{Context, ensure};
use informer::client::http::Method;
use informer::client::{HttpVersion, Patch, Response};
use informer::{Client, ListMode};
use serde_json::json;

use crate::following::{Following, all_see, write};
use crate::world::{Kind, World};

const INFORMERS: usize = 300;
/// More than a server allows on one HTTP/2 connection.
const UNREAD: usize = 120;
/// More than the windows of a stream hold: so much is written while the watches are not read.
const UPDATES: usize = 60;
const SIZE: usize = 100_000;

pub(crate) async fn run() -> anyhow::Result<()> {
    let world = World::start().await?;
    for number in 0..20 {
        write(&world, &format!("pod-{number}")).await?;
    }
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        over(&world, version)
            .await
            .with_context(|| format!("{version:?}"))?;
    }
    Ok(())
}

async fn over(world: &World, version: HttpVersion) -> anyhow::Result<()> {
    let name = format!("{version:?}").to_lowercase();
    let client = world.client_through(world.port()?, |builder| builder.http_version(version))?;
    let (memory, started) = (resident()?, Instant::now());
    let following: Vec<Following> = (0..INFORMERS)
        .map(|_| Following::start(&client, ListMode::Auto))
        .collect::<anyhow::Result<_>>()?;
    for one in &following {
        one.synced().await?;
    }
    let seconds = started.elapsed().as_secs_f64();
    let sockets = open_sockets()?;
    let all: Vec<&Following> = following.iter().collect();
    let started = Instant::now();
    all_see(world, &all, &format!("{name}-many")).await?;
    println!(
        "{version:?}: {INFORMERS} informers synced in {seconds:.2} s, {sockets} sockets, {} KB more; a change reached \
         all in {:.2} s",
        resident()?.saturating_sub(memory),
        started.elapsed().as_secs_f64()
    );

    let unread = unread(&client).await?;
    fill(world, &name).await?;
    let started = Instant::now();
    all_see(world, &all, &format!("{name}-unread")).await?;
    let late = Following::start(&client, ListMode::List)?;
    late.synced().await?;
    println!(
        "{version:?}: {} watches that nobody reads, {} MB written: a change reached all in {:.2} s",
        unread.len(),
        UPDATES * SIZE / 1_000_000,
        started.elapsed().as_secs_f64()
    );
    ensure!(unread.len() == UNREAD, "some watches could not be opened");
    Ok(())
}

/// Opens watches and reads nothing of them.
async fn unread(client: &Client) -> anyhow::Result<Vec<Response>> {
    let mut all = Vec::new();
    for _ in 0..UNREAD {
        let request = client.request(Method::GET, Kind::Pods.collection());
        let request = request.query([("watch", "true"), ("timeoutSeconds", "600")]);
        let limit = std::time::Duration::from_secs(60);
        all.push(
            request
                .timeout(limit)
                .send()
                .await?
                .error_for_status()
                .await?,
        );
    }
    Ok(all)
}

/// Changes a large pod many times.
async fn fill(world: &World, name: &str) -> anyhow::Result<()> {
    let name = format!("{name}-large");
    write(world, &name).await?;
    let pods = world.api(Kind::Pods, "default");
    for number in 0..UPDATES {
        let text = format!("{number}{}", "x".repeat(SIZE));
        let patch = json!({ "metadata": { "annotations": { "large": text } } });
        pods.patch(&name, &Patch::Merge(&patch)).await?;
    }
    Ok(())
}

/// The memory of this process, in KB.
fn resident() -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no VmRSS")?.parse()?)
}

fn open_sockets() -> anyhow::Result<usize> {
    let open = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    Ok(open
        .filter(|link| link.to_string_lossy().starts_with("socket:"))
        .count())
}
