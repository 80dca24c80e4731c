//! Resources: the collections of an API server.

use std::borrow::Cow;
use std::fmt;

use crate::protobuf::Message;

/// A kind of objects that an API server serves: its group, version, kind, plural name and scope.
///
/// ```
/// use informer_wire::{Resource, Scope};
///
/// let pods = Resource::core("v1", "Pod", "pods", Scope::Namespaced);
/// assert_eq!(pods.api_version(), "v1");
/// let deployments = Resource::new("apps", "v1", "Deployment", "deployments", Scope::Namespaced);
/// assert_eq!(deployments.api_version(), "apps/v1");
/// assert_eq!(deployments.to_string(), "apps/v1/deployments");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[doc(alias = "GroupVersionResource")]
#[doc(alias = "GroupVersionKind")]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// The version within the group, such as `v1`.
    pub version: Cow<'static, str>,
    /// The kind of an object, such as `Pod`.
    pub kind: Cow<'static, str>,
    /// The plural name, which URLs have, such as `pods`.
    pub plural: Cow<'static, str>,
    /// Whether its objects have a namespace.
    pub scope: Scope,
}

/// Whether the objects of a resource have a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Objects have a namespace.
    Namespaced,
    /// Objects have no namespace.
    Cluster,
}

impl Resource {
    /// Makes a resource of a named group.
    pub fn new(
        group: impl Into<Cow<'static, str>>,
        version: impl Into<Cow<'static, str>>,
        kind: impl Into<Cow<'static, str>>,
        plural: impl Into<Cow<'static, str>>,
        scope: Scope,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            scope,
        }
    }

    /// Makes a resource of the core group.
    pub fn core(
        version: impl Into<Cow<'static, str>>,
        kind: impl Into<Cow<'static, str>>,
        plural: impl Into<Cow<'static, str>>,
        scope: Scope,
    ) -> Self {
        Self::new("", version, kind, plural, scope)
    }

    /// Returns the group and version as objects have them: `v1`, `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.version)
        } else {
            Cow::Owned(format!("{}/{}", self.group, self.version))
        }
    }

    /// Returns `true` if servers have protobuf for this kind, and this crate can read it: the kinds of Kubernetes' own
    /// groups, also those of alpha and beta versions. Of others, custom resources above all, ask for JSON.
    ///
    /// ```
    /// use informer_wire::{Resource, Scope};
    ///
    /// assert!(Resource::core("v1", "Pod", "pods", Scope::Namespaced).has_protobuf());
    /// assert!(!Resource::new("demo.example", "v1", "Widget", "widgets", Scope::Namespaced).has_protobuf());
    /// ```
    #[must_use]
    pub fn has_protobuf(&self) -> bool {
        Message::of_kind(&self.api_version(), &self.kind).is_some()
    }
}

impl fmt::Display for Resource {
    /// `pods` of the core group is `v1/pods`; others are `group/version/plural`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.plural)
    }
}

/// A type that has a resource. Every k8s-openapi type with a collection does (feature `k8s-openapi`); what kube's
/// derive makes does after one line, `kube_object!(Widget)`.
pub trait StaticResource {
    /// The resource of this type's objects.
    fn resource() -> Resource;
}

/// Makes a type that kube's `CustomResource` derives an object that knows its resource: all that an informer, an `Api`
/// and a factory ask for. Comes with the feature `k8s-openapi`.
///
/// Group, version, kind, plural and scope are those of `#[kube(...)]`. The program that calls it must have `kube` among
/// its dependencies, under that name.
///
/// ```text
/// #[derive(kube::CustomResource, serde::Serialize, serde::Deserialize, schemars::JsonSchema, Debug, Clone)]
/// #[kube(group = "demo.example", version = "v1", kind = "Widget", namespaced)]
/// struct WidgetSpec {
///     size: u32,
/// }
///
/// informer_wire::kube_object!(Widget);
/// ```
#[cfg(feature = "k8s-openapi")]
#[macro_export]
macro_rules! kube_object {
    ($type:ty) => {
        $crate::__private::object!($type);

        impl $crate::StaticResource for $type {
            fn resource() -> $crate::Resource {
                let is_namespaced = ::std::any::TypeId::of::<<$type as ::kube::Resource>::Scope>()
                    == ::std::any::TypeId::of::<::kube::core::NamespaceResourceScope>();
                let scope = if is_namespaced {
                    $crate::Scope::Namespaced
                } else {
                    $crate::Scope::Cluster
                };
                $crate::Resource::new(
                    <$type as ::kube::Resource>::group(&()).into_owned(),
                    <$type as ::kube::Resource>::version(&()).into_owned(),
                    <$type as ::kube::Resource>::kind(&()).into_owned(),
                    <$type as ::kube::Resource>::plural(&()).into_owned(),
                    scope,
                )
            }
        }
    };
}

#[cfg(feature = "k8s-openapi")]
impl<T> StaticResource for T
where
    T: k8s_openapi::Resource,
    T::Scope: KnownScope,
{
    fn resource() -> Resource {
        Resource::new(
            T::GROUP,
            T::VERSION,
            T::KIND,
            T::URL_PATH_SEGMENT,
            T::Scope::SCOPE,
        )
    }
}

/// The scopes of k8s-openapi whose collections can be listed.
#[cfg(feature = "k8s-openapi")]
pub trait KnownScope {
    /// The same scope as ours.
    const SCOPE: Scope;
}

#[cfg(feature = "k8s-openapi")]
impl KnownScope for k8s_openapi::NamespaceResourceScope {
    const SCOPE: Scope = Scope::Namespaced;
}

#[cfg(feature = "k8s-openapi")]
impl KnownScope for k8s_openapi::ClusterResourceScope {
    const SCOPE: Scope = Scope::Cluster;
}
