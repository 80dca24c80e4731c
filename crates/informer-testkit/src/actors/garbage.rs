//! The garbage collector: objects go when all their owners are gone, and the deletions that wait for dependents end.
//!
//! It follows the one of kube-controller-manager: owners count by UID, and must be where the reference says. Instead of
//! asking the server about owners that it does not know, it looks into the model.

use std::collections::{BTreeMap, BTreeSet};

use informer_wire::{DeleteOptions, Patch, Propagation};
use serde_json::{Value, json};

use super::agenda::Id;
use super::owners::{Owners, waits};
use crate::model::{Change, Cluster, FOREGROUND, ORPHAN, StoredObject, Ties, WriteOptions};

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
    /// Follows a change. Returns the objects to look at.
    pub(super) fn notice(&mut self, change: &Change) -> Vec<Id> {
        if change.resource.plural == "events" {
            return Vec::new();
        }
        let id = |object: &StoredObject| Id::new(change, object);
        let ties =
            |object: Option<&StoredObject>| object.map_or(Ties::NONE, StoredObject::ties).clone();
        let (old, new) = (change.old.as_deref(), change.new.as_deref());
        let (before, after) = (ties(old), ties(new));
        if let Some(old) = old.filter(|_| new.is_none()) {
            self.objects.remove(old.uid());
            self.unresolved.remove(&id(old));
        }
        if let Some(new) = new {
            self.objects.insert(new.uid().to_owned(), id(new));
        }
        if before.owners != after.owners {
            for owner in &before.owners {
                self.cut(
                    &owner.uid,
                    &id(old.or(new).expect("a change has an object")),
                );
            }
            for owner in &after.owners {
                let dependents = self.dependents.entry(owner.uid.clone()).or_default();
                dependents.insert(id(new.or(old).expect("a change has an object")));
            }
        }
        let mut due = Vec::new();
        if change.resource.plural == "customresourcedefinitions" {
            due.extend(std::mem::take(&mut self.unresolved));
        }
        if before == after && old.is_some() == new.is_some() {
            return due;
        }
        due.extend(new.map(id));
        let ended = before.deleted != after.deleted
            || before.finalizers != after.finalizers
            || new.is_none();
        if let Some(object) = new.or(old).filter(|_| ended) {
            due.extend(self.dependents_of(object.uid()));
        }
        let owners = before.owners.iter().chain(&after.owners);
        due.extend(owners.filter_map(|owner| self.objects.get(&owner.uid).cloned()));
        due
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
    /// refuses is left; a later change brings it up again.
    pub(super) fn collect(&mut self, id: &Id, cluster: &mut Cluster, options: &WriteOptions) {
        let Some((_, object)) = id.get(cluster) else {
            return;
        };
        let ties = object.ties();
        if waits(ties) {
            return self.end_foreground(id, cluster, options);
        }
        if ties.deleted && ties.has_finalizer(ORPHAN) {
            return self.orphan(id, cluster, options);
        }
        if ties.deleted || ties.owners.is_empty() {
            return;
        }
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

    /// Lets an owner go that no dependent holds any more.
    fn end_foreground(&self, id: &Id, cluster: &mut Cluster, options: &WriteOptions) {
        let blocked = self.dependents_of(&id.uid).iter().any(|dependent| {
            dependent.get(cluster).is_some_and(|(_, object)| {
                let mut owners = object.ties().owners.iter();
                owners.any(|owner| owner.uid == id.uid && owner.blocks)
            })
        });
        if !blocked {
            remove_finalizer(id, FOREGROUND, cluster, options);
        }
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
    let patch = json!({"metadata": {"uid": id.uid, "ownerReferences": references}});
    let _ = cluster.patch(
        &resource,
        id.namespace(),
        id.name(),
        &Patch::Merge(patch),
        options,
    );
}

fn remove_finalizer(id: &Id, finalizer: &str, cluster: &mut Cluster, options: &WriteOptions) {
    let Some((resource, object)) = id.get(cluster) else {
        return;
    };
    let finalizers = object.ties().finalizers.iter();
    let left: Vec<_> = finalizers.filter(|one| *one != finalizer).collect();
    let patch = json!({"metadata": {"uid": id.uid, "finalizers": left}});
    let _ = cluster.patch(
        &resource,
        id.namespace(),
        id.name(),
        &Patch::Merge(patch),
        options,
    );
}
