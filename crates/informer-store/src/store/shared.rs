//! What the handles of one store share: the published version, and who waits for the next.
//!
//! # Lock order
//! `writer`, then `root`. `writer` is held by one write or batch at a time and while index functions run; `root` for
//! a clone, a swap, or one change in place. Index functions run for a single write while `root` is held for reading:
//! readers pass, and no writer can wait for it, as each holds `writer` first. The logs and lists of those who listen have
//! locks of their own, taken last.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::changes::ChangeLog;
use crate::effects::{Effects, Touched};
use crate::index::IndexFailure;
use crate::object::Object;
use crate::overlay;
use crate::root::Root;
use crate::signal::Signal;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use crate::watch::Watches;

pub(crate) struct Shared<K> {
    root: RwLock<triomphe::Arc<Root<K>>>,
    writer: Mutex<Writer>,
    /// Told of every publication.
    pub(crate) published: Signal,
    /// Told once nothing feeds the store any more.
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

/// The right to write, held by one at a time.
pub(crate) struct Writer(());

impl<K> Default for Shared<K> {
    fn default() -> Self {
        Self {
            root: RwLock::new(triomphe::Arc::new(Root::default())),
            writer: Mutex::new(Writer(())),
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
    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock()
    }

    pub(crate) fn root(&self) -> triomphe::Arc<Root<K>> {
        triomphe::Arc::clone(&self.root.read())
    }

    /// The published version, for one short look.
    pub(crate) fn read(&self) -> Published<'_, K> {
        self.root.read()
    }

    /// What a write that begins now has to gather.
    pub(crate) fn effects(&self) -> Effects<K> {
        Effects {
            touched: if self.watches.is_empty() {
                Touched::Unknown
            } else {
                Touched::These(Vec::new())
            },
            changes: self.log.is_wanted().then(Vec::new),
            failures: self.report.read().is_some().then(Vec::new),
        }
    }

    /// Puts a new version in the place of the old one, for the holder of the writer's lock. Returns its revision.
    pub(crate) fn publish(&self, mut root: Root<K>) -> u64 {
        root.revision += 1;
        let revision = root.revision;
        let root = triomphe::Arc::new(root);
        let old = std::mem::replace(&mut *self.root.write(), root);
        // Freed here, after the lock.
        drop(old);
        revision
    }

    /// Makes one change: in place if nobody else holds this version, beside it if somebody does.
    pub(crate) fn change<R>(
        &self,
        writer: MutexGuard<'_, Writer>,
        change: impl FnOnce(&mut Root<K>, &mut Effects<K>) -> R,
    ) -> R {
        let mut effects = self.effects();
        let mut published = self.root.write();
        if let Some(root) = triomphe::Arc::get_mut(&mut published) {
            let result = change(root, &mut effects);
            root.revision += 1;
            let revision = root.revision;
            drop(published);
            self.tell(writer, revision, effects);
            return result;
        }
        let mut root = Root::clone(&published);
        drop(published);
        let result = change(&mut root, &mut effects);
        let revision = self.publish(root);
        self.tell(writer, revision, effects);
        result
    }

    /// Tells those who listen of what was published, and ends the write.
    pub(crate) fn tell(&self, writer: MutexGuard<'_, Writer>, revision: u64, effects: Effects<K>) {
        self.log.append(revision, effects.changes);
        drop(writer);
        self.watches.tell(effects.touched);
        self.published.notify();
        let Some(failures) = effects.failures.filter(|failures| !failures.is_empty()) else {
            return;
        };
        let report = self.report.read().clone();
        if let Some(report) = report {
            failures.iter().for_each(|failure| report(failure));
        }
    }

    pub(crate) fn set_failure_report(&self, report: Arc<Report>) {
        *self.report.write() = Some(report);
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
