//! What feeds keys into a controller: an informer, and which keys its objects stand for.

use std::fmt;
use std::future::ready;

use informer_shared::{Cause, Event, InformerStopped, Registration, SharedInformer};
use informer_store::{Object, ObjectKey, ObjectMetadata};
use informer_wire::Resource;
use informer_workqueue::{Priority, WorkQueue};

type Keys<K> = Box<dyn FnMut(&K, &mut dyn FnMut(ObjectKey)) + Send>;
type Predicate<K> = Box<dyn FnMut(&Event<K>) -> bool + Send>;

/// An informer whose events bring keys to reconcile.
///
/// ```
/// use informer_controller::{Source, predicate};
/// use informer_shared::SharedInformer;
/// use informer_store::ObjectKey;
/// use k8s_openapi::api::apps::v1::ReplicaSet;
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
///
/// fn sources(sets: &SharedInformer<ReplicaSet>, pods: &SharedInformer<Pod>, maps: &SharedInformer<ConfigMap>) {
///     let own = Source::objects(sets).when(predicate::generation());
///     let owned = Source::owned_by(pods, "apps", "ReplicaSet");
///     let mapped = Source::mapped(maps, |map: &ConfigMap| {
///         let set = map.metadata.annotations.as_ref()?.get("used-by")?;
///         Some(ObjectKey::namespaced(map.metadata.namespace.as_deref()?, set))
///     });
///     // Each goes to `Controller::watch`.
///     # drop((own, owned, mapped));
/// }
/// ```
#[must_use = "a source feeds a controller that watches it"]
pub struct Source<K: Object> {
    informer: SharedInformer<K>,
    keys: Keys<K>,
    predicates: Vec<Predicate<K>>,
    leaves_when_deleted: bool,
}

impl<K: Object> Source<K> {
    /// The keys of the objects themselves.
    #[doc(alias = "For")]
    pub fn objects(informer: &SharedInformer<K>) -> Self {
        Self::new(informer, |object, add| {
            if let Ok(key) = ObjectKey::try_of(object) {
                add(key);
            }
        })
    }

    /// The keys of the objects' controlling owners of this group and kind, in any version. The group of Kubernetes' core
    /// is empty. Owners of an object in a namespace are taken to be in the same one.
    #[doc(alias = "Owns")]
    pub fn owned_by(informer: &SharedInformer<K>, group: &str, kind: &str) -> Self {
        Self::owned(informer, group, kind, true)
    }

    /// As [`owned_by`](Self::owned_by) a resource; owners of cluster scope have keys without namespace.
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

    /// The keys that a function finds for an object. Of an update both the old and the new object are asked.
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
            leaves_when_deleted: false,
        }
    }

    /// Only events that this lets pass; see [`predicate`](crate::predicate). Several must all agree.
    #[doc(alias = "WithEventFilter")]
    pub fn when(mut self, predicate: impl FnMut(&Event<K>) -> bool + Send + 'static) -> Self {
        self.predicates.push(Box::new(predicate));
        self
    }

    /// A deletion takes its key out of the queue, with its retries, instead of bringing it. For controllers that have
    /// nothing to do once the object is gone, as those that clean up by finalizers.
    pub const fn leaves_when_deleted(mut self) -> Self {
        self.leaves_when_deleted = true;
        self
    }

    pub(crate) const fn informer(&self) -> &SharedInformer<K> {
        &self.informer
    }

    /// Begins to feed a queue.
    pub(crate) fn feed(
        self,
        name: &str,
        queue: WorkQueue<ObjectKey>,
    ) -> Result<Registration, InformerStopped> {
        let Self {
            informer,
            mut keys,
            mut predicates,
            leaves_when_deleted,
        } = self;
        let name = format!("controller {name}");
        informer
            .handler()
            .name(name)
            .register(move |event: Event<K>| {
                if predicates.iter_mut().all(|predicate| predicate(&event)) {
                    let priority = priority(&event);
                    let is_over = leaves_when_deleted && matches!(event, Event::Deleted { .. });
                    let mut add = |key: ObjectKey| {
                        if is_over {
                            queue.remove(&key);
                        } else {
                            queue.add_with_priority(key, priority);
                        }
                    };
                    if let Event::Updated { old, new, .. } = &event
                        && !std::sync::Arc::ptr_eq(old, new)
                    {
                        keys(old, &mut add);
                    }
                    keys(event.object(), &mut add);
                }
                ready(())
            })
    }
}

/// What was there before, or has not changed, can wait.
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

impl<K: Object> fmt::Debug for Source<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("informer", &self.informer.name())
            .field("predicates", &self.predicates.len())
            .finish_non_exhaustive()
    }
}
