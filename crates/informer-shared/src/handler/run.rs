//! What runs handlers: a task for an async one, a thread for a blocking one.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crossbeam_channel::{Sender, bounded};
use futures_util::FutureExt;
use tokio::task::coop::consume_budget;

use super::current;
use super::filter::Filter;
use super::listener::{AnyListener as _, Listener};
use super::traits::{BlockingEventHandler, EventHandler};
use crate::error::{BoxError, HandlerError};
use crate::event::Event;
use crate::handler_queue::Consumer;
use crate::notification::Delivery;

/// The events of a handler, on their way to its code.
pub(super) struct Events<K> {
    pub(super) listener: Arc<Listener<K>>,
    pub(super) consumer: Consumer<K>,
    pub(super) filter: Option<Filter<K>>,
}

type Caught = Result<Result<(), BoxError>, Box<dyn Any + Send>>;

impl<K: Send + Sync + 'static> Events<K> {
    /// Returns what the filter leaves of an event.
    pub(super) fn filtered(&mut self, delivery: Delivery<K>) -> Option<Event<K>> {
        through(&mut self.filter, delivery)
    }

    fn called(&self, outcome: Caught) -> ControlFlow<()> {
        match outcome {
            Ok(Ok(())) => ControlFlow::Continue(()),
            Ok(Err(error)) => self.listener.call_failed(HandlerError::Failed {
                source: Arc::from(error),
            }),
            Err(panic) => self.listener.call_failed(HandlerError::from_panic(&*panic)),
        }
    }
}

fn through<K>(filter: &mut Option<Filter<K>>, delivery: Delivery<K>) -> Option<Event<K>> {
    match filter {
        Some(filter) => filter.apply(delivery),
        None => Some(delivery.event),
    }
}

/// Runs an async handler until its queue ends or it is stopped for a failure.
pub(super) async fn run_async<K, H>(events: Events<K>, handler: H)
where
    K: Send + Sync + 'static,
    H: EventHandler<K>,
{
    current::within(events.listener.ids(), deliver(events, handler)).await;
}

async fn deliver<K, H>(mut events: Events<K>, mut handler: H)
where
    K: Send + Sync + 'static,
    H: EventHandler<K>,
{
    while let Some(delivery) = events.consumer.next().await {
        let filter = &mut events.filter;
        let call = async {
            match through(filter, delivery) {
                Some(event) => handler.handle(event).await,
                None => Ok(()),
            }
        };
        let outcome = AssertUnwindSafe(call).catch_unwind().await;
        if events.called(outcome).is_break() {
            break;
        }
        // A handler that is always ready must not keep others from the runtime.
        consume_budget().await;
    }
    drop(handler);
}

/// A blocking handler and its events.
pub(super) struct BlockingRun<K, H> {
    // Dropped first: once the events are dropped, the handler counts as ended.
    handler: H,
    events: Events<K>,
}

impl<K: Send + Sync + 'static, H: BlockingEventHandler<K>> BlockingRun<K, H> {
    pub(super) const fn new(events: Events<K>, handler: H) -> Self {
        Self { handler, events }
    }

    /// Calls the handler with its next event. Ready once that is handled, or when there will be none.
    fn step(&mut self, cx: &Context<'_>) -> Poll<ControlFlow<()>> {
        let delivery = match self.events.consumer.poll_next(cx) {
            Poll::Ready(Some(delivery)) => delivery,
            Poll::Ready(None) => return Poll::Ready(ControlFlow::Break(())),
            Poll::Pending => return Poll::Pending,
        };
        let (filter, handler) = (&mut self.events.filter, &mut self.handler);
        let call = || match through(filter, delivery) {
            Some(event) => handler.handle(event),
            None => Ok(()),
        };
        let outcome = catch_unwind(AssertUnwindSafe(call));
        Poll::Ready(self.events.called(outcome))
    }
}

/// Runs a blocking handler on the current thread, as [`run_async`] does.
///
/// The queue's waker is a crossbeam channel that holds one token: events coalesce in the queue up to the moment the
/// thread pops them.
pub(super) fn run_blocking<K: Send + Sync + 'static, H: BlockingEventHandler<K>>(
    mut run: BlockingRun<K, H>,
) {
    current::enter_thread(run.events.listener.ids());
    let (sender, receiver) = bounded(1);
    let waker = Waker::from(Arc::new(Signal(sender)));
    let cx = Context::from_waker(&waker);
    loop {
        match run.step(&cx) {
            Poll::Ready(ControlFlow::Continue(())) => {}
            Poll::Ready(ControlFlow::Break(())) => break,
            Poll::Pending => {
                // `waker` holds the sender, so the channel is never closed.
                let _ = receiver.recv();
            }
        }
    }
}

/// Runs a blocking handler step by step in a task, where threads would make a simulation differ from run to run. Each
/// call lasts, for whoever looks on, as long as the pause after it.
#[cfg(feature = "__simulation")]
pub(super) async fn run_blocking_in_task<K, H>(
    mut run: BlockingRun<K, H>,
    mut pause: impl FnMut() -> std::time::Duration,
) where
    K: Send + Sync + 'static,
    H: BlockingEventHandler<K>,
{
    let ids = run.events.listener.ids();
    let steps = async {
        while std::future::poll_fn(|cx| run.step(cx)).await.is_continue() {
            tokio::time::sleep(pause()).await;
        }
    };
    current::within(ids, steps).await;
}

/// Wakes a thread that waits at the other end of the channel.
struct Signal(Sender<()>);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Full: the thread has yet to receive an earlier token, and polls again then.
        let _ = self.0.try_send(());
    }
}
