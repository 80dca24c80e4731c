//! Discovery: the resources of a server, requested once and kept for a while.

mod cache;
mod documents;
mod fetch;

use std::borrow::Cow;

use informer_wire::{Resource, Scope};

pub(crate) use cache::DiscoveryCache;

/// The resources of a server at one moment.
///
/// ```no_run
/// # async fn example(client: informer_client::Client) -> Result<(), informer_client::Error> {
/// let discovery = client.discovery().await?;
/// // From what people write to the resource, and from kind to plural.
/// let deployments = discovery.find("deploy").expect("every cluster has deployments");
/// assert_eq!(discovery.find_kind("apps/v1", "Deployment"), Some(deployments));
/// for resource in discovery.resources() {
///     println!("{resource}: {}", resource.kind);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
#[doc(alias = "RESTMapper")]
pub struct Discovery {
    /// In the order in which names are searched: the core group first, then as the server lists the groups, the
    /// preferred version of each group before its others.
    entries: Vec<Entry>,
    /// Groups and versions whose server could not be reached, as `group/version`.
    unavailable: Vec<String>,
}

/// A resource with its names.
#[derive(Debug, Clone)]
struct Entry {
    resource: Resource,
    singular: String,
    short_names: Vec<String>,
}

impl Entry {
    /// Returns how well a name fits: the plural name best, then the singular one and the kind, then a short one.
    fn rank(&self, name: &str) -> Option<u8> {
        if self.resource.plural == name {
            Some(0)
        } else if self.singular == name || self.resource.kind.eq_ignore_ascii_case(name) {
            Some(1)
        } else if self.short_names.iter().any(|short| short == name) {
            Some(2)
        } else {
            None
        }
    }
}

/// A name as people write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named<'a> {
    /// `pods`.
    Alone(&'a str),
    /// `deployments.apps`, `deployments.v1.apps`.
    Dotted(&'a str, &'a str),
    /// `v1/pods`, `apps/v1/deployments`: group, version, name.
    Full(&'a str, &'a str, &'a str),
}

impl<'a> Named<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        match text.split('/').collect::<Vec<_>>()[..] {
            [name] => Some(match name.split_once('.') {
                Some((name, group)) => Self::Dotted(name, group),
                None => Self::Alone(name),
            }),
            [version, name] => Some(Self::Full("", version, name)),
            [group, version, name] => Some(Self::Full(group, version, name)),
            _ => None,
        }
    }

    const fn name(self) -> &'a str {
        match self {
            Self::Alone(name) | Self::Dotted(name, _) | Self::Full(_, _, name) => name,
        }
    }

    /// Returns `true` if it may be of this group and version.
    fn is_in(self, group: &str, version: &str) -> bool {
        match self {
            Self::Alone(_) => true,
            Self::Dotted(_, wanted) => {
                let versioned = wanted
                    .strip_prefix(version)
                    .and_then(|rest| rest.strip_prefix('.'));
                wanted == group || versioned == Some(group)
            }
            Self::Full(wanted, wanted_version, _) => wanted == group && wanted_version == version,
        }
    }
}

impl Discovery {
    /// Returns the resource of a name that people use: `pods`, `po`, `pod`, `deployments.apps`, `deployments.v1.apps`,
    /// `v1/pods`, `apps/v1/deployments`. Without a version it is the one that the server prefers; without a group the
    /// first one that has the name, the core group before others. A plural name counts before a singular one or a kind,
    /// and those before a short one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Resource> {
        let named = Named::parse(name)?;
        let alone = named.name().to_lowercase();
        self.entries
            .iter()
            .filter(|entry| named.is_in(&entry.resource.group, &entry.resource.version))
            .filter_map(|entry| Some((entry.rank(&alone)?, entry)))
            // The first of those that fit best.
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, entry)| entry.resource.clone())
    }

    /// Returns the resource of the objects of this kind, from their `apiVersion` and `kind`.
    #[must_use]
    pub fn find_kind(&self, api_version: &str, kind: &str) -> Option<Resource> {
        self.resources()
            .find(|resource| resource.kind == kind && resource.api_version() == api_version)
            .cloned()
    }

    /// Returns all resources, without subresources.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.entries.iter().map(|entry| &entry.resource)
    }

    /// Returns the groups and versions whose server is down, such as `metrics.k8s.io/v1beta1`.
    pub fn unavailable(&self) -> impl Iterator<Item = &str> {
        self.unavailable.iter().map(String::as_str)
    }

    /// Returns a group that is unavailable and may have this name.
    fn may_have(&self, name: &str) -> Option<&str> {
        let named = Named::parse(name)?;
        self.unavailable().find(|place| {
            let (group, version) = place.rsplit_once('/').unwrap_or(("", place));
            named.is_in(group, version)
        })
    }

    fn add(&mut self, group: &str, version: &str, served: documents::Served) {
        // `pods/status` is a part of pods.
        if served.name.contains('/') || served.name.is_empty() {
            return;
        }
        let scope = if served.namespaced {
            Scope::Namespaced
        } else {
            Scope::Cluster
        };
        let own = |text: &str| Cow::Owned(text.to_owned());
        let resource = Resource::new(
            own(group),
            own(version),
            own(&served.kind),
            own(&served.name),
            scope,
        );
        self.entries.push(Entry {
            resource,
            singular: served.singular_name,
            short_names: served.short_names.unwrap_or_default(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(kind: &str, plural: &str, singular: &str, short: &[&str]) -> documents::Served {
        documents::Served {
            name: plural.to_owned(),
            singular_name: singular.to_owned(),
            namespaced: true,
            kind: kind.to_owned(),
            short_names: Some(short.iter().map(|name| (*name).to_owned()).collect()),
        }
    }

    fn discovery() -> Discovery {
        let mut all = Discovery::default();
        all.add("", "v1", served("Pod", "pods", "pod", &["po"]));
        all.add("", "v1", served("Pod", "pods/status", "", &[]));
        all.add("", "v1", served("Event", "events", "event", &["ev"]));
        all.add(
            "apps",
            "v1",
            served("Deployment", "deployments", "deployment", &["deploy"]),
        );
        all.add(
            "apps",
            "v1beta1",
            served("Deployment", "deployments", "deployment", &["deploy"]),
        );
        all.add(
            "events.k8s.io",
            "v1",
            served("Event", "events", "event", &["ev"]),
        );
        // A custom resource that is called as others are called for short.
        all.add("x.example", "v1", served("Po", "deploy", "po", &["pods"]));
        all.unavailable.push("metrics.k8s.io/v1beta1".to_owned());
        all
    }

    #[test]
    fn names_are_found_as_by_kubectl() {
        let all = discovery();
        for (name, found) in [
            ("pods", Some("v1/pods")),
            ("Pod", Some("v1/pods")),
            ("v1/po", Some("v1/pods")),
            ("pods/status", None),
            ("events", Some("v1/events")),
            ("ev.events.k8s.io", Some("events.k8s.io/v1/events")),
            ("events.v1.events.k8s.io", Some("events.k8s.io/v1/events")),
            ("deployments", Some("apps/v1/deployments")),
            ("deploy.apps", Some("apps/v1/deployments")),
            ("deployments.v1beta1.apps", Some("apps/v1beta1/deployments")),
            ("apps/v1beta1/deployments", Some("apps/v1beta1/deployments")),
            // A whole name counts before another's short one.
            ("deploy", Some("x.example/v1/deploy")),
            ("po", Some("x.example/v1/deploy")),
            ("pods.x.example", Some("x.example/v1/deploy")),
            ("v2/pods", None),
            ("pods.apps", None),
            ("", None),
            ("a/b/c/d", None),
        ] {
            let resource = all.find(name).map(|resource| resource.to_string());
            assert_eq!(resource.as_deref(), found, "{name}");
        }
    }

    #[test]
    fn kind_is_found() {
        let all = discovery();
        let of = |version, kind| all.find_kind(version, kind).map(|r| r.to_string());
        assert_eq!(
            of("apps/v1beta1", "Deployment").unwrap(),
            "apps/v1beta1/deployments"
        );
        assert_eq!(of("v1", "Pod").unwrap(), "v1/pods");
        assert_eq!(of("v1", "Deployment"), None);
        assert_eq!(of("v1", "pod"), None);
    }

    #[test]
    fn unknown_name_may_belong_to_an_unavailable_group() {
        let all = discovery();
        for name in [
            "nodes",
            "nodes.metrics.k8s.io",
            "metrics.k8s.io/v1beta1/nodes",
        ] {
            assert!(all.may_have(name).is_some(), "{name}");
        }
        for name in ["nodes.apps", "v1/nodes", "metrics.k8s.io/v1/nodes"] {
            assert!(all.may_have(name).is_none(), "{name}");
        }
    }
}
