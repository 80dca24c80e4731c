//! The tasks and threads of one running informer: each has an owner, a way to stop and a way to be joined.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use crate::error::RunError;
use crate::handler::{HandlerEnd, HandlerFailure, Listener, Runner, RunsAs};
use crate::informer::OnStop;
use crate::processor::Start;

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

    /// Waits for the task to end, for this long, then ends it.
    pub(crate) async fn join(&mut self, grace: Duration) {
        if timeout(grace, self.0.join_next()).await.is_err() {
            tracing::warn!("the reflector did not stop in time and is dropped");
        }
        self.0.shutdown().await;
    }
}

/// What runs handlers. Dropping it ends the tasks at their next await point.
pub(crate) struct HandlerTasks {
    tasks: JoinSet<()>,
    threads: Vec<JoinHandle<()>>,
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
            .extract_if(.., |thread| thread.is_finished())
            .for_each(join);
        match start.runner {
            Runner::Task(run) => {
                self.tasks.spawn(run);
            }
            Runner::Thread(run) => {
                let builder = std::thread::Builder::new().name(start.listener.name.to_string());
                match builder.spawn(run) {
                    Ok(thread) => self.threads.push(thread),
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
        let tasks = &mut self.tasks;
        let ended = async {
            while let Some(result) = tasks.join_next().await {
                result.unwrap_or_else(report);
            }
            let blocking = listeners
                .iter()
                .filter(|listener| listener.runs_as == RunsAs::Thread);
            join_all(blocking.map(|listener| listener.ended())).await;
        };
        let in_time = timeout(on_stop.grace(), ended).await.is_ok();
        if !in_time {
            tracing::warn!("handlers did not end in time; tasks are dropped, threads left alone");
        }
        self.tasks.shutdown().await;
        for thread in self.threads.drain(..) {
            // In time, all that a thread has left to do is to return.
            if in_time || thread.is_finished() {
                join(thread);
            }
        }
    }
}

fn join(thread: JoinHandle<()>) {
    if let Err(panic) = thread.join() {
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
