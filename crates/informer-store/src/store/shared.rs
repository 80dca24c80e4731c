//! The state that the handles of one store share: the published version, and who waits for the next.
//!
//! # The lock
//! Reads hold `root` for reading, for a clone or one look-up. A write or a transaction takes its turn by holding `root`
//! as the one reader that may become the only holder: readers pass while index functions run, other writers wait. It
//! becomes the only holder for a swap or one change in place. The log of changes and the list of watches have locks of
//! their own, taken last.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::changes::{ChangeLog, Dropped, StoreChange};
use crate::effects::{Effects, Touched};
use crate::index::IndexFailure;
use crate::object::Object;
use crate::overlay;
use crate::root::Root;
use crate::signal::Signal;
use crate::store::reentry::StoreId;
use crate::sync::{
    AtomicBool, AtomicUsize, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use crate::watch::Watches;

pub(crate) struct Shared<K> {
    pub(crate) id: StoreId,
    root: RwLock<triomphe::Arc<Root<K>>>,
    /// Notified of every publication.
    pub(crate) published: Signal,
    /// Notified when the store is closed.
    pub(crate) ended: Signal,
    is_closed: AtomicBool,
    pub(crate) watches: Watches,
    pub(crate) log: ChangeLog<K>,
    pub(crate) overlay_capacity: AtomicUsize,
    report: RwLock<Option<Arc<Report>>>,
}

type Report = dyn Fn(&IndexFailure) + Send + Sync;

/// The published version, which stays so while this is held.
pub(crate) type Published<'a, K> = RwLockReadGuard<'a, triomphe::Arc<Root<K>>>;

/// The published version for the one whose turn it is to write.
pub(crate) type Turn<'a, K> = RwLockUpgradableReadGuard<'a, triomphe::Arc<Root<K>>>;

impl<K> Default for Shared<K> {
    fn default() -> Self {
        Self {
            id: StoreId::next(),
            root: RwLock::new(triomphe::Arc::new(Root::default())),
            published: Signal::default(),
            ended: Signal::default(),
            is_closed: AtomicBool::new(false),
            watches: Watches::default(),
            log: ChangeLog::default(),
            overlay_capacity: AtomicUsize::new(overlay::DEFAULT_CAPACITY),
            report: RwLock::new(None),
        }
    }
}

impl<K: Object> Shared<K> {
    /// Waits for the turn to write.
    ///
    /// # Panics
    /// If it is this thread's turn already.
    #[inline]
    pub(crate) fn turn(&self) -> Turn<'_, K> {
        self.id.assert_not_writing();
        self.root.upgradable_read()
    }

    pub(crate) fn root(&self) -> triomphe::Arc<Root<K>> {
        triomphe::Arc::clone(&self.root.read())
    }

    /// Returns the published version for one look-up.
    pub(crate) fn read(&self) -> Published<'_, K> {
        self.root.read()
    }

    /// Returns what a write that begins now has to gather.
    #[inline]
    pub(crate) fn effects(&self) -> Effects<K> {
        Effects {
            touched: if self.watches.is_empty() {
                Touched::Unknown
            } else {
                Touched::These(Vec::new())
            },
            changes: self.log.is_wanted().then(Vec::new),
            failures: Vec::new(),
        }
    }

    /// Puts a new version in the place of the one that was read, and ends the turn.
    pub(crate) fn publish(&self, turn: Turn<'_, K>, mut root: Root<K>, effects: Effects<K>) {
        root.revision += 1;
        let revision = root.revision;
        let root = triomphe::Arc::new(root);
        let mut published = RwLockUpgradableReadGuard::upgrade(turn);
        let old = std::mem::replace(&mut *published, root);
        let dropped = self.log(published, revision, effects.changes);
        self.notify(effects.touched, &effects.failures);
        // Last, and under no lock: dropping objects is user code.
        drop((old, dropped));
    }

    /// Makes one change and ends the turn: in place if nobody else holds this version, beside it if somebody does.
    #[inline]
    pub(crate) fn change<R>(
        &self,
        turn: Turn<'_, K>,
        change: impl FnOnce(&mut Root<K>, &mut Effects<K>) -> R,
    ) -> R {
        let mut published = RwLockUpgradableReadGuard::upgrade(turn);
        let mut effects = self.effects();
        if let Some(root) = triomphe::Arc::get_mut(&mut published) {
            let result = change(root, &mut effects);
            root.revision += 1;
            let revision = root.revision;
            let dropped = self.log(published, revision, effects.changes);
            self.notify(effects.touched, &effects.failures);
            drop(dropped);
            return result;
        }
        let turn = RwLockWriteGuard::downgrade_to_upgradable(published);
        let mut root = Root::clone(&turn);
        let result = change(&mut root, &mut effects);
        self.publish(turn, root, effects);
        result
    }

    /// Logs the changes that were published, for subscribers, and ends the turn: in the order of the revisions. Returns
    /// the changes that are kept no longer.
    #[inline]
    fn log(
        &self,
        published: RwLockWriteGuard<'_, triomphe::Arc<Root<K>>>,
        revision: u64,
        changes: Option<Vec<StoreChange<K>>>,
    ) -> Dropped<K> {
        // A later subscriber finds the revision published.
        if !self.log.is_wanted() {
            return Dropped::default();
        }
        // A thread that subscribes just now may hold the log and wait to read.
        let turn = RwLockWriteGuard::downgrade_to_upgradable(published);
        let dropped = self.log.append(revision, changes);
        drop(turn);
        dropped
    }

    /// Wakes watches and waits, and reports failures of index functions.
    #[inline]
    fn notify(&self, touched: Touched, failures: &[IndexFailure]) {
        self.watches.wake(touched);
        self.published.notify_of_locked();
        if !failures.is_empty() {
            self.report(failures);
        }
    }

    #[cold]
    fn report(&self, failures: &[IndexFailure]) {
        let report = self.report.read().clone();
        if let Some(report) = report {
            failures.iter().for_each(|failure| report(failure));
        }
    }

    pub(crate) fn set_failure_report(&self, report: Arc<Report>) {
        let old = self.report.write().replace(report);
        // Under no lock.
        drop(old);
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.published.notify();
        self.ended.notify();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }
}
