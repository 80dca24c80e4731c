//! What one of several API servers in front of one etcd has seen.

/// What a replica knows: servers of one cluster follow the same history, each at its own pace, and
/// each remembers only what happened since it started.
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
    /// A replica that has seen everything.
    pub const fn newest() -> Self {
        Self {
            seen: None,
            floor: 0,
        }
    }

    /// One that has seen everything up to a revision, and nothing after it.
    #[must_use]
    pub const fn up_to(mut self, revision: u64) -> Self {
        self.seen = Some(revision);
        self
    }

    /// One that started at a revision: a watch from before it is too old.
    #[must_use]
    pub const fn since(mut self, revision: u64) -> Self {
        self.floor = revision;
        self
    }

    /// The oldest revision from which a watch may start.
    pub const fn floor(self) -> u64 {
        self.floor
    }

    /// Its newest revision, if the cluster's is `newest`.
    pub fn revision(self, newest: u64) -> u64 {
        self.seen.map_or(newest, |seen| seen.min(newest))
    }
}
