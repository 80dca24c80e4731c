//! A plain informer of pods over any client: does it follow, and what stops it?

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use informer::http::HttpListerWatcher;
use informer::reflector::{BackoffConfig, Report};
use informer::{
    Client, ListMode, PartialObjectMetadata, ReflectorConfig, ResourceVersion, SharedInformer,
};
use parking_lot::Mutex;

use crate::observed::LIMIT;
use crate::world::{Kind, World, new_object};

/// How long an answer may take to begin here. Far less than by default, so that a scenario is not a matter of minutes.
const ANSWER: Duration = Duration::from_secs(4);
/// How long following again may take: a silent peer is found by the bookmark that does not come.
const AGAIN: Duration = Duration::from_secs(240);
/// How many failures an error names.
const NAMED: usize = 5;

/// An informer of pods that keeps only their metadata.
pub(crate) struct Following {
    informer: SharedInformer<PartialObjectMetadata>,
    failures: Arc<Mutex<Vec<String>>>,
}

impl Following {
    pub(crate) fn start(client: &Client, mode: ListMode) -> anyhow::Result<Self> {
        let config = ReflectorConfig::default().list_mode(mode);
        Self::start_with(client, config)
    }

    /// The same, with a setting of its own.
    pub(crate) fn start_with(client: &Client, config: ReflectorConfig) -> anyhow::Result<Self> {
        let pods = Kind::Pods.resource();
        let source = HttpListerWatcher::<PartialObjectMetadata>::new(client.clone(), pods);
        let failures = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&failures);
        let config = config
            .answer_timeout(ANSWER)
            .progress_timeout(ANSWER)
            .backoff(BackoffConfig::default().max(Duration::from_secs(1)));
        let informer = SharedInformer::builder(source)
            .reflector_config(config)
            .watch_error_handler(move |report: &Report| {
                if matches!(report, Report::Failed { .. }) {
                    told.lock().push(report.to_string());
                }
            })
            .build()?;
        informer.start()?;
        Ok(Self { informer, failures })
    }

    /// Waits until the first list is here.
    pub(crate) async fn synced(&self) -> anyhow::Result<()> {
        let waited = tokio::time::timeout(LIMIT, self.informer.synced()).await;
        waited.with_context(|| self.story())??;
        Ok(())
    }

    /// Waits until everything up to a version is here.
    pub(crate) async fn reaches(&self, version: &ResourceVersion) -> anyhow::Result<()> {
        let reached = self.informer.store().wait_until(version);
        let waited = tokio::time::timeout(AGAIN, reached).await;
        waited.with_context(|| self.story())??;
        Ok(())
    }

    /// Waits until a failure tells of this, as it must.
    pub(crate) async fn fails_with(&self, words: &str) -> anyhow::Result<String> {
        let told = async {
            loop {
                let found = self
                    .failures
                    .lock()
                    .iter()
                    .find(|text| text.contains(words))
                    .cloned();
                if let Some(text) = found {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(LIMIT, told).await;
        waited.with_context(|| format!("no failure tells of {words:?}; {}", self.story()))
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        self.failures.lock().clone()
    }

    pub(crate) fn keys(&self) -> BTreeSet<String> {
        self.informer
            .store()
            .keys()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn story(&self) -> String {
        let failures = self.failures();
        let last = &failures[failures.len().saturating_sub(NAMED)..];
        format!("it has {} pods; failures: {last:?}", self.keys().len())
    }
}

/// Makes a pod. All who follow must come to have it, and then exactly what the server has.
pub(crate) async fn all_see(
    world: &World,
    following: &[&Following],
    name: &str,
) -> anyhow::Result<()> {
    let version = write(world, name).await?;
    let (_, objects) = world.fresh(Kind::Pods).await?;
    let fresh: BTreeSet<String> = objects
        .iter()
        .map(|pod| {
            let text = |field: &str| {
                pod["metadata"][field]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            format!("{}/{}", text("namespace"), text("name"))
        })
        .collect();
    for one in following {
        one.reaches(&version).await?;
        let keys = one.keys();
        if keys != fresh {
            bail!("it has {keys:?}, and the server {fresh:?}");
        }
    }
    Ok(())
}

/// Makes a pod, and gives its version.
pub(crate) async fn write(world: &World, name: &str) -> anyhow::Result<ResourceVersion> {
    let pod = new_object(&mut fastrand::Rng::new(), Kind::Pods, name);
    let created = world.api(Kind::Pods, "default").create(&pod).await?;
    let version = created["metadata"]["resourceVersion"].as_str();
    Ok(ResourceVersion::new(
        version.context("a created object has a version")?,
    ))
}
