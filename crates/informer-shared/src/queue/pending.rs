//! What waits for one key of a coalescing queue, and how a later event joins it.

use std::sync::Arc;

use informer_store::mutant;

use crate::event::{Cause, Event};
use crate::notification::Delivery;

/// What a handler has yet to hear of one key.
pub(super) enum Pending<K> {
    Added {
        object: Arc<K>,
        initial: bool,
    },
    Updated {
        old: Arc<K>,
        new: Arc<K>,
        cause: Cause,
    },
    Deleted(Deleted<K>),
    /// One life of the key ended, and the next began.
    Recreated {
        deleted: Deleted<K>,
        added: Arc<K>,
        initial: bool,
    },
}

pub(super) struct Deleted<K> {
    object: Arc<K>,
    final_state_unknown: bool,
    known: Option<Arc<K>>,
}

impl<K> From<Delivery<K>> for Pending<K> {
    fn from(delivery: Delivery<K>) -> Self {
        let known = delivery.known;
        match delivery.event {
            Event::Added { object, initial } => Self::Added { object, initial },
            Event::Updated { old, new, cause } => Self::Updated { old, new, cause },
            Event::Deleted {
                object,
                final_state_unknown,
            } => Self::Deleted(Deleted {
                object,
                final_state_unknown,
                known,
            }),
        }
    }
}

impl<K> From<Deleted<K>> for Delivery<K> {
    fn from(deleted: Deleted<K>) -> Self {
        let Deleted {
            object,
            final_state_unknown,
            known,
        } = deleted;
        Self {
            event: Event::Deleted {
                object,
                final_state_unknown,
            },
            known,
        }
    }
}

impl<K> Pending<K> {
    /// What is left to tell once `later` has come on top; `None` if the two cancel out.
    ///
    /// The producer sends each key's events in a legal order. The pairs that cannot occur are settled so that the
    /// handler's history stays legal all the same.
    pub(super) fn join(self, later: Delivery<K>) -> Option<Self> {
        Some(match self {
            Self::Added { initial, .. } => match later.event {
                Event::Added { object, .. } | Event::Updated { new: object, .. } => {
                    Self::Added { object, initial }
                }
                Event::Deleted { .. } if mutant!("handler-keep-what-came-and-went") => self,
                Event::Deleted { .. } => return None,
            },
            Self::Updated {
                old,
                cause,
                new: before,
            } => match later.event {
                Event::Added { object, .. } => Self::Updated {
                    old,
                    new: object,
                    cause,
                },
                Event::Updated {
                    new, cause: later, ..
                } => Self::Updated {
                    old: if mutant!("handler-join-to-the-last-old") {
                        before
                    } else {
                        old
                    },
                    new,
                    cause: cause.or(later),
                },
                Event::Deleted {
                    object,
                    final_state_unknown,
                } => Self::Deleted(Deleted {
                    object,
                    final_state_unknown,
                    known: Some(old),
                }),
            },
            Self::Deleted(deleted) => match later.event {
                Event::Added { object, initial } if mutant!("handler-join-two-lives") => {
                    Self::Added { object, initial }
                }
                Event::Added { object, initial } => Self::Recreated {
                    deleted,
                    added: object,
                    initial,
                },
                Event::Updated { new, .. } => Self::Recreated {
                    deleted,
                    added: new,
                    initial: false,
                },
                Event::Deleted { .. } => Self::Deleted(deleted),
            },
            // The handler only ever knew the life that ended first; the one after came and went unseen.
            Self::Recreated {
                deleted, initial, ..
            } => match later.event {
                Event::Added { object, .. } | Event::Updated { new: object, .. } => {
                    Self::Recreated {
                        deleted,
                        added: object,
                        initial,
                    }
                }
                Event::Deleted { .. } => Self::Deleted(deleted),
            },
        })
    }

    /// The next event to deliver, and what is left after it.
    pub(super) fn split(self) -> (Delivery<K>, Option<Self>) {
        match self {
            Self::Added { object, initial } => (Event::Added { object, initial }.into(), None),
            Self::Updated { old, new, cause } => (Event::Updated { old, new, cause }.into(), None),
            Self::Deleted(deleted) => (deleted.into(), None),
            Self::Recreated {
                deleted,
                added,
                initial,
            } => (
                deleted.into(),
                Some(Self::Added {
                    object: added,
                    initial,
                }),
            ),
        }
    }

    /// True if it only reminds: nothing changed.
    pub(super) const fn is_resync(&self) -> bool {
        matches!(
            self,
            Self::Updated {
                cause: Cause::Resync,
                ..
            }
        )
    }
}
