//! The tasks and threads of one running informer: each has an owner, a way to stop and a way to be joined.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use crate::error::RunError;
use crate::handler::{HandlerEnd, HandlerFailure, Listener, Runner};
use crate::informer::{GRACE, OnStop};
use crate::processor::Start;
use crate::queue::Phase;

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
    threads: Vec<HandlerThread>,
}

struct HandlerThread {
    handle: JoinHandle<()>,
    phase: watch::Receiver<Phase>,
}

impl HandlerThread {
    /// Waits until all that the thread has left to do is to return.
    async fn ended(&mut self) {
        // An error means that the queue is gone, and with it the handler.
        let _ = self.phase.wait_for(|phase| phase.ended).await;
    }

    fn is_ended(&self) -> bool {
        self.phase.borrow().ended || self.handle.is_finished()
    }

    fn join(self) {
        if let Err(panic) = self.handle.join() {
            let failure = HandlerFailure::from_panic(&*panic);
            tracing::error!(
                error = &failure as &dyn std::error::Error,
                "a handler's thread panicked"
            );
        }
    }
}

impl HandlerTasks {
    pub(crate) fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            threads: Vec::new(),
        }
    }

    pub(crate) fn start<K>(&mut self, start: Start<K>) {
        // Threads that have ended are joined here, so that handlers that come and go leave none behind.
        self.threads
            .extract_if(.., |thread| thread.handle.is_finished())
            .for_each(HandlerThread::join);
        match start.runner {
            Runner::Task(run) => {
                self.tasks.spawn(run);
            }
            Runner::Thread(run) => {
                let builder = std::thread::Builder::new().name(start.listener.name.to_string());
                let phase = start.listener.watch_phase();
                match builder.spawn(run) {
                    Ok(handle) => self.threads.push(HandlerThread { handle, phase }),
                    Err(error) => start
                        .listener
                        .end_with(HandlerEnd::NoThread(Arc::new(error))),
                }
            }
            Runner::Stream => {}
        }
    }

    /// Resolves when a handler's task has ended. Pends while there is none.
    pub(crate) async fn reap(&mut self) {
        match self.tasks.join_next().await {
            Some(result) => result.unwrap_or_else(report),
            None => std::future::pending().await,
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
        let (tasks, threads) = (&mut self.tasks, &mut self.threads);
        let ended = async {
            while let Some(result) = tasks.join_next().await {
                result.unwrap_or_else(report);
            }
            join_all(threads.iter_mut().map(HandlerThread::ended)).await;
        };
        if timeout(on_stop.grace(), ended).await.is_err() {
            tracing::warn!("handlers did not end in time; tasks are dropped, threads left alone");
        }
        abort(&mut self.tasks).await;
        self.threads
            .drain(..)
            .filter(HandlerThread::is_ended)
            .for_each(HandlerThread::join);
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
