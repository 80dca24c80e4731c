//! The documents of discovery, in their two forms. Unknown members are skipped.

use serde::{Deserialize, Deserializer};

/// A resource as older servers list it.
#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Served {
    pub(super) name: String,
    pub(super) singular_name: String,
    pub(super) namespaced: bool,
    pub(super) kind: String,
    pub(super) short_names: Option<Vec<String>>,
}

/// The resources of one group and version.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct ResourceList {
    #[serde(deserialize_with = "null_default")]
    pub(super) resources: Vec<Served>,
}

/// The versions of the core group.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Versions {
    #[serde(deserialize_with = "null_default")]
    pub(super) versions: Vec<String>,
}

/// The groups other than the core.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Groups {
    #[serde(deserialize_with = "null_default")]
    pub(super) groups: Vec<Group>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Group {
    pub(super) name: String,
    #[serde(deserialize_with = "null_default")]
    pub(super) versions: Vec<GroupVersion>,
    #[serde(deserialize_with = "null_default")]
    pub(super) preferred_version: GroupVersion,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct GroupVersion {
    pub(super) version: String,
}

/// All groups, versions and resources at once.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Aggregated {
    #[serde(deserialize_with = "null_default")]
    pub(super) items: Vec<AggregatedGroup>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AggregatedGroup {
    pub(super) metadata: Metadata,
    #[serde(deserialize_with = "null_default")]
    pub(super) versions: Vec<AggregatedVersion>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Metadata {
    /// The group; absent for the core group.
    #[serde(deserialize_with = "null_default")]
    pub(super) name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AggregatedVersion {
    pub(super) version: String,
    /// `Stale` if the server behind it could not be reached.
    #[serde(deserialize_with = "null_default")]
    pub(super) freshness: String,
    #[serde(deserialize_with = "null_default")]
    pub(super) resources: Vec<AggregatedResource>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AggregatedResource {
    /// The plural name.
    resource: String,
    #[serde(deserialize_with = "null_default")]
    response_kind: Kind,
    #[serde(deserialize_with = "null_default")]
    scope: String,
    #[serde(deserialize_with = "null_default")]
    singular_resource: String,
    short_names: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Kind {
    kind: String,
}

impl From<AggregatedResource> for Served {
    fn from(resource: AggregatedResource) -> Self {
        Self {
            name: resource.resource,
            singular_name: resource.singular_resource,
            namespaced: resource.scope == "Namespaced",
            kind: resource.response_kind.kind,
            short_names: resource.short_names,
        }
    }
}

/// Reads `null` as the default value.
fn null_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}
