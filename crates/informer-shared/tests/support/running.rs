//! A process loop at work in a task.

use informer_shared::{Process, ProcessLoop, ProcessLoopStatus, RunError};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::soon;

pub(crate) struct Running {
    pub(crate) status: watch::Receiver<ProcessLoopStatus>,
    stop: CancellationToken,
    task: JoinHandle<Result<(), RunError>>,
}

/// Runs a loop.
pub(crate) fn start(process_loop: ProcessLoop<ConfigMap, impl Process<ConfigMap>>) -> Running {
    let (status, stop) = (process_loop.status(), CancellationToken::new());
    let task = tokio::spawn(process_loop.run(stop.clone()));
    Running { status, stop, task }
}

/// Runs a loop and waits until it is synced.
pub(crate) async fn synced(
    process_loop: ProcessLoop<ConfigMap, impl Process<ConfigMap>>,
) -> Running {
    let synced = process_loop.synced();
    let running = start(process_loop);
    soon(synced).await.expect("it syncs");
    running
}

impl Running {
    pub(crate) fn status(&self) -> ProcessLoopStatus {
        self.status.borrow().clone()
    }

    /// Stops it.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        let outcome = soon(self.task).await.expect("no panic");
        outcome.expect("it ends well");
    }
}
