//! Every event of an informer, from its start, in order.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;
use informer_shared::{Event, EventStream, QueuePolicy, RunError, SharedInformer};
use informer_store::{ObjectKey, Snapshot};
use parking_lot::Mutex;

use super::InOrder;
use crate::object::{Item, short};
use crate::trace::{Trace, holds};

/// A stream with room for everything, added before the informer starts.
pub(crate) struct Reference {
    inbox: Arc<Mutex<Inbox>>,
    events: Vec<Event<Item>>,
    known: BTreeMap<ObjectKey, Arc<Item>>,
    /// Where the informer's queue keeps the order.
    in_order: Option<InOrder>,
}

/// The events of the stream. A task reads them at once, since an informer that ends drops queued events; so does each
/// look, which may come first.
struct Inbox {
    stream: EventStream<Item>,
    events: Vec<Event<Item>>,
    /// The task's.
    waker: Waker,
}

impl Inbox {
    fn follow(stream: EventStream<Item>) -> Arc<Mutex<Self>> {
        let inbox = Arc::new(Mutex::new(Self {
            stream,
            events: Vec::new(),
            waker: Waker::noop().clone(),
        }));
        let weak = Arc::downgrade(&inbox);
        tokio::spawn(std::future::poll_fn(move |context| {
            let Some(inbox) = weak.upgrade() else {
                return Poll::Ready(());
            };
            let mut inbox = inbox.lock();
            inbox.waker.clone_from(context.waker());
            inbox.take()
        }));
        inbox
    }

    /// Reads what is queued. Ready at the end of the stream.
    fn take(&mut self) -> Poll<()> {
        let waker = self.waker.clone();
        let mut context = Context::from_waker(&waker);
        loop {
            match Pin::new(&mut self.stream).poll_next(&mut context) {
                Poll::Ready(Some(event)) => self.events.push(event),
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Reference {
    pub(crate) fn join(
        informer: &SharedInformer<Item>,
        in_order: Option<InOrder>,
    ) -> Result<Self, RunError> {
        let stream = informer
            .handler()
            .name("reference")
            .queue(QueuePolicy::Unbounded)
            .resync_period(Duration::ZERO)
            .stream()?;
        Ok(Self {
            inbox: Inbox::follow(stream),
            events: Vec::new(),
            known: BTreeMap::new(),
            in_order,
        })
    }

    /// Reads what is queued. Returns the number of events.
    pub(crate) fn read(&mut self) -> usize {
        let mut inbox = self.inbox.lock();
        let _ = inbox.take();
        let new = std::mem::take(&mut inbox.events);
        drop(inbox);
        for event in new {
            match &event {
                Event::Deleted { .. } => self.known.remove(&event.key()),
                _ => self.known.insert(event.key(), Arc::clone(event.object())),
            };
            self.events.push(event);
        }
        if let Some(in_order) = &mut self.in_order {
            in_order.judge(&self.events);
        }
        self.events.len()
    }

    pub(crate) fn events(&self) -> &[Event<Item>] {
        &self.events
    }

    /// The events add up to the cache at every moment: what is cached was sent, and the other way round (protocol 3.3: 7, 20; INV-SHARED-1, INV-SHARED-10).
    pub(crate) fn judge(&self, snapshot: &Snapshot<Item>, trace: &Trace) {
        holds!(
            trace,
            self.known.len() == snapshot.len(),
            "{} objects were received, {} are cached",
            self.known.len(),
            snapshot.len()
        );
        for item in snapshot.objects() {
            let known = self.known.get(&ObjectKey::of(&**item));
            holds!(
                trace,
                known.is_some_and(|known| Arc::ptr_eq(known, item)),
                "{} is cached and was not sent",
                short(item)
            );
        }
    }
}
