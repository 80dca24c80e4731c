//! How a handler is added to an informer: its name, queue, resync period and policies.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::control::Registered;
use super::end::FailurePolicy;
use super::filter::Filter;
use super::listener::{Listener, ListenerConfig, RunsAs};
use super::registration::Registration;
use super::registry::{Arrival, Registry, Runner};
#[cfg(feature = "simulation")]
use super::run::run_blocking_in_task;
use super::run::{BlockingRun, Feed, run_async, run_blocking};
use super::stream::EventStream;
use super::traits::{BlockingEventHandler, EventHandler};
use crate::error::InformerStopped;
use crate::fatal::Fatal;
use crate::queue::{Queue, QueuePolicy};
use crate::resync::effective_period;
use crate::synced::ProgressFn;

/// What a builder needs of its informer.
pub(crate) struct Host<K> {
    pub(crate) registry: Arc<Registry<K>>,
    pub(crate) fatal: Arc<Fatal>,
    pub(crate) default_resync: Option<Duration>,
    pub(crate) progress: ProgressFn,
}

/// A handler about to be added to an informer. Made by
/// [`SharedInformer::handler`](crate::SharedInformer::handler).
///
/// ```no_run
/// use std::time::Duration;
/// use informer_shared::{Event, FailurePolicy, QueuePolicy, SharedInformer};
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn add(informer: &SharedInformer<Pod>) -> Result<(), informer_shared::InformerStopped> {
///     informer
///         .handler()
///         .name("running pods")
///         .filter(|pod| pod.metadata.deletion_timestamp.is_none())
///         .queue(QueuePolicy::Unbounded)
///         .resync_period(Duration::from_secs(600))
///         .on_panic(FailurePolicy::StopInformer)
///         .register(|event: Event<Pod>| async move { println!("{event:?}") })?
///         .detach();
///     Ok(())
/// }
/// ```
#[must_use = "a handler is added by `register`, `register_blocking` or `stream`"]
pub struct HandlerBuilder<K> {
    host: Host<K>,
    name: Option<Arc<str>>,
    queue: QueuePolicy,
    resync_period: Option<Duration>,
    on_error: FailurePolicy,
    on_panic: FailurePolicy,
    filter: Option<Filter<K>>,
}

impl<K: Send + Sync + 'static> HandlerBuilder<K> {
    pub(crate) fn new(host: Host<K>) -> Self {
        Self {
            resync_period: host.default_resync,
            host,
            name: None,
            queue: QueuePolicy::default(),
            on_error: FailurePolicy::Skip,
            on_panic: FailurePolicy::StopHandler,
            filter: None,
        }
    }

    /// A name for status, logs and its thread. The default is made up.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What becomes of events while the handler is busy. The default coalesces.
    pub const fn queue(mut self, policy: QueuePolicy) -> Self {
        self.queue = policy;
        self
    }

    /// Reminds the handler of every object once in this time, and of unchanged objects whenever a list was taken
    /// anew. At least 1 s; zero is never. The default is the informer's period.
    ///
    /// The period holds whatever the informer's. A round is left out while the handler still has events of the
    /// round before in its queue.
    #[doc(alias = "AddEventHandlerWithResyncPeriod")]
    pub const fn resync_period(mut self, period: Duration) -> Self {
        self.resync_period = effective_period(period);
        self
    }

    /// What an error of the handler does. The default is to skip: errors are counted, logged and shown in its
    /// status.
    pub const fn on_error(mut self, policy: FailurePolicy) -> Self {
        self.on_error = policy;
        self
    }

    /// What a panic in the handler or its filter does. The default is to stop the handler, whose state may be
    /// broken.
    pub const fn on_panic(mut self, policy: FailurePolicy) -> Self {
        self.on_panic = policy;
        self
    }

    /// Lets the handler see only objects that match. One that comes to match is added for it, one that ceases to is
    /// deleted. With several filters all must match.
    ///
    /// The answer must depend on the object alone. A panic of the filter counts as the handler's; in a stream it
    /// unwinds into whoever polls.
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
    /// When the informer has stopped.
    #[doc(alias = "AddEventHandler")]
    pub fn register(self, handler: impl EventHandler<K>) -> Result<Registration, InformerStopped> {
        let (feed, host) = self.into_feed(RunsAs::Task);
        let listener = Arc::clone(&feed.listener);
        let runner = Runner::Task(run_async(feed, handler).boxed());
        host.register(listener, runner)
    }

    /// Adds a handler that may block. It runs on a thread of its own while the informer runs.
    ///
    /// # Errors
    /// When the informer has stopped.
    pub fn register_blocking(
        self,
        handler: impl BlockingEventHandler<K>,
    ) -> Result<Registration, InformerStopped> {
        let (feed, host) = self.into_feed(RunsAs::Thread);
        let listener = Arc::clone(&feed.listener);
        let run = BlockingRun::new(feed, handler);
        let runner = Runner::Thread(Box::new(move || run_blocking(run)));
        host.register(listener, runner)
    }

    /// A blocking handler in a task, for simulations in virtual time: each call lasts for the pause after it.
    ///
    /// # Errors
    /// When the informer has stopped.
    #[cfg(feature = "simulation")]
    #[doc(hidden)]
    pub fn register_blocking_in_task(
        self,
        handler: impl BlockingEventHandler<K>,
        pause: impl FnMut() -> Duration + Send + 'static,
    ) -> Result<Registration, InformerStopped> {
        let (feed, host) = self.into_feed(RunsAs::Thread);
        let listener = Arc::clone(&feed.listener);
        let run = run_blocking_in_task(BlockingRun::new(feed, handler), pause);
        host.register(listener, Runner::Task(run.boxed()))
    }

    /// Adds a stream. The policies for errors and panics do not apply to it.
    ///
    /// # Errors
    /// When the informer has stopped.
    pub fn stream(self) -> Result<EventStream<K>, InformerStopped> {
        let (feed, host) = self.into_feed(RunsAs::Stream);
        let registration = host.register(Arc::clone(&feed.listener), Runner::Stream)?;
        Ok(EventStream::new(feed, registration))
    }

    fn into_feed(self, runs_as: RunsAs) -> (Feed<K>, Host<K>) {
        let (queue, consumer) = Queue::new(self.queue);
        let config = ListenerConfig {
            runs_as,
            name: self.name,
            resync_period: self.resync_period,
            on_error: self.on_error,
            on_panic: self.on_panic,
        };
        let listener = Arc::new(Listener::new(config, queue, Arc::clone(&self.host.fatal)));
        (
            Feed {
                listener,
                consumer,
                filter: self.filter,
            },
            self.host,
        )
    }
}

impl<K: Send + Sync + 'static> Host<K> {
    fn register(
        self,
        listener: Arc<Listener<K>>,
        runner: Runner,
    ) -> Result<Registration, InformerStopped> {
        if !self.registry.add(Arrival {
            listener: Arc::clone(&listener),
            runner,
        }) {
            return Err(InformerStopped);
        }
        let registry = Arc::downgrade(&self.registry);
        Ok(Registration::new(
            Arc::new(Registered { listener, registry }),
            self.progress,
        ))
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
