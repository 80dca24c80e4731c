//! The priority of an item.

/// The priority of an item among those that wait.
///
/// Items of a higher priority are handed out first, and within a priority in the order in which they were added. None
/// starves: one of a lower priority is taken after a number of others have
/// [passed it](crate::WorkQueueConfig::starvation_limit).
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
    /// Nobody waits for it: objects of a first list, resyncs.
    Low,
    /// A change.
    #[default]
    Normal,
    /// It cannot wait.
    High,
}

impl Priority {
    /// The number of priorities.
    pub(crate) const COUNT: usize = 3;

    /// From the lowest up.
    pub(crate) const ALL: [Self; Self::COUNT] = [Self::Low, Self::Normal, Self::High];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}
