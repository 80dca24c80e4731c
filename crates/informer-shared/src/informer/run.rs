//! A run of an informer, from start to the last join.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use informer_store::Object;
use tokio_util::sync::CancellationToken;

use super::shared::{Shared, SharedLoop};
use crate::error::RunError;

/// The part that errors name.
const PART: &str = "process loop";

/// Runs until something stops the informer, then ends all of it.
pub(super) fn run<K: Object>(
    shared: Arc<Shared<K>>,
    process_loop: SharedLoop<K>,
    stop: CancellationToken,
) -> impl Future<Output = Result<(), RunError>> + Send {
    // Made before the future is polled: also if it is dropped unpolled, nobody may wait for ever.
    let mut run = Run {
        shared,
        process_loop,
    };
    async move {
        let outcome = run.run(stop).await;
        run.shared.finish(outcome.clone());
        drop(run);
        outcome
    }
}

/// A run. The process loop is dropped last, which says that the informer has stopped.
struct Run<K: Object> {
    shared: Arc<Shared<K>>,
    process_loop: SharedLoop<K>,
}

impl<K: Object> Run<K> {
    async fn run(&mut self, stop: CancellationToken) -> Result<(), RunError> {
        let Self {
            shared,
            process_loop,
        } = self;
        let stopped = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = shared.stop.cancelled() => {}
            }
        };
        let outcome = caught(process_loop.run_until(stopped)).await;
        if let Err(error) = &outcome {
            let error = error as &dyn std::error::Error;
            tracing::error!(informer = %shared.watched.name, error, "informer failed");
        }
        // In order: what feeds the cache, the cache, the handlers.
        shared.stop.cancel();
        let drains = shared.on_stop(&outcome).drains();
        let drained = caught(async {
            process_loop.process_mut().add_listeners(usize::MAX);
            shared.listeners.close();
            process_loop.shut_down(drains).await
        });
        let outcome = outcome.and(drained.await);
        let on_stop = shared.on_stop(&outcome);
        let joined = caught(async {
            process_loop.process_mut().join_handlers(on_stop).await;
            Ok(())
        });
        // A handler may have failed since the stop, too.
        let failed = joined
            .await
            .and(shared.listeners.failure().map_or(Ok(()), Err));
        outcome.and(failed)
    }
}

/// Converts a panic into an error.
async fn caught(run: impl Future<Output = Result<(), RunError>>) -> Result<(), RunError> {
    let outcome = AssertUnwindSafe(run).catch_unwind().await;
    outcome.unwrap_or_else(|panic| Err(RunError::from_panic(PART, &*panic)))
}

impl<K: Object> Drop for Run<K> {
    fn drop(&mut self) {
        // What `run` does not catch, such as a panic of a value that is dropped, is no good end.
        let outcome = if std::thread::panicking() {
            Err(RunError::from_panic(PART, &"while it was dropped"))
        } else {
            Ok(())
        };
        self.shared.finish(outcome);
    }
}
