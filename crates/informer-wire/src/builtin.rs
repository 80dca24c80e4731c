//! The resources that every cluster has, known without asking a server.

use crate::resource::{Resource, Scope};

/// A resource of Kubernetes itself, with the names that people use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuiltinResource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version within the group.
    pub version: &'static str,
    /// The kind of an object, such as `Pod`.
    pub kind: &'static str,
    /// The plural name, which URLs have, such as `pods`.
    pub plural: &'static str,
    /// Whether its objects have a namespace.
    pub scope: Scope,
    /// Short names, such as `po`.
    pub short_names: &'static [&'static str],
}

impl BuiltinResource {
    /// Returns all of them, the core group first.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        TABLE
    }

    /// Returns the resource itself.
    #[must_use]
    pub fn resource(&self) -> Resource {
        Resource::new(self.group, self.version, self.kind, self.plural, self.scope)
    }

    /// Returns the name of one object, such as `pod`.
    #[must_use]
    pub fn singular(&self) -> String {
        self.kind.to_ascii_lowercase()
    }

    /// Whether a name without group and version means this resource.
    fn is_named(&self, name: &str) -> bool {
        self.plural == name
            || self.short_names.contains(&name)
            || self.kind.eq_ignore_ascii_case(name)
    }

    /// Whether `group` is this resource's group, or `version.group` its version and group.
    fn is_in(&self, group: &str) -> bool {
        let rest = group
            .strip_prefix(self.version)
            .and_then(|rest| rest.strip_prefix('.'));
        !self.group.is_empty() && (self.group == group || rest == Some(self.group))
    }
}

impl Resource {
    /// The resource of Kubernetes itself that goes by this name, in the forms that `kubectl` takes: `pods`, `pod`,
    /// `po`, `v1/pods`, `apps/v1/deployments`, `deployments.apps`, `deployments.v1.apps`.
    ///
    /// ```
    /// use informer_wire::Resource;
    ///
    /// let deployments = Resource::builtin("deploy").expect("every cluster has deployments");
    /// assert_eq!(deployments.to_string(), "apps/v1/deployments");
    /// assert_eq!(Resource::builtin("deployments.apps"), Some(deployments));
    /// assert_eq!(Resource::builtin("widgets"), None);
    /// ```
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let found = |test: &dyn Fn(&BuiltinResource) -> bool| {
            TABLE
                .iter()
                .find(|resource| test(resource))
                .map(BuiltinResource::resource)
        };
        match name.rsplit_once('/') {
            Some((api_version, name)) => {
                let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
                found(&|r| r.group == group && r.version == version && r.is_named(name))
            }
            None => match name.split_once('.') {
                Some((name, group)) => found(&|r| r.is_in(group) && r.is_named(name)),
                None => found(&|r| r.is_named(&name)),
            },
        }
    }
}

const fn entry(
    scope: Scope,
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
) -> BuiltinResource {
    BuiltinResource {
        group,
        version,
        kind,
        plural,
        scope,
        short_names,
    }
}

const NS: Scope = Scope::Namespaced;
const CLUSTER: Scope = Scope::Cluster;
const ADMISSION: &str = "admissionregistration.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const STORAGE: &str = "storage.k8s.io";
const FLOW: &str = "flowcontrol.apiserver.k8s.io";

/// The stable versions that current servers serve and that can be listed and watched. Where two groups have the same
/// plural name, the one that `kubectl` prefers stands first.
#[rustfmt::skip]
static TABLE: &[BuiltinResource] = &[
    entry(NS, "", "v1", "Pod", "pods", &["po"]),
    entry(NS, "", "v1", "Service", "services", &["svc"]),
    entry(NS, "", "v1", "ConfigMap", "configmaps", &["cm"]),
    entry(NS, "", "v1", "Secret", "secrets", &[]),
    entry(NS, "", "v1", "Endpoints", "endpoints", &["ep"]),
    entry(NS, "", "v1", "Event", "events", &["ev"]),
    entry(NS, "", "v1", "LimitRange", "limitranges", &["limits"]),
    entry(NS, "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"]),
    entry(NS, "", "v1", "PodTemplate", "podtemplates", &[]),
    entry(NS, "", "v1", "ReplicationController", "replicationcontrollers", &["rc"]),
    entry(NS, "", "v1", "ResourceQuota", "resourcequotas", &["quota"]),
    entry(NS, "", "v1", "ServiceAccount", "serviceaccounts", &["sa"]),
    entry(CLUSTER, "", "v1", "Namespace", "namespaces", &["ns"]),
    entry(CLUSTER, "", "v1", "Node", "nodes", &["no"]),
    entry(CLUSTER, "", "v1", "PersistentVolume", "persistentvolumes", &["pv"]),
    entry(NS, "apps", "v1", "Deployment", "deployments", &["deploy"]),
    entry(NS, "apps", "v1", "ReplicaSet", "replicasets", &["rs"]),
    entry(NS, "apps", "v1", "StatefulSet", "statefulsets", &["sts"]),
    entry(NS, "apps", "v1", "DaemonSet", "daemonsets", &["ds"]),
    entry(NS, "apps", "v1", "ControllerRevision", "controllerrevisions", &[]),
    entry(NS, "batch", "v1", "Job", "jobs", &[]),
    entry(NS, "batch", "v1", "CronJob", "cronjobs", &["cj"]),
    entry(NS, "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]),
    entry(NS, "autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]),
    entry(NS, "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"]),
    entry(NS, NETWORKING, "v1", "Ingress", "ingresses", &["ing"]),
    entry(NS, NETWORKING, "v1", "NetworkPolicy", "networkpolicies", &["netpol"]),
    entry(CLUSTER, NETWORKING, "v1", "IngressClass", "ingressclasses", &[]),
    entry(CLUSTER, NETWORKING, "v1", "IPAddress", "ipaddresses", &["ip"]),
    entry(CLUSTER, NETWORKING, "v1", "ServiceCIDR", "servicecidrs", &[]),
    entry(NS, RBAC, "v1", "Role", "roles", &[]),
    entry(NS, RBAC, "v1", "RoleBinding", "rolebindings", &[]),
    entry(CLUSTER, RBAC, "v1", "ClusterRole", "clusterroles", &[]),
    entry(CLUSTER, RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", &[]),
    entry(NS, "coordination.k8s.io", "v1", "Lease", "leases", &[]),
    entry(NS, "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", &[]),
    entry(NS, "events.k8s.io", "v1", "Event", "events", &["ev"]),
    entry(CLUSTER, STORAGE, "v1", "StorageClass", "storageclasses", &["sc"]),
    entry(CLUSTER, STORAGE, "v1", "VolumeAttachment", "volumeattachments", &[]),
    entry(CLUSTER, STORAGE, "v1", "VolumeAttributesClass", "volumeattributesclasses", &["vac"]),
    entry(CLUSTER, STORAGE, "v1", "CSIDriver", "csidrivers", &[]),
    entry(CLUSTER, STORAGE, "v1", "CSINode", "csinodes", &[]),
    entry(NS, STORAGE, "v1", "CSIStorageCapacity", "csistoragecapacities", &[]),
    entry(CLUSTER, "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", &["pc"]),
    entry(CLUSTER, "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", &[]),
    entry(CLUSTER, "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", &["crd", "crds"]),
    entry(CLUSTER, "apiregistration.k8s.io", "v1", "APIService", "apiservices", &[]),
    entry(CLUSTER, "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", &["csr"]),
    entry(CLUSTER, ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", &[]),
    entry(CLUSTER, ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", &[]),
    entry(CLUSTER, ADMISSION, "v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", &[]),
    entry(CLUSTER, ADMISSION, "v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", &[]),
    entry(CLUSTER, ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", &[]),
    entry(CLUSTER, ADMISSION, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", &[]),
    entry(CLUSTER, FLOW, "v1", "FlowSchema", "flowschemas", &[]),
    entry(CLUSTER, FLOW, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", &[]),
    entry(CLUSTER, "resource.k8s.io", "v1", "DeviceClass", "deviceclasses", &[]),
    entry(NS, "resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", &[]),
    entry(NS, "resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates", &[]),
    entry(CLUSTER, "resource.k8s.io", "v1", "ResourceSlice", "resourceslices", &[]),
];

#[cfg(test)]
mod tests;
