//! The life of a running informer, from start to the last join.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use informer_store::Object;
use tokio_util::sync::CancellationToken;

use super::options::OnStop;
use super::shared::Shared;
use super::source::Source;
use crate::controller::Controller;
use crate::error::RunError;
use crate::handler::HandlerFailure;

/// Runs until something stops the informer, then ends all of it.
pub(crate) async fn run<K: Object>(
    shared: Arc<Shared<K>>,
    source: Source,
    stop: CancellationToken,
) -> Result<(), RunError> {
    // Also when this future is dropped early, nobody may wait for ever.
    let finish = FinishOnDrop(&shared);
    let mut controller = Controller::new(Arc::clone(&shared));
    let run = AssertUnwindSafe(controller.run(source, &stop)).catch_unwind();
    let outcome = run.await.unwrap_or_else(|panic| {
        let message = Arc::from(HandlerFailure::from_panic(&*panic).to_string());
        Err(RunError::Panicked {
            part: "controller",
            message,
        })
    });
    if let Err(error) = &outcome {
        let error = error as &dyn std::error::Error;
        tracing::error!(informer = %shared.name, error, "the informer ends");
    }
    let on_stop = if outcome.is_ok() {
        shared.on_stop
    } else {
        OnStop::Drop
    };
    controller.shut_down(on_stop).await;
    shared.finish(outcome.clone());
    drop(finish);
    outcome
}

struct FinishOnDrop<'a, K: Object>(&'a Shared<K>);

impl<K: Object> Drop for FinishOnDrop<'_, K> {
    fn drop(&mut self) {
        self.0.finish(Ok(()));
    }
}
