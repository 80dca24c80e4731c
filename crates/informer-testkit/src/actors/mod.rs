//! The other programs of a cluster, as far as the end of objects is their work: stand-ins for the controllers of
//! namespaces and of garbage, and for the scheduler and the kubelets.
//!
//! Each is a state machine that reads the changes of the model and writes through it as a client does, so that watches
//! see each step. What is due at once happens within the write that caused it, in the same order in each run; what has a
//! delay waits for tokio's clock, which a test may pause. Nothing is polled.

mod agenda;
mod garbage;
mod namespaces;
mod owners;
mod pods;

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use self::agenda::{Agenda, Task};
use self::garbage::Garbage;
use self::namespaces::Namespaces;
use crate::builder::LONGEST;
use crate::model::{Change, Cluster, WriteOptions};

/// The programs that run beside the API server: see [`ApiServerBuilder::actors`](crate::ApiServerBuilder::actors).
///
/// By default deleted namespaces are emptied and scheduled pods end as soon as they are deleted. Nothing else happens to
/// objects by itself: owners that do not exist are as good as others, and pods stay pending. A deletion that waits for
/// the garbage collector (`Foreground`, `Orphan`) is over only with it.
///
/// ```
/// use informer_testkit::{Actors, ApiServer};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::builder().actors(Actors::all()).start().await?;
/// let owner = server.create("configmaps", json!({"metadata": {"name": "owner"}}))?;
/// let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]});
/// let pod = json!({
///     "metadata": {"name": "owned", "ownerReferences": [reference]},
///     "spec": {"containers": [{"name": "c", "image": "i"}]},
/// });
/// server.create("pods", pod)?;
/// assert_eq!(server.get("pods", "default", "owned")?["status"]["phase"], "Running");
///
/// server.delete("configmaps", "default", "owner")?;
/// assert!(server.list("pods", "default")?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Actors {
    namespaces: bool,
    garbage_after: Option<Duration>,
    pods_end_within: Option<Duration>,
    pods_start_after: Option<Duration>,
}

impl Default for Actors {
    fn default() -> Self {
        Self::none().empty_namespaces().end_pods(Duration::ZERO)
    }
}

impl Actors {
    /// Makes none: the API server is alone, as in `envtest`. A deleted namespace stays `Terminating`, a scheduled pod
    /// that is deleted stays until a test deletes it with a grace period of 0.
    pub fn none() -> Self {
        Self {
            namespaces: false,
            garbage_after: None,
            pods_end_within: None,
            pods_start_after: None,
        }
    }

    /// Makes all there are, without any delay.
    pub fn all() -> Self {
        Self::default()
            .collect_garbage(Duration::ZERO)
            .start_pods(Duration::ZERO)
    }

    /// Empties namespaces that are deleted: pods first, then all the rest.
    pub fn empty_namespaces(mut self) -> Self {
        self.namespaces = true;
        self
    }

    /// Deletes objects whose owners are all gone, and sees to the finalizers of the policies `Foreground` and `Orphan`,
    /// each this long after the change that calls for it.
    pub fn collect_garbage(mut self, after: Duration) -> Self {
        self.garbage_after = Some(after.min(LONGEST));
        self
    }

    /// Ends scheduled pods that are deleted, after their grace period, but at the latest this long after the deletion.
    pub fn end_pods(mut self, within: Duration) -> Self {
        self.pods_end_within = Some(within.min(LONGEST));
        self
    }

    /// Gives pods a node, and lets them run and be ready, this long after they come.
    pub fn start_pods(mut self, after: Duration) -> Self {
        self.pods_start_after = Some(after.min(LONGEST));
        self
    }

    fn wait(&self) -> bool {
        let delays = [
            self.garbage_after,
            self.pods_end_within,
            self.pods_start_after,
        ];
        delays.into_iter().flatten().any(|delay| !delay.is_zero())
    }

    fn is_none(&self) -> bool {
        *self == Self::none()
    }
}

/// The running actors: what they know and what they still have to do.
#[derive(Debug)]
pub(crate) struct Crew {
    actors: Actors,
    agenda: Agenda,
    garbage: Garbage,
    namespaces: Namespaces,
}

impl Crew {
    /// Makes actors that start from what a cluster has.
    pub(crate) fn new(actors: Actors, cluster: &mut Cluster) -> Self {
        cluster.want_changes(!actors.is_none());
        Self {
            actors,
            agenda: Agenda::default(),
            garbage: Garbage::default(),
            namespaces: Namespaces::default(),
        }
    }

    /// Whether anything can be due later than at once.
    pub(crate) fn waits(&self) -> bool {
        self.actors.wait()
    }

    /// Does all that is due. Returns the time of what is due next.
    pub(crate) fn step(
        &mut self,
        cluster: &mut Cluster,
        now: Instant,
        wall: Timestamp,
    ) -> Option<Instant> {
        let options = WriteOptions::at(wall).part(crate::model::Part::Main);
        loop {
            let changes = cluster.take_changes().unwrap_or_else(|| {
                *self = Self {
                    actors: self.actors.clone(),
                    agenda: Agenda::default(),
                    garbage: Garbage::default(),
                    namespaces: Namespaces::default(),
                };
                cluster.all_as_changes()
            });
            for change in &changes {
                self.notice(change, cluster, now);
            }
            let Some(task) = self.agenda.take_due(now) else {
                return self.agenda.next();
            };
            match task {
                Task::Collect(id) => {
                    for next in self.garbage.collect(&id, cluster, &options) {
                        self.agenda.add(now, Task::Collect(next));
                    }
                }
                Task::EmptyNamespace(name) => self.namespaces.empty(&name, cluster, &options),
                Task::StartPod(id) => pods::start(&id, cluster, &options),
                Task::EndPod(id) => pods::end(&id, cluster, &options),
            }
        }
    }

    fn notice(&mut self, change: &Change, cluster: &Cluster, now: Instant) {
        if self.actors.namespaces
            && let Some(name) = self.namespaces.notice(change)
        {
            self.agenda.add(now, Task::EmptyNamespace(name));
        }
        if let Some(after) = self.actors.garbage_after {
            for id in self.garbage.notice(change, cluster) {
                self.agenda.add(now + after, Task::Collect(id));
            }
        }
        if let Some(within) = self.actors.pods_end_within
            && let Some((id, grace)) = pods::ending(change)
        {
            self.agenda.add(now + grace.min(within), Task::EndPod(id));
        }
        if let Some(after) = self.actors.pods_start_after
            && let Some(id) = pods::pending(change)
        {
            self.agenda.add(now + after, Task::StartPod(id));
        }
    }
}

#[cfg(test)]
mod tests;
