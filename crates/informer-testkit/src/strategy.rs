//! How kube-apiserver 1.36 treats the objects of each built-in kind: the facts of its registry strategies
//! (`pkg/registry/**/strategy.go`) that clients can tell.

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

/// Kinds of which a delete without a policy orphans the dependents (`DefaultGarbageCollectionPolicy`).
const ORPHANING: &[(&str, &str)] = &[("", "replicationcontrollers"), ("batch", "jobs")];

impl ResourceType {
    /// Whether objects have a generation. Custom resources always do.
    pub(crate) fn has_generation(&self) -> bool {
        self.custom || self.is_in(GENERATIONS)
    }

    /// Whether a replace must name the version that it replaces. That of a custom resource always must.
    pub(crate) fn needs_version(&self) -> bool {
        self.custom || self.is_in(VERSIONED_UPDATES)
    }

    /// Whether a replace creates an object that does not exist.
    pub(crate) fn is_created_by_updates(&self) -> bool {
        !self.custom && self.is_in(CREATED_BY_UPDATES)
    }

    /// Whether a delete that says nothing about dependents leaves them.
    pub(crate) fn orphans_by_default(&self) -> bool {
        !self.custom && self.version == "v1" && self.is_in(ORPHANING)
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
            ORPHANING,
        ] {
            assert!(table.is_sorted_by(|a, b| a < b));
        }
    }
}
