//! The built-in kinds: the common ones of Kubernetes' own API groups.

use crate::resource::ResourceType;

const NAMESPACED: bool = true;
const CLUSTER: bool = false;
const STATUS: bool = true;
const NO_STATUS: bool = false;

/// Kind, plural, short names, whether namespaced, whether with a status subresource.
type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    bool,
    bool,
);

/// Group, version and the kinds in it. The first group that has a plural counts for a name without a group, so core is
/// before others and `autoscaling/v2` before `v1`.
const GROUPS: &[(&str, &str, &[Row])] = &[
    (
        "",
        "v1",
        &[
            ("ConfigMap", "configmaps", &["cm"], NAMESPACED, NO_STATUS),
            ("Endpoints", "endpoints", &["ep"], NAMESPACED, NO_STATUS),
            ("Event", "events", &["ev"], NAMESPACED, NO_STATUS),
            (
                "LimitRange",
                "limitranges",
                &["limits"],
                NAMESPACED,
                NO_STATUS,
            ),
            ("Namespace", "namespaces", &["ns"], CLUSTER, STATUS),
            ("Node", "nodes", &["no"], CLUSTER, STATUS),
            (
                "PersistentVolume",
                "persistentvolumes",
                &["pv"],
                CLUSTER,
                STATUS,
            ),
            (
                "PersistentVolumeClaim",
                "persistentvolumeclaims",
                &["pvc"],
                NAMESPACED,
                STATUS,
            ),
            ("Pod", "pods", &["po"], NAMESPACED, STATUS),
            ("PodTemplate", "podtemplates", &[], NAMESPACED, NO_STATUS),
            (
                "ReplicationController",
                "replicationcontrollers",
                &["rc"],
                NAMESPACED,
                STATUS,
            ),
            (
                "ResourceQuota",
                "resourcequotas",
                &["quota"],
                NAMESPACED,
                STATUS,
            ),
            ("Secret", "secrets", &[], NAMESPACED, NO_STATUS),
            ("Service", "services", &["svc"], NAMESPACED, STATUS),
            (
                "ServiceAccount",
                "serviceaccounts",
                &["sa"],
                NAMESPACED,
                NO_STATUS,
            ),
        ],
    ),
    (
        "apps",
        "v1",
        &[
            (
                "ControllerRevision",
                "controllerrevisions",
                &[],
                NAMESPACED,
                NO_STATUS,
            ),
            ("DaemonSet", "daemonsets", &["ds"], NAMESPACED, STATUS),
            ("Deployment", "deployments", &["deploy"], NAMESPACED, STATUS),
            ("ReplicaSet", "replicasets", &["rs"], NAMESPACED, STATUS),
            ("StatefulSet", "statefulsets", &["sts"], NAMESPACED, STATUS),
        ],
    ),
    (
        "batch",
        "v1",
        &[
            ("CronJob", "cronjobs", &["cj"], NAMESPACED, STATUS),
            ("Job", "jobs", &[], NAMESPACED, STATUS),
        ],
    ),
    (
        "autoscaling",
        "v2",
        &[(
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            &["hpa"],
            NAMESPACED,
            STATUS,
        )],
    ),
    (
        "autoscaling",
        "v1",
        &[(
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            &["hpa"],
            NAMESPACED,
            STATUS,
        )],
    ),
    (
        "networking.k8s.io",
        "v1",
        &[
            ("Ingress", "ingresses", &["ing"], NAMESPACED, STATUS),
            ("IngressClass", "ingressclasses", &[], CLUSTER, NO_STATUS),
            (
                "NetworkPolicy",
                "networkpolicies",
                &["netpol"],
                NAMESPACED,
                NO_STATUS,
            ),
        ],
    ),
    (
        "policy",
        "v1",
        &[(
            "PodDisruptionBudget",
            "poddisruptionbudgets",
            &["pdb"],
            NAMESPACED,
            STATUS,
        )],
    ),
    (
        "rbac.authorization.k8s.io",
        "v1",
        &[
            ("ClusterRole", "clusterroles", &[], CLUSTER, NO_STATUS),
            (
                "ClusterRoleBinding",
                "clusterrolebindings",
                &[],
                CLUSTER,
                NO_STATUS,
            ),
            ("Role", "roles", &[], NAMESPACED, NO_STATUS),
            ("RoleBinding", "rolebindings", &[], NAMESPACED, NO_STATUS),
        ],
    ),
    (
        "storage.k8s.io",
        "v1",
        &[
            ("CSIDriver", "csidrivers", &[], CLUSTER, NO_STATUS),
            ("CSINode", "csinodes", &[], CLUSTER, NO_STATUS),
            (
                "CSIStorageCapacity",
                "csistoragecapacities",
                &[],
                NAMESPACED,
                NO_STATUS,
            ),
            (
                "StorageClass",
                "storageclasses",
                &["sc"],
                CLUSTER,
                NO_STATUS,
            ),
            (
                "VolumeAttachment",
                "volumeattachments",
                &[],
                CLUSTER,
                STATUS,
            ),
        ],
    ),
    (
        "coordination.k8s.io",
        "v1",
        &[("Lease", "leases", &[], NAMESPACED, NO_STATUS)],
    ),
    (
        "discovery.k8s.io",
        "v1",
        &[(
            "EndpointSlice",
            "endpointslices",
            &[],
            NAMESPACED,
            NO_STATUS,
        )],
    ),
    (
        "events.k8s.io",
        "v1",
        &[("Event", "events", &["ev"], NAMESPACED, NO_STATUS)],
    ),
    (
        "node.k8s.io",
        "v1",
        &[("RuntimeClass", "runtimeclasses", &[], CLUSTER, NO_STATUS)],
    ),
    (
        "scheduling.k8s.io",
        "v1",
        &[(
            "PriorityClass",
            "priorityclasses",
            &["pc"],
            CLUSTER,
            NO_STATUS,
        )],
    ),
    (
        "certificates.k8s.io",
        "v1",
        &[(
            "CertificateSigningRequest",
            "certificatesigningrequests",
            &["csr"],
            CLUSTER,
            STATUS,
        )],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        &[
            (
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
                &[],
                CLUSTER,
                NO_STATUS,
            ),
            (
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
                &[],
                CLUSTER,
                NO_STATUS,
            ),
        ],
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        &[(
            "CustomResourceDefinition",
            "customresourcedefinitions",
            &["crd", "crds"],
            CLUSTER,
            STATUS,
        )],
    ),
    (
        "apiregistration.k8s.io",
        "v1",
        &[("APIService", "apiservices", &[], CLUSTER, STATUS)],
    ),
];

/// A field's path, and the value of an object that lacks it.
type Field = (&'static str, &'static str);

/// Group, plural, and the selectable fields.
const SELECTABLE: &[(&str, &str, &[Field])] = &[
    (
        "",
        "pods",
        &[
            ("spec.nodeName", ""),
            ("spec.restartPolicy", ""),
            ("spec.schedulerName", ""),
            ("spec.serviceAccountName", ""),
            ("spec.hostNetwork", "false"),
            ("status.phase", ""),
            ("status.podIP", ""),
            ("status.nominatedNodeName", ""),
        ],
    ),
    (
        "",
        "events",
        &[
            ("involvedObject.kind", ""),
            ("involvedObject.namespace", ""),
            ("involvedObject.name", ""),
            ("involvedObject.uid", ""),
            ("involvedObject.apiVersion", ""),
            ("involvedObject.resourceVersion", ""),
            ("involvedObject.fieldPath", ""),
            ("reason", ""),
            ("reportingComponent", ""),
            ("source", ""),
            ("type", ""),
        ],
    ),
    (
        "events.k8s.io",
        "events",
        &[
            ("regarding.kind", ""),
            ("regarding.namespace", ""),
            ("regarding.name", ""),
            ("regarding.uid", ""),
            ("regarding.apiVersion", ""),
            ("reason", ""),
            ("reportingController", ""),
            ("type", ""),
        ],
    ),
    ("", "namespaces", &[("status.phase", "")]),
    ("", "nodes", &[("spec.unschedulable", "false")]),
    ("", "replicationcontrollers", &[("status.replicas", "0")]),
    ("", "secrets", &[("type", "")]),
    ("", "services", &[("spec.clusterIP", ""), ("spec.type", "")]),
    ("apps", "replicasets", &[("status.replicas", "0")]),
    ("batch", "jobs", &[("status.successful", "0")]),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        &[("spec.signerName", "")],
    ),
];

/// Returns all built-in types.
pub(crate) fn resource_types() -> Vec<ResourceType> {
    let rows = GROUPS
        .iter()
        .flat_map(|(group, version, rows)| rows.iter().map(move |row| (*group, *version, row)));
    rows.map(|(group, version, row)| {
        let (kind, plural, short_names, namespaced, has_status) = row;
        let mut resource = ResourceType::new(group, version, *kind, *plural)
            .short_names(short_names.iter().copied());
        resource.namespaced = *namespaced;
        resource.has_status = *has_status;
        resource.custom = false;
        resource.selectable = selectable(group, plural);
        resource
    })
    .collect()
}

fn selectable(group: &str, plural: &str) -> Vec<(String, String)> {
    let fields = SELECTABLE
        .iter()
        .find(|(of_group, of_plural, _)| *of_group == group && *of_plural == plural)
        .map_or(&[][..], |(_, _, fields)| fields);
    fields
        .iter()
        .map(|(path, default)| ((*path).to_owned(), (*default).to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_selectable_fields_belongs_to_a_known_kind() {
        let types = resource_types();
        for (group, plural, _) in SELECTABLE {
            assert!(
                types
                    .iter()
                    .any(|known| known.group == *group && known.plural == *plural),
                "{plural}.{group}"
            );
        }
    }
}
