//! What actors have to do, and when.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;

use crate::model::{Change, Cluster, StoredObject};
use crate::resource::{GroupResource, ResourceType};

/// One object in the life of which an actor has a part: no other one of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) resource: GroupResource,
    pub(super) key: String,
    pub(super) uid: String,
}

impl Id {
    pub(super) fn new(change: &Change, object: &StoredObject) -> Self {
        Self {
            resource: change.resource.clone(),
            key: object.key().to_owned(),
            uid: object.uid().to_owned(),
        }
    }

    pub(super) fn namespace(&self) -> &str {
        self.key
            .rsplit_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    pub(super) fn name(&self) -> &str {
        self.key
            .rsplit_once('/')
            .map_or(&self.key, |(_, name)| name)
    }

    /// Returns its type and its newest state, if it still exists.
    pub(super) fn get(&self, cluster: &Cluster) -> Option<(Arc<ResourceType>, Arc<StoredObject>)> {
        let resource = cluster.type_of(&self.resource)?;
        let object = cluster.get(&resource, self.namespace(), self.name()).ok()?;
        (object.uid() == self.uid).then_some((resource, object))
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    Collect(Id),
    EmptyNamespace(String),
    StartPod(Id),
    EndPod(Id),
}

/// Tasks by time, and in the order in which they were added; each stands here once.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    due: BTreeMap<(Instant, u64), Task>,
    at: BTreeMap<Task, (Instant, u64)>,
    added: u64,
}

impl Agenda {
    /// Adds a task. One that waits already is done at the earlier time.
    pub(super) fn add(&mut self, time: Instant, task: Task) {
        if let Some(waits) = self.at.get(&task) {
            if waits.0 <= time {
                return;
            }
            self.due.remove(waits);
        }
        self.added += 1;
        self.at.insert(task.clone(), (time, self.added));
        self.due.insert((time, self.added), task);
    }

    pub(super) fn take_due(&mut self, now: Instant) -> Option<Task> {
        let first = self.due.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        let task = first.remove();
        self.at.remove(&task);
        Some(task)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.due.keys().next().map(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn task_stands_once_and_at_its_earliest_time() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let task = |name: &str| Task::EmptyNamespace(name.to_owned());
        let mut agenda = Agenda::default();
        agenda.add(at(5), task("a"));
        agenda.add(at(3), task("b"));
        agenda.add(at(9), task("a"));
        agenda.add(at(1), task("a"));
        assert_eq!(agenda.next(), Some(at(1)));
        assert_eq!(agenda.take_due(now), None);
        assert_eq!(agenda.take_due(at(9)), Some(task("a")));
        assert_eq!(agenda.take_due(at(9)), Some(task("b")));
        assert_eq!(agenda.take_due(at(9)), None);
        assert_eq!(agenda.next(), None);
    }
}
