//! Waiting until the objects of a cluster meet a condition.

use std::sync::Arc;

use informer_reflector::{ListerWatcher, Reflector, ReflectorConfig};
use informer_store::{SelectorError, Snapshot, Store};
use tokio_util::sync::CancellationToken;

/// Lists and watches until `condition` returns something, and returns that. It is called once the first list is applied,
/// and again after changes, with all objects in one consistent state. It sees the newest state each time and may miss one in
/// between: for conditions on events there is [`RetryWatcher::until`](crate::RetryWatcher::until).
///
/// Failures are retried without end, so set a time limit around it.
///
/// ```
/// # use futures_util::stream;
/// # use informer_reflector::{ListWatch, ListWatchError};
/// # use informer_wire::{ListMeta, ListOptions, WatchEvent};
/// # use k8s_openapi::api::core::v1::Pod;
/// use std::time::Duration;
///
/// use informer_reflector::ReflectorConfig;
/// use informer_tools::until_with_sync;
///
/// # async fn list(_: ListOptions) -> Result<(Vec<Pod>, ListMeta), ListWatchError> {
/// #     let mut pod = Pod::default();
/// #     pod.metadata.name = Some("a".into());
/// #     Ok((vec![pod], ListMeta::at(7.into())))
/// # }
/// # async fn watch(_: ListOptions) -> Result<stream::Pending<Result<WatchEvent<Pod>, ListWatchError>>, ListWatchError> {
/// #     Ok(stream::pending())
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let pods = ListWatch::new(list, watch);
/// let first = until_with_sync(pods, ReflectorConfig::default(), |pods| pods.objects().next().cloned());
/// let first = tokio::time::timeout(Duration::from_secs(60), first).await??;
/// assert_eq!(first.metadata.name.as_deref(), Some("a"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If a selector of the configuration does not parse.
///
/// # Cancel safety
/// Dropping the future ends the watch.
///
/// # Panics
/// A panic of `condition` passes to the caller.
#[doc(alias = "UntilWithSync")]
pub async fn until_with_sync<L: ListerWatcher, T>(
    lister_watcher: L,
    config: ReflectorConfig,
    mut condition: impl FnMut(&Snapshot<L::Object>) -> Option<T>,
) -> Result<T, SelectorError> {
    let store = Arc::new(Store::new());
    let reflector = Reflector::new(lister_watcher, Arc::clone(&store)).config(config)?;
    let mut status = reflector.status();
    // It ends with this future.
    let mut running = std::pin::pin!(reflector.run(CancellationToken::new()));
    loop {
        if status.borrow_and_update().synced
            && let Some(result) = condition(&store.snapshot())
        {
            return Ok(result);
        }
        tokio::select! {
            biased;
            () = &mut running => {}
            _ = status.changed() => {}
        }
    }
}
