//! An informer under test with its handlers, and everything that a scenario asks of it.

mod fresh;
mod history;
mod informers;
mod requests;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use informer::http::WirePreference;
use informer::reflector::{BackoffConfig, Operation, Report};
use informer::shared::InformerStatus;
use informer::wire::WireFormat;
use informer::{Client, ListMode, ReflectorConfig, ResourceVersion};
use parking_lot::Mutex;

pub(crate) use fresh::{Fresh, difference};
pub(crate) use history::{Counts, Deletion};
pub(crate) use requests::Requests;

use crate::world::{Kind, World, new_object};

/// How long anything that an informer does may take. Far more than it takes on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
/// How often a state that must come is looked for.
const POLL: Duration = Duration::from_millis(20);
/// How many differences an error names.
const NAMED: usize = 5;

/// Something that takes its time.
pub(crate) type Pending<'a> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send + 'a>>;

/// As what objects are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The type of k8s-openapi, or the user's struct.
    Typed,
    /// `Compact` of that type.
    Compact,
    /// `Dynamic`.
    Dynamic,
    /// `Metadata`, which the server sends alone.
    Metadata,
}

/// How an informer is set up.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) kind: Kind,
    pub(crate) form: Form,
    pub(crate) mode: ListMode,
    pub(crate) wire: WirePreference,
    pub(crate) page_size: u32,
    pub(crate) namespace: Option<&'static str>,
    pub(crate) labels: Option<&'static str>,
    pub(crate) fields: Option<&'static str>,
    /// How long the blocking handler takes for each event; the coalescing one takes a quarter of it.
    pub(crate) slowness: Duration,
}

impl Setup {
    pub(crate) fn new(kind: Kind, form: Form, mode: ListMode) -> Self {
        Self {
            kind,
            form,
            mode,
            wire: WirePreference::Auto,
            page_size: 25,
            namespace: None,
            labels: None,
            fields: None,
            slowness: Duration::ZERO,
        }
    }

    /// In this wire format.
    pub(crate) fn wire(mut self, wire: WirePreference) -> Self {
        self.wire = wire;
        self
    }

    /// The format in which answers are to come: protobuf for what the server has in it, unless JSON was asked for.
    pub(crate) fn format(&self) -> WireFormat {
        let has_protobuf = self.kind == Kind::Pods || self.form == Form::Metadata;
        match self.wire {
            WirePreference::Json => WireFormat::Json,
            _ if has_protobuf => WireFormat::Protobuf,
            _ => WireFormat::Json,
        }
    }

    /// With handlers that take their time, so that events wait and coalesce.
    pub(crate) fn slowness(mut self, slowness: Duration) -> Self {
        self.slowness = slowness;
        self
    }

    /// Makes the informer with its three handlers and starts it.
    pub(crate) fn start(self, client: Client) -> anyhow::Result<Box<dyn Observed>> {
        informers::start(self, client)
    }

    fn config(&self) -> ReflectorConfig {
        let mut config = ReflectorConfig::default()
            .list_mode(self.mode)
            .page_size(self.page_size)
            // So that a scenario is not a matter of minutes.
            .backoff(BackoffConfig::default().max(Duration::from_secs(2)));
        if let Some(selector) = self.labels {
            config = config.label_selector(selector);
        }
        if let Some(selector) = self.fields {
            config = config.field_selector(selector);
        }
        config
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, form, mode) = (self.kind.plural(), self.form, self.mode);
        write!(f, "{kind} as {form:?}, {mode:?}, wire {:?}", self.wire)?;
        let parts = [self.namespace, self.labels, self.fields];
        parts
            .into_iter()
            .flatten()
            .try_for_each(|part| write!(f, ", {part}"))
    }
}

/// A running informer, whatever it caches.
pub(crate) trait Observed: Send + Sync {
    fn setup(&self) -> &Setup;

    /// The format of the last answer.
    fn format(&self) -> Option<WireFormat>;

    /// Waits until the cache and each handler have had the first list.
    fn synced(&self) -> Pending<'_>;

    /// Waits until the cache has everything up to a version.
    fn reaches(&self, version: ResourceVersion) -> Pending<'_>;

    /// Where cache and indexes differ from the server's objects now.
    fn differences(&self, fresh: &Fresh) -> Vec<String>;

    /// What each handler saw.
    fn seen(&self) -> Vec<Seen>;

    /// Adds a handler while the informer runs.
    fn add_late_handler(&self) -> anyhow::Result<()>;

    fn status(&self) -> InformerStatus;

    fn requests(&self) -> Requests;

    fn troubles(&self) -> Troubles;
}

/// What a handler saw, at the moment it was asked.
pub(crate) struct Seen {
    pub(crate) handler: &'static str,
    /// Illegal events, and where the events do not add up to the cache.
    pub(crate) differences: Vec<String>,
    pub(crate) counts: Counts,
    pub(crate) deletions: Vec<Deletion>,
    /// Keys of updates that a list brought.
    pub(crate) relisted: Vec<String>,
}

/// What an informer reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Troubles {
    /// Watches that ended in "expired", by status 410 or an event.
    pub(crate) expired_watches: usize,
    /// Lists of either sort that failed, and so brought nothing.
    pub(crate) failed_lists: usize,
    /// All failures other than expired watches.
    pub(crate) failures: Vec<String>,
    /// Whatever is no failure of a request: objects set aside, a server that went back in time, no streaming lists.
    pub(crate) oddities: Vec<String>,
}

impl Troubles {
    fn take(&mut self, report: &Report) {
        let Report::Failed { during, error, .. } = report else {
            self.oddities.push(report.to_string());
            return;
        };
        let status = error.status();
        if *during == Operation::Watch && status.is_some_and(|status| status.code == 410) {
            self.expired_watches += 1;
            return;
        }
        self.failed_lists += usize::from(*during != Operation::Watch);
        self.failures.push(report.to_string());
    }
}

/// The reports of an informer, as they come.
pub(crate) type Reports = Arc<Mutex<Troubles>>;

/// Waits until all are synced.
pub(crate) async fn all_synced(observed: &[Box<dyn Observed>]) -> anyhow::Result<()> {
    for one in observed {
        one.synced()
            .await
            .with_context(|| one.setup().to_string())?;
    }
    Ok(())
}

/// Compares caches and indexes with a fresh list, and handlers with the cache. Nothing may be written meanwhile.
///
/// A last object of each kind is made first. Once a cache has its version, it must have everything before it, too.
pub(crate) async fn all_agree(
    world: &World,
    observed: &[Box<dyn Observed>],
    marker: &str,
) -> anyhow::Result<()> {
    let mut rng = fastrand::Rng::new();
    for kind in Kind::ALL {
        let object = new_object(&mut rng, kind, marker);
        let created = world.api(kind, "default").create(&object).await?;
        let version = created["metadata"]["resourceVersion"].as_str();
        let version = ResourceVersion::new(version.context("a created object has a version")?);
        let fresh = Fresh::of(world, kind).await?;
        for one in observed.iter().filter(|one| one.setup().kind == kind) {
            let agrees = agrees(&**one, &fresh, version.clone());
            agrees.await.with_context(|| one.setup().to_string())?;
        }
    }
    Ok(())
}

async fn agrees(one: &dyn Observed, fresh: &Fresh, version: ResourceVersion) -> anyhow::Result<()> {
    one.reaches(version).await?;
    none(one.differences(fresh))?;
    handlers_agree(one).await?;
    none(one.troubles().oddities)
}

/// Waits until the events of each handler add up to the cache.
pub(crate) async fn handlers_agree(one: &dyn Observed) -> anyhow::Result<()> {
    let settled = async {
        while one.seen().iter().any(|seen| !seen.differences.is_empty()) {
            tokio::time::sleep(POLL).await;
        }
    };
    if tokio::time::timeout(LIMIT, settled).await.is_ok() {
        return Ok(());
    }
    for seen in one.seen() {
        none(seen.differences).with_context(|| format!("the handler {}", seen.handler))?;
    }
    Ok(())
}

/// An error that names the differences, if there are any.
pub(crate) fn none(differences: Vec<String>) -> anyhow::Result<()> {
    let named: Vec<&str> = differences.iter().take(NAMED).map(String::as_str).collect();
    let count = differences.len();
    ensure!(count == 0, "{count} differences: {}", named.join("; "));
    Ok(())
}
