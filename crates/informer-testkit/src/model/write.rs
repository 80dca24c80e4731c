//! Writes: create, replace, patch, delete, with the rules of resource versions, generations,
//! finalizers and the status subresource.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::cluster::Cluster;
use super::collection::Scope;
use super::list::Page;
use super::object::{StoredObject, object_key};
use super::options::ListOptions;
use crate::patch::Patch;
use crate::resource::ResourceType;
use crate::status::{Status, StatusCause};
use crate::time::rfc3339;

/// Which part of an object a write may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Everything. No request can do this; tests that set up a state can.
    #[default]
    Whole,
    /// All but the status, if the resource has a status subresource.
    Main,
    /// The status alone: a request to `/status`.
    Status,
}

/// How to write.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The time to write into the object.
    pub now: Timestamp,
    /// Which part may change.
    pub part: Part,
    /// Whether to answer as if, and change nothing.
    pub dry_run: bool,
}

impl WriteOptions {
    /// A real write of the whole object.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now,
            part: Part::Whole,
            dry_run: false,
        }
    }

    /// Sets which part may change.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.part = part;
        self
    }

    /// Sets whether to change nothing.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// The preconditions of a delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeleteOptions {
    /// Delete only the object with this UID.
    pub uid: Option<String>,
    /// Delete only this version.
    pub resource_version: Option<String>,
}

/// What a delete did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// The object: its last version, or the one with the deletion mark.
    pub object: Arc<StoredObject>,
    /// Whether it is gone; otherwise it waits for its finalizers.
    pub gone: bool,
}

/// Names of Kubernetes' own generator: no vowels, so no words.
const GENERATED_NAME_CHARS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

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

impl Cluster {
    /// Creates an object; its metadata may have a name or a `generateName`.
    ///
    /// # Errors
    /// 409 when the name is taken, 404 for a missing namespace if namespaces are strict, 400 and
    /// 422 for an object that makes no sense.
    pub fn create(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        mut object: Value,
        options: &WriteOptions,
    ) -> Result<Arc<StoredObject>, Status> {
        check_type(resource, &object)?;
        check_place(resource, namespace, &object)?;
        let metadata = metadata_mut(&mut object)?;
        if has_text(metadata, "resourceVersion") {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::new(500, "", why));
        }
        let name = self.settle_name(resource, metadata)?;
        let key = object_key(namespace, &name);
        if self.collection(resource)?.get(&key).is_some() {
            return Err(Status::already_exists(resource, &name));
        }
        if resource.namespaced {
            self.require_namespace(namespace, options)?;
            metadata.insert("namespace".to_owned(), namespace.into());
        }
        for field in [
            "selfLink",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            metadata.remove(field);
        }
        metadata.insert("uid".to_owned(), self.new_uid().into());
        metadata.insert("creationTimestamp".to_owned(), rfc3339(options.now).into());
        if options.part == Part::Main && resource.has_status {
            remove(&mut object, "status");
        }
        fill_defaults(resource, &mut object);
        if has_generation(resource, &object) {
            metadata_mut(&mut object)?.insert("generation".to_owned(), 1.into());
        }
        self.check_definition(resource, &mut object, options)?;
        let stored = Arc::new(StoredObject::encode(
            resource,
            &object,
            self.next_revision(),
        ));
        if !options.dry_run {
            self.commit(resource, &key, Some(stored.clone()));
            self.adopt_definition(resource, &object);
        }
        Ok(stored)
    }

    /// Replaces an object. With a resource version in it, only that version is replaced.
    ///
    /// # Errors
    /// 404, 409 for a stale version or another UID, 400 and 422 for an object that makes no sense.
    pub fn replace(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        name: &str,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Arc<StoredObject>, Status> {
        check_type(resource, &object)?;
        check_place(resource, namespace, &object)?;
        check_name(&object, name)?;
        let versioned = object["metadata"]["resourceVersion"]
            .as_str()
            .is_some_and(|v| !v.is_empty());
        if resource.custom && options.part != Part::Whole && !versioned {
            let cause = StatusCause::new(
                "FieldValueInvalid",
                "Invalid value: 0: must be specified for an update",
            );
            let causes = vec![cause.field("metadata.resourceVersion")];
            return Err(Status::invalid(
                &resource.group,
                &resource.kind,
                name,
                causes,
            ));
        }
        self.update(resource, namespace, name, options, |_| Ok(object))
    }

    /// Patches an object; a server-side apply creates it if need be.
    ///
    /// # Errors
    /// 404, 409 when the patch names a stale version, 415 for a kind of patch that the resource
    /// does not take, 400 and 422 for a patch that does not fit.
    pub fn patch(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        name: &str,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<Arc<StoredObject>, Status> {
        let exists = self
            .collection(resource)?
            .get(&object_key(namespace, name))
            .is_some();
        if let Patch::Apply(object) = patch {
            check_type(resource, object)?;
            check_place(resource, namespace, object)?;
            check_name(object, name)?;
            if !exists {
                let mut object = object.clone();
                metadata_mut(&mut object)?.insert("name".to_owned(), name.into());
                return self.create(resource, namespace, object, options);
            }
        }
        self.update(resource, namespace, name, options, |old| {
            patch.apply(resource, old)
        })
    }

    /// Deletes an object, or marks it for deletion while it has finalizers. A namespace takes its
    /// contents with it, a custom resource definition its resources.
    ///
    /// # Errors
    /// 404, 409 when a precondition does not hold.
    pub fn delete(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        name: &str,
        preconditions: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<Deleted, Status> {
        let old = self.get(resource, namespace, name)?;
        preconditions.check(resource, &old)?;
        let mut value = old.value(resource);
        if has_finalizers(&value) {
            let object = self.mark_deleted(resource, &old, &mut value, options)?;
            return Ok(Deleted {
                object,
                gone: false,
            });
        }
        if options.dry_run {
            return Ok(Deleted {
                object: old,
                gone: true,
            });
        }
        if is_namespace(resource) && !self.empty_namespace(&old, &mut value, options)? {
            let object = self.get(resource, namespace, name)?;
            return Ok(Deleted {
                object,
                gone: false,
            });
        }
        self.remove(resource, &old);
        Ok(Deleted {
            object: old,
            gone: true,
        })
    }

    /// Deletes every object that a list with the same options has, and gives that list.
    ///
    /// # Errors
    /// Those of a list.
    pub fn delete_collection(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        selection: &ListOptions,
        options: &WriteOptions,
    ) -> Result<Page, Status> {
        let page = self.list(resource, namespace, selection)?;
        for object in &page.items {
            let (namespace, name) = (object.namespace(), object.name());
            self.delete(
                resource,
                namespace,
                name,
                &DeleteOptions::default(),
                options,
            )?;
        }
        Ok(page)
    }

    fn update(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        name: &str,
        options: &WriteOptions,
        change: impl FnOnce(&Value) -> Result<Value, Status>,
    ) -> Result<Arc<StoredObject>, Status> {
        let old = self.get(resource, namespace, name)?;
        let before = old.value(resource);
        let mut after = change(&before)?;
        // From here on both are objects with metadata, whatever the patch was.
        metadata_mut(&mut after)?;
        check_type(resource, &after)?;
        check_versions(resource, &old, &after)?;
        protect(resource, &before, &mut after, options.part)?;
        let generation = before["metadata"]["generation"].as_i64();
        if let Some(generation) = generation.filter(|_| spec_differs(&before, &after)) {
            metadata_mut(&mut after)?.insert("generation".to_owned(), (generation + 1).into());
        }
        if is_marked_deleted(&before) && !has_finalizers(&after) {
            if !options.dry_run {
                self.remove(resource, &old);
                self.finish_namespace_of(&old);
            }
            return Ok(old);
        }
        self.check_definition(resource, &mut after, options)?;
        // A write that changes nothing writes nothing: the version stays, no watcher hears of it.
        if same_but_for_version(resource, &before, &mut after) {
            return Ok(old);
        }
        let stored = Arc::new(StoredObject::encode(resource, &after, self.next_revision()));
        if !options.dry_run {
            self.commit(resource, old.key(), Some(stored.clone()));
            self.adopt_definition(resource, &after);
        }
        Ok(stored)
    }

    /// Sets the deletion mark, unless it is there already.
    pub(super) fn mark_deleted(
        &mut self,
        resource: &Arc<ResourceType>,
        old: &Arc<StoredObject>,
        value: &mut Value,
        options: &WriteOptions,
    ) -> Result<Arc<StoredObject>, Status> {
        if is_marked_deleted(value) {
            return Ok(old.clone());
        }
        let metadata = metadata_mut(value)?;
        metadata.insert("deletionTimestamp".to_owned(), rfc3339(options.now).into());
        metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
        if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
            metadata.insert("generation".to_owned(), (generation + 1).into());
        }
        let marked = Arc::new(StoredObject::encode(resource, value, self.next_revision()));
        if !options.dry_run {
            self.commit(resource, old.key(), Some(marked.clone()));
        }
        Ok(marked)
    }

    /// Removes an object for good, and what hangs on it.
    pub(super) fn remove(&mut self, resource: &Arc<ResourceType>, old: &Arc<StoredObject>) {
        self.drop_definition(resource, old);
        self.commit(resource, old.key(), None);
    }

    /// Removes or marks every object of a scope.
    pub(super) fn delete_all(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        options: &WriteOptions,
    ) -> Result<(), Status> {
        let scope = Scope::new(namespace);
        let objects: Vec<_> = self
            .collection(resource)?
            .live(&scope, "")
            .cloned()
            .collect();
        for object in objects {
            let mut value = object.value(resource);
            if has_finalizers(&value) {
                self.mark_deleted(resource, &object, &mut value, options)?;
            } else {
                self.remove(resource, &object);
            }
        }
        Ok(())
    }

    fn settle_name(
        &mut self,
        resource: &ResourceType,
        metadata: &mut Map<String, Value>,
    ) -> Result<String, Status> {
        let text = |metadata: &Map<String, Value>, field: &str| {
            metadata
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut name = text(metadata, "name");
        let base = text(metadata, "generateName");
        if name.is_empty() && !base.is_empty() {
            name = base;
            for _ in 0..5 {
                let at = self.random.usize(..GENERATED_NAME_CHARS.len());
                name.push(char::from(GENERATED_NAME_CHARS[at]));
            }
            metadata.insert("name".to_owned(), name.as_str().into());
        }
        let invalid = |reason: &str, message: String| {
            let causes = vec![StatusCause::new(reason, message).field("metadata.name")];
            Err(Status::invalid(
                &resource.group,
                &resource.kind,
                &name,
                causes,
            ))
        };
        if name.is_empty() {
            let message = "Required value: name or generateName is required".to_owned();
            return invalid("FieldValueRequired", message);
        }
        if name.len() > 253 || name == "." || name == ".." || name.contains(['/', '%']) {
            let message = format!(
                "Invalid value: {name:?}: a name is at most 253 characters long, not '.' or '..', \
                 and has no '/' or '%'"
            );
            return invalid("FieldValueInvalid", message);
        }
        Ok(name)
    }

    fn new_uid(&mut self) -> String {
        let bits = self.random.u128(..);
        // Version 4, variant 1, as RFC 9562 wants them.
        let bits = bits & !(0xf << 76) | (0x4 << 76);
        let bits = bits & !(0x3 << 62) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }
}

impl DeleteOptions {
    fn check(&self, resource: &ResourceType, old: &StoredObject) -> Result<(), Status> {
        let refuse = |what: &str, wanted: &str, is: &str| {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}"
            );
            Err(Status::conflict(resource, old.name(), &why))
        };
        if let Some(uid) = self.uid.as_deref().filter(|uid| *uid != old.uid()) {
            return refuse("UID", uid, old.uid());
        }
        let is = old.revision().to_string();
        if let Some(version) = self
            .resource_version
            .as_deref()
            .filter(|wanted| *wanted != is)
        {
            return refuse("ResourceVersion", version, &is);
        }
        Ok(())
    }
}

pub(super) fn metadata_mut(object: &mut Value) -> Result<&mut Map<String, Value>, Status> {
    let Some(object) = object.as_object_mut() else {
        return Err(Status::bad_request("the object is not a JSON object"));
    };
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    metadata
        .as_object_mut()
        .ok_or_else(|| Status::bad_request("metadata is not a JSON object"))
}

fn has_text(metadata: &Map<String, Value>, field: &str) -> bool {
    metadata
        .get(field)
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty())
}

fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|finalizers| !finalizers.is_empty())
}

pub(super) fn is_marked_deleted(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn is_namespace(resource: &ResourceType) -> bool {
    resource.group.is_empty() && resource.plural == "namespaces"
}

/// A body may leave out its type, but not give another one.
fn check_type(resource: &ResourceType, object: &Value) -> Result<(), Status> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let fits = (api_version.is_empty() || api_version == resource.api_version())
        && (kind.is_empty() || kind == resource.kind);
    if fits {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "{kind} in version \"{api_version}\" cannot be handled as a {}: no kind \"{kind}\" is \
         served here in version \"{api_version}\"",
        resource.kind
    )))
}

fn check_place(resource: &ResourceType, namespace: &str, object: &Value) -> Result<(), Status> {
    let said = object["metadata"]["namespace"].as_str().unwrap_or_default();
    if !resource.namespaced && said.is_empty() {
        return Ok(());
    }
    if resource.namespaced && (said.is_empty() || said == namespace) {
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

fn check_name(object: &Value, name: &str) -> Result<(), Status> {
    let said = object["metadata"]["name"].as_str().unwrap_or_default();
    if said == name || said.is_empty() {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({said}) does not match the name on the URL ({name})"
    )))
}

fn check_versions(resource: &ResourceType, old: &StoredObject, new: &Value) -> Result<(), Status> {
    let text = |field: &str| new["metadata"][field].as_str().unwrap_or_default();
    let version = text("resourceVersion");
    if !matches!(version, "" | "0") && version != old.revision().to_string() {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        return Err(Status::conflict(resource, old.name(), why));
    }
    let uid = text("uid");
    if !uid.is_empty() && uid != old.uid() {
        let options = DeleteOptions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        };
        options.check(resource, old)?;
    }
    Ok(())
}

/// Puts back what this write may not change.
fn protect(
    resource: &ResourceType,
    before: &Value,
    after: &mut Value,
    part: Part,
) -> Result<(), Status> {
    match part {
        Part::Status => {
            let status = after["status"].take();
            let mut kept = before.clone();
            set_or_remove(&mut kept, "status", status);
            *after = kept;
        }
        Part::Main if resource.has_status => {
            set_or_remove(after, "status", before["status"].clone());
        }
        Part::Main | Part::Whole => {}
    }
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

fn set_or_remove(object: &mut Value, field: &str, value: Value) {
    if value.is_null() {
        return remove(object, field);
    }
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value);
    }
}

fn remove(object: &mut Value, field: &str) {
    if let Some(object) = object.as_object_mut() {
        object.remove(field);
    }
}

/// Custom resources always count generations; of built-in kinds those that have a spec do.
fn has_generation(resource: &ResourceType, object: &Value) -> bool {
    resource.custom || (object.get("spec").is_some() && !is_namespace(resource))
}

fn spec_differs(before: &Value, after: &Value) -> bool {
    let spec = |object: &Value| {
        let mut object = object.clone();
        for field in ["apiVersion", "kind", "metadata", "status"] {
            remove(&mut object, field);
        }
        object
    };
    spec(before) != spec(after)
}

fn same_but_for_version(resource: &ResourceType, before: &Value, after: &mut Value) -> bool {
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

/// The few defaults that selectors and `kubectl` rely on.
fn fill_defaults(resource: &ResourceType, object: &mut Value) {
    let phase = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => "Pending",
        ("", "namespaces") => "Active",
        _ => return,
    };
    if object["status"]["phase"].is_null() {
        set_phase(object, phase);
    }
    if is_namespace(resource) {
        let name = object["metadata"]["name"].clone();
        if !object["metadata"]["labels"].is_object() {
            object["metadata"]["labels"] = json!({});
        }
        if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".to_owned(), name);
        }
    }
}
