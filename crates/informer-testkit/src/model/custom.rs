//! Custom resources with schemas: what is written gets the shape of its version, is stored in one version, and is read in
//! each.

use std::collections::BTreeSet;
use std::sync::Arc;

use informer_wire::Status;
use serde_json::Value;

use super::cluster::Cluster;
use super::crd::is_definition;
use super::object::StoredObject;
use super::write::Part;
use crate::resource::ResourceType;
use crate::schema;
use crate::status;

/// Brings an object that is to be written into the shape of its version: without unknown fields, with defaults.
/// The result of an apply keeps its nulls, which are wrong where the schema does not allow them.
pub(super) fn shape(
    resource: &ResourceType,
    object: &mut Value,
    applied: bool,
) -> Result<(), Status> {
    if is_definition(resource) {
        // What a client leaves out belongs to it all the same.
        schema::fill_definition(object);
    }
    if resource.family.is_none() {
        return Ok(());
    }
    let shaped = schema::shape(resource, object, applied).map(drop);
    shaped.map_err(|why| {
        let (kind, version) = (&resource.kind, &resource.version);
        status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    })
}

/// Checks an object that is to be written against the schema of its version.
pub(super) fn validate(
    resource: &ResourceType,
    name: &str,
    object: &Value,
    old: Option<&Value>,
    part: Part,
) -> Result<(), Status> {
    schema::admit(resource, name, object, old, part == Part::Status)
}

/// Returns warnings about the finalizers that a write adds to a custom resource: they should be qualified names.
fn finalizer_warnings(resource: &ResourceType, old: Option<&Value>, object: &Value) -> Vec<String> {
    if !resource.custom {
        return Vec::new();
    }
    let finalizers = |object: &Value| {
        let list = object["metadata"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten();
        list.filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let known = old.map(finalizers).unwrap_or_default();
    let new = finalizers(object);
    let unqualified = new.difference(&known).filter(|name| {
        !name.contains('/')
            && !matches!(
                name.as_str(),
                "kubernetes" | "orphan" | "foregroundDeletion"
            )
    });
    unqualified
        .map(|name| {
            let path = if name.contains('.') { " including a path (/)" } else { "" };
            format!(
                "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{path} to avoid accidental \
                 conflicts with other finalizer writers"
            )
        })
        .collect()
}

/// Encodes an object of a request in the version in which objects are stored.
pub(super) fn encode(resource: &ResourceType, value: &Value, revision: u64) -> Arc<StoredObject> {
    let family = resource.family.as_ref();
    let storage = family.filter(|family| !family.storage().is_empty());
    let Some(family) = storage.filter(|family| family.storage() != resource.version) else {
        return Arc::new(StoredObject::encode(resource, value, revision));
    };
    let mut value = value.clone();
    let to = family.storage();
    family.convert(&mut value, to);
    // The defaults of that version are filled in when it is read.
    let stored = StoredObject::encode(&version(resource, to), &value, revision);
    Arc::new(stored.without_defaults())
}

/// Returns an object as a version shows it.
pub(super) fn view(resource: &ResourceType, object: &Arc<StoredObject>) -> Arc<StoredObject> {
    let Some(from) = object.foreign_version(resource) else {
        return object.clone();
    };
    let Some(family) = &resource.family else {
        return object.clone();
    };
    let mut value = object.value(resource);
    if !object.is_shaped_by(family) {
        // The schemas are others than when it was written: it is read with those of today.
        let _ = family.shape(&mut value, from, false);
    }
    if from != resource.version {
        family.convert(&mut value, &resource.version);
    }
    Arc::new(StoredObject::encode(resource, &value, object.revision()))
}

/// Replaces objects by what a version shows of them.
pub(super) fn view_all(resource: &ResourceType, objects: &mut [Arc<StoredObject>]) {
    if resource.family.is_none() {
        return;
    }
    for object in objects {
        *object = view(resource, object);
    }
}

impl Cluster {
    /// Notes the warnings of a write.
    pub(super) fn warn(&mut self, resource: &ResourceType, old: Option<&Value>, object: &Value) {
        self.warnings
            .extend(finalizer_warnings(resource, old, object));
    }

    /// Whether an object, which looks the same in its version, is also stored like this: schemas may have changed since.
    pub(super) fn is_stored(&self, resource: &ResourceType, key: &str, value: &Value) -> bool {
        if resource.family.is_none() {
            return true;
        }
        let stored = self.collection(resource).ok().and_then(|all| all.get(key));
        stored.is_some_and(|stored| {
            encode(resource, value, stored.revision()).body() == stored.body()
        })
    }
}

/// Returns the resource in another version.
fn version(resource: &ResourceType, name: &str) -> ResourceType {
    let mut other = resource.clone();
    other.version = name.to_owned();
    let known = resource
        .family
        .as_ref()
        .and_then(|family| family.version(name));
    if let Some(version) = known {
        other = other.selectable_fields(version.selectable.iter().cloned());
    }
    other
}
