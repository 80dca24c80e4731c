//! What the process loop hands to the processor: events of the cache, and which handlers receive them.

use std::sync::Arc;

use informer_store::ObjectKey;

use crate::event::{Cause, Event};

/// An event of the cache, of one key.
pub(crate) type Notification<K> = (ObjectKey, Delivery<K>);

/// An event for a handler.
pub(crate) struct Delivery<K> {
    pub(crate) event: Event<K>,
    /// For a deletion that carries another state than the handler has: the state that it has. Filters decide by it, so
    /// that a handler receives the deletion of every object that it received.
    pub(crate) before: Option<Arc<K>>,
}

impl<K> Delivery<K> {
    /// Makes the deletion of an object that was cached as `before`. `last` is its last state, where that is another.
    pub(crate) fn deletion(before: Arc<K>, last: Option<Arc<K>>, unknown: bool) -> Self {
        let (object, before) = match last {
            Some(last) => (last, Some(before)),
            None => (before, None),
        };
        let event = Event::Deleted {
            object,
            final_state_unknown: unknown,
        };
        Self { event, before }
    }

    /// Returns `true` if a handler receives it: any handler a change, one with a resync period an unchanged object of a
    /// relist, and one that is due a resync.
    pub(crate) fn is_for(&self, has_period: bool, is_due: bool) -> bool {
        match &self.event {
            Event::Updated { cause, .. } if self.event.is_unchanged() => match cause {
                Cause::Resync => is_due,
                Cause::Watch | Cause::Relist => has_period,
            },
            _ => true,
        }
    }
}

impl<K> From<Event<K>> for Delivery<K> {
    fn from(event: Event<K>) -> Self {
        Self {
            event,
            before: None,
        }
    }
}

impl<K> Clone for Delivery<K> {
    fn clone(&self) -> Self {
        Self {
            event: self.event.clone(),
            before: self.before.clone(),
        }
    }
}
