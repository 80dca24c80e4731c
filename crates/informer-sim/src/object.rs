//! What is cached: metadata and one value.

use informer_wire::{Resource, Scope, View};
use serde::Deserialize;

/// The fields beside the metadata.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Fields {
    #[serde(default)]
    data: Data,
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

pub(crate) fn version_of(item: &Item) -> u64 {
    let version = item.metadata.resource_version();
    version
        .and_then(informer_store::ResourceVersion::as_u64)
        .unwrap_or(0)
}

/// `name@version`.
pub(crate) fn short(item: &Item) -> String {
    format!("{}@{}", item.metadata.name(), version_of(item))
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
