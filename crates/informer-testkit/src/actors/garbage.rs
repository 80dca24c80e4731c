//! The garbage collector: objects go when all their owners are gone, and the deletions that wait for dependents end.
//!
//! It follows the one of kube-controller-manager: owners count by UID, and must be where the reference says. Instead of
//! asking the server about owners that it does not know, it looks into the model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use informer_wire::{DeleteOptions, Patch, Propagation};
use serde_json::{Value, json};

use super::agenda::Id;
use super::owners::{Owners, waits};
use crate::model::{Change, Cluster, FOREGROUND, ORPHAN, Owner, StoredObject, Ties, WriteOptions};
use crate::resource::ResourceType;

/// Who owns whom.
#[derive(Debug, Default)]
pub(super) struct Garbage {
    /// The objects that name an owner, by its UID.
    dependents: BTreeMap<String, BTreeSet<Id>>,
    objects: BTreeMap<String, Id>,
    /// Objects with an owner of a kind that is not served.
    unresolved: BTreeSet<Id>,
}

impl Garbage {
    /// Follows a change. Returns the objects to look at: as many as the real collector does, and no more, since what it
    /// does not look at stays as it is.
    pub(super) fn notice(&mut self, change: &Change, cluster: &Cluster) -> Vec<Id> {
        if change.resource.plural == "events" {
            return Vec::new();
        }
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let Some(id) = new.or(old).map(|object| Id::new(change, object)) else {
            return Vec::new();
        };
        let before = old.map_or(Ties::NONE, StoredObject::ties);
        let after = new.map_or(Ties::NONE, StoredObject::ties);
        let mut due = Vec::new();
        if change.resource.plural == "customresourcedefinitions" {
            due.extend(std::mem::take(&mut self.unresolved));
        }
        if new.is_some() {
            self.objects.insert(id.uid.clone(), id.clone());
        } else {
            self.objects.remove(&id.uid);
            self.unresolved.remove(&id);
            due.extend(self.dependents_of(&id.uid));
            due.extend(self.known(&before.owners));
        }
        if before.owners != after.owners {
            self.follow_owners(&id, before, after);
            let added = after.owners.iter().filter(|owner| !has(before, owner));
            if added
                .into_iter()
                .any(|owner| !self.is_there(&id, owner, cluster))
            {
                due.push(id.clone());
            }
            let unblocked = before.owners.iter().filter(|owner| {
                let mut still = after.owners.iter();
                owner.blocks && !still.any(|other| other.uid == owner.uid && other.blocks)
            });
            due.extend(self.known(unblocked));
        }
        let starts = |finalizer| {
            let waits = |ties: &Ties| ties.deleted && ties.has_finalizer(finalizer);
            waits(after) && !waits(before)
        };
        if starts(ORPHAN) {
            due.push(id);
        } else if starts(FOREGROUND) {
            due.extend(self.dependents_of(&id.uid));
            due.push(id);
        }
        due
    }

    fn follow_owners(&mut self, id: &Id, before: &Ties, after: &Ties) {
        for owner in &before.owners {
            self.cut(&owner.uid, id);
        }
        for owner in &after.owners {
            let dependents = self.dependents.entry(owner.uid.clone()).or_default();
            dependents.insert(id.clone());
        }
    }

    /// Whether an owner is known, and known to be where the reference says.
    fn is_there(&self, id: &Id, owner: &Owner, cluster: &Cluster) -> bool {
        let found = self.objects.get(&owner.uid);
        let found = found.and_then(|found| Some((found, cluster.type_of(&found.resource)?)));
        found.is_some_and(|(found, resource)| {
            resource.kind == owner.kind
                && resource.api_version() == owner.api_version
                && found.name() == owner.name
                && (found.namespace().is_empty() || found.namespace() == id.namespace())
        })
    }

    fn known<'a>(&self, owners: impl IntoIterator<Item = &'a Owner>) -> Vec<Id> {
        let owners = owners.into_iter();
        owners
            .filter_map(|owner| self.objects.get(&owner.uid).cloned())
            .collect()
    }

    fn cut(&mut self, owner: &str, dependent: &Id) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    fn dependents_of(&self, uid: &str) -> Vec<Id> {
        let dependents = self.dependents.get(uid);
        dependents.into_iter().flatten().cloned().collect()
    }

    /// Looks at one object, and does what its owners, its dependents and its finalizers call for. What the server
    /// refuses is left; a later change brings it up again. Returns the objects to look at next.
    pub(super) fn collect(
        &mut self,
        id: &Id,
        cluster: &mut Cluster,
        options: &WriteOptions,
    ) -> Vec<Id> {
        let Some((_, object)) = id.get(cluster) else {
            return Vec::new();
        };
        let ties = object.ties();
        if waits(ties) {
            return self.end_foreground(id, cluster, options);
        }
        if ties.deleted && ties.has_finalizer(ORPHAN) {
            self.orphan(id, cluster, options);
        } else if !ties.deleted && !ties.owners.is_empty() {
            self.judge(id, ties, cluster, options);
        }
        Vec::new()
    }

    /// Decides by its owners whether an object goes.
    fn judge(&mut self, id: &Id, ties: &Ties, cluster: &mut Cluster, options: &WriteOptions) {
        let Some(owners) = Owners::find(id, ties, cluster) else {
            self.unresolved.insert(id.clone());
            return;
        };
        if !owners.solid.is_empty() {
            let gone: Vec<_> = owners.dangling.into_iter().chain(owners.waiting).collect();
            if !gone.is_empty() {
                let stays = |reference: &Value| gone.iter().all(|uid| reference["uid"] != **uid);
                edit_owners(id, cluster, options, |references| references.retain(stays));
            }
            return;
        }
        let policy = if !owners.waiting.is_empty() && self.has_dependents(id) {
            self.unblock_circle(id, cluster, options);
            Propagation::Foreground
        } else if ties.has_finalizer(ORPHAN) {
            Propagation::Orphan
        } else if ties.has_finalizer(FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        delete(id, policy, cluster, options);
    }

    fn has_dependents(&self, id: &Id) -> bool {
        self.dependents.contains_key(&id.uid)
    }

    /// Lets an owner go that no dependent holds any more. Returns those that hold it and could go.
    fn end_foreground(&self, id: &Id, cluster: &mut Cluster, options: &WriteOptions) -> Vec<Id> {
        let mut blocking = Vec::new();
        for dependent in self.dependents_of(&id.uid) {
            if let Some((_, object)) = dependent.get(cluster) {
                let mut owners = object.ties().owners.iter();
                if owners.any(|owner| owner.uid == id.uid && owner.blocks) {
                    blocking.push((dependent, object));
                }
            }
        }
        if blocking.is_empty() {
            remove_finalizer(id, FOREGROUND, cluster, options);
        }
        let idle = blocking
            .into_iter()
            .filter(|(_, object)| !waits(object.ties()));
        idle.map(|(dependent, _)| dependent).collect()
    }

    /// Takes an owner from its dependents, then lets it go.
    fn orphan(&self, id: &Id, cluster: &mut Cluster, options: &WriteOptions) {
        for dependent in self.dependents_of(&id.uid) {
            edit_owners(&dependent, cluster, options, |references| {
                references.retain(|reference| reference["uid"] != *id.uid);
            });
        }
        remove_finalizer(id, ORPHAN, cluster, options);
    }

    /// Objects that wait for each other would do so for ever: where a dependent waits already, its owner blocks nobody.
    fn unblock_circle(&self, id: &Id, cluster: &mut Cluster, options: &WriteOptions) {
        let circle = self.dependents_of(&id.uid).iter().any(|dependent| {
            let found = dependent.get(cluster);
            found.is_some_and(|(_, object)| waits(object.ties()))
        });
        if circle {
            edit_owners(id, cluster, options, |references| {
                for reference in references {
                    if reference["blockOwnerDeletion"] == true {
                        reference["blockOwnerDeletion"] = false.into();
                    }
                }
            });
        }
    }
}

/// Whether an object has an owner, whatever else the reference says.
fn has(ties: &Ties, owner: &Owner) -> bool {
    ties.owners.iter().any(|other| other.uid == owner.uid)
}

fn delete(id: &Id, policy: Propagation, cluster: &mut Cluster, options: &WriteOptions) {
    let Some((resource, _)) = id.get(cluster) else {
        return;
    };
    let how = DeleteOptions::default()
        .only_uid(&*id.uid)
        .propagation(policy);
    let _ = cluster.delete(&resource, id.namespace(), id.name(), &how, options);
}

fn edit_owners(
    id: &Id,
    cluster: &mut Cluster,
    options: &WriteOptions,
    edit: impl FnOnce(&mut Vec<Value>),
) {
    let Some((resource, object)) = id.get(cluster) else {
        return;
    };
    let mut value = object.value(&resource);
    let Some(references) = value["metadata"]["ownerReferences"].as_array_mut() else {
        return;
    };
    edit(references);
    let metadata = json!({"uid": id.uid, "ownerReferences": references});
    patch_metadata(id, &resource, metadata, cluster, options);
}

fn remove_finalizer(id: &Id, finalizer: &str, cluster: &mut Cluster, options: &WriteOptions) {
    let Some((resource, object)) = id.get(cluster) else {
        return;
    };
    let finalizers = object.ties().finalizers.iter();
    let left: Vec<_> = finalizers.filter(|one| *one != finalizer).collect();
    let metadata = json!({"uid": id.uid, "finalizers": left});
    patch_metadata(id, &resource, metadata, cluster, options);
}

fn patch_metadata(
    id: &Id,
    resource: &Arc<ResourceType>,
    metadata: Value,
    cluster: &mut Cluster,
    options: &WriteOptions,
) {
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let _ = cluster.patch(resource, id.namespace(), id.name(), &patch, options);
}
