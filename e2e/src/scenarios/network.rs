//! Whatever the network does, no informer stops for good.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use informer::client::HttpVersion;
use informer::{Client, ListMode, ReflectorConfig};
use informer_e2e::ServerOptions;

use crate::following::{Following, all_see, write};
use crate::network::{BadNetwork, Fault};
use crate::world::World;

/// How long a fault lasts.
const LASTS: Duration = Duration::from_millis(1_500);
/// Short, so that a peer that is gone without a word is found within a scenario.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
/// Without a PING, as over HTTP/1.1, a peer that is gone is found by its silence. It is waited for a shorter time than by
/// default, when a bookmark a minute is expected; what follows is the same.
const SILENCE: Duration = Duration::from_secs(8);
const FAULTS: [Fault; 5] = [
    Fault::Reset,
    Fault::Close,
    Fault::Drip,
    Fault::Cut,
    Fault::Silence,
];

pub(crate) async fn run() -> anyhow::Result<()> {
    // The server asks one in fifty requests of an HTTP/2 connection to go elsewhere, as it does behind balancers.
    let options = ServerOptions::default().flag("--goaway-chance=0.02");
    let world = World::start_with(options).await?;
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        over(&world, version)
            .await
            .with_context(|| format!("{version:?}"))?;
    }
    Ok(())
}

async fn over(world: &World, version: HttpVersion) -> anyhow::Result<()> {
    let network = BadNetwork::start(world.port()?).await?;
    let client = world.client_through(network.port(), |builder| {
        builder
            .http_version(version)
            .connect_timeout(Duration::from_secs(4))
            .keep_alive(KEEP_ALIVE)
    })?;
    let modes = [ListMode::List, ListMode::Stream, ListMode::Auto];
    let following: Vec<Following> = modes
        .iter()
        .map(|mode| {
            let config = ReflectorConfig::default().list_mode(*mode);
            Following::start_with(&client, config.silence_timeout(SILENCE))
        })
        .collect::<anyhow::Result<_>>()?;
    for one in &following {
        one.synced().await?;
    }
    let all: Vec<&Following> = following.iter().collect();
    for fault in FAULTS {
        let name = format!("{version:?}-{fault:?}").to_lowercase();
        network.set(fault);
        write(world, &format!("{name}-within")).await?;
        tokio::time::sleep(LASTS).await;
        network.set(Fault::None);
        let started = Instant::now();
        let seen = all_see(world, &all, &format!("{name}-after")).await;
        seen.with_context(|| format!("after {fault:?}"))?;
        println!(
            "{version:?}, {fault:?} for {LASTS:?}: all follow again after {:.1} s",
            started.elapsed().as_secs_f64()
        );
    }
    // Requests enough for the server to send some away.
    requests(&client, 200).await?;
    all_see(world, &all, &format!("{version:?}-last").to_lowercase()).await?;
    let failures: usize = following.iter().map(|one| one.failures().len()).sum();
    ensure!(
        failures > 0,
        "the faults were not noticed, so they were none"
    );
    println!(
        "{version:?}: {failures} failures on the way, and each informer has what the server has"
    );
    Ok(())
}

/// Requests beside the informers, on the same connections.
async fn requests(client: &Client, count: usize) -> anyhow::Result<()> {
    for _ in 0..count {
        let request = client.request(informer::client::http::Method::GET, "/version");
        let answer = request.send().await?.error_for_status().await?;
        answer.bytes(1 << 16).await?;
    }
    Ok(())
}
