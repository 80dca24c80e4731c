//! Random changes through our client: creates, patches of each sort, replaces and deletes, repeatable by a seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use fastrand::Rng;
use informer::client::{DeleteOptions, Error, Patch};
use informer::{Api, Client};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::objects::{metadata, new_object};
use super::{Kind, NAMESPACES};

/// Names of one writer for each kind and namespace. Few, so that they are deleted and made again.
const NAMES: u32 = 4;
/// How long an interrupted writer waits before it goes on.
const PAUSE: Duration = Duration::from_millis(100);
/// How many tries in a row may fail. Far more than a restart of the server takes.
const MAX_FAILURES: u32 = 3_000;

/// How many write at once, each to names of its own.
const WRITERS: u32 = 4;

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) created: usize,
    pub(crate) patched: usize,
    pub(crate) replaced: usize,
    pub(crate) deleted: usize,
    /// Writes that the server did not answer. They may have happened.
    pub(crate) unanswered: usize,
}

impl Written {
    fn add(&mut self, other: Self) {
        self.created += other.created;
        self.patched += other.patched;
        self.replaced += other.replaced;
        self.deleted += other.deleted;
        self.unanswered += other.unanswered;
    }

    fn writes(self) -> usize {
        self.created + self.patched + self.replaced + self.deleted
    }
}

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} creates, {} patches, {} replaces, {} deletes",
            self.created, self.patched, self.replaced, self.deleted
        )?;
        match self.unanswered {
            0 => Ok(()),
            count => write!(f, ", {count} unanswered"),
        }
    }
}

/// Several writers, who remember what they have made.
pub(crate) struct Writers {
    writers: Vec<Writer>,
}

impl Writers {
    pub(crate) fn new(client: &Client, seed: u64) -> Self {
        let writer = |number| Writer::new(client.clone(), number, seed);
        Self {
            writers: (0..WRITERS).map(writer).collect(),
        }
    }

    /// From now on the server may be away: failures below HTTP and 5xx are expected, and followed by another try.
    pub(crate) fn interrupted(mut self) -> Self {
        for writer in &mut self.writers {
            writer.interrupted = true;
        }
        self
    }

    /// Makes so many successful writes, all writers together, and counts them in `progress` as they are made.
    pub(crate) async fn write(
        self,
        writes: usize,
        progress: Arc<AtomicUsize>,
    ) -> anyhow::Result<(Self, Written)> {
        let mut tasks = JoinSet::new();
        let count = self.writers.len();
        for (number, mut writer) in self.writers.into_iter().enumerate() {
            let progress = Arc::clone(&progress);
            let share = writes / count + usize::from(number < writes % count);
            tasks.spawn(async move {
                let written = writer.run(share, &progress).await?;
                anyhow::Ok((number, writer, written))
            });
        }
        let (mut writers, mut total) = (BTreeMap::new(), Written::default());
        while let Some(ended) = tasks.join_next().await {
            let (number, writer, written) = ended.context("a writer panicked")??;
            writers.insert(number, writer);
            total.add(written);
        }
        let writers = writers.into_values().collect();
        Ok((Self { writers }, total))
    }
}

/// One object that a writer may change.
struct Slot {
    kind: Kind,
    namespace: &'static str,
    name: String,
    exists: bool,
}

/// What a writer did, or tried.
enum Done {
    Created,
    Patched,
    Replaced,
    Deleted,
}

/// Writes one change after another.
struct Writer {
    client: Client,
    rng: Rng,
    slots: Vec<Slot>,
    interrupted: bool,
    written: Written,
}

impl Writer {
    fn new(client: Client, number: u32, seed: u64) -> Self {
        let mut slots = Vec::new();
        for kind in Kind::ALL {
            for namespace in NAMESPACES {
                slots.extend((0..NAMES).map(|name| Slot {
                    kind,
                    namespace,
                    name: format!("w{number}-{name}"),
                    exists: false,
                }));
            }
        }
        Self {
            client,
            rng: Rng::with_seed(seed.wrapping_add(u64::from(number) << 32)),
            slots,
            interrupted: false,
            written: Written::default(),
        }
    }

    async fn run(&mut self, writes: usize, progress: &AtomicUsize) -> anyhow::Result<Written> {
        self.written = Written::default();
        let mut failures = 0;
        while self.written.writes() < writes {
            let at = self.rng.usize(..self.slots.len());
            match self.change(at).await {
                Ok(done) => {
                    failures = 0;
                    self.count(&done);
                    progress.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    self.learn(at, error).await?;
                    failures += 1;
                    ensure!(failures < MAX_FAILURES, "the server does not come back");
                }
            }
        }
        Ok(self.written)
    }

    fn count(&mut self, done: &Done) {
        let counter = match done {
            Done::Created => &mut self.written.created,
            Done::Patched => &mut self.written.patched,
            Done::Replaced => &mut self.written.replaced,
            Done::Deleted => &mut self.written.deleted,
        };
        *counter += 1;
    }

    /// Makes one change to one object.
    async fn change(&mut self, at: usize) -> Result<Done, Error> {
        let slot = &self.slots[at];
        let api = Api::<Value>::new(self.client.clone(), slot.kind.resource())
            .in_namespace(slot.namespace);
        let (kind, name) = (slot.kind, slot.name.clone());
        if !slot.exists {
            api.create(&new_object(&mut self.rng, kind, &name)).await?;
            self.slots[at].exists = true;
            return Ok(Done::Created);
        }
        match self.rng.u8(..100) {
            0..55 => self.patch(&api, kind, &name).await,
            55..65 => self.replace(&api, &name).await,
            _ => {
                api.delete(&name, &DeleteOptions::default().grace_period_seconds(0))
                    .await?;
                self.slots[at].exists = false;
                Ok(Done::Deleted)
            }
        }
    }

    /// One of the sorts of patches that the server takes.
    async fn patch(&mut self, api: &Api<Value>, kind: Kind, name: &str) -> Result<Done, Error> {
        let changed = metadata(&mut self.rng, name);
        let round = changed["labels"]["round"].clone();
        match self.rng.u8(..5) {
            0 => {
                let patch = json!({ "metadata": changed });
                api.patch(name, &Patch::Merge(&patch)).await?;
            }
            1 if kind == Kind::Pods => {
                let patch = json!({ "metadata": changed });
                api.patch(name, &Patch::Strategic(&patch)).await?;
            }
            1 | 2 => {
                let operation =
                    json!([{ "op": "add", "path": "/metadata/labels/round", "value": round }]);
                api.patch(name, &Patch::Json(&operation)).await?;
            }
            3 => {
                let patch = json!({ "status": status(&mut self.rng, kind) });
                api.clone()
                    .subresource("status")
                    .patch(name, &Patch::Merge(&patch))
                    .await?;
            }
            _ => {
                let resource = kind.resource();
                let object = json!({
                    "apiVersion": resource.api_version(),
                    "kind": resource.kind,
                    "metadata": { "name": name, "labels": { "applied": round } },
                });
                let manager = "e2e-applier".to_owned();
                let patch = Patch::Apply {
                    manager,
                    force: true,
                    object,
                };
                api.patch(name, &patch).await?;
            }
        }
        Ok(Done::Patched)
    }

    /// Reads an object, changes it and writes it back, as long as nobody else did meanwhile.
    async fn replace(&mut self, api: &Api<Value>, name: &str) -> Result<Done, Error> {
        let mut object = api.get(name).await?;
        object["metadata"]["labels"]["replaced"] = json!(self.rng.u32(..).to_string());
        api.replace(name, &object).await?;
        Ok(Done::Replaced)
    }

    /// A change that failed tells something too, once a write before it was not answered.
    async fn learn(&mut self, at: usize, error: Error) -> anyhow::Result<()> {
        let slot = &mut self.slots[at];
        let what = format!("{} {}/{}", slot.kind.plural(), slot.namespace, slot.name);
        if !self.interrupted {
            return Err(error).context(what);
        }
        match error {
            error if error.is_already_exists() => slot.exists = true,
            error if error.is_not_found() => slot.exists = false,
            Error::Status { status, .. } if status.code < 500 && status.code != 429 => {
                bail!("{what}: {status}");
            }
            _ => {
                self.written.unanswered += 1;
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(())
    }
}

fn status(rng: &mut Rng, kind: Kind) -> Value {
    match kind {
        Kind::Pods => json!({
            "phase": if rng.bool() { "Running" } else { "Failed" },
            "podIP": format!("10.0.{}.{}", rng.u8(..), rng.u8(1..255)),
        }),
        Kind::Widgets => json!({ "ready": rng.bool(), "turns": rng.i64(..) }),
    }
}
