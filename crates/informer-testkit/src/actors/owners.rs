//! What the owner references of an object come to.

use std::sync::Arc;

use super::agenda::Id;
use crate::model::{Cluster, FOREGROUND, Owner, Ties};
use crate::resource::ResourceType;

/// The UIDs of an object's owners, by what they mean to it.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Those that keep it.
    pub(super) solid: Vec<String>,
    /// Those that do not exist.
    pub(super) dangling: Vec<String>,
    /// Those that wait for it to go before they do.
    pub(super) waiting: Vec<String>,
}

impl Owners {
    /// Looks all owners up. `None` if one cannot be: its kind is not served, or it has a namespace and the object has
    /// none. Such an object is left alone.
    pub(super) fn find(id: &Id, ties: &Ties, cluster: &Cluster) -> Option<Self> {
        let mut owners = Self::default();
        for owner in &ties.owners {
            let resource = kind_of(owner, cluster)?;
            // An owner has no namespace or that of the object, whatever else has its UID.
            let namespace = match (resource.namespaced, id.namespace()) {
                (true, "") => return None,
                (true, namespace) => namespace,
                (false, _) => "",
            };
            let found = cluster.get(&resource, namespace, &owner.name);
            let found = found.ok().filter(|found| found.uid() == owner.uid);
            let list = match found {
                None => &mut owners.dangling,
                Some(found) if waits(found.ties()) => &mut owners.waiting,
                Some(_) => &mut owners.solid,
            };
            list.push(owner.uid.clone());
        }
        Some(owners)
    }
}

/// Whether an object is being deleted in the foreground.
pub(super) fn waits(ties: &Ties) -> bool {
    ties.deleted && ties.has_finalizer(FOREGROUND)
}

fn kind_of(owner: &Owner, cluster: &Cluster) -> Option<Arc<ResourceType>> {
    let mut types = cluster.registry().iter();
    let found =
        types.find(|known| known.kind == owner.kind && known.api_version() == owner.api_version);
    found.cloned()
}
