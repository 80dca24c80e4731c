//! Informers that were cut off while history was dropped learn everything from one list, deletions too.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context, ensure};
use fastrand::Rng;
use informer::Uid;
use informer::client::{DeleteOptions, Patch};
use informer_e2e::ServerOptions;
use serde_json::{Value, json};

use super::churn::{report, start_informers};
use crate::forwarder::Forwarder;
use crate::observed::{self, Deletion, Observed, Seen};
use crate::world::{Kind, NAMESPACES, World, new_object};

/// Objects of each kind before the gap.
const OBJECTS: usize = 60;
/// What happens to them in the gap: the first are deleted, the next deleted and made anew, the next changed.
const DELETED: usize = 12;
const RECREATED: usize = 6;
const PATCHED: usize = 15;
/// Made in the gap.
const CREATED: usize = 8;

/// How the server comes to answer 410.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum History {
    /// The server answers watches from its cache. Its history ends with the process, and etcd's with the compaction.
    Cached,
    /// The server answers watches from etcd.
    Uncached,
}

pub(crate) async fn run(seed: u64) -> anyhow::Result<()> {
    for history in [History::Cached, History::Uncached] {
        let outcome = lose_history(history, seed).await;
        outcome.with_context(|| format!("{history:?}"))?;
    }
    Ok(())
}

async fn lose_history(history: History, seed: u64) -> anyhow::Result<()> {
    let mut options = ServerOptions::default();
    if history == History::Uncached {
        options = options.flag("--watch-cache=false");
    }
    let mut world = World::start_with(options).await?;
    let network = Forwarder::start(world.port()?).await?;
    let mut rng = Rng::with_seed(seed);
    let mut before = Vec::new();
    for kind in Kind::ALL {
        before.push((kind, create(&world, kind, &mut rng).await?));
    }
    let observed = start_informers(&world.informers_client(Some(network.port()))?)?;
    observed::all_synced(&observed).await?;
    for one in &observed {
        observed::handlers_agree(&**one).await?;
    }

    network.close();
    let mut gaps = Vec::new();
    for (kind, objects) in &before {
        gaps.push((*kind, change(&world, *kind, objects, &mut rng).await?));
    }
    let compacted = match history {
        History::Cached => world.server.expire_history().await?,
        History::Uncached => world.server.compact().await?,
    };
    println!(
        "seed {seed}, {history:?}: unseen by informers, of each kind {DELETED} deleted, {RECREATED} deleted and made \
         anew, {PATCHED} patched, {CREATED} created; compacted at {compacted}"
    );
    world.served(Kind::Widgets).await?;
    let opened = Instant::now();
    network.open();
    observed::all_agree(&world, &observed, "marker").await?;
    println!(
        "all equal {:.1} s after the network was opened",
        opened.elapsed().as_secs_f64()
    );

    for one in &observed {
        report(&**one)?;
        let gap = gaps.iter().find(|(kind, _)| *kind == one.setup().kind);
        let gap = &gap.context("each kind has a gap")?.1;
        check(&**one, gap).with_context(|| one.setup().to_string())?;
    }
    Ok(())
}

/// What happened while informers were cut off.
struct Gap {
    /// Keys and UIDs of what is gone.
    deleted: BTreeSet<(String, String)>,
    patched: BTreeSet<String>,
}

async fn create(world: &World, kind: Kind, rng: &mut Rng) -> anyhow::Result<Vec<Value>> {
    let mut created = Vec::new();
    for number in 0..OBJECTS {
        let object = new_object(rng, kind, &format!("old-{number}"));
        let api = world.api(kind, NAMESPACES[number % NAMESPACES.len()]);
        created.push(api.create(&object).await?);
    }
    Ok(created)
}

async fn change(
    world: &World,
    kind: Kind,
    objects: &[Value],
    rng: &mut Rng,
) -> anyhow::Result<Gap> {
    let mut gap = Gap {
        deleted: BTreeSet::new(),
        patched: BTreeSet::new(),
    };
    let at_once = DeleteOptions::default().grace_period_seconds(0);
    for (number, object) in objects.iter().enumerate() {
        let text = |field: &str| {
            object["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let (namespace, name) = (text("namespace"), text("name"));
        let key = format!("{namespace}/{name}");
        let api = world.api(kind, &namespace);
        if number < DELETED + RECREATED {
            api.delete(&name, &at_once).await?;
            gap.deleted.insert((key, text("uid")));
            if number >= DELETED {
                api.create(&new_object(rng, kind, &name)).await?;
            }
        } else if number < DELETED + RECREATED + PATCHED {
            let patch = json!({ "metadata": { "labels": { "app": "patched" } } });
            api.patch(&name, &Patch::Merge(&patch)).await?;
            gap.patched.insert(key);
        }
    }
    for number in 0..CREATED {
        let object = new_object(rng, kind, &format!("new-{number}"));
        world.api(kind, "default").create(&object).await?;
    }
    Ok(gap)
}

/// A 410 was really seen, exactly one list followed it, and it brought all that was missed.
fn check(one: &dyn Observed, gap: &Gap) -> anyhow::Result<()> {
    let (requests, troubles) = (one.requests(), one.troubles());
    ensure!(
        troubles.expired_watches == 1,
        "{} watches had expired, not 1; failures: {:?}",
        troubles.expired_watches,
        troubles.failures
    );
    ensure!(
        requests.full() == 2 + troubles.failed_lists,
        "not one list followed: {requests}; failures: {:?}",
        troubles.failures
    );
    for seen in one.seen() {
        check_handler(&seen, gap).with_context(|| format!("the handler {}", seen.handler))?;
    }
    Ok(())
}

fn check_handler(seen: &Seen, gap: &Gap) -> anyhow::Result<()> {
    let known: Vec<&Deletion> = seen
        .deletions
        .iter()
        .filter(|gone| !gone.final_state_unknown)
        .collect();
    ensure!(
        known.is_empty(),
        "deletions that nobody saw were told of as seen: {known:?}"
    );
    let uid = |uid: &Option<Uid>| uid.as_ref().map(ToString::to_string).unwrap_or_default();
    let deleted: BTreeSet<_> = seen
        .deletions
        .iter()
        .map(|gone| (gone.key.clone(), uid(&gone.uid)))
        .collect();
    ensure!(
        deleted == gap.deleted && seen.deletions.len() == deleted.len(),
        "told of the deletions {deleted:?}, happened were {:?}",
        gap.deleted
    );
    let relisted: BTreeSet<_> = seen.relisted.iter().cloned().collect();
    ensure!(
        relisted == gap.patched,
        "told of the updates {relisted:?}, happened were {:?}",
        gap.patched
    );
    // What was there, what was made anew, what was created, and the marker.
    let added = OBJECTS + RECREATED + CREATED + 1;
    ensure!(
        seen.counts.added == added,
        "told of {} additions, not {added}",
        seen.counts.added
    );
    Ok(())
}
