//! What runs handlers: a task for an async one, a thread for a blocking one.

use std::any::Any;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crossbeam_channel::{Sender, bounded};
use futures_util::FutureExt;
use tokio::task::coop::consume_budget;

use super::end::HandlerFailure;
use super::filter::Filter;
use super::listener::Listener;
use super::traits::{BlockingEventHandler, BoxError, EventHandler};
use crate::event::Event;
use crate::notification::Delivery;
use crate::queue::Consumer;

tokio::task_local! {
    static TASK_HANDLER: u64;
}

thread_local! {
    static THREAD_HANDLER: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The handler inside of which this code runs, if any.
pub(crate) fn current_handler() -> Option<u64> {
    TASK_HANDLER
        .try_with(|id| *id)
        .ok()
        .or_else(|| THREAD_HANDLER.get())
}

/// A handler's events on their way to its code.
pub(crate) struct Feed<K> {
    pub(crate) listener: Arc<Listener<K>>,
    pub(crate) consumer: Consumer<K>,
    pub(crate) filter: Option<Filter<K>>,
}

type Caught = Result<Result<(), BoxError>, Box<dyn Any + Send>>;

impl<K> Feed<K> {
    /// What is left of an event once the filter has seen it.
    pub(crate) fn filtered(&mut self, delivery: Delivery<K>) -> Option<Event<K>> {
        through(&mut self.filter, delivery)
    }

    fn judge(&self, outcome: Caught) -> ControlFlow<()> {
        match outcome {
            Ok(Ok(())) => ControlFlow::Continue(()),
            Ok(Err(error)) => self.listener.judge(HandlerFailure::Failed {
                source: Arc::from(error),
            }),
            Err(panic) => self.listener.judge(HandlerFailure::from_panic(&*panic)),
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
pub(crate) async fn run_async<K, H>(feed: Feed<K>, handler: H)
where
    K: Send + Sync + 'static,
    H: EventHandler<K>,
{
    TASK_HANDLER
        .scope(feed.listener.id, deliver(feed, handler))
        .await;
}

async fn deliver<K, H>(mut feed: Feed<K>, mut handler: H)
where
    K: Send + Sync + 'static,
    H: EventHandler<K>,
{
    while let Some(delivery) = feed.consumer.next().await {
        let filter = &mut feed.filter;
        let call = async {
            match through(filter, delivery) {
                Some(event) => handler.handle(event).await,
                None => Ok(()),
            }
        };
        let outcome = AssertUnwindSafe(call).catch_unwind().await;
        if feed.judge(outcome).is_break() {
            break;
        }
        // A handler that is always ready must not keep others from the runtime.
        consume_budget().await;
    }
    drop(handler);
}

/// A blocking handler and its events.
pub(crate) struct BlockingRun<K, H> {
    // Dropped first: once the feed is gone, the handler counts as ended.
    handler: H,
    feed: Feed<K>,
}

impl<K, H: BlockingEventHandler<K>> BlockingRun<K, H> {
    pub(crate) const fn new(feed: Feed<K>, handler: H) -> Self {
        Self { handler, feed }
    }

    /// Hands the handler its next event. Ready once that is handled, or when there will be none.
    fn step(&mut self, cx: &Context<'_>) -> Poll<ControlFlow<()>> {
        let delivery = match self.feed.consumer.poll_next(cx) {
            Poll::Ready(Some(delivery)) => delivery,
            Poll::Ready(None) => return Poll::Ready(ControlFlow::Break(())),
            Poll::Pending => return Poll::Pending,
        };
        let (filter, handler) = (&mut self.feed.filter, &mut self.handler);
        let call = || match through(filter, delivery) {
            Some(event) => handler.handle(event),
            None => Ok(()),
        };
        let outcome = catch_unwind(AssertUnwindSafe(call));
        Poll::Ready(self.feed.judge(outcome))
    }
}

/// Runs a blocking handler on the current thread, as [`run_async`] does.
///
/// The queue's waker is a crossbeam channel that holds one token: events coalesce in the queue up to the moment
/// the thread takes them.
pub(crate) fn run_blocking<K, H: BlockingEventHandler<K>>(mut run: BlockingRun<K, H>) {
    THREAD_HANDLER.set(Some(run.feed.listener.id));
    let (sender, receiver) = bounded(1);
    let waker = Waker::from(Arc::new(Signal(sender)));
    let cx = Context::from_waker(&waker);
    loop {
        match run.step(&cx) {
            Poll::Ready(ControlFlow::Continue(())) => {}
            Poll::Ready(ControlFlow::Break(())) => break,
            Poll::Pending => {
                // `waker` holds the sender, so there is always someone who may send.
                let _ = receiver.recv();
            }
        }
    }
}

/// Runs a blocking handler step by step in a task, where threads would make a simulation differ from run to run. Each
/// call lasts, for whoever looks on, as long as the pause after it.
#[cfg(feature = "simulation")]
pub(crate) async fn run_blocking_in_task<K, H>(
    mut run: BlockingRun<K, H>,
    mut pause: impl FnMut() -> std::time::Duration,
) where
    K: Send + Sync + 'static,
    H: BlockingEventHandler<K>,
{
    let id = run.feed.listener.id;
    let steps = async {
        while std::future::poll_fn(|cx| run.step(cx)).await.is_continue() {
            tokio::time::sleep(pause()).await;
        }
    };
    TASK_HANDLER.scope(id, steps).await;
}

/// Wakes a thread that waits at the other end of the channel.
struct Signal(Sender<()>);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Full: the thread has yet to see an earlier signal, and will look again.
        let _ = self.0.try_send(());
    }
}
