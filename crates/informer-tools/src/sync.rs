//! The lock and the atomics of this crate, in one place, so that a test can explore their interleavings.
//!
//! Tests built with `--cfg informer_shuttle` have those of the crate shuttle: see `interleavings.rs`.

#[cfg(not(all(test, informer_shuttle)))]
mod chosen {
    pub(crate) use std::sync::atomic::AtomicUsize;

    pub(crate) use parking_lot::Mutex;
}

/// Shuttle's lock in the shape of parking_lot's: it is never poisoned.
#[cfg(all(test, informer_shuttle))]
mod chosen {
    use std::sync::{PoisonError, TryLockError};

    use shuttle::sync;
    use shuttle::sync::MutexGuard;
    pub(crate) use shuttle::sync::atomic::AtomicUsize;

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
}

pub(crate) use chosen::{AtomicUsize, Mutex};
