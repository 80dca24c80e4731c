//! The locks and atomics of this crate, in one place, so that a test can explore their interleavings.
//!
//! Tests built with `--cfg informer_shuttle` have those of the crate shuttle: see `interleavings.rs`.

#[cfg(not(all(test, informer_shuttle)))]
mod chosen {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

    pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard};
}

/// Shuttle's locks in the shape of parking_lot's: they are never poisoned.
#[cfg(all(test, informer_shuttle))]
mod chosen {
    use std::sync::{PoisonError, TryLockError};

    use shuttle::sync;
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub(crate) use shuttle::sync::{MutexGuard, RwLockReadGuard};

    #[derive(Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            match self.0.try_lock() {
                Ok(guard) => Some(guard),
                Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            }
        }
    }

    #[derive(Default)]
    pub(crate) struct RwLock<T>(sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn write(&self) -> sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

pub(crate) use chosen::{
    AtomicBool, AtomicU64, AtomicUsize, Mutex, MutexGuard, RwLock, RwLockReadGuard,
};
