//! Kinds of objects: one `ResourceType` for each, and the registry of all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_wire::Status;

use crate::builtin;
use crate::definition::Definition;
use crate::fields::TypeRef;
use crate::rare;
use crate::schema::Family;
use crate::status;

/// One kind of objects: the place of its collection in the API and the shape of its objects on the wire.
///
/// ```
/// use informer_testkit::ResourceType;
///
/// let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets").short_names(["wg"]);
/// assert_eq!(widgets.api_version(), "demo.example/v1");
/// assert!(widgets.namespaced);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceType {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The kind of one object, such as `Pod`.
    pub kind: String,
    /// The kind of a list, usually the kind with `List` appended.
    pub list_kind: String,
    /// The plural in lower case, which paths have.
    pub plural: String,
    /// The singular in lower case.
    pub singular: String,
    /// Abbreviations that `kubectl` understands.
    pub short_names: Vec<String>,
    /// Whether objects have a namespace.
    pub namespaced: bool,
    /// Whether the objects look like custom resources on the wire: keys in alphabetical order, and
    /// `apiVersion` and `kind` also in lists.
    pub custom: bool,
    /// Whether there is a `/status` subresource, so that requests to the main one do not change it.
    pub has_status: bool,
    /// The fields a field selector may name beside `metadata.name` and `metadata.namespace`, each
    /// with the value an object without that field has.
    pub selectable: Vec<(String, String)>,
    /// The types of a custom resource's fields, if it has a schema.
    pub(crate) fields: Option<TypeRef>,
    /// What its definition says beside the names, if it is a custom resource.
    pub(crate) definition: Definition,
    /// The schemas of all versions, if a definition has them.
    pub(crate) family: Option<Arc<Family>>,
}

impl ResourceType {
    /// Makes a namespaced custom resource without a status subresource.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
        plural: impl Into<String>,
    ) -> Self {
        let kind = kind.into();
        Self {
            group: group.into(),
            version: version.into(),
            list_kind: format!("{kind}List"),
            singular: kind.to_lowercase(),
            kind,
            plural: plural.into(),
            short_names: Vec::new(),
            namespaced: true,
            custom: true,
            has_status: false,
            selectable: Vec::new(),
            fields: None,
            definition: Definition::default(),
            family: None,
        }
    }

    /// Makes it cluster-scoped.
    #[must_use]
    pub fn cluster_scoped(mut self) -> Self {
        self.namespaced = false;
        self
    }

    /// Sets the abbreviations.
    #[must_use]
    pub fn short_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.short_names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a `/status` subresource.
    #[must_use]
    pub fn with_status(mut self) -> Self {
        self.has_status = true;
        self
    }

    /// Lets field selectors name these paths, such as `spec.size`.
    #[must_use]
    pub fn selectable_fields<S: Into<String>>(
        mut self,
        paths: impl IntoIterator<Item = S>,
    ) -> Self {
        self.selectable = paths
            .into_iter()
            .map(|path| (path.into(), String::new()))
            .collect();
        self
    }

    /// Returns `version` for the core group, otherwise `group/version`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.clone();
        }
        format!("{}/{}", self.group, self.version)
    }

    /// Returns the plural and its group, as error messages name a resource.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            return self.plural.clone();
        }
        format!("{}.{}", self.plural, self.group)
    }

    /// Returns the name under which all versions of this resource share one collection.
    pub(crate) fn group_resource(&self) -> GroupResource {
        GroupResource {
            group: self.group.clone(),
            plural: self.plural.clone(),
        }
    }

    /// Returns `true` unless the resource is events, which have no watch cache in a real server: no regular bookmarks,
    /// and `limit` counts at resource version 0 too.
    pub(crate) fn has_watch_cache(&self) -> bool {
        !(self.plural == "events" && matches!(self.group.as_str(), "" | "events.k8s.io"))
    }

    /// Whether there is a `/scale` subresource.
    pub(crate) fn has_scale(&self) -> bool {
        const KINDS: [(&str, &str); 4] = [
            ("", "replicationcontrollers"),
            ("apps", "deployments"),
            ("apps", "replicasets"),
            ("apps", "statefulsets"),
        ];
        match self.custom {
            true => self.definition.scale.is_some(),
            false => KINDS.contains(&(self.group.as_str(), self.plural.as_str())),
        }
    }

    fn answers_to(&self, name: &str) -> bool {
        self.plural == name
            || self.singular == name
            || self.qualified() == name
            || self.short_names.iter().any(|short| short == name)
    }
}

/// A group and a plural: the key of storage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupResource {
    pub(crate) group: String,
    pub(crate) plural: String,
}

/// All resources of a server, in the order of their registration.
#[derive(Debug)]
pub(crate) struct Registry {
    types: Vec<Arc<ResourceType>>,
}

impl Registry {
    /// Makes a registry of the built-in kinds.
    pub(crate) fn with_builtin() -> Self {
        Self {
            types: builtin::resource_types()
                .into_iter()
                .chain(rare::resource_types())
                .map(Arc::new)
                .collect(),
        }
    }

    /// Adds a type, in place of one with the same group, version and plural.
    pub(crate) fn register(&mut self, resource: ResourceType) -> Arc<ResourceType> {
        let resource = Arc::new(resource);
        let same = |known: &&mut Arc<ResourceType>| {
            known.group == resource.group
                && known.version == resource.version
                && known.plural == resource.plural
        };
        match self.types.iter_mut().find(same) {
            Some(known) => *known = resource.clone(),
            None => self.types.push(resource.clone()),
        }
        resource
    }

    /// Removes all versions of a resource.
    pub(crate) fn unregister(&mut self, group: &str, plural: &str) {
        self.types
            .retain(|known| known.group != group || known.plural != plural);
    }

    /// Returns the type of a path of the API.
    pub(crate) fn find(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<&Arc<ResourceType>> {
        self.types.iter().find(|known| {
            known.group == group && known.version == version && known.plural == plural
        })
    }

    /// Returns the type of a name: `pods`, `po`, `v1/pods`, `apps/v1/deployments`, `deployments.apps` or `Pod`.
    pub(crate) fn resolve(&self, name: &str) -> Result<Arc<ResourceType>, Status> {
        let mut parts = name.rsplitn(3, '/');
        let plural = parts.next().unwrap_or_default();
        let found = match (parts.next(), parts.next()) {
            (Some(version), group) => self.find(group.unwrap_or_default(), version, plural),
            (None, _) => self
                .types
                .iter()
                .find(|known| known.answers_to(name) || known.kind == name),
        };
        found.cloned().ok_or_else(status::unknown_resource)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<ResourceType>> {
        self.types.iter()
    }

    /// Returns the versions of each group in the order of registration; the core group is the empty one.
    pub(crate) fn groups(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for known in &self.types {
            let versions = groups.entry(&known.group).or_default();
            if !versions.contains(&known.version.as_str()) {
                versions.push(&known.version);
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_is_found_by_every_name() {
        let registry = Registry::with_builtin();
        for name in [
            "deployments",
            "deploy",
            "deployment",
            "Deployment",
            "deployments.apps",
        ] {
            assert_eq!(
                registry.resolve(name).unwrap().plural,
                "deployments",
                "{name}"
            );
        }
        assert_eq!(
            registry.resolve("apps/v1/deployments").unwrap().kind,
            "Deployment"
        );
        assert_eq!(registry.resolve("v1/pods").unwrap().kind, "Pod");
        assert_eq!(registry.resolve("events").unwrap().group, "");
        assert_eq!(
            registry.resolve("events.k8s.io/v1/events").unwrap().group,
            "events.k8s.io"
        );
        assert_eq!(registry.resolve("widgets").unwrap_err().code, 404);
        assert_eq!(
            registry.resolve("apps/v2/deployments").unwrap_err().code,
            404
        );
    }

    #[test]
    fn registering_again_replaces_and_unregistering_removes_all_versions() {
        let mut registry = Registry::with_builtin();
        registry.register(ResourceType::new("demo.example", "v1", "Widget", "widgets"));
        registry.register(ResourceType::new("demo.example", "v2", "Widget", "widgets"));
        registry.register(
            ResourceType::new("demo.example", "v1", "Widget", "widgets").cluster_scoped(),
        );
        assert!(
            !registry
                .find("demo.example", "v1", "widgets")
                .unwrap()
                .namespaced
        );
        assert_eq!(registry.groups()["demo.example"], ["v1", "v2"]);
        registry.unregister("demo.example", "widgets");
        assert!(registry.find("demo.example", "v2", "widgets").is_none());
    }
}
