//! The rules of every write: the shape of objects, the fields that a client may not change, and those that the server
//! fills in.

use informer_wire::Status;
use serde_json::{Map, Value, json};

use super::metadata::{check_shape, protect_from_status};
use super::object::StoredObject;
use super::pod::{keep_qos_class, qos_class};
use super::write::Part;
use crate::resource::ResourceType;
use crate::status;

/// Metadata that a client cannot change.
const IMMUTABLE_METADATA: [&str; 7] = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
];

pub(super) fn metadata_mut(object: &mut Value) -> Result<&mut Map<String, Value>, Status> {
    let Some(object) = object.as_object_mut() else {
        return Err(status::bad_request("the object is not a JSON object"));
    };
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    metadata
        .as_object_mut()
        .ok_or_else(|| status::bad_request("metadata is not a JSON object"))
}

pub(super) fn has_text(metadata: &Map<String, Value>, field: &str) -> bool {
    metadata
        .get(field)
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty())
}

pub(super) fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|finalizers| !finalizers.is_empty())
}

pub(super) fn is_marked_deleted(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub(super) fn is_pod(resource: &ResourceType) -> bool {
    !resource.custom && resource.group.is_empty() && resource.plural == "pods"
}

/// The number of entries in `spec.finalizers`, which hold a namespace beside those of its metadata.
pub(super) fn namespace_finalizers(namespace: &Value) -> usize {
    namespace["spec"]["finalizers"]
        .as_array()
        .map_or(0, Vec::len)
}

pub(super) fn is_namespace(resource: &ResourceType) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

/// Checks an object's type. A body may leave it out.
pub(super) fn check_type(resource: &ResourceType, object: &Value) -> Result<(), Status> {
    check_shape(resource, object)?;
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let fits = (api_version.is_empty() || api_version == resource.api_version())
        && (kind.is_empty() || kind == resource.kind);
    if fits {
        return Ok(());
    }
    Err(status::bad_request(format!(
        "{kind} in version \"{api_version}\" cannot be handled as a {}: no kind \"{kind}\" is \
         served here in version \"{api_version}\"",
        resource.kind
    )))
}

pub(super) fn check_place(
    resource: &ResourceType,
    namespace: &str,
    object: &Value,
) -> Result<(), Status> {
    let said = object["metadata"]["namespace"].as_str().unwrap_or_default();
    // A namespace in a cluster-scoped object is ignored.
    if !resource.namespaced || said.is_empty() || said == namespace {
        return Ok(());
    }
    Err(status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

pub(super) fn check_name(object: &Value, name: &str) -> Result<(), Status> {
    let said = object["metadata"]["name"].as_str().unwrap_or_default();
    if said == name || said.is_empty() {
        return Ok(());
    }
    Err(status::bad_request(format!(
        "the name of the object ({said}) does not match the name on the URL ({name})"
    )))
}

/// Refuses an object of another version than the stored one.
pub(super) fn check_version(
    resource: &ResourceType,
    old: &StoredObject,
    new: &Value,
) -> Result<(), Status> {
    let version = new["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default();
    if matches!(version, "" | "0") || version == old.revision().to_string() {
        return Ok(());
    }
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    Err(status::conflict(resource, old.name(), why))
}

/// Restores the parts of an object that this write may not change.
pub(super) fn protect(resource: &ResourceType, before: &Value, after: &mut Value, part: Part) {
    match part {
        Part::Status => {
            let applied_null = resource.custom && after.get("status") == Some(&Value::Null);
            let status = after["status"].take();
            let mut kept = if resource.custom {
                before.clone()
            } else {
                protect_from_status(resource, before, after)
            };
            set_or_remove(&mut kept, "status", status);
            if applied_null {
                // It is checked, and left out when it is stored.
                kept["status"] = Value::Null;
            }
            *after = kept;
            keep_qos_class(resource, before, after);
        }
        Part::Main | Part::Scale | Part::Finalize if resource.has_status => {
            set_or_remove(after, "status", before["status"].clone());
        }
        Part::Main | Part::Scale | Part::Finalize | Part::Whole => {}
    }
    if is_namespace(resource) && part == Part::Main {
        keep_namespace_finalizers(before, after);
    }
}

/// Restores the metadata that no write may change.
pub(super) fn keep_immutable(before: &Value, after: &mut Value) -> Result<(), Status> {
    let metadata = metadata_mut(after)?;
    metadata.remove("selfLink");
    for field in IMMUTABLE_METADATA {
        match before["metadata"].get(field) {
            Some(value) => metadata.insert(field.to_owned(), value.clone()),
            None => metadata.remove(field),
        };
    }
    Ok(())
}

/// Restores what only a request to `/finalize` may change.
fn keep_namespace_finalizers(before: &Value, after: &mut Value) {
    if !after["spec"].is_object() {
        after["spec"] = json!({});
    }
    set_or_remove(
        &mut after["spec"],
        "finalizers",
        before["spec"]["finalizers"].clone(),
    );
}

pub(super) fn set_or_remove(object: &mut Value, field: &str, value: Value) {
    if value.is_null() {
        return remove(object, field);
    }
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}

pub(super) fn remove(object: &mut Value, field: &str) {
    if let Some(object) = object.as_object_mut() {
        object.remove(field);
    }
}

pub(super) fn spec_differs(resource: &ResourceType, before: &Value, after: &Value) -> bool {
    let spec = |object: &Value| {
        let mut object = object.clone();
        for field in ["apiVersion", "kind", "metadata"] {
            remove(&mut object, field);
        }
        if is_pod(resource) {
            // The scheduler's binding does not count.
            remove(&mut object["spec"], "nodeName");
        }
        // Without a status subresource, the status of a custom resource is a field like any other.
        if resource.has_status || !resource.custom {
            remove(&mut object, "status");
        }
        object
    };
    let counted = resource.counted_metadata();
    spec(before) != spec(after)
        || counted.is_some_and(|field| before["metadata"][field] != after["metadata"][field])
}

pub(super) fn same_but_for_version(
    resource: &ResourceType,
    before: &Value,
    after: &mut Value,
) -> bool {
    after["apiVersion"] = resource.api_version().into();
    after["kind"] = resource.kind.as_str().into();
    after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
    after == before
}

/// Sets `status.phase` of an object, in place of a status that is no map.
pub(super) fn set_phase(object: &mut Value, phase: &str) {
    if !object["status"].is_object() {
        object["status"] = json!({});
    }
    object["status"]["phase"] = phase.into();
}

/// Fills in the few defaults that selectors and `kubectl` rely on.
pub(super) fn fill_defaults(resource: &ResourceType, object: &mut Value) {
    let phase = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => "Pending",
        ("", "namespaces") => "Active",
        _ => {
            if let Some(status) = resource
                .empty_status()
                .filter(|_| object["status"].is_null())
            {
                object["status"] = status;
            }
            return;
        }
    };
    if object["status"]["phase"].is_null() {
        set_phase(object, phase);
    }
    if phase == "Pending" && object["status"]["qosClass"].is_null() {
        object["status"]["qosClass"] = qos_class(object).into();
    }
    if is_namespace(resource) {
        hold_namespace(object);
        let name = object["metadata"]["name"].clone();
        if !object["metadata"]["labels"].is_object() {
            object["metadata"]["labels"] = json!({});
        }
        if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".to_owned(), name);
        }
    }
}

/// Adds the entry of `spec.finalizers` that every namespace starts with: it holds the namespace until it is empty.
fn hold_namespace(namespace: &mut Value) {
    if !namespace["spec"].is_object() {
        namespace["spec"] = json!({});
    }
    let finalizers = &mut namespace["spec"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(held) if held.iter().any(|one| one == "kubernetes") => {}
        Some(held) => held.push("kubernetes".into()),
        None => *finalizers = json!(["kubernetes"]),
    }
}
