//! Tests of the table of built-in resources.

use super::*;

fn shown(name: &str) -> String {
    Resource::builtin(name)
        .map(|resource| resource.to_string())
        .unwrap_or_default()
}

#[test]
fn resource_is_found_by_every_name_of_kubectl() {
    for name in ["pods", "pod", "po", "Pod", "PODS", "v1/pods", "v1/pod"] {
        assert_eq!(shown(name), "v1/pods", "{name}");
    }
    for name in [
        "deployments",
        "deploy",
        "apps/v1/deployments",
        "deployments.apps",
        "deployment.apps",
        "deployments.v1.apps",
        "deploy.apps",
    ] {
        assert_eq!(shown(name), "apps/v1/deployments", "{name}");
    }
    assert_eq!(shown("events"), "v1/events");
    assert_eq!(shown("events.events.k8s.io"), "events.k8s.io/v1/events");
    assert_eq!(shown("ing"), "networking.k8s.io/v1/ingresses");
    assert_eq!(shown("hpa"), "autoscaling/v2/horizontalpodautoscalers");
    assert_eq!(
        shown("autoscaling/v1/hpa"),
        "autoscaling/v1/horizontalpodautoscalers"
    );
}

#[test]
fn unknown_name_finds_no_resource() {
    for name in [
        "",
        "/",
        ".",
        "widgets",
        "v2/pods",
        "apps/v1/pods",
        "pods.v1",
        "pods.",
        "/pods",
    ] {
        assert_eq!(shown(name), "", "{name}");
    }
}

/// The group, version, kind, plural name and scope that k8s-openapi gives its types.
macro_rules! theirs {
    ($($type:path),* $(,)?) => {
        [$((
            <$type as k8s_openapi::Resource>::GROUP,
            <$type as k8s_openapi::Resource>::VERSION,
            <$type as k8s_openapi::Resource>::KIND,
            <$type as k8s_openapi::Resource>::URL_PATH_SEGMENT,
            std::any::type_name::<<$type as k8s_openapi::Resource>::Scope>(),
        )),*]
    };
}

#[test]
fn the_table_says_what_k8s_openapi_says() {
    use k8s_openapi::{api, apiextensions_apiserver, kube_aggregator};
    let theirs = theirs![
        api::core::v1::Pod,
        api::core::v1::Service,
        api::core::v1::ConfigMap,
        api::core::v1::Secret,
        api::core::v1::Endpoints,
        api::core::v1::Event,
        api::core::v1::LimitRange,
        api::core::v1::PersistentVolumeClaim,
        api::core::v1::PodTemplate,
        api::core::v1::ReplicationController,
        api::core::v1::ResourceQuota,
        api::core::v1::ServiceAccount,
        api::core::v1::Namespace,
        api::core::v1::Node,
        api::core::v1::PersistentVolume,
        api::apps::v1::Deployment,
        api::apps::v1::ReplicaSet,
        api::apps::v1::StatefulSet,
        api::apps::v1::DaemonSet,
        api::apps::v1::ControllerRevision,
        api::batch::v1::Job,
        api::batch::v1::CronJob,
        api::autoscaling::v2::HorizontalPodAutoscaler,
        api::autoscaling::v1::HorizontalPodAutoscaler,
        api::policy::v1::PodDisruptionBudget,
        api::networking::v1::Ingress,
        api::networking::v1::NetworkPolicy,
        api::networking::v1::IngressClass,
        api::networking::v1::IPAddress,
        api::networking::v1::ServiceCIDR,
        api::rbac::v1::Role,
        api::rbac::v1::RoleBinding,
        api::rbac::v1::ClusterRole,
        api::rbac::v1::ClusterRoleBinding,
        api::coordination::v1::Lease,
        api::discovery::v1::EndpointSlice,
        api::events::v1::Event,
        api::storage::v1::StorageClass,
        api::storage::v1::VolumeAttachment,
        api::storage::v1::VolumeAttributesClass,
        api::storage::v1::CSIDriver,
        api::storage::v1::CSINode,
        api::storage::v1::CSIStorageCapacity,
        api::scheduling::v1::PriorityClass,
        api::node::v1::RuntimeClass,
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        kube_aggregator::pkg::apis::apiregistration::v1::APIService,
        api::certificates::v1::CertificateSigningRequest,
        api::admissionregistration::v1::MutatingWebhookConfiguration,
        api::admissionregistration::v1::ValidatingWebhookConfiguration,
        api::admissionregistration::v1::ValidatingAdmissionPolicy,
        api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
        api::flowcontrol::v1::FlowSchema,
        api::flowcontrol::v1::PriorityLevelConfiguration,
        api::resource::v1::DeviceClass,
        api::resource::v1::ResourceClaim,
        api::resource::v1::ResourceClaimTemplate,
        api::resource::v1::ResourceSlice,
        api::admissionregistration::v1::MutatingAdmissionPolicy,
        api::admissionregistration::v1::MutatingAdmissionPolicyBinding,
    ];
    assert_eq!(theirs.len(), TABLE.len());
    for (group, version, kind, plural, scope) in theirs {
        let ours = TABLE
            .iter()
            .find(|r| (r.group, r.version, r.kind) == (group, version, kind));
        let ours = ours.unwrap_or_else(|| panic!("{kind} is missing"));
        assert_eq!(ours.plural, plural);
        assert_eq!(
            ours.scope == Scope::Namespaced,
            scope.ends_with("NamespaceResourceScope"),
            "{kind}"
        );
    }
}

#[test]
fn every_builtin_resource_is_listed_once() {
    for (at, a) in TABLE.iter().enumerate() {
        for b in &TABLE[at + 1..] {
            assert_ne!(
                (a.group, a.version, a.plural),
                (b.group, b.version, b.plural)
            );
        }
        assert!(
            a.plural.chars().all(|c| c.is_ascii_lowercase()),
            "{}",
            a.plural
        );
        assert!(a.resource().path(None, None).is_ok());
    }
}
