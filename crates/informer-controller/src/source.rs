//! Event sources: an informer, and the keys that its events queue.

use std::collections::BTreeSet;
use std::fmt;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use informer_reflector::__private::panic_message;
use informer_shared::{Cause, Event, RunError, SharedInformer};
use informer_store::{Object, ObjectKey, ObjectMetadata};
use informer_wire::Resource;
use informer_workqueue::{Priority, WorkQueue};

use crate::status::{Queued, Record, SourceStatus};
use crate::writes::Writes;

type Keys<K> = Box<dyn FnMut(&K, &mut dyn FnMut(ObjectKey)) + Send>;
type Predicate<K> = Box<dyn FnMut(&Event<K>) -> bool + Send>;

/// An informer whose events queue keys to reconcile, each key once for an event.
///
/// A predicate or mapping function that panics decides nothing: the event passes the predicate, and the object has no keys.
/// The panic is logged with the object's key and counted in the [status](crate::ControllerStatus); events after it are
/// handled as ever.
///
/// ```
/// use informer_controller::{EventSource, predicate};
/// use informer_shared::SharedInformer;
/// use informer_store::ObjectKey;
/// use k8s_openapi::api::apps::v1::ReplicaSet;
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
///
/// fn sources(sets: &SharedInformer<ReplicaSet>, pods: &SharedInformer<Pod>, maps: &SharedInformer<ConfigMap>) {
///     let own = EventSource::objects(sets).when(predicate::generation());
///     let owned = EventSource::owned_by(pods, "apps", "ReplicaSet");
///     let mapped = EventSource::mapped(maps, |map: &ConfigMap| {
///         let set = map.metadata.annotations.as_ref()?.get("used-by")?;
///         Some(ObjectKey::namespaced(map.metadata.namespace.as_deref()?, set))
///     });
///     // Each goes to `Controller::watch`.
///     # drop((own, owned, mapped));
/// }
/// ```
#[must_use = "a source feeds a controller that watches it"]
pub struct EventSource<K: Object> {
    informer: SharedInformer<K>,
    keys: Keys<K>,
    predicates: Vec<Predicate<K>>,
    /// Whether a deletion removes the object's key from the queue, instead of queueing it.
    drops_deleted: bool,
}

impl<K: Object> EventSource<K> {
    /// Queues the keys of the objects themselves.
    #[doc(alias = "For")]
    pub fn objects(informer: &SharedInformer<K>) -> Self {
        Self::new(informer, |object, add| {
            if let Ok(key) = ObjectKey::try_of(object) {
                add(key);
            }
        })
    }

    /// Queues the keys of the objects themselves while they exist: a deletion removes the key from the queue, with its
    /// retries. For controllers that have nothing to do after a deletion, as those that clean up by finalizers.
    pub fn existing_objects(informer: &SharedInformer<K>) -> Self {
        Self {
            drops_deleted: true,
            ..Self::objects(informer)
        }
    }

    /// Queues the keys of the objects' controlling owners of this group and kind, in any version. The core group is
    /// empty. An owner of a namespaced object is expected in the same namespace.
    #[doc(alias = "Owns")]
    pub fn owned_by(informer: &SharedInformer<K>, group: &str, kind: &str) -> Self {
        Self::owned(informer, group, kind, true)
    }

    /// Queues the keys of the objects' controlling owners of this resource, as [`owned_by`](Self::owned_by); owners of
    /// cluster scope have keys without a namespace.
    pub fn owned_by_resource(informer: &SharedInformer<K>, owner: &Resource) -> Self {
        let is_namespaced = owner.scope == informer_wire::Scope::Namespaced;
        Self::owned(informer, &owner.group, &owner.kind, is_namespaced)
    }

    fn owned(informer: &SharedInformer<K>, group: &str, kind: &str, is_namespaced: bool) -> Self {
        let (group, kind) = (group.to_owned(), kind.to_owned());
        Self::new(informer, move |object, add| {
            let namespace = object.namespace().filter(|_| is_namespaced);
            for owner in object.metadata().owner_references() {
                let its_group = owner
                    .api_version
                    .split_once('/')
                    .map_or("", |(group, _)| group);
                if owner.controller && owner.kind == kind && its_group == group {
                    add(match namespace {
                        Some(namespace) => ObjectKey::namespaced(namespace, owner.name),
                        None => ObjectKey::cluster_scoped(owner.name),
                    });
                }
            }
        })
    }

    /// Queues the keys that a function returns for an object. For an update it is called with the old and the new object.
    #[doc(alias = "Watches")]
    #[doc(alias = "EnqueueRequestsFromMapFunc")]
    pub fn mapped<I>(
        informer: &SharedInformer<K>,
        mut map: impl FnMut(&K) -> I + Send + 'static,
    ) -> Self
    where
        I: IntoIterator<Item = ObjectKey>,
    {
        Self::new(informer, move |object, add| {
            map(object).into_iter().for_each(add)
        })
    }

    fn new(
        informer: &SharedInformer<K>,
        keys: impl FnMut(&K, &mut dyn FnMut(ObjectKey)) + Send + 'static,
    ) -> Self {
        Self {
            informer: informer.clone(),
            keys: Box::new(keys),
            predicates: Vec::new(),
            drops_deleted: false,
        }
    }

    /// Drops events for which this returns `false`; see [`predicate`](crate::predicate). Several must all return `true`.
    #[doc(alias = "WithEventFilter")]
    pub fn when(mut self, predicate: impl FnMut(&Event<K>) -> bool + Send + 'static) -> Self {
        self.predicates.push(Box::new(predicate));
        self
    }

    pub(crate) const fn informer(&self) -> &SharedInformer<K> {
        &self.informer
    }

    /// Starts to feed a queue.
    pub(crate) fn feed(
        self,
        queue: WorkQueue<ObjectKey>,
        record: Record,
        writes: Arc<Writes>,
    ) -> Result<SourceStatus, RunError> {
        let Self {
            informer,
            mut keys,
            mut predicates,
            drops_deleted,
        } = self;
        let guard = Guard {
            record: record.clone(),
            informer: informer.name().into(),
        };
        let mut found = BTreeSet::new();
        let (name, queued) = (informer.name().into(), Queued::default());
        let counts = queued.clone();
        let registration = informer
            .handler()
            .name(format!("controller {}", record.name))
            .register(move |event: Event<K>| {
                let key = event.key();
                let mut pass = |predicate: &mut Predicate<K>| {
                    guard.call(&key, || predicate(&event)).unwrap_or(true)
                };
                if !predicates.iter_mut().all(&mut pass) {
                    return ready(());
                }
                if drops_deleted && matches!(event, Event::Deleted { .. }) {
                    queue.remove(&key);
                    writes.unpark(&key);
                    record.not_failing(&key);
                    return ready(());
                }
                let old = match &event {
                    Event::Updated { old, new, .. } if !Arc::ptr_eq(old, new) => Some(old),
                    _ => None,
                };
                for object in old.into_iter().chain([event.object()]) {
                    guard.call(&key, || keys(object, &mut |key| _ = found.insert(key)));
                }
                let priority = priority(&event);
                while let Some(key) = found.pop_first() {
                    queue.add_with_priority(key, priority);
                    counts.count();
                }
                ready(())
            });
        Ok(SourceStatus::new(name, queued, registration?.scoped()))
    }
}

/// Calls the user's functions of a source.
struct Guard {
    record: Record,
    informer: Box<str>,
}

impl Guard {
    /// Returns what a function returns, or `None` if it panics.
    fn call<R>(&self, key: &ObjectKey, function: impl FnOnce() -> R) -> Option<R> {
        let result = catch_unwind(AssertUnwindSafe(function));
        result.map_err(|panic| self.report(key, &*panic)).ok()
    }

    #[cold]
    fn report(&self, key: &ObjectKey, panic: &(dyn std::any::Any + Send)) {
        let panic = panic_message(panic);
        tracing::error!(
            controller = &*self.record.name,
            informer = &*self.informer,
            key = key.as_str(),
            panic,
            "event source panicked"
        );
        self.record
            .source_panicked(format!("{key}: event source panicked: {panic}"));
    }
}

/// Objects that existed before or did not change can wait.
const fn priority<K>(event: &Event<K>) -> Priority {
    match event {
        Event::Added { initial: true, .. }
        | Event::Updated {
            cause: Cause::Resync | Cause::Relist,
            ..
        } => Priority::Low,
        _ => Priority::Normal,
    }
}

impl<K: Object> fmt::Debug for EventSource<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSource")
            .field("informer", &self.informer.name())
            .field("predicates", &self.predicates.len())
            .finish_non_exhaustive()
    }
}
