//! The life of a running informer, from start to the last join.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use informer_store::Object;
use tokio_util::sync::CancellationToken;

use super::options::OnStop;
use super::shared::Shared;
use super::source::Source;
use crate::controller::{Engine, Record, SharedProcess};
use crate::error::RunError;
use crate::handler::HandlerFailure;

/// Runs until something stops the informer, then ends all of it.
pub(crate) fn run<K: Object>(
    shared: Arc<Shared<K>>,
    source: Source,
    stop: CancellationToken,
) -> impl Future<Output = Result<(), RunError>> + Send {
    // Also when the future is dropped early, even before it was polled, nobody may wait for ever.
    let finish = FinishOnDrop(Arc::clone(&shared));
    async move {
        let outcome = run_and_shut_down(&shared, source, stop).await;
        shared.finish(outcome.clone());
        drop(finish);
        outcome
    }
}

async fn run_and_shut_down<K: Object>(
    shared: &Arc<Shared<K>>,
    source: Source,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let process = SharedProcess::new(Arc::clone(shared));
    let record = Arc::new(Record::new(Arc::clone(&shared.name)));
    let mut engine = Engine::new(shared.fifo.clone(), process, record);
    let run = AssertUnwindSafe(engine.run(source, &stop, &shared.stop)).catch_unwind();
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
    // In order: what feeds the cache, the cache, the handlers.
    shared.stop.cancel();
    engine.process.take_in_handlers();
    shared.registry.close();
    engine.shut_down(on_stop.drains()).await;
    engine.process.join_handlers(on_stop).await;
    outcome
}

struct FinishOnDrop<K: Object>(Arc<Shared<K>>);

impl<K: Object> Drop for FinishOnDrop<K> {
    fn drop(&mut self) {
        self.0.finish(Ok(()));
    }
}
