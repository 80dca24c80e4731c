//! Where factories get a `ListerWatcher` for a resource from.

use std::sync::Arc;

use informer_store::Object;
use informer_wire::Resource;

use crate::boxed::BoxListerWatcher;

/// Gives the [`ListerWatcher`](crate::ListerWatcher) of any resource, as objects of type `K`.
///
/// A connection to an API server implements it for every `K` that can be read from the wire; a test implements it
/// for the types it scripts. Selectors are no part of it: they come with each request.
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
    /// Lists and watches `resource` in one namespace, or in all of them (`None`). Cluster-scoped resources have
    /// no namespace; for them `namespace` is ignored.
    ///
    /// Makes no request and never fails: what is wrong shows in the first list or watch.
    fn lister_watcher(&self, resource: &Resource, namespace: Option<&str>) -> BoxListerWatcher<K>;
}

impl<K: Object, S: ListerWatcherSource<K> + ?Sized> ListerWatcherSource<K> for Arc<S> {
    fn lister_watcher(&self, resource: &Resource, namespace: Option<&str>) -> BoxListerWatcher<K> {
        (**self).lister_watcher(resource, namespace)
    }
}
