//! Waiting until what is in a cluster satisfies a condition.

use std::sync::Arc;

use informer_store::{Snapshot, Store};
use tokio_util::sync::CancellationToken;

use crate::config::ReflectorConfig;
use crate::driver::Reflector;
use crate::lister_watcher::ListerWatcher;

/// Lists and watches until `found` gives something, and gives that. It is asked once the first list has arrived whole,
/// and again after each change; it sees all objects in one consistent state. Nothing is missed by being slow: what
/// counts is the state, not the events that led there.
///
/// Failures are retried without end, so set a limit of time around it.
///
/// ```
/// # use futures_util::stream;
/// # use informer_reflector::{List, ListWatch, ListWatchError};
/// # use informer_wire::{ListMeta, ListOptions, WatchEvent};
/// # use k8s_openapi::api::core::v1::Pod;
/// use informer_reflector::ReflectorConfig;
/// use informer_reflector::tools::until_with_sync;
/// use std::time::Duration;
///
/// # async fn list(_: ListOptions) -> Result<List<Pod>, ListWatchError> {
/// #     let mut pod = Pod::default();
/// #     pod.metadata.name = Some("a".into());
/// #     Ok(List::new(vec![pod], ListMeta::at(7.into())))
/// # }
/// # async fn watch(_: ListOptions) -> Result<stream::Pending<Result<WatchEvent<Pod>, ListWatchError>>, ListWatchError> {
/// #     Ok(stream::pending())
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tokio::time::error::Elapsed> {
/// # let pods = ListWatch::new(list, watch);
/// let first = until_with_sync(pods, ReflectorConfig::default(), |pods| pods.objects().next().cloned());
/// let first = tokio::time::timeout(Duration::from_secs(60), first).await?;
/// assert_eq!(first.metadata.name.as_deref(), Some("a"));
/// # Ok(())
/// # }
/// ```
///
/// # Cancel safety
/// Dropping the future ends the watch.
///
/// # Panics
/// A panic in `found` ends the future.
#[doc(alias = "UntilWithSync")]
pub async fn until_with_sync<L: ListerWatcher, T>(
    lister_watcher: L,
    config: ReflectorConfig,
    mut found: impl FnMut(&Snapshot<L::Object>) -> Option<T>,
) -> T {
    let store = Arc::new(Store::new());
    let reflector = Reflector::new(lister_watcher, Arc::clone(&store)).config(config);
    let mut status = reflector.status();
    // It ends with this future.
    let mut running = std::pin::pin!(reflector.run(CancellationToken::new()));
    loop {
        if status.borrow_and_update().synced
            && let Some(result) = found(&store.snapshot())
        {
            return result;
        }
        tokio::select! {
            biased;
            () = &mut running => {}
            _ = status.changed() => {}
        }
    }
}
