//! The versions of one custom resource, each with its schema: what a stored object looks like in each of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::node::Node;
use super::{defaults, embedded, prune};

/// What a definition says of one version.
#[derive(Debug, Default)]
pub(crate) struct Version {
    pub(crate) root: Node,
    /// The paths of the scale subresource that hold numbers of replicas, and of its selector.
    pub(crate) spec_replicas: Option<String>,
    pub(crate) status_replicas: Option<String>,
    pub(crate) label_selector: Option<String>,
    pub(crate) selectable: Vec<String>,
    /// Whether there are rules over the whole object, which are not evaluated.
    pub(crate) has_rules: bool,
}

/// The versions of a custom resource.
#[derive(Debug)]
pub(crate) struct Family {
    /// The `spec.versions` that it was read from.
    source: Value,
    versions: BTreeMap<String, Version>,
    storage: String,
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Family {}

impl Family {
    /// Reads the `spec.versions` of a definition; `None` if a version has no schema: then everything is kept as it is.
    pub(crate) fn read(versions: &Value) -> Option<Arc<Self>> {
        let mut family = Self {
            source: versions.clone(),
            versions: BTreeMap::new(),
            storage: String::new(),
        };
        for version in versions.as_array().into_iter().flatten() {
            let name = version["name"].as_str()?;
            let schema = &version["schema"]["openAPIV3Schema"];
            if !schema.is_object() {
                return None;
            }
            if version["storage"] == true {
                family.storage = name.to_owned();
            }
            let scale = &version["subresources"]["scale"];
            let path = |key: &str| scale[key].as_str().map(str::to_owned);
            let selectable = version["selectableFields"].as_array();
            let selectable = selectable.into_iter().flatten();
            let read = Version {
                root: Node::read(schema),
                spec_replicas: path("specReplicasPath"),
                status_replicas: path("statusReplicasPath"),
                label_selector: path("labelSelectorPath"),
                selectable: selectable
                    .filter_map(|field| field["jsonPath"].as_str())
                    .map(|path| path.trim_start_matches('.').to_owned())
                    .collect(),
                has_rules: has_key(schema, "x-kubernetes-validations"),
            };
            family.versions.insert(name.to_owned(), read);
        }
        (!family.versions.is_empty()).then(|| Arc::new(family))
    }

    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.get(name)
    }

    /// The schema of a version as it stands in the definition.
    pub(crate) fn schema(&self, version: &str) -> Option<&Value> {
        let mut versions = self.source.as_array()?.iter();
        let version = versions.find(|one| one["name"] == version)?;
        Some(&version["schema"]["openAPIV3Schema"])
    }

    /// The version in which objects are stored.
    pub(crate) fn storage(&self) -> &str {
        &self.storage
    }

    /// Brings an object that a client sent into the shape of a version: unknown fields and stray nulls are dropped,
    /// defaults filled in. Returns the unknown fields, or what cannot be decoded.
    /// What was applied keeps its nulls.
    pub(crate) fn shape(
        &self,
        object: &mut Value,
        version: &str,
        applied: bool,
    ) -> Result<Vec<String>, String> {
        let Some(Version { root, .. }) = self.versions.get(version) else {
            return Ok(Vec::new());
        };
        let unknown = prune(object, root, applied)?;
        defaults::fill(object, root);
        integral(object);
        Ok(unknown)
    }

    /// Brings a stored object from one version into another.
    pub(crate) fn convert(&self, object: &mut Value, to: &str) {
        if let Some(Version { root, .. }) = self.versions.get(to) {
            // It was decoded before, so that it can be now.
            let _ = prune(object, root, false);
        }
    }
}

fn prune(object: &mut Value, root: &Node, with_nulls: bool) -> Result<Vec<String>, String> {
    let mut unknown = prune::prune(object, root);
    if !with_nulls {
        prune::prune_nulls(object, Some(root));
    }
    unknown.extend(embedded::coerce(object, root)?);
    Ok(unknown)
}

/// Whether a map somewhere in a value has this key.
fn has_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| has_key(item, key)),
        Value::Object(fields) => {
            fields.contains_key(key) || fields.values().any(|field| has_key(field, key))
        }
        _ => false,
    }
}

/// Writes numbers without a fraction as Go does: without a point.
fn integral(value: &mut Value) {
    match value {
        Value::Number(number) if !number.is_i64() && !number.is_u64() => {
            let float = number.as_f64().unwrap_or_default();
            #[allow(clippy::cast_possible_truncation, reason = "it has no fraction")]
            if float.fract() == 0.0 && float.abs() < 9.2e18 {
                *value = (float as i64).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(integral),
        Value::Object(fields) => fields.values_mut().for_each(integral),
        _ => {}
    }
}
