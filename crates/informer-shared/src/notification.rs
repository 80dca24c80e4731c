//! What the controller hands to the processor: one event for one key, and for whom it is.

use std::sync::Arc;

use informer_store::ObjectKey;

use crate::event::Event;

/// A change of the cache that handlers are to hear of.
pub(crate) struct Notification<K> {
    pub(crate) key: ObjectKey,
    pub(crate) delivery: Delivery<K>,
    pub(crate) audience: Audience,
}

/// An event on its way to a handler.
pub(crate) struct Delivery<K> {
    pub(crate) event: Event<K>,
    /// For a deletion: the state that the handler knows, where the deletion brought another. A filter judges by it,
    /// so that a handler hears of the end of all that it has heard of.
    pub(crate) known: Option<Arc<K>>,
}

/// Which handlers hear of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    All,
    /// Only handlers with a resync period: nothing has changed.
    Resyncing,
}

impl<K> Notification<K> {
    /// A change, which all handlers hear of.
    pub(crate) fn change(key: ObjectKey, event: Event<K>) -> Self {
        Self {
            key,
            delivery: event.into(),
            audience: Audience::All,
        }
    }

    /// The end of an object that was cached as `known`.
    pub(crate) fn deletion(
        key: ObjectKey,
        known: Arc<K>,
        object: Option<Arc<K>>,
        final_state_unknown: bool,
    ) -> Self {
        let delivery = match object {
            Some(object) => Delivery {
                event: Event::Deleted {
                    object,
                    final_state_unknown,
                },
                known: Some(known),
            },
            None => Event::Deleted {
                object: known,
                final_state_unknown,
            }
            .into(),
        };
        Self {
            key,
            delivery,
            audience: Audience::All,
        }
    }

    /// A reminder of an object that did not change.
    pub(crate) fn reminder(key: ObjectKey, event: Event<K>) -> Self {
        Self {
            key,
            delivery: event.into(),
            audience: Audience::Resyncing,
        }
    }
}

impl<K> From<Event<K>> for Delivery<K> {
    fn from(event: Event<K>) -> Self {
        Self { event, known: None }
    }
}

impl<K> Clone for Delivery<K> {
    fn clone(&self) -> Self {
        Self {
            event: self.event.clone(),
            known: self.known.clone(),
        }
    }
}
