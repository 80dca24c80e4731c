//! What a handler is told: the `Event` enum and the cause of an update.

use std::fmt;
use std::sync::Arc;

use informer_store::{Object, ObjectKey};

/// One change of one object, as a handler sees it.
///
/// The history of a key, as one handler sees it, is always `Added`, any number of `Updated`, `Deleted`, and so on
/// from the start. The `old` of an update is the object of the handler's event before.
///
/// ```
/// use informer_shared::Event;
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn describe(event: &Event<Pod>) -> String {
///     match event {
///         Event::Added { initial: true, .. } => format!("{} was there before", event.key()),
///         Event::Added { .. } => format!("{} is new", event.key()),
///         Event::Updated { cause, .. } => format!("{} changed ({cause})", event.key()),
///         Event::Deleted { .. } => format!("{} is gone", event.key()),
///         _ => String::new(),
///     }
/// }
/// # assert_eq!(describe(&Event::Added { object: Default::default(), initial: false }), " is new");
/// ```
#[non_exhaustive]
#[doc(alias = "ResourceEventHandler")]
pub enum Event<K> {
    /// An object is there that the handler did not know.
    #[doc(alias = "OnAdd")]
    Added {
        /// The object.
        object: Arc<K>,
        /// True if it was there before: it belongs to the informer's first list, or to the state of the cache
        /// when the handler was added.
        #[doc(alias = "isInInitialList")]
        initial: bool,
    },
    /// An object that the handler knows has changed, or the handler is reminded of it.
    #[doc(alias = "OnUpdate")]
    Updated {
        /// The object of the handler's event before.
        old: Arc<K>,
        /// The object now. The same allocation as `old` if nothing changed.
        new: Arc<K>,
        /// Why the handler hears of it.
        cause: Cause,
    },
    /// An object is gone.
    #[doc(alias = "OnDelete")]
    Deleted {
        /// Its last state, as far as it is known.
        object: Arc<K>,
        /// True if the deletion itself was missed, so that the last state may be older than the deletion.
        #[doc(alias = "DeletedFinalStateUnknown")]
        final_state_unknown: bool,
    },
}

/// Why a handler hears of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The server reported a change.
    Watch,
    /// A new list holds the object: changed, or the very same for handlers with a resync period.
    Relist,
    /// The handler's resync period has passed; nothing changed.
    Resync,
}

impl Cause {
    /// The word for it, as `watch`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Relist => "relist",
            Self::Resync => "resync",
        }
    }

    /// Of two causes for one update, the one that says more: a watch over a relist over a resync.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Watch, _) | (_, Self::Watch) => Self::Watch,
            (Self::Relist, _) | (_, Self::Relist) => Self::Relist,
            (Self::Resync, Self::Resync) => Self::Resync,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<K> Event<K> {
    /// The newest state that the event tells of: for a deletion the last one.
    #[must_use]
    pub const fn object(&self) -> &Arc<K> {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } => object,
            Self::Updated { new, .. } => new,
        }
    }

    /// The newest state, by value.
    #[must_use]
    pub fn into_object(self) -> Arc<K> {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } => object,
            Self::Updated { new, .. } => new,
        }
    }

    /// True for an object that was there before the handler was.
    #[must_use]
    pub const fn is_initial(&self) -> bool {
        matches!(self, Self::Added { initial: true, .. })
    }
}

impl<K: Object> Event<K> {
    /// The key of the object. Makes a new key on each call.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        ObjectKey::of(&**self.object())
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added {
                object: Arc::clone(object),
                initial: *initial,
            },
            Self::Updated { old, new, cause } => Self::Updated {
                old: Arc::clone(old),
                new: Arc::clone(new),
                cause: *cause,
            },
            Self::Deleted {
                object,
                final_state_unknown,
            } => Self::Deleted {
                object: Arc::clone(object),
                final_state_unknown: *final_state_unknown,
            },
        }
    }
}

impl<K: Object> fmt::Debug for Event<K> {
    /// Names the object and its version; never prints its contents, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.object().resource_version();
        let mut out = f.debug_struct(match self {
            Self::Added { .. } => "Added",
            Self::Updated { .. } => "Updated",
            Self::Deleted { .. } => "Deleted",
        });
        out.field("key", &self.key().as_str())
            .field("resource_version", &version);
        match self {
            Self::Added { initial, .. } => out.field("initial", initial),
            Self::Updated { cause, .. } => out.field("cause", cause),
            Self::Deleted {
                final_state_unknown,
                ..
            } => out.field("final_state_unknown", final_state_unknown),
        };
        out.finish()
    }
}
