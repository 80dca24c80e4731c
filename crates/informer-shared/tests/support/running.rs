//! A controller or a plain informer at work in a task.

use informer_shared::{ControllerMonitor, RunError};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::soon;

pub(crate) struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<(), RunError>>,
}

/// Lets it run.
pub(crate) fn start<F>(run: impl FnOnce(CancellationToken) -> F) -> Running
where
    F: Future<Output = Result<(), RunError>> + Send + 'static,
{
    let stop = CancellationToken::new();
    let task = tokio::spawn(run(stop.clone()));
    Running { stop, task }
}

/// Lets it run, and waits until it is synced.
pub(crate) async fn synced<F>(
    monitor: &ControllerMonitor<ConfigMap>,
    run: impl FnOnce(CancellationToken) -> F,
) -> Running
where
    F: Future<Output = Result<(), RunError>> + Send + 'static,
{
    let running = start(run);
    soon(monitor.synced()).await.expect("it syncs");
    running
}

impl Running {
    /// Stops it.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let outcome = soon(self.task).await.expect("no panic");
        outcome.expect("it ends well");
    }
}
