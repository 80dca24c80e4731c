//! What differs between kinds in a real server's write rules beside the [tables](crate::strategy), and the checks of
//! metadata that all of them share.

use informer_wire::{Status, StatusCause};
use serde_json::{Map, Value, json};

use super::object::object_key;
use super::rules::is_marked_deleted;
use crate::resource::ResourceType;
use crate::status;

/// Whether a client that creates an object may give it a status, although that is a subresource.
pub(super) fn keeps_status(resource: &ResourceType) -> bool {
    !resource.custom && resource.plural == "nodes"
}

/// 409: a PUT names a UID which the object, if there is one, does not have. A real server tells where it stores it.
pub(super) fn other_uid(
    resource: &ResourceType,
    namespace: &str,
    name: &str,
    wanted: &str,
    is: &str,
) -> Status {
    let place = match resource.plural.as_str() {
        plural if resource.custom => format!("{}/{plural}", resource.group),
        "nodes" => "minions".to_owned(),
        "services" => "services/specs".to_owned(),
        "endpoints" => "services/endpoints".to_owned(),
        plural => plural.to_owned(),
    };
    let key = object_key(namespace, name);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{place}/{key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {wanted}, UID in object meta: {is}"
    );
    status::conflict(resource, name, &why)
}

/// Whether a DELETE answers with the object that was deleted, not with a status.
pub(super) fn returns_deleted(resource: &ResourceType) -> bool {
    const KINDS: [&str; 7] = [
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
    ];
    !resource.custom && KINDS.contains(&resource.plural.as_str())
}

/// Checks what a real server's types cannot hold: an object that is no map, labels and annotations that are no text.
pub(super) fn check_shape(resource: &ResourceType, object: &Value) -> Result<(), Status> {
    if !object.is_object() {
        return Err(status::bad_request("the object is not a JSON object"));
    }
    for field in ["labels", "annotations"] {
        let values = object["metadata"][field].as_object();
        let wrong = values
            .into_iter()
            .flatten()
            .find_map(|(_, value)| match value {
                Value::Number(_) => Some("number"),
                Value::Bool(_) => Some("bool"),
                Value::Array(_) => Some("array"),
                Value::Object(_) => Some("object"),
                Value::String(_) | Value::Null => None,
            });
        if let Some(what) = wrong {
            return Err(status::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: json: cannot unmarshal {what} into \
                 Go struct field ObjectMeta.metadata.{field} of type string",
                kind = resource.kind,
                version = resource.version,
            )));
        }
    }
    Ok(())
}

/// Restores what a write of the status of a built-in kind may not change; other metadata it may, as on a real server.
pub(super) fn protect_from_status(resource: &ResourceType, before: &Value, after: &Value) -> Value {
    let mut kept = before.clone();
    let mut metadata = after["metadata"].clone();
    let fixed = match resource.plural.as_str() {
        "deployments" => "labels",
        "pods" => "ownerReferences",
        _ => "",
    };
    if let Some(fields) = metadata.as_object_mut().filter(|_| !fixed.is_empty()) {
        match before["metadata"].get(fixed) {
            Some(value) => fields.insert(fixed.to_owned(), value.clone()),
            None => fields.remove(fixed),
        };
    }
    kept["metadata"] = metadata;
    kept
}

/// Refuses a PUT without a version for kinds that must have one.
pub(super) fn require_version(
    resource: &ResourceType,
    name: &str,
    object: &Value,
) -> Result<(), Status> {
    let version = object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default();
    if !resource.needs_version() || !matches!(version, "" | "0") {
        return Ok(());
    }
    let message = "Invalid value: 0: must be specified for an update";
    let cause =
        StatusCause::new("FieldValueInvalid", message).with_field("metadata.resourceVersion");
    Err(status::invalid(
        &resource.group,
        &resource.plural,
        name,
        vec![cause],
    ))
}

/// Drops empty maps and lists of the metadata, which a real server's types leave out.
pub(super) fn drop_empty(metadata: &mut Map<String, Value>) {
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = match metadata.get(field) {
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Object(fields)) => fields.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            metadata.remove(field);
        }
    }
}

fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.into_iter().flatten().filter_map(Value::as_str)
}

/// Checks finalizers: those of built-in kinds are qualified names or standard ones, and an object that is being deleted
/// takes no new ones.
pub(super) fn check_finalizers(
    resource: &ResourceType,
    name: &str,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), Status> {
    let mut causes = Vec::new();
    if let Some(before) = before.filter(|before| is_marked_deleted(before)) {
        let new: Vec<String> = finalizers(after)
            .filter(|finalizer| finalizers(before).all(|old| old != *finalizer))
            .map(|finalizer| format!("{finalizer:?}"))
            .collect();
        if !new.is_empty() {
            let message = format!(
                "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
                 []string{{{}}}",
                new.join(", ")
            );
            causes.push(
                StatusCause::new("FieldValueForbidden", message).with_field("metadata.finalizers"),
            );
        }
    }
    const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    for (at, finalizer) in finalizers(after).enumerate() {
        if !resource.custom && !finalizer.contains('/') && !STANDARD.contains(&finalizer) {
            let message = format!(
                "Invalid value: {finalizer:?}: name is neither a standard finalizer name nor is it fully qualified"
            );
            let field = format!("metadata.finalizers[{at}]");
            causes.push(StatusCause::new("FieldValueInvalid", message).with_field(field));
        }
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(status::invalid(
        &resource.group,
        &resource.kind,
        name,
        causes,
    ))
}

/// The status that a real server's types write for an object without one.
pub(super) fn empty_status(resource: &ResourceType) -> Option<Value> {
    if resource.custom {
        return None;
    }
    Some(match resource.plural.as_str() {
        "cronjobs" | "deployments" | "jobs" => json!({}),
        "ingresses" | "services" => json!({ "loadBalancer": {} }),
        _ => return None,
    })
}

/// The quality-of-service class of a pod, from the requests and limits of its containers.
pub(super) fn qos_class(pod: &Value) -> &'static str {
    let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array());
    let containers = || lists.iter().flatten().flat_map(|list| list.iter());
    let amount = |container: &Value, what: &str, of: &str| {
        let amount = &container["resources"][what][of];
        (!amount.is_null() && *amount != json!("0") && *amount != json!(0)).then(|| amount.clone())
    };
    let kinds = ["cpu", "memory"];
    let any = containers().any(|container| {
        kinds.iter().any(|of| {
            amount(container, "requests", of).is_some() || amount(container, "limits", of).is_some()
        })
    });
    if !any {
        return "BestEffort";
    }
    let guaranteed = containers().all(|container| {
        kinds.iter().all(|of| {
            let limit = amount(container, "limits", of);
            let request = amount(container, "requests", of).or_else(|| limit.clone());
            limit.is_some() && limit == request
        })
    });
    if guaranteed {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
