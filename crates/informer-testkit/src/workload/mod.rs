//! A workload: many realistic pods, and random changes of them.

mod pod;

use std::sync::Arc;
use std::time::Duration;

use informer_wire::{DeleteOptions, Patch, Status};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use self::pod::PodMaker;
use crate::model::{Cluster, WriteOptions};
use crate::server::ApiServer;
use crate::shared::Shared;

/// Fills a server with pods and keeps changing them.
///
/// Pods look like those of a real cluster: several kilobytes of JSON with containers, probes,
/// volumes, conditions, owner references and managed fields, labels `app` and `tier`, bound to
/// nodes. The same seed gives the same pods and the same changes.
///
/// ```
/// use informer_testkit::{ApiServer, Workload};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::start().await?;
/// let mut workload = Workload::new().pods(20).namespaces(2).seed(7);
/// workload.fill(&server)?;
/// assert_eq!(server.list("pods", "")?.len(), 20);
///
/// // One change now …
/// workload.step(&server)?;
/// // … and many a second until it is stopped.
/// let running = workload.start(&server, 500.0);
/// let changes = running.stop().await;
/// println!("{changes:?}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Workload {
    pods: usize,
    namespaces: usize,
    nodes: usize,
    managed_fields: bool,
    random: fastrand::Rng,
    /// The number of pods made so far; it makes their names.
    made: u64,
    live: Vec<(String, String)>,
    changes: Changes,
}

/// The changes that a workload has made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Pods created, the first ones included.
    pub created: u64,
    /// Pods changed.
    pub updated: u64,
    /// Pods deleted.
    pub deleted: u64,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            pods: 1000,
            namespaces: 4,
            nodes: 50,
            managed_fields: true,
            random: fastrand::Rng::with_seed(0),
            made: 0,
            live: Vec::new(),
            changes: Changes::default(),
        }
    }
}

impl Workload {
    /// Makes a workload of 1000 pods in 4 namespaces on 50 nodes, seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of pods, which stays about the same under changes.
    pub fn pods(mut self, pods: usize) -> Self {
        self.pods = pods;
        self
    }

    /// Sets the number of namespaces; at least one.
    pub fn namespaces(mut self, namespaces: usize) -> Self {
        self.namespaces = namespaces.max(1);
        self
    }

    /// Sets the number of nodes; at least one.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes.max(1);
        self
    }

    /// Sets whether pods have managed fields, which are nearly half of a real pod; they do by
    /// default.
    pub fn managed_fields(mut self, managed_fields: bool) -> Self {
        self.managed_fields = managed_fields;
        self
    }

    /// Sets the seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.random = fastrand::Rng::with_seed(seed);
        self
    }

    /// Returns the changes made so far.
    pub fn changes(&self) -> Changes {
        self.changes
    }

    /// Creates pods until there are as many as wanted, and the replica sets that own them.
    ///
    /// # Errors
    /// Those of the server if it refuses one, such as 409 when another workload with the same
    /// seed was here before.
    pub fn fill(&mut self, server: &ApiServer) -> Result<(), Status> {
        while self.live.len() < self.pods {
            // In portions, so that requests get their turn.
            let portion = (self.pods - self.live.len()).min(100);
            let now = server.shared().clock.now();
            server
                .with_cluster(|cluster| (0..portion).try_for_each(|_| self.create(cluster, now)))?;
        }
        Ok(())
    }

    /// Makes one random change: mostly an update, sometimes a create or a delete.
    ///
    /// # Errors
    /// Those of the server if it refuses the change. A pod that another client deleted is no
    /// error; then nothing is done.
    pub fn step(&mut self, server: &ApiServer) -> Result<(), Status> {
        let now = server.shared().clock.now();
        server.with_cluster(|cluster| self.change(cluster, now))
    }

    /// Makes random changes, so many a second (at most a million), until it is stopped or dropped.
    ///
    /// Needs a tokio runtime. The changes are made in small bursts every 10 milliseconds.
    pub fn start(self, server: &ApiServer, changes_per_second: f64) -> RunningWorkload {
        // What is no number makes none.
        let changes_per_second = changes_per_second.clamp(0.0, 1_000_000.0);
        let changes = Arc::new(Mutex::new(self.changes));
        let task = tokio::spawn(run(
            self,
            server.shared(),
            changes_per_second,
            changes.clone(),
        ));
        RunningWorkload { task, changes }
    }

    fn create(&mut self, cluster: &mut Cluster, now: Timestamp) -> Result<(), Status> {
        let maker = PodMaker {
            namespaces: self.namespaces,
            nodes: self.nodes,
            managed_fields: self.managed_fields,
            now,
        };
        let owner = |namespace: &str, name: &str| owner(cluster, namespace, name, now);
        let (namespace, name, pod) = maker.pod(self.made, &mut self.random, owner)?;
        let pods = cluster.resource("v1/pods")?;
        cluster.create(&pods, &namespace, pod, &WriteOptions::at(now))?;
        self.made += 1;
        self.changes.created += 1;
        self.live.push((namespace, name));
        Ok(())
    }

    fn change(&mut self, cluster: &mut Cluster, now: Timestamp) -> Result<(), Status> {
        let missing = self.live.len() < self.pods;
        match self.random.u8(..10) {
            _ if self.live.is_empty() => self.create(cluster, now),
            0 => self.create(cluster, now),
            1 if missing => self.create(cluster, now),
            1 => self.delete(cluster, now),
            _ => self.update(cluster, now),
        }
    }

    fn delete(&mut self, cluster: &mut Cluster, now: Timestamp) -> Result<(), Status> {
        let at = self.random.usize(..self.live.len());
        let (namespace, name) = self.live.swap_remove(at);
        let pods = cluster.resource("v1/pods")?;
        let (preconditions, options) = (DeleteOptions::default(), WriteOptions::at(now));
        match cluster.delete(&pods, &namespace, &name, &preconditions, &options) {
            Err(status) if status.code == 404 => Ok(()),
            Err(status) => Err(status),
            Ok(_) => {
                self.changes.deleted += 1;
                Ok(())
            }
        }
    }

    fn update(&mut self, cluster: &mut Cluster, now: Timestamp) -> Result<(), Status> {
        let at = self.random.usize(..self.live.len());
        let (namespace, name) = &self.live[at];
        let pods = cluster.resource("v1/pods")?;
        let Ok(pod) = cluster.get(&pods, namespace, name) else {
            self.live.swap_remove(at);
            return Ok(());
        };
        let patch = next_state(&pod.value(&pods), now, &mut self.random);
        let patch = Patch::Merge(patch);
        cluster.patch(&pods, namespace, name, &patch, &WriteOptions::at(now))?;
        self.changes.updated += 1;
        Ok(())
    }
}

/// Returns the UID of the replica set that owns pods, which is made for the first of them.
fn owner(
    cluster: &mut Cluster,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Result<String, Status> {
    let sets = cluster.resource("apps/v1/replicasets")?;
    if let Ok(found) = cluster.get(&sets, namespace, name) {
        return Ok(found.uid().to_owned());
    }
    let set = json!({
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"set": name}}},
    });
    let made = cluster.create(&sets, namespace, set, &WriteOptions::at(now))?;
    Ok(made.uid().to_owned())
}

/// Returns the next state of a pod: a pending one starts, a running one restarts, changes its readiness, or gets an
/// annotation.
fn next_state(pod: &Value, now: Timestamp, random: &mut fastrand::Rng) -> Value {
    if pod["status"]["phase"] == "Pending" {
        return json!({"status": pod::running_status(pod, now, random)});
    }
    let mut statuses = pod["status"]["containerStatuses"].clone();
    match (
        random.u8(..4),
        statuses.get_mut(0).and_then(Value::as_object_mut),
    ) {
        (0, Some(first)) => {
            let restarts = first
                .get("restartCount")
                .and_then(Value::as_u64)
                .unwrap_or(0);
            first.insert("restartCount".to_owned(), (restarts + 1).into());
        }
        (1, Some(first)) => {
            let ready = first.get("ready").and_then(Value::as_bool).unwrap_or(true);
            first.insert("ready".to_owned(), (!ready).into());
        }
        _ => {
            let note = format!("{:016x}", random.u64(..));
            return json!({"metadata": {"annotations": {"testkit.example/note": note}}});
        }
    }
    json!({"status": {"containerStatuses": statuses}})
}

/// A running [`Workload`]. Dropping it stops it.
#[derive(Debug)]
#[must_use]
pub struct RunningWorkload {
    task: JoinHandle<()>,
    changes: Arc<Mutex<Changes>>,
}

impl RunningWorkload {
    /// Returns the changes made so far.
    pub fn changes(&self) -> Changes {
        *self.changes.lock()
    }

    /// Stops, and returns the changes. Afterwards nothing changes any more.
    ///
    /// Dropping the future stops the workload too.
    pub async fn stop(mut self) -> Changes {
        self.task.abort();
        // Ended by the abort or, with its runtime, before it; either way it is over.
        let _ = (&mut self.task).await;
        self.changes()
    }
}

impl Drop for RunningWorkload {
    fn drop(&mut self) {
        self.task.abort();
    }
}

const TICK: Duration = Duration::from_millis(10);

async fn run(
    mut workload: Workload,
    shared: Arc<Shared>,
    changes_per_second: f64,
    changes: Arc<Mutex<Changes>>,
) {
    let start = Instant::now();
    let mut ticks = interval_at(start + TICK, TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut done = 0.0;
    loop {
        ticks.tick().await;
        let due = start.elapsed().as_secs_f64() * changes_per_second;
        // After a pause of the whole process, do not try to catch up with all of it.
        done = f64::max(done, due - changes_per_second);
        while done < due {
            done += 1.0;
            // A refusal means that somebody else works on the same pods; the next change goes on.
            let now = shared.clock.now();
            let _ = shared.write(|cluster| workload.change(cluster, now));
            // The server may run on the same thread.
            tokio::task::yield_now().await;
        }
        *changes.lock() = workload.changes;
    }
}
