//! The changes that the actors have not seen yet.

use std::sync::Arc;

use super::cluster::Cluster;
use super::collection::Scope;
use super::object::StoredObject;
use crate::resource::{GroupResource, ResourceType};

/// One change of one object. It has `old`, `new` or both.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) resource: GroupResource,
    pub(crate) old: Option<Arc<StoredObject>>,
    pub(crate) new: Option<Arc<StoredObject>>,
}

/// Changes in their order, if somebody wants them.
#[derive(Debug, Default)]
pub(super) struct Feed {
    wanted: bool,
    /// Whether the changes do not add up: everything has to be read again.
    restarted: bool,
    changes: Vec<Change>,
}

impl Feed {
    pub(super) fn push(
        &mut self,
        resource: &ResourceType,
        old: Option<Arc<StoredObject>>,
        new: Option<Arc<StoredObject>>,
    ) {
        if self.wanted {
            self.changes.push(Change {
                resource: resource.group_resource(),
                old,
                new,
            });
        }
    }

    pub(super) fn restart(&mut self) {
        self.restarted = true;
        self.changes.clear();
    }
}

impl Cluster {
    /// Keeps changes from now on, or no more. Who wants them starts from all objects.
    pub(crate) fn want_changes(&mut self, wanted: bool) {
        self.feed = Feed {
            wanted,
            restarted: wanted,
            changes: Vec::new(),
        };
    }

    /// Takes the changes since the last call. `None`: they do not add up, so look at all objects.
    pub(crate) fn take_changes(&mut self) -> Option<Vec<Change>> {
        let changes = std::mem::take(&mut self.feed.changes);
        (!std::mem::take(&mut self.feed.restarted)).then_some(changes)
    }

    /// Returns all objects there are, as changes that make them.
    pub(crate) fn all_as_changes(&self) -> Vec<Change> {
        let everything = Scope::new("");
        let of_resource = self.collections.iter().flat_map(|(resource, collection)| {
            collection.live(&everything, "").map(|object| Change {
                resource: resource.clone(),
                old: None,
                new: Some(object.clone()),
            })
        });
        of_resource.collect()
    }

    /// Returns the type of a resource in any of its served versions.
    pub(crate) fn type_of(&self, resource: &GroupResource) -> Option<Arc<ResourceType>> {
        let mut types = self.registry.iter();
        types
            .find(|known| known.group_resource() == *resource)
            .cloned()
    }
}
