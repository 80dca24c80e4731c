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

/// Runs a blocking handler on the current thread, as [`run_async`] does.
///
/// The queue's waker is a crossbeam channel that holds one token: events coalesce in the queue up to the moment
/// the thread takes them.
pub(crate) fn run_blocking<K, H>(mut feed: Feed<K>, mut handler: H)
where
    H: BlockingEventHandler<K>,
{
    THREAD_HANDLER.set(Some(feed.listener.id));
    let (sender, receiver) = bounded(1);
    let waker = Waker::from(Arc::new(Signal(sender)));
    let cx = Context::from_waker(&waker);
    loop {
        let delivery = match feed.consumer.poll_next(&cx) {
            Poll::Ready(Some(delivery)) => delivery,
            Poll::Ready(None) => break,
            Poll::Pending => {
                // `waker` holds the sender, so there is always someone who may send.
                let _ = receiver.recv();
                continue;
            }
        };
        let filter = &mut feed.filter;
        let call = || match through(filter, delivery) {
            Some(event) => handler.handle(event),
            None => Ok(()),
        };
        let outcome = catch_unwind(AssertUnwindSafe(call));
        if feed.judge(outcome).is_break() {
            break;
        }
    }
    drop(handler);
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
