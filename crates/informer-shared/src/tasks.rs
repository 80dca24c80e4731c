//! The tasks and threads of one informer's handlers: each has an owner, a way to stop and a way to be joined.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use informer_reflector::__private::panic_message;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use crate::error::EndReason;
use crate::handler::{Code, NewListener};

/// How long a task has to be dropped. One that blocks its thread is abandoned.
const DROP_GRACE: Duration = Duration::from_millis(100);

/// What runs handlers. Dropping it ends the tasks at their next await point, and abandons the threads.
pub(crate) struct HandlerTasks {
    /// The task of each async handler, and one that joins the thread of each blocking one.
    tasks: JoinSet<()>,
}

impl HandlerTasks {
    pub(crate) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
        }
    }

    /// Starts a handler. Must be called within a runtime.
    pub(crate) fn start<K>(&mut self, new: NewListener<K>) {
        let NewListener { listener, code } = new;
        match code {
            Code::Task(run) => {
                self.tasks.spawn(run);
            }
            Code::Thread(run) => {
                if let Err(error) = self.start_thread(&listener.name, run) {
                    listener.end_with(EndReason::NoThread(Arc::new(error)));
                }
            }
            Code::Stream => {}
        }
    }

    fn start_thread(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        // Dropped when the thread returns, also by a panic.
        let (returning, returned) = oneshot::channel::<()>();
        let runtime = Handle::current();
        // A name with a NUL byte cannot be a thread's.
        let name = name.replace('\0', " ");
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            let _returning = returning;
            let _context = runtime.enter();
            run();
        })?;
        self.tasks.spawn(async move {
            let _ = returned.await;
            // It still drops its thread-locals, which is user code.
            if let Ok(Err(panic)) = spawn_blocking(|| thread.join()).await {
                let error = panic_message(&*panic);
                tracing::error!(error, "a handler's thread panicked");
            }
        });
        Ok(())
    }

    /// Resolves when a handler's task or thread has ended and nothing of it is left. Pends while there is none.
    pub(crate) async fn reap(&mut self) {
        let Some(ended) = self.tasks.join_next().await else {
            return pending().await;
        };
        if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
            let error = panic_message(&*panic);
            tracing::error!(error, "a handler's task panicked");
        }
    }

    /// Waits for all handlers, which were told to end. A task whose call does not end within the grace is dropped at its
    /// await point; a thread that does not end is abandoned. Whoever holds a stream is not waited for.
    pub(crate) async fn join_all(&mut self, grace: Duration) {
        let ended = async {
            while !self.tasks.is_empty() {
                self.reap().await;
            }
        };
        if timeout(grace, ended).await.is_err() {
            tracing::warn!("handlers did not end in time; tasks are dropped, threads abandoned");
        }
        if timeout(DROP_GRACE, self.tasks.shutdown()).await.is_err() {
            tracing::warn!("a handler's task blocks its thread and is abandoned");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // INV-SHARED-19
    #[tokio::test]
    async fn threads_that_have_ended_are_joined() {
        let mut handlers = HandlerTasks::new();
        let runs: [fn(); 2] = [|| {}, || panic!("on purpose")];
        for run in runs {
            handlers.start_thread("a handler", run).unwrap();
        }
        for _ in runs {
            let joined = timeout(Duration::from_secs(60), handlers.reap());
            joined.await.expect("a thread has ended");
        }
        assert!(handlers.tasks.is_empty());
    }
}
