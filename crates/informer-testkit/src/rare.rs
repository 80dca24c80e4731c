//! The built-in kinds that few programs meet: they are served, with no rules of their own.

use crate::resource::ResourceType;

/// Group, kind, plural, whether namespaced, whether with a status subresource.
type Row = (&'static str, &'static str, &'static str, bool, bool);

const KINDS: [Row; 13] = [
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        false,
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        false,
        false,
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        false,
        true,
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        false,
        false,
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "FlowSchema",
        "flowschemas",
        false,
        true,
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        false,
        true,
    ),
    (
        "networking.k8s.io",
        "IPAddress",
        "ipaddresses",
        false,
        false,
    ),
    (
        "networking.k8s.io",
        "ServiceCIDR",
        "servicecidrs",
        false,
        true,
    ),
    (
        "resource.k8s.io",
        "DeviceClass",
        "deviceclasses",
        false,
        false,
    ),
    (
        "resource.k8s.io",
        "ResourceClaim",
        "resourceclaims",
        true,
        true,
    ),
    (
        "resource.k8s.io",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        true,
        false,
    ),
    (
        "resource.k8s.io",
        "ResourceSlice",
        "resourceslices",
        false,
        false,
    ),
    (
        "storage.k8s.io",
        "VolumeAttributesClass",
        "volumeattributesclasses",
        false,
        false,
    ),
];

/// Returns their types.
pub(crate) fn resource_types() -> Vec<ResourceType> {
    let types = KINDS
        .iter()
        .map(|(group, kind, plural, namespaced, has_status)| {
            let mut resource = ResourceType::new(*group, "v1", *kind, *plural);
            resource.namespaced = *namespaced;
            resource.has_status = *has_status;
            resource.custom = false;
            let short: &[&str] = match *kind {
                "IPAddress" => &["ip"],
                "VolumeAttributesClass" => &["vac"],
                _ => &[],
            };
            resource.short_names(short.iter().copied())
        });
    types.collect()
}
