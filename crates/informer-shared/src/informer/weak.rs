//! A handle that does not keep an informer running.

use std::fmt;
use std::sync::{Arc, Weak};

use informer_store::Object;

use super::{Owner, SharedInformer};

/// A handle of a [`SharedInformer`] that does not keep it running, as handlers of the informer should hold it.
///
/// ```
/// use informer_shared::{Event, RunError, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn stop_at_first_deletion(informer: &SharedInformer<Pod>) -> Result<(), RunError> {
///     let weak = informer.downgrade();
///     informer.add_handler(move |event: Event<Pod>| {
///         let informer = weak.upgrade().filter(|_| matches!(event, Event::Deleted { .. }));
///         async move {
///             match informer {
///                 Some(informer) => informer.stop().await,
///                 None => Ok(()),
///             }
///         }
///     })?;
///     Ok(())
/// }
/// ```
pub struct WeakInformer<K: Object>(Weak<Owner<K>>);

impl<K: Object> WeakInformer<K> {
    pub(super) fn new(owner: &Arc<Owner<K>>) -> Self {
        Self(Arc::downgrade(owner))
    }

    /// Returns a handle of the informer; `None` once all handles were dropped.
    #[must_use]
    pub fn upgrade(&self) -> Option<SharedInformer<K>> {
        Some(SharedInformer {
            owner: self.0.upgrade()?,
        })
    }
}

impl<K: Object> Clone for WeakInformer<K> {
    fn clone(&self) -> Self {
        Self(Weak::clone(&self.0))
    }
}

impl<K: Object> fmt::Debug for WeakInformer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakInformer").finish_non_exhaustive()
    }
}
