//! Informers follow random changes; in the end everything is equal, and every handler saw a legal history.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use informer::ListMode;
use informer::client::Client;

use crate::observed::{self, Form, Observed, Setup};
use crate::world::{Kind, World, Writers};

const WRITES: usize = 500;
/// When late handlers are added.
const LATE: usize = WRITES / 2;
/// What the blocking handlers take for an event: more than the changes leave them.
const SLOW: Duration = Duration::from_millis(5);

pub(crate) async fn run(seed: u64) -> anyhow::Result<()> {
    let world = World::start().await?;
    let observed = start_informers(&world.informers_client(None)?)?;
    observed::all_synced(&observed).await?;

    let started = Instant::now();
    let progress = Arc::new(AtomicUsize::new(0));
    let writers = Writers::new(&world.client, seed);
    let changes = tokio::spawn(writers.write(WRITES, Arc::clone(&progress)));
    until(&progress, LATE, &changes).await;
    for one in &observed {
        one.add_late_handler()?;
    }
    let (_, written) = changes.await.context("the churn panicked")??;
    let seconds = started.elapsed().as_secs_f64();
    println!("seed {seed}: {written} in {seconds:.1} s");

    observed::all_agree(&world, &observed, "marker").await?;
    for one in &observed {
        report(&**one)?;
        let troubles = one.troubles();
        let quiet = troubles.failures.is_empty() && troubles.expired_watches == 0;
        ensure!(
            quiet && one.requests().full() == 1,
            "{}: nothing happened to the server, and yet {troubles:?}",
            one.setup()
        );
    }
    Ok(())
}

/// One informer in each list mode for each kind, no two in the same form.
pub(super) fn start_informers(client: &Client) -> anyhow::Result<Vec<Box<dyn Observed>>> {
    let setups = [
        Setup::new(Kind::Pods, Form::Compact, ListMode::List),
        Setup::new(Kind::Pods, Form::Typed, ListMode::Stream),
        Setup::new(Kind::Pods, Form::Dynamic, ListMode::Auto),
        Setup::new(Kind::Widgets, Form::Typed, ListMode::List),
        Setup::new(Kind::Widgets, Form::Dynamic, ListMode::Stream),
        Setup::new(Kind::Widgets, Form::Metadata, ListMode::Auto),
    ];
    let start = |setup: Setup| setup.slowness(SLOW).start(client.clone());
    setups.into_iter().map(start).collect()
}

/// Waits until so many writes are done, or the writers have ended.
pub(super) async fn until<T>(
    progress: &AtomicUsize,
    writes: usize,
    writers: &tokio::task::JoinHandle<T>,
) {
    while progress.load(Ordering::Relaxed) < writes && !writers.is_finished() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Prints what an informer did and what its handlers saw. Its status must say what its source was asked.
pub(super) fn report(one: &dyn Observed) -> anyhow::Result<()> {
    let (status, requests) = (one.status(), one.requests());
    let handlers: Vec<String> = one
        .seen()
        .iter()
        .map(|seen| format!("{} {}", seen.handler, seen.counts.events()))
        .collect();
    println!(
        "{}: {} objects, {requests}, {} expired; events: {}",
        one.setup(),
        status.objects,
        one.troubles().expired_watches,
        handlers.join(", ")
    );
    let told = (status.reflector.lists, status.reflector.watches);
    let made = (
        requests.full() as u64,
        (requests.streams + requests.watches) as u64,
    );
    ensure!(
        told == made,
        "{}: the status tells of {told:?}, made were {made:?}",
        one.setup()
    );
    Ok(())
}
