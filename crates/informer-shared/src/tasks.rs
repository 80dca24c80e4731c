//! The tasks and threads of one running informer: each has an owner, a way to stop and a way to be joined.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use crate::error::RunError;
use crate::handler::{HandlerEnd, HandlerFailure, Listener, Runner};
use crate::informer::{GRACE, OnStop};
use crate::processor::Start;

/// How long a task has to be dropped. One that blocks its thread is left to itself.
const DROP_GRACE: Duration = Duration::from_millis(100);

/// The task that lists and watches. Dropping it ends the task at its next await point.
pub(crate) struct ReflectorTask(JoinSet<()>);

impl ReflectorTask {
    pub(crate) fn new() -> Self {
        Self(JoinSet::new())
    }

    pub(crate) fn start(&mut self, run: BoxFuture<'static, ()>) {
        self.0.spawn(run);
    }

    /// Resolves if the task ends by itself, which it never should.
    pub(crate) async fn ended(&mut self) -> RunError {
        let message = match self.0.join_next().await {
            Some(Err(error)) => message_of(error),
            Some(Ok(())) | None => Arc::from("it ended by itself"),
        };
        RunError::Panicked {
            part: "reflector",
            message,
        }
    }

    /// Waits for the task to end, for a while, then ends it.
    pub(crate) async fn join(&mut self) {
        if timeout(GRACE, self.0.join_next()).await.is_err() {
            tracing::warn!("the reflector did not stop in time and is dropped");
        }
        abort(&mut self.0).await;
    }
}

async fn abort(tasks: &mut JoinSet<()>) {
    if timeout(DROP_GRACE, tasks.shutdown()).await.is_err() {
        tracing::warn!("a task blocks its thread and is left alone");
    }
}

/// What runs handlers. Dropping it ends the tasks at their next await point.
pub(crate) struct HandlerTasks {
    tasks: JoinSet<()>,
    /// By the handlers' ids.
    threads: HashMap<u64, JoinHandle<()>>,
    /// Where a thread says, with its handler's id, that all it has left to do is to return.
    returning: mpsc::UnboundedSender<u64>,
    returned: mpsc::UnboundedReceiver<u64>,
}

impl HandlerTasks {
    pub(crate) fn new() -> Self {
        let (returning, returned) = mpsc::unbounded_channel();
        Self {
            tasks: JoinSet::new(),
            threads: HashMap::new(),
            returning,
            returned,
        }
    }

    pub(crate) fn start<K>(&mut self, start: Start<K>) {
        match start.runner {
            Runner::Task(run) => {
                self.tasks.spawn(run);
            }
            Runner::Thread(run) => {
                if let Err(error) = self.start_thread(start.listener.id, &start.listener.name, run)
                {
                    let end = HandlerEnd::NoThread(Arc::new(error));
                    start.listener.end_with(end);
                }
            }
            Runner::Stream => {}
        }
    }

    fn start_thread(
        &mut self,
        id: u64,
        name: &str,
        run: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let returning = Returning(id, self.returning.clone());
        let builder = std::thread::Builder::new().name(name.to_owned());
        let thread = builder.spawn(move || {
            let _returning = returning;
            run();
        })?;
        self.threads.insert(id, thread);
        Ok(())
    }

    /// Resolves when a handler's task or thread has ended and nothing of it is left. Pends while there is none.
    pub(crate) async fn reap(&mut self) {
        tokio::select! {
            Some(result) = self.tasks.join_next() => result.unwrap_or_else(report),
            // A sender lives here, so there is no end.
            Some(id) = self.returned.recv() => join_thread(self.threads.remove(&id)),
        }
    }

    /// Stops the handlers and waits for them. A task whose call does not end in time is dropped at its await point;
    /// a thread that does not end is left to itself. Whoever holds a stream is not waited for.
    pub(crate) async fn join<K>(&mut self, listeners: &[Arc<Listener<K>>], on_stop: OnStop) {
        for listener in listeners {
            if on_stop.drains() {
                listener.drain_with(HandlerEnd::InformerStopped);
            } else {
                listener.end_with(HandlerEnd::InformerStopped);
            }
        }
        let ended = async {
            while !self.tasks.is_empty() || !self.threads.is_empty() {
                self.reap().await;
            }
        };
        if timeout(on_stop.grace(), ended).await.is_err() {
            tracing::warn!("handlers did not end in time; tasks are dropped, threads left alone");
        }
        abort(&mut self.tasks).await;
        self.threads.clear();
    }
}

/// Says that a thread returns, also when it panics.
struct Returning(u64, mpsc::UnboundedSender<u64>);

impl Drop for Returning {
    fn drop(&mut self) {
        // Nobody listens any more once the informer has stopped.
        let _ = self.1.send(self.0);
    }
}

/// Waits for a thread that returns.
fn join_thread(thread: Option<JoinHandle<()>>) {
    if let Some(Err(panic)) = thread.map(JoinHandle::join) {
        let failure = HandlerFailure::from_panic(&*panic);
        tracing::error!(
            error = &failure as &dyn std::error::Error,
            "a handler's thread panicked"
        );
    }
}

fn report(error: JoinError) {
    if error.is_panic() {
        tracing::error!(error = &*message_of(error), "a handler's task panicked");
    }
}

fn message_of(error: JoinError) -> Arc<str> {
    match error.try_into_panic() {
        Ok(panic) => Arc::from(HandlerFailure::from_panic(&*panic).to_string()),
        Err(error) => Arc::from(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // INV-SHARED-19
    #[tokio::test]
    async fn threads_that_have_ended_are_joined_as_soon_as_they_have() {
        let mut handlers = HandlerTasks::new();
        let runs: [fn(); 2] = [|| {}, || panic!("on purpose")];
        for (id, run) in (1..).zip(runs) {
            handlers.start_thread(id, "a handler", run).unwrap();
        }
        for left in [1, 0] {
            let joined = timeout(Duration::from_secs(60), handlers.reap());
            joined.await.expect("a thread has ended");
            assert_eq!(handlers.threads.len(), left);
        }
    }
}
