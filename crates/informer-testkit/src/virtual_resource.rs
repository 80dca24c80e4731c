//! Resources without objects: a create answers, and nothing is stored.

/// One of them.
#[derive(Debug)]
pub(crate) struct VirtualResource {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
}

const fn row(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
) -> VirtualResource {
    VirtualResource {
        group,
        version: "v1",
        kind,
        plural,
        namespaced,
    }
}

/// All of them.
pub(crate) const ALL: [VirtualResource; 7] = [
    row("", "Binding", "bindings", true),
    row(
        "authentication.k8s.io",
        "SelfSubjectReview",
        "selfsubjectreviews",
        false,
    ),
    row(
        "authentication.k8s.io",
        "TokenReview",
        "tokenreviews",
        false,
    ),
    row(
        "authorization.k8s.io",
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        true,
    ),
    row(
        "authorization.k8s.io",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        false,
    ),
    row(
        "authorization.k8s.io",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        false,
    ),
    row(
        "authorization.k8s.io",
        "SubjectAccessReview",
        "subjectaccessreviews",
        false,
    ),
];

/// Returns the one of a path.
pub(crate) fn find(group: &str, version: &str, plural: &str) -> Option<&'static VirtualResource> {
    ALL.iter()
        .find(|one| (one.group, one.version, one.plural) == (group, version, plural))
}
