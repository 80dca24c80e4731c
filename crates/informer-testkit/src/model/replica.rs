//! The view of one of several API servers in front of one etcd.

/// The view of a replica: servers of one cluster follow the same history, each at its own pace, and each has only what
/// happened since it started.
///
/// ```
/// use informer_testkit::model::ReplicaView;
///
/// let behind = ReplicaView::newest().up_to(40);
/// assert_eq!(behind.revision(100), 40);
/// assert_eq!(ReplicaView::newest().revision(100), 100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaView {
    seen: Option<u64>,
    floor: u64,
}

impl ReplicaView {
    /// Makes the view of a replica that has seen everything.
    pub const fn newest() -> Self {
        Self {
            seen: None,
            floor: 0,
        }
    }

    /// Limits the view to a revision and those before it.
    #[must_use]
    pub const fn up_to(mut self, revision: u64) -> Self {
        self.seen = Some(revision);
        self
    }

    /// Sets the revision at which the replica started: a watch from before it is too old.
    #[must_use]
    pub const fn since(mut self, revision: u64) -> Self {
        self.floor = revision;
        self
    }

    /// Returns the oldest revision from which a watch may start.
    pub const fn floor(self) -> u64 {
        self.floor
    }

    /// Returns its newest revision, if the cluster's is `newest`.
    pub fn revision(self, newest: u64) -> u64 {
        self.seen.map_or(newest, |seen| seen.min(newest))
    }
}
