//! The checks of an object's shape and metadata that kinds share, in a real server's words.

use informer_wire::{Status, StatusCause};
use serde_json::{Map, Value};

use super::names::{label_value, path_segment, qualified};
use super::object::object_key;
use super::rules::is_marked_deleted;
use crate::resource::ResourceType;
use crate::status;

/// 409: a PUT names a UID which the object, if there is one, does not have. A real server tells where it stores it.
pub(super) fn other_uid(
    resource: &ResourceType,
    namespace: &str,
    name: &str,
    wanted: &str,
    is: &str,
    dry_run: bool,
) -> Status {
    let root = if dry_run { "" } else { "/registry" };
    let place = resource.storage_path();
    let key = object_key(namespace, name);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {root}/{place}/{key}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {wanted}, UID in object meta: {is}"
    );
    status::conflict(resource, name, &why)
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
    let fixed = resource.kept_by_status_writes();
    if let (Some(fields), Some(fixed)) = (metadata.as_object_mut(), fixed) {
        match before["metadata"].get(fixed) {
            Some(value) => fields.insert(fixed.to_owned(), value.clone()),
            None => fields.remove(fixed),
        };
    }
    kept["metadata"] = metadata;
    kept
}

/// Refuses an update without a version for kinds that must have one.
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

/// What is wrong with an object, field by field.
#[derive(Debug, Default)]
struct Faults(Vec<StatusCause>);

impl Faults {
    fn add(&mut self, reason: &str, field: impl Into<String>, message: String) {
        self.0
            .push(StatusCause::new(reason, message).with_field(field));
    }

    /// One for each reason why the value does not fit.
    fn invalid(&mut self, field: &str, value: &str, why: impl IntoIterator<Item = String>) {
        for why in why {
            self.add(
                "FieldValueInvalid",
                field,
                format!("Invalid value: {value:?}: {why}"),
            );
        }
    }

    fn refuse(self, resource: &ResourceType, name: &str) -> Result<(), Status> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(status::invalid(
            &resource.group,
            &resource.kind,
            name,
            self.0,
        ))
    }
}

/// Checks the metadata of an object that a request creates: first as its kind wants it, then as every kind does.
pub(super) fn check_created(
    resource: &ResourceType,
    name: &str,
    object: &Value,
) -> Result<(), Status> {
    let form = resource.name_form();
    let mut faults = Faults::default();
    let base = object["metadata"]["generateName"]
        .as_str()
        .unwrap_or_default();
    if !base.is_empty() {
        faults.invalid("metadata.generateName", base, form.prefix_faults(base));
    }
    if name.is_empty() {
        let message = "Required value: name or generateName is required".to_owned();
        faults.add("FieldValueRequired", "metadata.name", message);
    } else {
        faults.invalid("metadata.name", name, form.faults(name));
    }
    check_common(&mut faults, object);
    check_finalizer_names(&mut faults, object);
    check_standard_finalizers(&mut faults, resource, object);
    faults.refuse(resource, name)
}

/// Checks the metadata of an object that a request changes.
pub(super) fn check_updated(
    resource: &ResourceType,
    name: &str,
    before: &Value,
    after: &Value,
) -> Result<(), Status> {
    let mut faults = Faults::default();
    faults.invalid("metadata.name", name, path_segment(name));
    check_common(&mut faults, after);
    check_finalizer_names(&mut faults, after);
    check_changes(&mut faults, before, after);
    check_standard_finalizers(&mut faults, resource, after);
    faults.refuse(resource, name)
}

const IMMUTABLE: &str = "field is immutable";

/// What an update may not do to metadata.
fn check_changes(faults: &mut Faults, before: &Value, after: &Value) {
    if is_marked_deleted(before) {
        let mut new: Vec<String> = finalizers(after)
            .filter(|finalizer| finalizers(before).all(|old| old != *finalizer))
            .map(|finalizer| format!("{finalizer:?}"))
            .collect();
        new.sort();
        new.dedup();
        if !new.is_empty() {
            let message = format!(
                "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
                 []string{{{}}}",
                new.join(", ")
            );
            faults.add("FieldValueForbidden", "metadata.finalizers", message);
        }
    }
    let text = |object: &Value, field: &str| {
        object["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let uid = text(after, "uid");
    if !uid.is_empty() && uid != text(before, "uid") {
        faults.invalid("metadata.uid", &uid, [IMMUTABLE.to_owned()]);
    }
    let deleted = text(after, "deletionTimestamp");
    if !deleted.is_empty() && !is_marked_deleted(before) {
        let field = "metadata.deletionTimestamp";
        faults.invalid(field, &deleted, [IMMUTABLE.to_owned()]);
    }
}

/// What labels, annotations and owners must be.
fn check_common(faults: &mut Faults, object: &Value) {
    let metadata = &object["metadata"];
    let texts = |field: &str| {
        let map = metadata[field].as_object().into_iter().flatten();
        map.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect::<Vec<_>>()
    };
    for (key, value) in texts("labels") {
        faults.invalid("metadata.labels", &key, qualified(&key));
        faults.invalid("metadata.labels", &value, label_value(&value));
    }
    let mut size = 0;
    for (key, value) in texts("annotations") {
        faults.invalid(
            "metadata.annotations",
            &key,
            qualified(&key.to_ascii_lowercase()),
        );
        size += key.len() + value.len();
    }
    if size > ANNOTATIONS_LIMIT {
        let message = format!("Too long: may not be more than {ANNOTATIONS_LIMIT} bytes");
        faults.add("FieldValueTooLong", "metadata.annotations", message);
    }
    check_owners(faults, metadata);
}

/// The most bytes that the annotations of an object have.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

fn check_owners(faults: &mut Faults, metadata: &Value) {
    const FIELD: &str = "metadata.ownerReferences";
    let owners = metadata["ownerReferences"].as_array();
    for owner in owners.into_iter().flatten() {
        let version = owner["apiVersion"].as_str().unwrap_or_default();
        if version.rsplit('/').next().unwrap_or_default().is_empty() {
            let why = "version must not be empty".to_owned();
            faults.invalid(&format!("{FIELD}.apiVersion"), version, [why]);
        }
        for field in ["kind", "name", "uid"] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let why = "must not be empty".to_owned();
                faults.invalid(&format!("{FIELD}.{field}"), "", [why]);
            }
        }
    }
}

fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.into_iter().flatten().filter_map(Value::as_str)
}

fn check_finalizer_names(faults: &mut Faults, object: &Value) {
    for finalizer in finalizers(object) {
        faults.invalid("metadata.finalizers", finalizer, qualified(finalizer));
    }
    let has = |wanted: &str| finalizers(object).any(|finalizer| finalizer == wanted);
    if has("orphan") && has("foregroundDeletion") {
        let all: Vec<&str> = finalizers(object).collect();
        let message = format!(
            "Invalid value: {}: finalizer orphan and foregroundDeletion cannot be both set",
            Value::from(all)
        );
        faults.add("FieldValueInvalid", "metadata.finalizers", message);
    }
}

/// Finalizers of most built-in kinds are qualified or standard ones.
fn check_standard_finalizers(faults: &mut Faults, resource: &ResourceType, object: &Value) {
    const STANDARD: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    if !resource.checks_finalizers() {
        return;
    }
    for (at, finalizer) in finalizers(object).enumerate() {
        if !finalizer.contains('/') && !STANDARD.contains(&finalizer) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            faults.invalid(
                &format!("metadata.finalizers[{at}]"),
                finalizer,
                [why.to_owned()],
            );
        }
    }
}
