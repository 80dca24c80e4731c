//! The locks and atomics of this crate, in one place, so that a test can explore their interleavings.
//!
//! Tests built with `--cfg informer_shuttle` have those of the crate shuttle: see `interleavings.rs`.

#[cfg(not(all(test, informer_shuttle)))]
mod chosen {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub(crate) use std::thread_local;

    pub(crate) use parking_lot::{
        Mutex, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
    };
}

/// Shuttle's locks in the shape of parking_lot's: they are never poisoned.
#[cfg(all(test, informer_shuttle))]
mod chosen {
    use std::ops::{Deref, DerefMut};
    use std::sync::PoisonError;

    use shuttle::sync;
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub(crate) use shuttle::sync::{MutexGuard, RwLockReadGuard};
    pub(crate) use shuttle::thread_local;

    #[derive(Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// A lock that one holder at a time, who reads beside the other readers, can turn into the only holder.
    #[derive(Default)]
    pub(crate) struct RwLock<T> {
        value: sync::RwLock<T>,
        /// Held by whoever may write.
        turn: sync::Mutex<()>,
    }

    pub(crate) struct RwLockUpgradableReadGuard<'a, T> {
        lock: &'a RwLock<T>,
        value: RwLockReadGuard<'a, T>,
        turn: MutexGuard<'a, ()>,
    }

    pub(crate) struct RwLockWriteGuard<'a, T> {
        lock: &'a RwLock<T>,
        value: sync::RwLockWriteGuard<'a, T>,
        turn: MutexGuard<'a, ()>,
    }

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self {
                value: sync::RwLock::new(value),
                turn: sync::Mutex::new(()),
            }
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.value.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn upgradable_read(&self) -> RwLockUpgradableReadGuard<'_, T> {
            let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            RwLockUpgradableReadGuard {
                lock: self,
                value: self.read(),
                turn,
            }
        }

        pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
            RwLockUpgradableReadGuard::upgrade(self.upgradable_read())
        }
    }

    impl<'a, T> RwLockUpgradableReadGuard<'a, T> {
        pub(crate) fn upgrade(this: Self) -> RwLockWriteGuard<'a, T> {
            let Self { lock, value, turn } = this;
            drop(value);
            let value = lock.value.write().unwrap_or_else(PoisonError::into_inner);
            RwLockWriteGuard { lock, value, turn }
        }
    }

    impl<'a, T> RwLockWriteGuard<'a, T> {
        pub(crate) fn downgrade_to_upgradable(this: Self) -> RwLockUpgradableReadGuard<'a, T> {
            let Self { lock, value, turn } = this;
            drop(value);
            RwLockUpgradableReadGuard {
                lock,
                value: lock.read(),
                turn,
            }
        }
    }

    impl<T> Deref for RwLockUpgradableReadGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.value
        }
    }

    impl<T> Deref for RwLockWriteGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            &self.value
        }
    }

    impl<T> DerefMut for RwLockWriteGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            &mut self.value
        }
    }
}

pub(crate) use chosen::{
    AtomicBool, AtomicU64, AtomicUsize, Mutex, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, thread_local,
};
