//! What is queued of one key, and how a later event is coalesced with it.

use std::sync::Arc;

use crate::event::{Cause, Event};
use crate::notification::Delivery;

/// What a handler has yet to receive of one key: an event and, if that is a deletion, the addition after it.
pub(super) struct Pending<K> {
    delivery: Delivery<K>,
    /// An object that was added after a deletion, and whether it is initial.
    readded: Option<(Arc<K>, bool)>,
}

impl<K> From<Delivery<K>> for Pending<K> {
    fn from(delivery: Delivery<K>) -> Self {
        Self {
            delivery,
            readded: None,
        }
    }
}

impl<K> Pending<K> {
    /// Coalesces with a later event. Returns `false` if the two cancel each other.
    ///
    /// Each key's events are pushed in a legal order. For the pairs that cannot occur, the handler's history stays legal
    /// all the same.
    pub(super) fn coalesce(&mut self, later: Delivery<K>) -> bool {
        let was_initial = self.readded.as_ref().map(|(_, initial)| *initial);
        match (&mut self.delivery.event, later.event) {
            (Event::Added { .. }, Event::Deleted { .. }) => return false,
            (Event::Added { object: newest, .. }, Event::Added { object, .. })
            | (Event::Added { object: newest, .. }, Event::Updated { new: object, .. })
            | (Event::Updated { new: newest, .. }, Event::Added { object, .. }) => *newest = object,
            (
                Event::Updated {
                    new: newest, cause, ..
                },
                Event::Updated {
                    new, cause: later, ..
                },
            ) => {
                *newest = new;
                *cause = cause.or(later);
            }
            (Event::Updated { old, .. }, event @ Event::Deleted { .. }) => {
                let before = Some(Arc::clone(old));
                self.delivery = Delivery { event, before };
            }
            (Event::Deleted { .. }, Event::Added { object, initial }) => {
                self.readded = Some((object, was_initial.unwrap_or(initial)));
            }
            (Event::Deleted { .. }, Event::Updated { new, .. }) => {
                self.readded = Some((new, was_initial.unwrap_or(false)));
            }
            // The handler only ever had the object that was deleted first.
            (Event::Deleted { .. }, Event::Deleted { .. }) => self.readded = None,
        }
        true
    }

    /// Returns the next event to deliver, and what remains after it.
    pub(super) fn split(self) -> (Delivery<K>, Option<Self>) {
        let rest = self.readded.map(|(object, initial)| {
            let event = Event::Added { object, initial };
            Self::from(Delivery::from(event))
        });
        (self.delivery, rest)
    }

    /// Returns `true` for a resync: nothing changed.
    pub(super) const fn is_resync(&self) -> bool {
        let event = &self.delivery.event;
        matches!(event, Event::Updated { cause, .. } if matches!(cause, Cause::Resync))
    }
}
