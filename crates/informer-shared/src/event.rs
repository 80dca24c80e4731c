//! What a handler receives: the `Event` enum and the cause of an update.

use std::fmt;
use std::sync::Arc;

use informer_store::{Object, ObjectKey};

/// One change of one object, as a handler receives it.
///
/// The history of a key, as one handler receives it, is always `Added`, any number of `Updated`, `Deleted`, and so on
/// from the start. The `old` of an update is the object of the handler's event before.
///
/// The three kinds are all there will be: match them without `_`.
///
/// ```
/// use informer_shared::Event;
/// use k8s_openapi::api::core::v1::Pod;
///
/// fn describe(event: &Event<Pod>) -> String {
///     match event {
///         Event::Added { initial: true, .. } => format!("{} existed before", event.key()),
///         Event::Added { .. } => format!("{} is new", event.key()),
///         Event::Updated { cause, .. } => format!("{} changed ({cause})", event.key()),
///         Event::Deleted { .. } => format!("{} was deleted", event.key()),
///     }
/// }
/// # assert_eq!(describe(&Event::Added { object: Default::default(), initial: false }), " is new");
/// ```
///
/// # Selectors
///
/// An informer with a label or field selector receives a `Deleted` when an object ceases to match, and an `Added` when
/// it comes to match: the server sends the same events as for a deletion and a creation, so the two cannot be told
/// apart. Read the object from the server where the difference matters. A handler's
/// [filter](crate::HandlerBuilder::filter) does the same.
#[doc(alias = "ResourceEventHandler")]
pub enum Event<K> {
    /// An object that the handler did not have.
    #[doc(alias = "OnAdd")]
    Added {
        /// The object.
        object: Arc<K>,
        /// `true` if the object existed before: it belongs to the informer's first list, or was cached when the handler
        /// was added.
        #[doc(alias = "isInInitialList")]
        initial: bool,
    },
    /// An object of the handler changed, or is repeated to it unchanged.
    #[doc(alias = "OnUpdate")]
    Updated {
        /// The object of the handler's event before.
        old: Arc<K>,
        /// The object now. The same allocation as `old` if nothing changed.
        new: Arc<K>,
        /// Why the handler receives it.
        cause: Cause,
    },
    /// An object was deleted, or ceased to match the informer's selector.
    #[doc(alias = "OnDelete")]
    Deleted {
        /// Its last state, as far as it is known.
        object: Arc<K>,
        /// `true` if the deletion itself was missed, so that the last state may be older than the deletion.
        #[doc(alias = "DeletedFinalStateUnknown")]
        final_state_unknown: bool,
    },
}

/// Why a handler receives an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The server sent a change.
    Watch,
    /// A relist holds the object: changed, or unchanged for handlers with a resync period.
    Relist,
    /// The handler's resync period has passed; nothing changed.
    Resync,
}

impl Cause {
    /// Returns the word for it, as `watch`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Relist => "relist",
            Self::Resync => "resync",
        }
    }

    /// Returns the stronger of two causes of one update: a watch before a relist before a resync.
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
    /// Returns the newest state of the object: for a deletion the last one.
    #[must_use]
    pub const fn object(&self) -> &Arc<K> {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } => object,
            Self::Updated { new, .. } => new,
        }
    }

    /// Returns the newest state by value.
    #[must_use]
    pub fn into_object(self) -> Arc<K> {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } => object,
            Self::Updated { new, .. } => new,
        }
    }

    /// Returns `true` for an object that existed before the handler was added.
    #[must_use]
    pub const fn is_initial(&self) -> bool {
        matches!(self, Self::Added { initial: true, .. })
    }

    /// Returns `true` for an update without a change: a resync, or an unchanged object of a relist.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        matches!(self, Self::Updated { old, new, .. } if Arc::ptr_eq(old, new))
    }
}

impl<K: Object> Event<K> {
    /// Returns the key of the object. Makes a new key on each call.
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
    /// Names the object and its resource version; never prints its contents, which may be secret.
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
