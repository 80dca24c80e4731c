//! Deletion, as the API server does it by itself: preconditions, grace periods of pods, the finalizers that a
//! propagation policy adds, and namespaces, which end in two steps. What other programs of a cluster do about it is the
//! business of [actors](crate::Actors).

use std::sync::Arc;

use informer_wire::{DeleteOptions, Deleted, Propagation, Status};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::cluster::Cluster;
use super::custom;
use super::list::Page;
use super::object::StoredObject;
use super::options::ListOptions;
use super::rules::{
    has_finalizers, is_marked_deleted, is_namespace, is_pod, metadata_mut, namespace_finalizers,
    set_phase,
};
use super::write::{Part, WriteOptions};
use crate::resource::ResourceType;
use crate::status;
use crate::time::rfc3339;

/// The finalizer of an object whose dependents are to be deleted first.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents are to lose their owner first.
pub(crate) const ORPHAN: &str = "orphan";

/// How a kind's grace period turns a delete out.
enum Grace {
    /// There is none: the object goes at once, or is marked while it has finalizers.
    None,
    /// The object is being deleted already, and would not end sooner.
    Pending,
    /// The object is marked, to end after this many seconds.
    Graceful(i64),
}

impl Cluster {
    /// Deletes an object, or marks it for deletion: while it has finalizers (those of a propagation policy included), or
    /// when it is a scheduled pod that has time to end. A namespace is only marked; it goes when its
    /// `spec.finalizers` are gone. A custom resource definition takes its resources with it.
    ///
    /// A write of the whole object ([`Part::Whole`]) gives no grace and knows no default policy of a kind, as if whoever
    /// has to end the object had done so.
    ///
    /// # Errors
    /// 404, 409 when a precondition does not hold, 403 for a namespace that may not go.
    pub fn delete(
        &mut self,
        resource: &Arc<ResourceType>,
        namespace: &str,
        name: &str,
        how: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<Deleted<Arc<StoredObject>>, Status> {
        let options = &options.dry_run(options.dry_run || how.dry_run);
        if options.part != Part::Whole && is_namespace(resource) {
            refuse_immortal(resource, name)?;
        }
        let old = self.get(resource, namespace, name)?;
        check_preconditions(how, resource, &old)?;
        let mut value = old.value(resource);
        if is_namespace(resource) {
            if !is_marked_deleted(&value) {
                set_phase(&mut value, "Terminating");
                let finalizers = policy_finalizers(resource, &value, how, options);
                set_finalizers(&mut value, &finalizers)?;
                let metadata = metadata_mut(&mut value)?;
                metadata.insert("deletionTimestamp".to_owned(), rfc3339(options.now).into());
                return Ok(Deleted::Object(self.put(resource, &old, &value, options)));
            }
            if namespace_finalizers(&value) > 0 {
                return Ok(Deleted::Object(old));
            }
        }
        self.delete_by_rules(resource, old, value, how, options)
    }

    fn delete_by_rules(
        &mut self,
        resource: &Arc<ResourceType>,
        old: Arc<StoredObject>,
        mut value: Value,
        how: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<Deleted<Arc<StoredObject>>, Status> {
        let grace = grace(resource, &mut value, how, options)?;
        if matches!(grace, Grace::Pending) {
            return Ok(Deleted::Object(old));
        }
        let finalizers = policy_finalizers(resource, &value, how, options);
        set_finalizers(&mut value, &finalizers)?;
        let last = match grace {
            Grace::Graceful(seconds) => {
                let marked = self.put(resource, &old, &value, options);
                if seconds > 0 || has_finalizers(&value) {
                    return Ok(Deleted::Object(marked));
                }
                marked
            }
            _ if has_finalizers(&value) => {
                mark_deleted(&mut value, options.now)?;
                return Ok(Deleted::Object(self.put(resource, &old, &value, options)));
            }
            _ => old,
        };
        if !options.dry_run {
            self.remove(resource, &last);
        }
        if options.part != Part::Whole && resource.is_returned_when_deleted() {
            if options.dry_run {
                return Ok(Deleted::Object(last));
            }
            // In the version of its deletion.
            let last = StoredObject::encode(resource, &last.value(resource), self.revision());
            return Ok(Deleted::Object(Arc::new(last)));
        }
        let status = status::deleted(resource, last.name(), last.uid());
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

    /// Stores a changed object, unless it is the same; a dry run only makes it.
    fn put(
        &mut self,
        resource: &Arc<ResourceType>,
        old: &Arc<StoredObject>,
        value: &Value,
        options: &WriteOptions,
    ) -> Arc<StoredObject> {
        if *value == old.value(resource) {
            return old.clone();
        }
        let new = custom::encode(resource, value, self.revision_of(options, old));
        if !options.dry_run {
            self.commit(resource, old.key(), Some(new.clone()));
        }
        custom::view(resource, &new)
    }

    /// Removes an object for good, and what belongs to it.
    pub(super) fn remove(&mut self, resource: &Arc<ResourceType>, old: &Arc<StoredObject>) {
        self.drop_definition(resource, old);
        self.commit(resource, old.key(), None);
    }
}

/// Whether an update that ends like this is the end of the object: it is being deleted, nothing holds it, and its grace
/// is over.
pub(super) fn ends(resource: &ResourceType, before: &Value, after: &Value) -> bool {
    is_marked_deleted(before)
        && !has_finalizers(after)
        && grace_left(before) == 0
        && !(is_namespace(resource) && namespace_finalizers(after) > 0)
}

/// The seconds of a deletion that runs; 0 if none are given.
fn grace_left(object: &Value) -> i64 {
    object["metadata"]["deletionGracePeriodSeconds"]
        .as_i64()
        .unwrap_or(0)
}

/// Marks a pod that has time to end.
fn grace(
    resource: &ResourceType,
    pod: &mut Value,
    how: &DeleteOptions,
    options: &WriteOptions,
) -> Result<Grace, Status> {
    if !is_pod(resource) || options.part == Part::Whole {
        return Ok(Grace::None);
    }
    let asked = how
        .grace_period_seconds
        .map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
    let (end, seconds) = if is_marked_deleted(pod) {
        let running = grace_left(pod);
        match asked {
            _ if running == 0 => return Ok(Grace::None),
            Some(asked) if asked < running => shortened(pod, running, asked, options.now),
            _ => return Ok(Grace::Pending),
        }
    } else {
        let seconds = first_grace(pod, asked);
        let metadata = metadata_mut(pod)?;
        if let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
            metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
        }
        (after(options.now, seconds), seconds)
    };
    let metadata = metadata_mut(pod)?;
    metadata.insert("deletionTimestamp".to_owned(), rfc3339(end).into());
    metadata.insert("deletionGracePeriodSeconds".to_owned(), seconds.into());
    Ok(Grace::Graceful(seconds))
}

/// The seconds that a pod has from the first delete on: none if nothing runs.
fn first_grace(pod: &Value, asked: Option<i64>) -> i64 {
    let scheduled = pod["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let over = matches!(
        pod["status"]["phase"].as_str(),
        Some("Failed" | "Succeeded")
    );
    if !scheduled || over {
        return 0;
    }
    let own = || pod["spec"]["terminationGracePeriodSeconds"].as_i64();
    match asked.or_else(own) {
        Some(seconds) if seconds < 0 => 1,
        Some(seconds) => seconds,
        // The default of the pod's specification.
        None => 30,
    }
}

/// The end of a deletion that is shortened, and its seconds: it does not move into the past, and what was graceful stays
/// so.
fn shortened(pod: &Value, running: i64, asked: i64, now: Timestamp) -> (Timestamp, i64) {
    let end = pod["metadata"]["deletionTimestamp"].as_str();
    let end = end.and_then(|text| text.parse().ok()).unwrap_or(now);
    let end = after(end, asked.saturating_sub(running));
    if end >= now {
        return (end, asked);
    }
    (now, asked.min(1))
}

/// A time so many seconds later, within the range that there is.
fn after(time: Timestamp, seconds: i64) -> Timestamp {
    let later = time.saturating_add(SignedDuration::from_secs(seconds));
    later.unwrap_or(time)
}

/// Marks an object that has finalizers and knows no grace.
fn mark_deleted(object: &mut Value, now: Timestamp) -> Result<(), Status> {
    let marked = is_marked_deleted(object);
    let metadata = metadata_mut(object)?;
    metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
    let now_text = rfc3339(now);
    let ahead = metadata
        .get("deletionTimestamp")
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<Timestamp>().ok())
        .is_none_or(|end| end > now);
    if ahead {
        metadata.insert("deletionTimestamp".to_owned(), now_text.into());
    }
    if let Some(generation) = metadata
        .get("generation")
        .and_then(Value::as_i64)
        .filter(|_| !marked)
    {
        metadata.insert("generation".to_owned(), generation.saturating_add(1).into());
    }
    Ok(())
}

/// The finalizers that an object has when it is deleted so: those of a propagation policy come and go, the last one asked
/// for counts, then what the object has, then what its kind wants.
fn policy_finalizers(
    resource: &ResourceType,
    object: &Value,
    how: &DeleteOptions,
    options: &WriteOptions,
) -> Vec<String> {
    let own = object["metadata"]["finalizers"].as_array();
    let own: Vec<String> = own
        .into_iter()
        .flatten()
        .filter_map(|finalizer| finalizer.as_str().map(str::to_owned))
        .collect();
    let has = |wanted: &str| own.iter().any(|finalizer| finalizer == wanted);
    let core_or_events = matches!(resource.group.as_str(), "" | "events.k8s.io");
    let is_event = !resource.custom && core_or_events && resource.plural == "events";
    let wanted = match how.propagation_policy {
        _ if is_event => None,
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(_) => None,
        // Whichever of the two comes first.
        None if has(ORPHAN) || has(FOREGROUND) => {
            let of_policy = |finalizer: &&String| *finalizer == ORPHAN || *finalizer == FOREGROUND;
            own.iter()
                .find(of_policy)
                .map(|finalizer| match finalizer.as_str() {
                    ORPHAN => ORPHAN,
                    _ => FOREGROUND,
                })
        }
        None => (options.part != Part::Whole && resource.orphans_by_default()).then_some(ORPHAN),
    };
    let unchanged = [FOREGROUND, ORPHAN]
        .iter()
        .all(|one| has(one) == (wanted == Some(*one)));
    if unchanged {
        return own;
    }
    let mut finalizers = own;
    finalizers.retain(|finalizer| finalizer != ORPHAN && finalizer != FOREGROUND);
    finalizers.extend(wanted.map(str::to_owned));
    finalizers
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) -> Result<(), Status> {
    let metadata = metadata_mut(object)?;
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), finalizers.into());
    }
    Ok(())
}

/// 403: a cluster does not go without some of its namespaces.
fn refuse_immortal(resource: &ResourceType, name: &str) -> Result<(), Status> {
    if !matches!(name, "default" | "kube-system" | "kube-public") {
        return Ok(());
    }
    Err(status::refused(
        resource,
        name,
        "this namespace may not be deleted",
    ))
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
    // A real server names the kind here, where other conflicts name the resource; and has words of its own for
    // namespaces.
    let refuse = |what: &str, wanted: &str, is: &str, perhaps: &str| {
        if is_namespace(resource) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}"
            );
            return Err(status::conflict(resource, old.name(), &why));
        }
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
