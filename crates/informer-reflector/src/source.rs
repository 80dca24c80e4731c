//! Where factories get the `ListerWatcher` of a resource.

use std::sync::Arc;

use informer_store::Object;
use informer_wire::Resource;

use crate::boxed::BoxListerWatcher;

/// Makes the [`ListerWatcher`](crate::ListerWatcher) of any resource, for objects of type `K`.
///
/// A connection to an API server implements it for every `K` that can be decoded; a test implements it
/// for the types it scripts. Selectors are no part of it: each request has them.
///
/// ```
/// use informer_reflector::{BoxListerWatcher, ListerWatcherSource};
/// use informer_store::Object;
/// use informer_wire::Resource;
///
/// fn nodes<K: Object>(source: &impl ListerWatcherSource<K>, nodes: &Resource) -> BoxListerWatcher<K> {
///     source.lister_watcher(nodes, None)
/// }
/// ```
pub trait ListerWatcherSource<K: Object>: Send + Sync + 'static {
    /// Makes the lister-watcher of `resource` in one namespace, or in all of them (`None`). Cluster-scoped resources have
    /// no namespace; for them `namespace` is ignored.
    ///
    /// Sends no request and never fails: what is wrong shows in the first list or watch.
    fn lister_watcher(&self, resource: &Resource, namespace: Option<&str>) -> BoxListerWatcher<K>;
}

impl<K: Object, S: ListerWatcherSource<K> + ?Sized> ListerWatcherSource<K> for Arc<S> {
    fn lister_watcher(&self, resource: &Resource, namespace: Option<&str>) -> BoxListerWatcher<K> {
        (**self).lister_watcher(resource, namespace)
    }
}
