//! How a handler is added to an informer: its name, queue, resync period and policies.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::filter::Filter;
use super::listener::{Listener, ListenerOptions};
use super::listeners::{Code, Listeners};
use super::policy::FailurePolicy;
use super::registration::Registration;
#[cfg(feature = "__simulation")]
use super::run::run_blocking_in_task;
use super::run::{BlockingRun, Events, run_async, run_blocking};
use super::stream::EventStream;
use super::traits::{BlockingEventHandler, EventHandler};
use crate::error::RunError;
use crate::handler_queue::{HandlerQueue, QueuePolicy};
use crate::schedule::effective_period;

/// A handler that is being added to an informer. Made by [`SharedInformer::handler`](crate::SharedInformer::handler).
///
/// ```no_run
/// use std::time::Duration;
/// use informer_shared::{Event, FailurePolicy, QueuePolicy, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn add(informer: &SharedInformer<Pod>) -> Result<(), informer_shared::RunError> {
///     informer
///         .handler()
///         .name("running pods")
///         .filter(|pod| pod.metadata.deletion_timestamp.is_none())
///         .queue(QueuePolicy::Unbounded)
///         .resync_period(Duration::from_secs(600))
///         .on_panic(FailurePolicy::StopInformer)
///         .register(|event: Event<Pod>| async move { println!("{event:?}") })?;
///     Ok(())
/// }
/// ```
#[must_use = "a handler is added by `register`, `register_blocking` or `stream`"]
pub struct HandlerBuilder<K> {
    listeners: Arc<Listeners<K>>,
    name: Option<Arc<str>>,
    queue: QueuePolicy,
    resync_period: Option<Duration>,
    on_error: FailurePolicy,
    on_panic: FailurePolicy,
    filter: Option<Filter<K>>,
}

impl<K: Send + Sync + 'static> HandlerBuilder<K> {
    pub(crate) fn new(listeners: Arc<Listeners<K>>, default_resync: Option<Duration>) -> Self {
        Self {
            listeners,
            resync_period: default_resync,
            name: None,
            queue: QueuePolicy::default(),
            on_error: FailurePolicy::Skip,
            on_panic: FailurePolicy::StopHandler,
            filter: None,
        }
    }

    /// Sets the name for status, logs and the handler's thread. The default is generated.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets what happens to events while the handler is busy. The default coalesces.
    pub const fn queue(mut self, policy: QueuePolicy) -> Self {
        self.queue = policy;
        self
    }

    /// Sets the resync period: how often the handler receives every object again, unchanged, as an update with cause
    /// [`Resync`](crate::Cause::Resync). With a period it also receives the unchanged objects of relists. At least 1 s;
    /// zero is never. The default is the informer's period.
    ///
    /// The period holds whatever the informer's. A resync is skipped while events of the one before are still queued for
    /// the handler.
    #[doc(alias = "AddEventHandlerWithResyncPeriod")]
    pub const fn resync_period(mut self, period: Duration) -> Self {
        self.resync_period = effective_period(period);
        self
    }

    /// Sets what an error of the handler leads to. The default is to skip the event: errors are counted, logged and shown
    /// in the handler's status.
    pub const fn on_error(mut self, policy: FailurePolicy) -> Self {
        self.on_error = policy;
        self
    }

    /// Sets what a panic in the handler or its filter leads to. The default is to stop the handler, whose state may be
    /// broken.
    pub const fn on_panic(mut self, policy: FailurePolicy) -> Self {
        self.on_panic = policy;
        self
    }

    /// Lets the handler receive only objects that match. One that comes to match is added for it, one that ceases to is
    /// deleted. With several filters all must match.
    ///
    /// The result must depend on the object alone. A panic of the filter counts as the handler's; in a stream it unwinds
    /// into whoever polls.
    #[doc(alias = "FilteringResourceEventHandler")]
    pub fn filter(mut self, matches: impl FnMut(&K) -> bool + Send + 'static) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(filter) => filter.and(matches),
            None => Filter::new(matches),
        });
        self
    }

    /// Adds an async handler. It runs in a task of its own while the informer runs.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if the informer has stopped.
    #[doc(alias = "AddEventHandler")]
    pub fn register(self, handler: impl EventHandler<K>) -> Result<Registration, RunError> {
        self.add(|events| Code::Task(run_async(events, handler).boxed()))
    }

    /// Adds a handler that may block. It runs on a thread of its own while the informer runs, in the context of the
    /// informer's runtime.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if the informer has stopped.
    pub fn register_blocking(
        self,
        handler: impl BlockingEventHandler<K>,
    ) -> Result<Registration, RunError> {
        self.add(|events| {
            let run = BlockingRun::new(events, handler);
            Code::Thread(Box::new(move || run_blocking(run)))
        })
    }

    /// A blocking handler in a task, for simulations in virtual time: each call lasts for the pause after it.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if the informer has stopped.
    #[cfg(feature = "__simulation")]
    #[doc(hidden)]
    pub fn register_blocking_in_task(
        self,
        handler: impl BlockingEventHandler<K>,
        pause: impl FnMut() -> Duration + Send + 'static,
    ) -> Result<Registration, RunError> {
        self.add(|events| {
            let run = BlockingRun::new(events, handler);
            Code::Task(run_blocking_in_task(run, pause).boxed())
        })
    }

    /// Adds a stream. The policies for errors and panics do not apply to it.
    ///
    /// # Errors
    /// [`RunError::Stopped`] if the informer has stopped.
    pub fn stream(self) -> Result<EventStream<K>, RunError> {
        let (listeners, events) = self.into_events(true);
        let registration = listeners.add(&events.listener, Code::Stream)?;
        Ok(EventStream::new(events, registration.scoped()))
    }

    fn add(self, code: impl FnOnce(Events<K>) -> Code) -> Result<Registration, RunError> {
        let (listeners, events) = self.into_events(false);
        let listener = Arc::clone(&events.listener);
        listeners.add(&listener, code(events))
    }

    fn into_events(self, is_stream: bool) -> (Arc<Listeners<K>>, Events<K>) {
        let (queue, consumer) = HandlerQueue::new(self.queue);
        let options = ListenerOptions {
            is_stream,
            resync_period: self.resync_period,
            on_error: self.on_error,
            on_panic: self.on_panic,
        };
        let listener = Listener::new(self.name, options, queue, Arc::clone(&self.listeners) as _);
        let events = Events {
            listener: Arc::new(listener),
            consumer,
            filter: self.filter,
        };
        (self.listeners, events)
    }
}

impl<K> fmt::Debug for HandlerBuilder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerBuilder")
            .field("name", &self.name)
            .field("queue", &self.queue)
            .field("resync_period", &self.resync_period)
            .field("on_error", &self.on_error)
            .field("on_panic", &self.on_panic)
            .field("filter", &self.filter.is_some())
            .finish_non_exhaustive()
    }
}
