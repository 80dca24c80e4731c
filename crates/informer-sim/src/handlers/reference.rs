//! All that there was to tell: every event of an informer, from its start, in order.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;
use informer_shared::{Event, EventStream, InformerStopped, QueuePolicy, SharedInformer};
use informer_store::{ObjectKey, Snapshot};

use crate::object::{Item, short};
use crate::trace::{Trace, holds};

/// A stream with room for everything, added before the informer starts and read at every look.
pub(crate) struct Reference {
    stream: EventStream<Item>,
    events: Vec<Event<Item>>,
    known: BTreeMap<ObjectKey, Arc<Item>>,
}

impl Reference {
    pub(crate) fn join(informer: &SharedInformer<Item>) -> Result<Self, InformerStopped> {
        let stream = informer
            .handler()
            .name("reference")
            .queue(QueuePolicy::Unbounded)
            .resync_period(Duration::ZERO)
            .stream()?;
        Ok(Self {
            stream,
            events: Vec::new(),
            known: BTreeMap::new(),
        })
    }

    /// Takes what has come. How many there are.
    pub(crate) fn read(&mut self) -> usize {
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(event)) = Pin::new(&mut self.stream).poll_next(&mut context) {
            match &event {
                Event::Deleted { .. } => self.known.remove(&event.key()),
                _ => self.known.insert(event.key(), Arc::clone(event.object())),
            };
            self.events.push(event);
        }
        self.events.len()
    }

    pub(crate) fn events(&self) -> &[Event<Item>] {
        &self.events
    }

    /// The events add up to the cache at every moment: what is cached has been told to whoever keeps up, and the other
    /// way round (protocol 3.3: 7, 20; INV-SHARED-1, INV-SHARED-10).
    pub(crate) fn judge(&self, snapshot: &Snapshot<Item>, trace: &Trace) {
        holds!(
            trace,
            self.known.len() == snapshot.len(),
            "{} objects were told of, {} are cached",
            self.known.len(),
            snapshot.len()
        );
        for item in snapshot.objects() {
            let known = self.known.get(&ObjectKey::of(&**item));
            holds!(
                trace,
                known.is_some_and(|known| Arc::ptr_eq(known, item)),
                "{} is cached, nobody was told",
                short(item)
            );
        }
    }
}
