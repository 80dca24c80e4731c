//! The cached objects: metadata and one value.

use informer_store::Snapshot;
use informer_testkit::ApiServer;
use informer_wire::{Resource, Scope, View};
use serde::Deserialize;

/// The fields beside the metadata.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Fields {
    #[serde(default)]
    data: Data,
    /// The server's revision, where it is not what the object has as its version.
    #[serde(skip)]
    pub(crate) revision: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct Data {
    #[serde(default)]
    value: String,
}

pub(crate) type Item = View<Fields>;

pub(crate) fn value_of(item: &Item) -> &str {
    &item.fields.data.value
}

/// Returns the revision of the server in which the object got into this state.
pub(crate) fn revision_of(item: &Item) -> u64 {
    let version = item.metadata.resource_version();
    let version = version.and_then(informer_store::ResourceVersion::as_u64);
    item.fields.revision.or(version).unwrap_or(0)
}

/// Whether a cache has exactly what the server has of a resource in a namespace, or in all if it is empty.
pub(crate) fn is_current(
    cached: &Snapshot<Item>,
    server: &ApiServer,
    plural: &str,
    namespace: &str,
) -> bool {
    let Ok(truth) = server.list(plural, namespace) else {
        return false;
    };
    cached.len() == truth.len()
        && truth.iter().all(|object| {
            let text = |at: &str| object["metadata"][at].as_str().unwrap_or_default();
            let item = cached.get(&*format!("{}/{}", text("namespace"), text("name")));
            item.is_some_and(|item| revision_of(item).to_string() == text("resourceVersion"))
        })
}

/// `name@revision`.
pub(crate) fn short(item: &Item) -> String {
    format!("{}@{}", item.metadata.name(), revision_of(item))
}

/// Config maps have a watch cache in a real server, events have none.
pub(crate) fn resource(cached: bool) -> Resource {
    let (kind, plural) = if cached {
        ("ConfigMap", "configmaps")
    } else {
        ("Event", "events")
    };
    Resource::new("", "v1", kind, plural, Scope::Namespaced)
}
