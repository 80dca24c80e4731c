//! How urgent an item is.

/// How urgent an item is, against others in the queue.
///
/// Items of a higher priority are handed out first, and within a priority in the order in which they were added. None
/// starves: one of a lower priority has its turn after a number of others have
/// [passed it](crate::Config::ageing).
///
/// ```
/// use informer_workqueue::{Priority, WorkQueue};
///
/// let queue = WorkQueue::new();
/// queue.add_with_priority("from the first list", Priority::Low);
/// queue.add("changed just now");
/// assert_eq!(*queue.try_get().expect("there are two"), "changed just now");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Priority {
    /// For what nobody waits for: objects of a first list, resyncs.
    Low,
    /// For changes.
    #[default]
    Normal,
    /// For what cannot wait.
    High,
}

impl Priority {
    /// How many there are.
    pub(crate) const COUNT: usize = 3;

    /// From the lowest up.
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::Low, Self::Normal, Self::High];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}
