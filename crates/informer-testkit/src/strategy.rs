//! How kube-apiserver 1.36 treats the objects of each built-in kind: the facts of its registry strategies
//! (`pkg/registry/**/strategy.go`) that clients can tell.

use serde_json::{Value, json};

use crate::model::NameForm;
use crate::resource::ResourceType;

/// Kinds whose objects have a `metadata.generation`.
const GENERATIONS: &[(&str, &str)] = &[
    ("", "pods"),
    ("", "podtemplates"),
    ("", "replicationcontrollers"),
    (
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicybindings",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "cronjobs"),
    ("batch", "jobs"),
    ("discovery.k8s.io", "endpointslices"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    (
        "flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations",
    ),
    ("networking.k8s.io", "ingressclasses"),
    ("networking.k8s.io", "ingresses"),
    ("networking.k8s.io", "networkpolicies"),
    ("policy", "poddisruptionbudgets"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "resourceslices"),
    ("scheduling.k8s.io", "priorityclasses"),
];

/// Kinds whose objects are replaced only in a version that the request names (`AllowUnconditionalUpdate` is false).
const VERSIONED_UPDATES: &[(&str, &str)] = &[
    (
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicybindings",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
    ),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
    ("certificates.k8s.io", "clustertrustbundles"),
    ("coordination.k8s.io", "leasecandidates"),
    ("coordination.k8s.io", "leases"),
    ("node.k8s.io", "runtimeclasses"),
    ("policy", "poddisruptionbudgets"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csistoragecapacities"),
    ("storage.k8s.io", "volumeattachments"),
];

/// Kinds whose objects a replace creates if they do not exist (`AllowCreateOnUpdate`).
const CREATED_BY_UPDATES: &[(&str, &str)] = &[
    ("", "endpoints"),
    ("", "events"),
    ("", "limitranges"),
    ("", "services"),
    ("coordination.k8s.io", "leasecandidates"),
    ("coordination.k8s.io", "leases"),
    ("events.k8s.io", "events"),
    ("node.k8s.io", "runtimeclasses"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "roles"),
];

/// Kinds whose DELETE answers with the object that was deleted, not with a status (`ReturnDeletedObject`).
const RETURNED_WHEN_DELETED: &[(&str, &str)] = &[
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "podtemplates"),
    ("", "resourcequotas"),
    ("", "serviceaccounts"),
    ("", "services"),
];

/// Kinds whose names are anything that fits into a path.
const PATH_NAMES: &[(&str, &str)] = &[
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "roles"),
];

/// Kinds whose names are one DNS label.
const LABEL_NAMES: &[(&str, &str)] = &[
    ("", "namespaces"),
    ("", "services"),
    ("apps", "statefulsets"),
];

/// Groups whose finalizers may be unqualified: their kinds check metadata as custom resources do.
const FREE_FINALIZERS: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "coordination.k8s.io",
];

/// Cluster-scoped kinds with field selectors of their own, without `metadata.namespace`.
const NOT_SELECTED_BY_NAMESPACE: &[(&str, &str)] = &[
    ("", "namespaces"),
    ("", "nodes"),
    ("certificates.k8s.io", "certificatesigningrequests"),
];
/// Kinds of which a delete without a policy orphans the dependents (`DefaultGarbageCollectionPolicy`).
const ORPHANING: &[(&str, &str)] = &[("", "replicationcontrollers"), ("batch", "jobs")];

impl ResourceType {
    /// Whether objects have a generation. Custom resources always do.
    pub(crate) fn has_generation(&self) -> bool {
        self.custom || self.is_in(GENERATIONS)
    }

    /// The metadata whose change counts as a new generation, beside all that is no metadata.
    pub(crate) fn counted_metadata(&self) -> Option<&'static str> {
        match (self.group.as_str(), self.plural.as_str()) {
            ("apps", "deployments") => Some("annotations"),
            ("discovery.k8s.io", "endpointslices") => Some("labels"),
            _ => None,
        }
    }

    /// Whether a replace must name the version that it replaces. That of a custom resource always must.
    pub(crate) fn needs_version(&self) -> bool {
        self.custom || self.is_in(VERSIONED_UPDATES)
    }

    /// Whether a replace creates an object that does not exist.
    pub(crate) fn is_created_by_updates(&self) -> bool {
        !self.custom && self.is_in(CREATED_BY_UPDATES)
    }

    /// Whether a client that creates an object may give it a status, although that is a subresource.
    pub(crate) fn keeps_status(&self) -> bool {
        !self.custom && self.plural == "nodes"
    }

    /// Whether a DELETE answers with the object that was deleted.
    pub(crate) fn is_returned_when_deleted(&self) -> bool {
        !self.custom && self.is_in(RETURNED_WHEN_DELETED)
    }

    /// Whether a delete that says nothing about dependents leaves them.
    pub(crate) fn orphans_by_default(&self) -> bool {
        !self.custom && self.version == "v1" && self.is_in(ORPHANING)
    }

    /// How names look.
    pub(crate) fn name_form(&self) -> NameForm {
        if !self.custom && self.is_in(PATH_NAMES) {
            NameForm::PathSegment
        } else if !self.custom && self.is_in(LABEL_NAMES) {
            NameForm::Label
        } else {
            NameForm::Subdomain
        }
    }

    /// Whether finalizers have to be qualified or standard ones.
    pub(crate) fn checks_finalizers(&self) -> bool {
        !self.custom && !FREE_FINALIZERS.contains(&self.group.as_str())
    }

    /// Whether field selectors may name `metadata.namespace`.
    pub(crate) fn is_selected_by_namespace(&self) -> bool {
        if self.custom {
            self.namespaced
        } else {
            !self.is_in(NOT_SELECTED_BY_NAMESPACE)
        }
    }

    /// Where a real server stores the objects, which it tells in some errors.
    pub(crate) fn storage_path(&self) -> String {
        match self.plural.as_str() {
            plural if self.custom => format!("{}/{plural}", self.group),
            "nodes" => "minions".to_owned(),
            "services" => "services/specs".to_owned(),
            "endpoints" => "services/endpoints".to_owned(),
            plural => plural.to_owned(),
        }
    }

    /// The metadata that a write of the status leaves alone; other metadata of built-in kinds it may change.
    pub(crate) fn kept_by_status_writes(&self) -> Option<&'static str> {
        match self.plural.as_str() {
            "deployments" => Some("labels"),
            "pods" => Some("ownerReferences"),
            _ => None,
        }
    }

    /// The status that a real server's types write for an object without one.
    pub(crate) fn empty_status(&self) -> Option<Value> {
        if self.custom {
            return None;
        }
        Some(match self.plural.as_str() {
            "cronjobs" | "deployments" | "jobs" => json!({}),
            "ingresses" | "services" => json!({ "loadBalancer": {} }),
            _ => return None,
        })
    }

    fn is_in(&self, table: &[(&str, &str)]) -> bool {
        table.contains(&(self.group.as_str(), self.plural.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_have_each_kind_once() {
        for table in [
            GENERATIONS,
            VERSIONED_UPDATES,
            CREATED_BY_UPDATES,
            RETURNED_WHEN_DELETED,
            PATH_NAMES,
            LABEL_NAMES,
            NOT_SELECTED_BY_NAMESPACE,
            ORPHANING,
        ] {
            assert!(table.is_sorted_by(|a, b| a < b));
        }
    }
}
