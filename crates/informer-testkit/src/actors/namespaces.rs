//! The controller of namespaces: what is in a deleted one is deleted, pods first; then the namespace itself may go.

use std::collections::{BTreeMap, BTreeSet};

use informer_wire::{DeleteOptions, Patch, Propagation};
use serde_json::{Value, json};

use crate::model::{Change, Cluster, ListOptions, Part, WriteOptions};
use crate::resource::{GroupResource, ResourceType};
use crate::time::rfc3339;

/// The namespaces that are being deleted.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    ending: BTreeSet<String>,
}

/// What is left in a namespace.
#[derive(Debug, Default)]
struct Left {
    objects: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

impl Namespaces {
    /// Follows a change. Returns the namespace to work at, if there is one.
    pub(super) fn notice(&mut self, change: &Change) -> Option<String> {
        let object = change.new.as_ref().or(change.old.as_ref())?;
        if change.resource.plural == "namespaces" && change.resource.group.is_empty() {
            let ends = change.new.as_ref().is_some_and(|new| new.ties().deleted);
            if !ends {
                self.ending.remove(object.name());
                return None;
            }
            let is_new = self.ending.insert(object.name().to_owned());
            return is_new.then(|| object.name().to_owned());
        }
        let namespace = object.namespace();
        let gone = change.new.is_none() && self.ending.contains(namespace);
        gone.then(|| namespace.to_owned())
    }

    /// Deletes what is in a namespace, tells in its conditions what is left, and gives it free once it is empty.
    pub(super) fn empty(&self, name: &str, cluster: &mut Cluster, options: &WriteOptions) {
        let Ok(namespaces) = cluster.resource("v1/namespaces") else {
            return;
        };
        let Ok(namespace) = cluster.get(&namespaces, "", name) else {
            return;
        };
        let mut value = namespace.value(&namespaces);
        let held = value["spec"]["finalizers"].as_array_mut();
        let Some(held) = held.filter(|held| held.iter().any(|one| one == "kubernetes")) else {
            return;
        };
        held.retain(|one| one != "kubernetes");
        let pods = Left::after_deletion(name, cluster, options, is_pods);
        // While there are pods, nothing else goes, and the conditions do not count them.
        let left = if pods.objects.is_empty() {
            Left::after_deletion(name, cluster, options, |resource| !is_pods(resource))
        } else {
            Left::default()
        };
        let conditions = conditions(&value["status"]["conditions"], &left, options);
        let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
        let _ = cluster.patch(&namespaces, "", name, &patch, &options.part(Part::Status));
        if pods.objects.is_empty() && left.objects.is_empty() {
            // Not the version that was read: the conditions are newer.
            let patch = Patch::Merge(json!({"spec": {"finalizers": value["spec"]["finalizers"]}}));
            let _ = cluster.patch(&namespaces, "", name, &patch, &options.part(Part::Finalize));
        }
    }
}

fn is_pods(resource: &GroupResource) -> bool {
    resource.group.is_empty() && resource.plural == "pods"
}

impl Left {
    fn after_deletion(
        namespace: &str,
        cluster: &mut Cluster,
        options: &WriteOptions,
        wanted: impl Fn(&GroupResource) -> bool,
    ) -> Self {
        let mut left = Self::default();
        let types = cluster.registry().iter();
        let types = types.filter(|resource| resource.namespaced);
        let resources: BTreeSet<_> = types.map(|resource| resource.group_resource()).collect();
        for resource in resources.iter().filter(|resource| wanted(resource)) {
            if let Some(resource) = cluster.type_of(resource) {
                left.delete(&resource, namespace, cluster, options);
            }
        }
        left
    }

    fn delete(
        &mut self,
        resource: &std::sync::Arc<ResourceType>,
        namespace: &str,
        cluster: &mut Cluster,
        options: &WriteOptions,
    ) {
        let all = ListOptions::new();
        let background = DeleteOptions::default().propagation(Propagation::Background);
        let _ = cluster.delete_collection(resource, namespace, &all, &background, options);
        let Ok(page) = cluster.list(resource, namespace, &all) else {
            return;
        };
        if page.items.is_empty() {
            return;
        }
        let kind = format!("{}.{}", resource.plural, resource.group);
        self.objects.insert(kind, page.items.len());
        for object in &page.items {
            for finalizer in &object.ties().finalizers {
                *self.finalizers.entry(finalizer.clone()).or_default() += 1;
            }
        }
    }
}

/// The conditions of a namespace that ends, in their order: type, reason and message when all is well.
const CONDITIONS: [[&str; 3]; 5] = [
    [
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ],
    [
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ],
    [
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ],
    [
        "NamespaceContentRemaining",
        "ContentRemoved",
        "All content successfully removed",
    ],
    [
        "NamespaceFinalizersRemaining",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ],
];

fn conditions(old: &Value, left: &Left, options: &WriteOptions) -> Vec<Value> {
    let instances = |what: &BTreeMap<String, usize>, between: &str| {
        let each: Vec<_> = what
            .iter()
            .map(|(name, count)| format!("{name}{between}{count} resource instances"))
            .collect();
        each.join(", ")
    };
    CONDITIONS
        .into_iter()
        .map(|[kind, reason, message]| {
            let bad = match kind {
                "NamespaceContentRemaining" if !left.objects.is_empty() => Some((
                    "SomeResourcesRemain",
                    format!(
                        "Some resources are remaining: {}",
                        instances(&left.objects, " has ")
                    ),
                )),
                "NamespaceFinalizersRemaining" if !left.finalizers.is_empty() => Some((
                    "SomeFinalizersRemain",
                    format!(
                        "Some content in the namespace has finalizers remaining: {}",
                        instances(&left.finalizers, " in ")
                    ),
                )),
                _ => None,
            };
            let status = if bad.is_some() { "True" } else { "False" };
            let (reason, message) = bad.unwrap_or_else(|| (reason, message.to_owned()));
            let before = old.as_array().into_iter().flatten();
            let before = before
                .filter(|one| one["type"] == kind && one["status"] == status)
                .find_map(|one| one["lastTransitionTime"].as_str());
            json!({
                "type": kind,
                "status": status,
                "lastTransitionTime": before.map_or_else(|| rfc3339(options.now), str::to_owned),
                "reason": reason,
                "message": message,
            })
        })
        .collect()
}
