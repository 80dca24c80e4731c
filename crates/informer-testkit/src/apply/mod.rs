//! Server-side apply: who owns which fields, kept in `metadata.managedFields`.
//!
//! Writes by request are tracked from an object's creation on, as on a real server. What a test writes directly is
//! tracked once the object was applied to: filling a server stays fast.

mod compare;
mod conflict;
mod element;
mod last_applied;
mod manager;
mod merge;
mod owners;
mod set;
#[cfg(test)]
mod tests;
mod update;
mod value;
mod versions;

use informer_wire::Status;
use serde_json::{Value, json};

pub use self::manager::FieldManager;
pub(crate) use self::manager::refusals as manager_refusals;
use self::owners::Owners;
use self::set::FieldSet;
use self::update::Write;
use self::versions::Refusal;
use crate::fields::{TypeRef, drop_nulls, type_of};
use crate::model::{Part, WriteOptions};
use crate::resource::ResourceType;
use crate::status;
use crate::time::rfc3339;

/// The owner of what an object had before it was first applied to, if nobody was tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The owner of what a test writes directly into an object that was applied to.
const TEST: &str = "informer-testkit";

fn write(resource: &ResourceType, options: &WriteOptions) -> Write {
    Write {
        of: type_of(resource),
        api_version: resource.api_version(),
        subresource: match options.part {
            Part::Status => "status",
            Part::Scale => "scale",
            Part::Finalize => "finalize",
            Part::Main | Part::Whole => "",
        },
        ignored: ignored(resource, options.part),
        now: rfc3339(options.now),
        family: resource.family.clone(),
    }
}

/// The fields that a write of a part cannot change, and therefore not own.
fn ignored(resource: &ResourceType, part: Part) -> FieldSet {
    let paths: &[&[&str]] = match part {
        Part::Whole | Part::Scale | Part::Finalize => &[],
        Part::Main if !resource.has_status => &[],
        Part::Main => match resource.plural.as_str() {
            "certificatesigningrequests" if !resource.custom => &[&["spec"], &["status"]],
            _ => &[&["status"]],
        },
        Part::Status => match resource.plural.as_str() {
            _ if resource.custom => &[&["metadata"], &["spec"]],
            "volumeattachments" | "customresourcedefinitions" | "apiservices" => {
                &[&["metadata"], &["spec"]]
            }
            "deployments" => &[&["spec"], &["metadata", "labels"]],
            "pods" => &[
                &["spec"],
                &["metadata", "deletionTimestamp"],
                &["metadata", "ownerReferences"],
            ],
            _ => &[&["spec"]],
        },
    };
    FieldSet::of_fields(paths)
}

/// Where an object has the wanted replicas.
fn replicas(resource: &ResourceType) -> FieldSet {
    let path = resource.definition.scale.as_ref();
    let path = path.map_or(".spec.replicas", |paths| paths.replicas.as_str());
    let steps: Vec<&str> = path.split('.').filter(|step| !step.is_empty()).collect();
    FieldSet::of_fields(&[&steps])
}

/// What an object is before it is created.
fn empty(resource: &ResourceType, of: &TypeRef) -> Value {
    if resource.custom {
        return json!({ "apiVersion": resource.api_version(), "kind": resource.kind });
    }
    of.zero()
}

/// The managed fields that an object has.
pub(crate) fn managed_fields(object: &Value) -> &Value {
    &object["metadata"]["managedFields"]
}

/// Replaces the managed fields of an object that has metadata.
pub(crate) fn set_managed_fields(object: &mut Value, entries: Option<Value>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    match entries {
        Some(entries) => metadata.insert("managedFields".to_owned(), entries),
        None => metadata.remove("managedFields"),
    };
}

/// Returns the managed fields after a write that is no apply; `live` is `None` for a creation.
pub(crate) fn written(
    resource: &ResourceType,
    live: Option<&Value>,
    new: &Value,
    options: &WriteOptions,
) -> Option<Value> {
    let given = managed_fields(new);
    let before = live.map_or(&Value::Null, managed_fields);
    if options.part == Part::Whole && !was_applied_to(before) {
        return Some(given.clone()).filter(|given| !given.is_null());
    }
    let write = write(resource, options);
    let mut owners = match options.part {
        Part::Status => Owners::parse(before),
        _ if is_reset(resource, given) => Some(Owners::default()),
        _ => Owners::parse(given)
            .filter(|owners| !owners.is_empty())
            .or_else(|| Owners::parse(before)),
    }
    .unwrap_or_default();
    if live.is_some() && owners.is_empty() {
        return None;
    }
    if options.part == Part::Scale && !owners.have(&replicas(resource)) {
        return owners.write();
    }
    let nothing = empty(resource, &write.of);
    let (mut live, mut new) = (live.unwrap_or(&nothing).clone(), new.clone());
    set_managed_fields(&mut live, None);
    set_managed_fields(&mut new, None);
    let name = match options.part {
        Part::Whole => TEST,
        _ => options.manager.as_str(),
    };
    match write.update(&mut owners, &live, &new, name) {
        Ok(()) => owners.write(),
        // A real server forgets owners that it cannot keep.
        Err(_) => None,
    }
}

/// Whether a client asks to forget the owners: an empty list of a built-in kind, or one empty entry.
fn is_reset(resource: &ResourceType, given: &Value) -> bool {
    match given.as_array().map(Vec::as_slice) {
        Some([]) => !resource.custom,
        Some([one]) => *one == json!({}),
        _ => false,
    }
}

fn was_applied_to(entries: &Value) -> bool {
    let mut entries = entries.as_array().into_iter().flatten();
    entries.any(|entry| entry["operation"] == "Apply")
}

/// Whether two lists of entries differ in their times at most.
pub(crate) fn same_but_for_times(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_array(), other.as_array()) else {
        return false;
    };
    let timeless = |entry: &Value| {
        let mut entry = entry.clone();
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("time");
        }
        entry
    };
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| timeless(one) == timeless(other))
}

/// Returns an object with another applied to it, and its managed fields; `live` is `None` if there is none yet.
///
/// # Errors
/// 400 and 500 for an object that cannot be applied, 409 with the conflicts.
pub(crate) fn applied(
    resource: &ResourceType,
    live: Option<&Value>,
    applied: &Value,
    force: bool,
    options: &WriteOptions,
) -> Result<Value, Status> {
    let write = write(resource, options);
    check(resource, applied, &write.of)?;
    let nothing = empty(resource, &write.of);
    let mut live = live.unwrap_or(&nothing).clone();
    let mut owners = Owners::parse(managed_fields(&live)).ok_or_else(|| {
        let message = "failed to decode managed fields: they are not valid";
        Status::failure(500, "", message)
    })?;
    set_managed_fields(&mut live, None);
    if owners.is_empty() {
        let _ = write.update(&mut owners, &nothing, &live, BEFORE_FIRST_APPLY);
    }
    let manager = options.manager.as_str();
    let by_force = |force: bool| {
        let mut owners = owners.clone();
        let new = write.apply(&mut owners, &live, applied, manager, force)?;
        Ok((new, owners))
    };
    let result = by_force(force).or_else(|refusal| {
        let Refusal::Conflicts(conflicts) = refusal else {
            return Err(refusal);
        };
        let left = last_applied::unexplained(manager, conflicts, &live, &write.of);
        match left.is_empty() {
            true => by_force(true),
            false => Err(Refusal::Conflicts(left)),
        }
    });
    let (mut new, owners) = result.map_err(|refusal| match refusal {
        Refusal::Conflicts(conflicts) => conflict::status(&conflicts),
        Refusal::Unconvertible(why) => Status::failure(500, "", why),
    })?;
    match resource.custom {
        // The nulls of a custom resource are checked against its schema.
        true => drop_nulls(
            &mut new["metadata"],
            &write
                .of
                .view()
                .as_map()
                .map_or_else(TypeRef::deduced, |map| map.field("metadata")),
        ),
        false => drop_nulls(&mut new, &write.of),
    }
    if !new["metadata"].is_object() {
        new["metadata"] = json!({});
    }
    last_applied::renew(manager, &mut new, applied);
    set_managed_fields(&mut new, owners.write());
    Ok(new)
}

/// Refuses what cannot be applied.
fn check(resource: &ResourceType, applied: &Value, of: &TypeRef) -> Result<(), Status> {
    let text = |field: &str| applied[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let version = match api_version.split_once('/') {
        Some(_) => api_version.to_owned(),
        None => format!("/{api_version}"),
    };
    let named = format!("{version}, Kind={kind}");
    if api_version != resource.api_version() || kind != resource.kind {
        return Err(status::bad_request(format!("invalid object type: {named}")));
    }
    if !managed_fields(applied).is_null() {
        return Err(status::bad_request("metadata.managedFields must be nil"));
    }
    let Some(problem) = value::problems(applied, of) else {
        return Ok(());
    };
    let place = |field: &str| applied["metadata"][field].as_str().unwrap_or_default();
    let message = format!(
        "failed to create typed patch object ({}/{}; {named}): {problem}",
        place("namespace"),
        place("name")
    );
    Err(Status::failure(500, "", message))
}
