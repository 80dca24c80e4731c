//! Informers of every form, list mode and wire format hold exactly what the server has.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use fastrand::Rng;
use informer::ListMode;
use informer::client::Client;
use informer::http::WirePreference;
use serde_json::Value;

use crate::observed::{self, Form, Fresh, Observed, Requests, Setup};
use crate::world::{Kind, NAMESPACES, World};

const PODS: usize = 240;
const WIDGETS: usize = 120;
/// How many objects are created at once.
const CREATORS: usize = 4;
/// How long after its first list an informer may take to ask for a watch.
const WATCH_LIMIT: Duration = Duration::from_secs(30);
const MODES: [ListMode; 3] = [ListMode::List, ListMode::Stream, ListMode::Auto];
/// What comes by default, and JSON.
const WIRES: [WirePreference; 2] = [WirePreference::Auto, WirePreference::Json];
const FORMS: [(Kind, Form); 7] = [
    (Kind::Pods, Form::Typed),
    (Kind::Pods, Form::Compact),
    (Kind::Pods, Form::Dynamic),
    (Kind::Pods, Form::Metadata),
    (Kind::Widgets, Form::Typed),
    (Kind::Widgets, Form::Dynamic),
    (Kind::Widgets, Form::Metadata),
];

pub(crate) async fn run(seed: u64) -> anyhow::Result<()> {
    let world = World::start().await?;
    let started = Instant::now();
    fill(&world, Kind::Pods, PODS, seed).await?;
    fill(&world, Kind::Widgets, WIDGETS, seed).await?;
    println!(
        "created {PODS} pods and {WIDGETS} widgets in {} namespaces: {:.1} s",
        NAMESPACES.len(),
        started.elapsed().as_secs_f64()
    );
    let client = world.informers_client(None)?;
    for wire in WIRES {
        for mode in MODES {
            for (kind, form) in FORMS {
                let fresh = Fresh::of(&world, kind).await?;
                let setup = Setup::new(kind, form, mode).wire(wire);
                one(client.clone(), setup, &fresh).await?;
            }
        }
    }
    parts(&world, &client).await
}

/// Informers of a part of the objects: a namespace, labels, fields.
async fn parts(world: &World, client: &Client) -> anyhow::Result<()> {
    let pods = Fresh::of(world, Kind::Pods).await?;
    for mode in MODES {
        let setup = |form| Setup::new(Kind::Pods, form, mode);
        let mut labelled = setup(Form::Compact);
        labelled.labels = Some("app in (web, db),round");
        let chosen = pods.filtered(|pod| {
            matches!(
                pod["metadata"]["labels"]["app"].as_str(),
                Some("web" | "db")
            )
        });
        one(client.clone(), labelled, &chosen).await?;

        let mut on_node = setup(Form::Typed);
        on_node.namespace = Some("red");
        on_node.fields = Some("spec.nodeName=node-1");
        let chosen = pods.filtered(|pod| {
            pod["metadata"]["namespace"] == "red" && pod["spec"]["nodeName"] == "node-1"
        });
        one(client.clone(), on_node, &chosen).await?;
    }
    Ok(())
}

/// Runs one informer until it is synced, and compares everything.
async fn one(client: Client, setup: Setup, fresh: &Fresh) -> anyhow::Result<()> {
    let started = Instant::now();
    let observed = setup.start(client)?;
    let setup = observed.setup().to_string();
    let compared = async {
        observed.synced().await?;
        let seconds = started.elapsed();
        observed::none(observed.differences(fresh))?;
        let (came, expected) = (observed.format(), observed.setup().format());
        ensure!(
            came == Some(expected),
            "it came as {came:?}, not {expected:?}"
        );
        observed::handlers_agree(&*observed).await?;
        ensure!(fresh.len() > 0, "there is nothing to compare");
        check_requests(&*observed, fresh.len()).await?;
        anyhow::Ok(seconds)
    };
    let seconds = compared.await.with_context(|| setup.clone())?.as_secs_f64();
    println!(
        "{setup}: {} objects in {seconds:.2} s, {}",
        fresh.len(),
        observed.requests()
    );
    Ok(())
}

/// The first list came in the way that was asked for, with nothing wasted.
async fn check_requests(observed: &dyn Observed, objects: usize) -> anyhow::Result<()> {
    let setup = observed.setup();
    let selects = setup.labels.is_some() || setup.fields.is_some();
    let page_size = setup.page_size as usize;
    let mut expected = Requests::default();
    if setup.mode == ListMode::List {
        (expected.lists, expected.watches) = (1, 1);
        expected.pages = objects.div_ceil(page_size) - 1;
    } else {
        // This server can stream, so that is what "auto" takes.
        expected.streams = 1;
    }
    // Behind a last page that is full, a server that selects may have to look whether there is more.
    let mut one_more = expected;
    one_more.pages += usize::from(selects && objects.is_multiple_of(page_size));
    // A list is complete a moment before its watch is asked for.
    let watching = async {
        while ![expected, one_more].contains(&observed.requests()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(WATCH_LIMIT, watching).await;
    let (requests, troubles) = (observed.requests(), observed.troubles());
    ensure!(
        waited.is_ok(),
        "made {requests}, expected {expected}; {troubles:?}"
    );
    let quiet = troubles.failures.is_empty() && troubles.oddities.is_empty();
    ensure!(quiet, "reported {troubles:?}");
    Ok(())
}

/// Creates objects of a kind, spread over the namespaces.
async fn fill(world: &World, kind: Kind, count: usize, seed: u64) -> anyhow::Result<()> {
    let mut rng = Rng::with_seed(seed);
    let objects: Vec<(usize, Value)> = (0..count)
        .map(|number| {
            (
                number,
                crate::world::new_object(&mut rng, kind, &format!("{}-{number}", kind.plural())),
            )
        })
        .collect();
    let mut tasks = tokio::task::JoinSet::new();
    for share in objects.chunks(count.div_ceil(CREATORS)) {
        let share = share.to_vec();
        let apis = NAMESPACES.map(|namespace| world.api(kind, namespace));
        tasks.spawn(async move {
            for (number, object) in share {
                apis[number % apis.len()].create(&object).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended
            .context("a creator panicked")?
            .with_context(|| format!("create {}", kind.plural()))?;
    }
    Ok(())
}
