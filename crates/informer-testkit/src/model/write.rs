//! Writes: create, replace, patch, delete, with the rules of resource versions, generations,
//! finalizers and the status subresource.

use std::sync::Arc;

use informer_wire::{DeleteOptions, Deleted, Patch, Status, StatusCause};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::cluster::Cluster;
use super::collection::Scope;
use super::custom;
use super::list::Page;
use super::object::{StoredObject, object_key};
use super::options::ListOptions;
use super::rules::{
    check_name, check_place, check_type, check_versions, fill_defaults, has_finalizers, has_text,
    is_marked_deleted, is_namespace, metadata_mut, protect, remove, same_but_for_version,
    spec_differs,
};
use super::strategy::{
    check_finalizers, drop_empty, empty_status, keeps_status, other_uid, require_version,
    returns_deleted,
};
use crate::resource::ResourceType;
use crate::schema::{self, FieldValidation};
use crate::status;
use crate::time::rfc3339;

/// The part of an object that a write may change.
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

/// The options of a write.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The time to write into the object.
    pub now: Timestamp,
    /// The part that may change.
    pub part: Part,
    /// Whether to change nothing and only answer.
    pub dry_run: bool,
    /// What a patch does with unknown fields in its result.
    pub field_validation: FieldValidation,
}

impl WriteOptions {
    /// Makes the options of a real write of the whole object.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now,
            part: Part::Whole,
            dry_run: false,
            field_validation: FieldValidation::Ignore,
        }
    }

    /// Sets the part that may change.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.part = part;
        self
    }

    /// Sets what a patch does with unknown fields in its result.
    #[must_use]
    pub fn field_validation(mut self, validation: FieldValidation) -> Self {
        self.field_validation = validation;
        self
    }

    /// Sets whether to change nothing.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// How much of a `generateName` is in the name, which then has 63 characters.
const MAX_GENERATED_BASE: usize = 58;

/// Names of Kubernetes' own generator: no vowels, so no words.
const GENERATED_NAME_CHARS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

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
        custom::shape(resource, &mut object)?;
        let metadata = metadata_mut(&mut object)?;
        let unset = metadata
            .get("resourceVersion")
            .is_some_and(|version| version == "0");
        if has_text(metadata, "resourceVersion") && !unset && !options.dry_run {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::failure(500, "", why));
        }
        let name = self.choose_name(resource, metadata)?;
        if options.part != Part::Whole {
            check_finalizers(resource, &name, None, &object)?;
        }
        if options.part == Part::Main && resource.has_status && !keeps_status(resource) {
            remove(&mut object, "status");
        }
        custom::validate(resource, &name, &object, None, options.part)?;
        if options.part != Part::Whole {
            self.warn(resource, None, &object);
        }
        let metadata = metadata_mut(&mut object)?;
        let key = object_key(namespace, &name);
        if let Some(old) = self.collection(resource)?.get(&key) {
            let mut refusal = status::already_exists(resource, &name);
            if is_marked_deleted(&old.value(resource)) {
                refusal.message = format!("object is being deleted: {}", refusal.message);
            }
            return Err(refusal);
        }
        if resource.namespaced {
            self.require_namespace(namespace, options)?;
            metadata.insert("namespace".to_owned(), namespace.into());
        } else {
            metadata.remove("namespace");
        }
        for field in [
            "selfLink",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            metadata.remove(field);
        }
        drop_empty(metadata);
        metadata.insert("uid".to_owned(), self.new_uid().into());
        metadata.insert("creationTimestamp".to_owned(), rfc3339(options.now).into());
        fill_defaults(resource, &mut object);
        if resource.has_generation() {
            metadata_mut(&mut object)?.insert("generation".to_owned(), 1.into());
        }
        self.check_definition(resource, &mut object, None, options)?;
        // What is not stored has no version.
        let revision = if options.dry_run {
            0
        } else {
            self.next_revision()
        };
        let stored = custom::encode(resource, &object, revision);
        if !options.dry_run {
            self.commit(resource, &key, Some(stored.clone()));
            self.adopt_definition(resource, &object);
        }
        Ok(custom::view(resource, &stored))
    }

    /// Replaces an object. With a resource version in it, only that version is replaced. By request, some kinds are
    /// created if they are missing, as on a real server.
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
        let missing = || {
            self.collection(resource)
                .map(|all| all.get(&object_key(namespace, name)).is_none())
        };
        if resource.is_created_by_updates() && options.part != Part::Whole && missing()? {
            let mut object = object;
            let metadata = metadata_mut(&mut object)?;
            metadata.remove("resourceVersion");
            if let Some(uid) = metadata.get("uid").and_then(Value::as_str) {
                return Err(other_uid(resource, namespace, name, uid, ""));
            }
            return self.create(resource, namespace, object, options);
        }
        self.update(resource, namespace, name, options, |_| {
            if options.part != Part::Whole {
                require_version(resource, name, &object)?;
            }
            Ok(object)
        })
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
        patch: &Patch<Value>,
        options: &WriteOptions,
    ) -> Result<Arc<StoredObject>, Status> {
        let exists = self
            .collection(resource)?
            .get(&object_key(namespace, name))
            .is_some();
        if let Patch::Apply { object, .. } = patch {
            check_type(resource, object)?;
            check_place(resource, namespace, object)?;
            check_name(object, name)?;
            if !exists && options.part != Part::Status {
                let mut object = object.clone();
                metadata_mut(&mut object)?.insert("name".to_owned(), name.into());
                return self.create(resource, namespace, object, options);
            }
        }
        let repeated = self.take_warnings();
        let mut warnings = Vec::new();
        let patched = self.update(resource, namespace, name, options, |old| {
            let mut patched = crate::patch::apply(patch, resource, old)?;
            if options.part != Part::Whole {
                let validation = options.field_validation;
                warnings =
                    schema::check_patched(resource, patch, &mut patched, validation, repeated)?;
            }
            Ok(patched)
        });
        self.warnings.extend(warnings);
        patched
    }

    /// Deletes an object, or marks it for deletion while it has finalizers. A namespace takes its
    /// contents with it, a custom resource definition its resources. Grace periods and propagation
    /// policies are ignored.
    ///
    /// # Errors
    /// 404, 409 when a precondition does not hold.
    pub fn delete(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        name: &str,
        how: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<Deleted<Arc<StoredObject>>, Status> {
        let options = &options.dry_run(options.dry_run || how.dry_run);
        let old = self.get(resource, namespace, name)?;
        check_preconditions(how, resource, &old)?;
        let mut value = old.value(resource);
        if has_finalizers(&value) {
            let object = self.mark_deleted(resource, &old, &mut value, options)?;
            return Ok(Deleted::Object(object));
        }
        if !options.dry_run {
            if is_namespace(resource) && !self.empty_namespace(&old, &mut value, options)? {
                let object = self.get(resource, namespace, name)?;
                return Ok(Deleted::Object(object));
            }
            self.remove(resource, &old);
        }
        if options.part != Part::Whole && returns_deleted(resource) {
            return Ok(Deleted::Object(old));
        }
        let status = status::deleted(resource, name, old.uid());
        Ok(Deleted::Status(Box::new(status)))
    }

    /// Deletes every object that a list with the same options has, and returns that list.
    ///
    /// # Errors
    /// Those of a list; 409 when a precondition does not hold, which each object has to meet.
    pub fn delete_collection(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        selection: &ListOptions,
        how: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<Page, Status> {
        let page = self.list(resource, namespace, selection)?;
        for object in &page.items {
            let (namespace, name) = (object.namespace(), object.name());
            self.delete(resource, namespace, name, how, options)?;
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
        custom::shape(resource, &mut after)?;
        // From here on both are objects with metadata, whatever the patch was.
        drop_empty(metadata_mut(&mut after)?);
        check_type(resource, &after)?;
        check_versions(resource, &old, &after)?;
        protect(resource, &before, &mut after, options.part)?;
        if options.part != Part::Whole {
            check_finalizers(resource, name, Some(&before), &after)?;
        }
        custom::validate(resource, name, &after, Some(&before), options.part)?;
        if options.part != Part::Whole {
            self.warn(resource, Some(&before), &after);
        }
        if let Some(status) = empty_status(resource).filter(|_| after["status"].is_null()) {
            after["status"] = status;
        }
        let generation = before["metadata"]["generation"].as_i64();
        if let Some(generation) = generation.filter(|_| spec_differs(resource, &before, &after)) {
            metadata_mut(&mut after)?
                .insert("generation".to_owned(), generation.saturating_add(1).into());
        }
        if is_marked_deleted(&before) && !has_finalizers(&after) {
            if !options.dry_run {
                self.remove(resource, &old);
                self.finish_namespace_of(&old);
            }
            return Ok(old);
        }
        self.check_definition(resource, &mut after, Some(&before), options)?;
        // A write that changes nothing writes nothing: the version stays, and no watch has an event.
        if same_but_for_version(resource, &before, &mut after)
            && self.is_stored(resource, old.key(), &after)
        {
            return Ok(old);
        }
        let stored = custom::encode(resource, &after, self.next_revision());
        if !options.dry_run {
            self.commit(resource, old.key(), Some(stored.clone()));
            self.adopt_definition(resource, &after);
        }
        Ok(custom::view(resource, &stored))
    }

    /// Sets the deletion timestamp, unless there is one.
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
            metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
        }
        let marked = custom::encode(resource, value, self.next_revision());
        if !options.dry_run {
            self.commit(resource, old.key(), Some(marked.clone()));
        }
        Ok(custom::view(resource, &marked))
    }

    /// Removes an object for good, and what belongs to it.
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
            let object = custom::view(resource, &object);
            let mut value = object.value(resource);
            if has_finalizers(&value) {
                self.mark_deleted(resource, &object, &mut value, options)?;
            } else {
                self.remove(resource, &object);
            }
        }
        Ok(())
    }

    fn choose_name(
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
            name = base.chars().take(MAX_GENERATED_BASE).collect();
            for _ in 0..5 {
                let at = self.random.usize(..GENERATED_NAME_CHARS.len());
                name.push(char::from(GENERATED_NAME_CHARS[at]));
            }
            metadata.insert("name".to_owned(), name.as_str().into());
        }
        let invalid = |reason: &str, message: String| {
            let causes = vec![StatusCause::new(reason, message).with_field("metadata.name")];
            Err(status::invalid(
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

/// Checks the preconditions of a delete.
fn check_preconditions(
    wanted: &DeleteOptions,
    resource: &ResourceType,
    old: &StoredObject,
) -> Result<(), Status> {
    let Some(wanted) = &wanted.preconditions else {
        return Ok(());
    };
    // A real server names the kind here, where other conflicts name the resource.
    let refuse = |what: &str, wanted: &str, is: &str, perhaps: &str| {
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record ({is}). The object might \
             have been {perhaps}"
        );
        let mut named = resource.clone();
        named.plural.clone_from(&resource.kind);
        Err(status::conflict(&named, old.name(), &why))
    };
    if let Some(uid) = wanted.uid.as_deref().filter(|uid| *uid != old.uid()) {
        return refuse("UID", uid, old.uid(), "deleted and then recreated");
    }
    let is = old.revision().to_string();
    let version = wanted.resource_version.as_deref();
    if let Some(version) = version.filter(|wanted| *wanted != is) {
        return refuse("ResourceVersion", version, &is, "modified");
    }
    Ok(())
}
