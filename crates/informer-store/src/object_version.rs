//! The comparison of two versions of an object: the only one there is.

use crate::object::Object;
use crate::uid::Uid;
use crate::version::ResourceVersion;

/// UID and resource version of one received object, by which it is compared with others of its key.
///
/// ```
/// use informer_store::{ObjectVersion, Relation};
///
/// let version = |uid: &str, resource_version: &str| {
///     ObjectVersion::new(Some(uid.into()), Some(resource_version.into()))
/// };
/// let newest = version("a", "7");
/// assert_eq!(version("a", "8").relation_to(&newest), Relation::Newer);
/// assert_eq!(version("a", "6").relation_to(&newest), Relation::Older);
/// assert_eq!(version("b", "6").relation_to(&newest), Relation::Recreated);
/// // The deletion of an object ends it, whatever version it carries.
/// assert!(version("a", "6").deletes(&newest));
/// assert!(!version("b", "6").deletes(&newest));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ObjectVersion {
    /// The object's UID.
    pub uid: Option<Uid>,
    /// The object's resource version.
    pub resource_version: Option<ResourceVersion>,
}

/// How a received object relates to the newest one of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The same UID and the same resource version.
    Same,
    /// The same UID, and known to be older: outdated.
    Older,
    /// Newer, or not known to be any of the others.
    Newer,
    /// Another UID: the object was deleted and created again.
    Recreated,
}

impl ObjectVersion {
    /// Makes the version of this UID and resource version.
    #[must_use]
    pub const fn new(uid: Option<Uid>, resource_version: Option<ResourceVersion>) -> Self {
        Self {
            uid,
            resource_version,
        }
    }

    /// Returns the version of an object.
    #[must_use]
    pub fn of<K: Object>(object: &K) -> Self {
        Self::new(object.uid(), object.resource_version())
    }

    /// Compares a received object (`self`) with the newest one of its key.
    ///
    /// Only objects of one UID are compared by resource version. A missing UID or version (empty and `0` count as
    /// missing) and opaque versions that differ give [`Newer`](Relation::Newer): a server sends an object after its
    /// predecessor.
    #[must_use]
    pub fn relation_to(&self, newest: &Self) -> Relation {
        let (Some(uid), Some(newest_uid)) = (&self.uid, &newest.uid) else {
            return Relation::Newer;
        };
        if uid != newest_uid {
            return Relation::Recreated;
        }
        match (&self.resource_version, &newest.resource_version) {
            (Some(own), Some(other)) if own == other && !own.is_unset() => Relation::Same,
            (Some(own), Some(other)) if own.is_older_than(other) => Relation::Older,
            _ => Relation::Newer,
        }
    }

    /// Returns `true` if the deletion of this object (`self`) ends the newest one of its key.
    ///
    /// The deletion of the same UID, or with a UID missing, always does: a UID never returns. The deletion of another
    /// UID does only if it is known to be newer; otherwise it is that of a predecessor.
    #[must_use]
    pub fn deletes(&self, newest: &Self) -> bool {
        let (Some(uid), Some(newest_uid)) = (&self.uid, &newest.uid) else {
            return true;
        };
        uid == newest_uid || newest.is_known_older_than(self)
    }

    /// Returns `true` if both resource versions can be compared and this one is older.
    fn is_known_older_than(&self, other: &Self) -> bool {
        match (&self.resource_version, &other.resource_version) {
            (Some(own), Some(other)) => own.is_older_than(other),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;

    fn version() -> impl Strategy<Value = ObjectVersion> {
        let uid = prop::option::weighted(0.8, prop::sample::select(vec!["a", "b"]));
        let resource_version = prop::option::weighted(
            0.9,
            prop::sample::select(vec![
                "",
                "0",
                "8",
                "9",
                "10",
                "x",
                "y",
                "99999999999999999999",
            ]),
        );
        (uid, resource_version).prop_map(|(uid, resource_version)| {
            ObjectVersion::new(
                uid.map(Uid::from),
                resource_version.map(ResourceVersion::from),
            )
        })
    }

    /// The order of the two resource versions, if they have one.
    fn order(a: &ObjectVersion, b: &ObjectVersion) -> Option<Ordering> {
        let a = a.resource_version.as_ref().filter(|v| !v.is_unset())?;
        let b = b.resource_version.as_ref().filter(|v| !v.is_unset())?;
        a.compare(b)
    }

    proptest! {
        #[test]
        fn relation_and_deletion_follow_the_table(received in version(), newest in version()) {
            let uids = received.uid.as_ref().zip(newest.uid.as_ref());
            let relation = match (uids, order(&received, &newest)) {
                (None, _) => Relation::Newer,
                (Some((a, b)), _) if a != b => Relation::Recreated,
                (_, Some(Ordering::Equal)) => Relation::Same,
                (_, Some(Ordering::Less)) => Relation::Older,
                _ => Relation::Newer,
            };
            prop_assert_eq!(received.relation_to(&newest), relation);

            let deletes = match (uids, order(&received, &newest)) {
                (Some((a, b)), order) if a != b => order == Some(Ordering::Greater),
                _ => true,
            };
            prop_assert_eq!(received.deletes(&newest), deletes);
        }

        #[test]
        fn no_two_objects_are_each_older_than_the_other(a in version(), b in version()) {
            let both = (a.relation_to(&b), b.relation_to(&a));
            prop_assert_ne!(both, (Relation::Older, Relation::Older));
            prop_assert_eq!(both.0 == Relation::Same, both.1 == Relation::Same);
            prop_assert_eq!(both.0 == Relation::Recreated, both.1 == Relation::Recreated);
        }
    }
}
