//! Deltas: what happened to one object.

use std::ops::Deref;
use std::sync::Arc;

use informer_store::ResourceVersion;

/// One change of one object. It takes 16 bytes.
///
/// A consumer decides by what its store holds, not by the type: `Added`, `Updated`, `Replaced` and `Sync` all mean that the
/// object exists in this state. The type says where the change comes from.
#[derive(Debug)]
#[doc(alias = "DeltaType")]
pub enum Delta<K> {
    /// The server sent ADDED.
    Added(Arc<K>),
    /// The server sent MODIFIED.
    Updated(Arc<K>),
    /// A list holds the object. If the store has it already (same UID and resource version), this is the stored `Arc`, and only
    /// consumers with a resync need it.
    Replaced(Arc<K>),
    /// A resync: the object is known and unchanged. Ignore it if the store does not hold the object.
    Sync(Arc<K>),
    /// The object was deleted. Ignore it if the store does not hold the object.
    Deleted(Deleted<K>),
    /// The server sent a newer state that cannot be decoded, at this resource version; a list does not tell which. The stored object
    /// stays and is stale.
    Undecodable(Option<Box<ResourceVersion>>),
}

impl<K> Delta<K> {
    /// Returns the object; `None` for [`Undecodable`](Self::Undecodable).
    #[must_use]
    pub const fn object(&self) -> Option<&Arc<K>> {
        match self {
            Self::Added(object)
            | Self::Updated(object)
            | Self::Replaced(object)
            | Self::Sync(object)
            | Self::Deleted(Deleted::LastState(object) | Deleted::FinalStateUnknown(object)) => {
                Some(object)
            }
            Self::Undecodable(_) => None,
        }
    }

    /// Returns the object; `None` for [`Undecodable`](Self::Undecodable).
    #[must_use]
    pub fn into_object(self) -> Option<Arc<K>> {
        match self {
            Self::Added(object)
            | Self::Updated(object)
            | Self::Replaced(object)
            | Self::Sync(object) => Some(object),
            Self::Deleted(deleted) => Some(deleted.into_object()),
            Self::Undecodable(_) => None,
        }
    }

    /// Returns `true` for [`Deleted`](Self::Deleted).
    #[must_use]
    pub const fn is_deleted(&self) -> bool {
        matches!(self, Self::Deleted(_))
    }

    /// Returns the name of the type, as in client-go: `Added`, `Updated`, `Replaced`, `Sync`, `Deleted`; or `Undecodable`.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Added(_) => "Added",
            Self::Updated(_) => "Updated",
            Self::Replaced(_) => "Replaced",
            Self::Sync(_) => "Sync",
            Self::Deleted(_) => "Deleted",
            Self::Undecodable(_) => "Undecodable",
        }
    }
}

impl<K> Clone for Delta<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(object) => Self::Added(Arc::clone(object)),
            Self::Updated(object) => Self::Updated(Arc::clone(object)),
            Self::Replaced(object) => Self::Replaced(Arc::clone(object)),
            Self::Sync(object) => Self::Sync(Arc::clone(object)),
            Self::Deleted(deleted) => Self::Deleted(deleted.clone()),
            Self::Undecodable(version) => Self::Undecodable(version.clone()),
        }
    }
}

/// The last state of a deleted object.
#[derive(Debug)]
pub enum Deleted<K> {
    /// The server sent DELETED with this last state.
    LastState(Arc<K>),
    /// A tombstone: the deletion was missed, or its state cannot be decoded. This is the newest known state, which may be older than
    /// the object's last.
    #[doc(alias = "DeletedFinalStateUnknown")]
    #[doc(alias = "tombstone")]
    FinalStateUnknown(Arc<K>),
}

impl<K> Deleted<K> {
    /// Returns the last known state.
    #[must_use]
    pub const fn object(&self) -> &Arc<K> {
        match self {
            Self::LastState(object) | Self::FinalStateUnknown(object) => object,
        }
    }

    /// Returns the last known state.
    #[must_use]
    pub fn into_object(self) -> Arc<K> {
        match self {
            Self::LastState(object) | Self::FinalStateUnknown(object) => object,
        }
    }

    /// Returns `true` for a tombstone.
    #[must_use]
    pub const fn is_final_state_unknown(&self) -> bool {
        matches!(self, Self::FinalStateUnknown(_))
    }
}

impl<K> Clone for Deleted<K> {
    fn clone(&self) -> Self {
        match self {
            Self::LastState(object) => Self::LastState(Arc::clone(object)),
            Self::FinalStateUnknown(object) => Self::FinalStateUnknown(Arc::clone(object)),
        }
    }
}

/// The deltas of one key, oldest first: at least one. It derefs to a slice.
#[derive(Debug)]
pub struct Deltas<K>(Repr<K>);

/// Most keys have one delta, and queues move them often: the common case is inline, and all take 16 bytes.
#[derive(Debug)]
enum Repr<K> {
    One(Delta<K>),
    #[expect(
        clippy::box_collection,
        reason = "it is rare, and without the box every entry of a queue would be larger"
    )]
    Many(Box<Vec<Delta<K>>>),
}

impl<K> Deltas<K> {
    /// Returns the newest delta.
    #[must_use]
    #[doc(alias = "Newest")]
    pub fn newest(&self) -> &Delta<K> {
        match &self.0 {
            Repr::One(delta) => delta,
            Repr::Many(deltas) => &deltas[deltas.len() - 1],
        }
    }

    /// Returns the oldest delta.
    #[must_use]
    #[doc(alias = "Oldest")]
    pub fn oldest(&self) -> &Delta<K> {
        &self[0]
    }

    pub(crate) fn newest_mut(&mut self) -> Option<&mut Delta<K>> {
        match &mut self.0 {
            Repr::One(delta) => Some(delta),
            Repr::Many(deltas) => deltas.last_mut(),
        }
    }

    pub(crate) fn push(&mut self, delta: Delta<K>) {
        match &mut self.0 {
            Repr::Many(deltas) => deltas.push(delta),
            Repr::One(first) => {
                let first = std::mem::replace(first, Delta::Undecodable(None));
                self.0 = Repr::Many(Box::new(vec![first, delta]));
            }
        }
    }

    pub(crate) fn append(&mut self, newer: Self) {
        match newer.0 {
            Repr::One(delta) => self.push(delta),
            Repr::Many(deltas) => deltas.into_iter().for_each(|delta| self.push(delta)),
        }
    }
}

impl<K> From<Delta<K>> for Deltas<K> {
    fn from(delta: Delta<K>) -> Self {
        Self(Repr::One(delta))
    }
}

impl<K> From<[Delta<K>; 2]> for Deltas<K> {
    fn from(deltas: [Delta<K>; 2]) -> Self {
        Self(Repr::Many(Box::new(deltas.into())))
    }
}

impl<K> Clone for Deltas<K> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Repr::One(delta) => Repr::One(delta.clone()),
            Repr::Many(deltas) => Repr::Many(deltas.clone()),
        })
    }
}

impl<K> Deref for Deltas<K> {
    type Target = [Delta<K>];

    fn deref(&self) -> &[Delta<K>] {
        match &self.0 {
            Repr::One(delta) => std::slice::from_ref(delta),
            Repr::Many(deltas) => deltas,
        }
    }
}

impl<'a, K> IntoIterator for &'a Deltas<K> {
    type Item = &'a Delta<K>;
    type IntoIter = std::slice::Iter<'a, Delta<K>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(deltas: &Deltas<u32>) -> Vec<u32> {
        let objects = deltas.iter().filter_map(Delta::object);
        objects.map(|value| **value).collect()
    }

    #[test]
    fn deltas_keep_their_order_however_they_grow() {
        let delta = |n| Delta::Added(Arc::new(n));
        let mut deltas = Deltas::from(delta(0));
        assert_eq!(deltas.newest().type_name(), "Added");
        for n in 1..5 {
            let newer = deltas.clone();
            deltas.push(Delta::Updated(Arc::new(n)));
            assert_eq!(values(&deltas), (0..=n).collect::<Vec<_>>());
            assert_eq!(deltas.newest().type_name(), "Updated");
            let mut both = Deltas::from([delta(8), delta(9)]);
            both.append(newer);
            assert_eq!(values(&both)[..3], [8, 9, 0]);
            assert_eq!(both.len(), 2 + n as usize);
        }
        assert_eq!(deltas.oldest().type_name(), "Added");
    }

    // Each of 100,000 waiting keys has one.
    #[test]
    fn deltas_take_sixteen_bytes() {
        assert_eq!(size_of::<Delta<String>>(), 16);
        assert_eq!(size_of::<Deltas<String>>(), 16);
    }
}
