//! Writes: create, replace, patch, with the rules of resource versions, generations, finalizers and the status
//! subresource.

use std::sync::Arc;

use informer_wire::{Patch, Status};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::cluster::Cluster;
use super::custom;
use super::delete::ends;
use super::metadata::{check_created, check_updated, drop_empty, other_uid, require_version};
use super::names::path_segment;
use super::object::{StoredObject, object_key};
use super::rules::{
    check_name, check_place, check_type, check_version, fill_defaults, has_text, is_marked_deleted,
    keep_immutable, metadata_mut, protect, remove, same_but_for_version, spec_differs,
};
use crate::apply::{self, FieldManager};
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
    /// The replicas: a request to `/scale`.
    Scale,
    /// All but the status, and what holds a namespace in its `spec.finalizers`: a request to its `/finalize`.
    Finalize,
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
    /// Who takes ownership of changed fields.
    pub manager: FieldManager,
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
            manager: FieldManager::new(""),
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

    /// Sets who takes ownership of changed fields.
    #[must_use]
    pub fn manager(mut self, manager: FieldManager) -> Self {
        self.manager = manager;
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
        object: Value,
        options: &WriteOptions,
    ) -> Result<Arc<StoredObject>, Status> {
        self.insert(resource, namespace, object, options, false)
    }

    /// Creates an object, which may come from an apply: then its owners are known.
    fn insert(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        mut object: Value,
        options: &WriteOptions,
        applied: bool,
    ) -> Result<Arc<StoredObject>, Status> {
        check_type(resource, &object)?;
        check_place(resource, namespace, &object)?;
        custom::shape(resource, &mut object, applied)?;
        let by_request = options.part != Part::Whole;
        let name = self.choose_name(metadata_mut(&mut object)?);
        if resource.namespaced {
            self.check_namespace(resource, namespace, &name, by_request)?;
        }
        if by_request {
            check_created(resource, &name, &object)?;
        } else if name.is_empty() || name.len() > 253 || !path_segment(&name).is_empty() {
            // The words of a real server for it.
            check_created(resource, &name, &object)?;
            return Err(status::bad_request(format!("{name:?} cannot be a name")));
        }
        if options.part == Part::Main && resource.has_status && !resource.keeps_status() {
            remove(&mut object, "status");
        }
        custom::validate(resource, &name, &object, None, options.part)?;
        if by_request {
            self.warn(resource, None, &object);
        }
        let metadata = metadata_mut(&mut object)?;
        let unset = metadata
            .get("resourceVersion")
            .is_some_and(|version| version == "0");
        let given = has_text(metadata, "resourceVersion") && !unset;
        if given && !options.dry_run {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::failure(500, "", why));
        }
        let key = object_key(namespace, &name);
        if let Some(old) = self.collection(resource)?.get(&key) {
            let mut refusal = status::already_exists(resource, &name);
            if is_marked_deleted(&old.value(resource)) {
                refusal.message = format!("object is being deleted: {}", refusal.message);
            }
            return Err(refusal);
        }
        if resource.namespaced {
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
        if !applied {
            let owners = apply::written(resource, None, &object, options);
            apply::set_managed_fields(&mut object, owners);
        }
        if resource.has_generation() {
            metadata_mut(&mut object)?.insert("generation".to_owned(), 1.into());
        }
        self.check_definition(resource, &mut object, None, options)?;
        if options.dry_run {
            // What is not stored has no version, or that of the request.
            let version = object["metadata"]["resourceVersion"].as_str();
            let revision = version.and_then(|version| version.parse().ok());
            let answer = custom::encode(resource, &object, revision.unwrap_or_default());
            return Ok(custom::view(resource, &answer));
        }
        if resource.namespaced {
            self.ensure_namespace(namespace, options)?;
        }
        let stored = custom::encode(resource, &object, self.next_revision());
        self.commit(resource, &key, Some(stored.clone()));
        self.adopt_definition(resource, &object);
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
            if !options.dry_run {
                metadata.remove("resourceVersion");
            }
            if let Some(uid) = metadata.get("uid").and_then(Value::as_str) {
                let dry_run = options.dry_run;
                return Err(other_uid(resource, namespace, name, uid, "", dry_run));
            }
            return self.create(resource, namespace, object, options);
        }
        self.update(resource, namespace, name, options, false, |before| {
            let uid = |object: &Value| {
                object["metadata"]["uid"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            let (wanted, is) = (uid(&object), uid(before));
            if !wanted.is_empty() && wanted != is {
                let dry_run = options.dry_run;
                return Err(other_uid(resource, namespace, name, &wanted, &is, dry_run));
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
        let (applies, options) = match patch {
            Patch::Apply { manager, .. } => (true, &options.manager(FieldManager::new(manager))),
            _ => (false, options),
        };
        let repeated = self.take_warnings();
        let mut warnings = Vec::new();
        let change = |live: Option<&Value>| {
            let mut patched = crate::patch::apply(patch, resource, live, options)?;
            if applies {
                check_type(resource, &patched)?;
                check_place(resource, namespace, &patched)?;
                check_name(&patched, name)?;
            }
            if options.part != Part::Whole {
                let validation = options.field_validation;
                warnings =
                    schema::check_patched(resource, patch, &mut patched, validation, repeated)?;
            }
            Ok(patched)
        };
        let creates = applies && (options.part != Part::Status || resource.is_created_by_updates());
        let patched = if exists || !creates {
            self.update(resource, namespace, name, options, applies, |live| {
                change(Some(live))
            })
        } else {
            change(None).and_then(|object| {
                let uid = object["metadata"]["uid"].as_str();
                if let Some(uid) = uid.filter(|uid| !uid.is_empty()) {
                    return Err(absent_uid(resource, name, uid));
                }
                self.insert(resource, namespace, object, options, true)
            })
        };
        self.warnings.extend(warnings);
        patched
    }

    fn update(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        name: &str,
        options: &WriteOptions,
        applied: bool,
        change: impl FnOnce(&Value) -> Result<Value, Status>,
    ) -> Result<Arc<StoredObject>, Status> {
        let old = self.get(resource, namespace, name)?;
        let before = old.value(resource);
        let mut after = change(&before)?;
        custom::shape(resource, &mut after, applied)?;
        // From here on both are objects with metadata, whatever the patch was.
        drop_empty(metadata_mut(&mut after)?);
        let owners = match applied {
            true => Some(apply::managed_fields(&after).clone()).filter(|owners| !owners.is_null()),
            false => apply::written(resource, Some(&before), &after, options),
        };
        check_type(resource, &after)?;
        let by_request = options.part != Part::Whole;
        if by_request {
            require_version(resource, name, &after)?;
        }
        check_version(resource, &old, &after)?;
        protect(resource, &before, &mut after, options.part);
        if by_request {
            check_updated(resource, name, &before, &after)?;
        }
        keep_immutable(&before, &mut after)?;
        apply::set_managed_fields(&mut after, owners);
        custom::validate(resource, name, &after, Some(&before), options.part)?;
        if resource.custom && after["status"].is_null() {
            remove(&mut after, "status");
        }
        if by_request {
            self.warn(resource, Some(&before), &after);
        }
        if let Some(status) = resource
            .empty_status()
            .filter(|_| after["status"].is_null())
        {
            after["status"] = status;
        }
        let generation = before["metadata"]["generation"].as_i64();
        let counts = resource.has_generation()
            && options.part != Part::Status
            && spec_differs(resource, &before, &after);
        if let Some(generation) = generation.filter(|_| counts) {
            metadata_mut(&mut after)?
                .insert("generation".to_owned(), generation.saturating_add(1).into());
        }
        if ends(resource, &before, &after) {
            if !options.dry_run {
                self.remove(resource, &old);
            }
            // Gone, though the answer to the write is as to any other.
            let last = StoredObject::encode(resource, &after, old.revision());
            return Ok(Arc::new(last));
        }
        self.check_definition(resource, &mut after, Some(&before), options)?;
        // A write that changes nothing writes nothing: the version stays, and no watch has an event.
        let owners = apply::managed_fields(&before);
        if apply::same_but_for_times(owners, apply::managed_fields(&after)) {
            let mut timeless = after.clone();
            apply::set_managed_fields(&mut timeless, Some(owners.clone()));
            if same_but_for_version(resource, &before, &mut timeless)
                && self.is_stored(resource, old.key(), &timeless)
            {
                return Ok(old);
            }
        }
        if same_but_for_version(resource, &before, &mut after)
            && self.is_stored(resource, old.key(), &after)
        {
            return Ok(old);
        }
        let revision = self.revision_of(options, &old);
        let stored = custom::encode(resource, &after, revision);
        if !options.dry_run {
            self.commit(resource, old.key(), Some(stored.clone()));
            self.adopt_definition(resource, &after);
        }
        Ok(custom::view(resource, &stored))
    }

    /// The revision of an object that is being changed: a dry run leaves it as it is.
    pub(super) fn revision_of(&self, options: &WriteOptions, old: &StoredObject) -> u64 {
        if options.dry_run {
            return old.revision();
        }
        self.next_revision()
    }

    /// Returns the name, made from `generateName` if there is none.
    fn choose_name(&mut self, metadata: &mut Map<String, Value>) -> String {
        let text = |metadata: &Map<String, Value>, field: &str| {
            let text = metadata.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
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
        name
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

/// 409: an apply names a UID, but there is no object.
fn absent_uid(resource: &ResourceType, name: &str, uid: &str) -> Status {
    let why = format!(
        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    );
    status::conflict(resource, name, &why)
}
