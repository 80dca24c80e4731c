//! What discovery says of a resource.

use serde_json::{Value, json};

use crate::resource::{Registry, ResourceType};
use crate::virtual_resource::{self, VirtualResource};

/// A resource as discovery shows it.
#[derive(Debug)]
pub(super) struct Served {
    name: String,
    singular: String,
    kind: String,
    namespaced: bool,
    verbs: Vec<&'static str>,
    short_names: Vec<String>,
    categories: Vec<String>,
    subresources: Vec<Subresource>,
}

/// A subresource: its name, the group, version and kind of its objects if they are not the resource's, and its verbs.
#[derive(Debug)]
struct Subresource {
    name: &'static str,
    kind: Option<(&'static str, &'static str, &'static str)>,
    verbs: &'static [&'static str],
}

const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const PART_VERBS: &[&str] = &["get", "patch", "update"];

/// Returns the resources of a group and version.
pub(super) fn served(registry: &Registry, group: &str, version: &str) -> Vec<Served> {
    let types = registry.iter();
    let types = types.filter(|known| known.group == group && known.version == version);
    let none = virtual_resource::ALL.iter();
    let none = none.filter(|known| known.group == group && known.version == version);
    let all = types.map(|known| Served::of(known));
    let mut all: Vec<Served> = all.chain(none.map(Served::without_objects)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

impl Served {
    fn of(resource: &ResourceType) -> Self {
        let is = |plural: &str| !resource.custom && resource.plural == plural;
        let mut verbs = VERBS.to_vec();
        if is("namespaces") {
            verbs.retain(|verb| *verb != "deletecollection");
        }
        if resource.custom {
            // The order in which a real server has them here.
            verbs[..6].rotate_left(1);
        }
        let mut subresources = Vec::new();
        let create: &[&str] = &["create"];
        let mut add = |name, kind, verbs| subresources.push(Subresource { name, kind, verbs });
        if is("pods") {
            add("binding", Some(("", "", "Binding")), create);
            add("eviction", Some(("policy", "v1", "Eviction")), create);
        }
        if resource.has_scale() {
            add("scale", Some(("autoscaling", "v1", "Scale")), PART_VERBS);
        }
        if resource.has_status {
            add("status", None, PART_VERBS);
        }
        if is("serviceaccounts") {
            let kind = ("authentication.k8s.io", "v1", "TokenRequest");
            add("token", Some(kind), create);
        }
        Self {
            name: resource.plural.clone(),
            singular: resource.singular.clone(),
            kind: resource.kind.clone(),
            namespaced: resource.namespaced,
            verbs,
            short_names: resource.short_names.clone(),
            categories: categories(resource),
            subresources,
        }
    }

    fn without_objects(resource: &VirtualResource) -> Self {
        Self {
            name: resource.plural.to_owned(),
            singular: resource.kind.to_lowercase(),
            kind: resource.kind.to_owned(),
            namespaced: resource.namespaced,
            verbs: vec!["create"],
            short_names: Vec::new(),
            categories: Vec::new(),
            subresources: Vec::new(),
        }
    }

    /// Returns the entries of an `APIResourceList`.
    pub(super) fn entries(&self) -> Vec<Value> {
        let mut entry = json!({
            "name": self.name,
            "singularName": self.singular,
            "namespaced": self.namespaced,
            "kind": self.kind,
            "verbs": self.verbs,
        });
        self.add_names(&mut entry);
        let mut entries = vec![entry];
        entries.extend(self.subresources.iter().map(|part| {
            let mut entry = json!({
                "name": format!("{}/{}", self.name, part.name),
                "singularName": "",
                "namespaced": self.namespaced,
                "kind": self.kind,
                "verbs": part.verbs,
            });
            if let Some((group, version, kind)) = part.kind {
                entry["kind"] = kind.into();
                if !version.is_empty() {
                    entry["group"] = group.into();
                    entry["version"] = version.into();
                }
            }
            entry
        }));
        entries
    }

    /// Returns the entry of an `APIGroupDiscoveryList`.
    pub(super) fn aggregated(&self, group: &str, version: &str) -> Value {
        let kind = json!({"group": group, "version": version, "kind": self.kind});
        let mut entry = json!({
            "resource": self.name,
            "responseKind": kind,
            "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.singular,
            "verbs": self.verbs,
        });
        self.add_names(&mut entry);
        let subresources: Vec<Value> = self
            .subresources
            .iter()
            .map(|part| {
                let kind = match part.kind {
                    Some((_, "", kind)) => {
                        json!({"group": group, "version": version, "kind": kind})
                    }
                    Some((group, version, kind)) => {
                        json!({"group": group, "version": version, "kind": kind})
                    }
                    None => kind.clone(),
                };
                json!({"subresource": part.name, "responseKind": kind, "verbs": part.verbs})
            })
            .collect();
        if !subresources.is_empty() {
            entry["subresources"] = subresources.into();
        }
        entry
    }

    fn add_names(&self, entry: &mut Value) {
        if !self.short_names.is_empty() {
            entry["shortNames"] = json!(self.short_names);
        }
        if !self.categories.is_empty() {
            entry["categories"] = json!(self.categories);
        }
    }
}

/// The categories of a resource.
fn categories(resource: &ResourceType) -> Vec<String> {
    const ALL: [&str; 10] = [
        "cronjobs",
        "daemonsets",
        "deployments",
        "horizontalpodautoscalers",
        "jobs",
        "pods",
        "replicasets",
        "replicationcontrollers",
        "services",
        "statefulsets",
    ];
    const EXTENSIONS: [&str; 3] = [
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
    ];
    match resource {
        resource if resource.custom => resource.definition.categories.clone(),
        resource if ALL.contains(&resource.plural.as_str()) => vec!["all".to_owned()],
        resource if EXTENSIONS.contains(&resource.group.as_str()) => {
            vec!["api-extensions".to_owned()]
        }
        _ => Vec::new(),
    }
}
