//! The lock and the atomics of this crate, in one place, so that a test can explore their interleavings.
//!
//! Tests built with `--cfg informer_shuttle` have those of the crate shuttle: see `interleavings.rs`.

#[cfg(not(all(test, informer_shuttle)))]
pub(crate) use std::sync::atomic::AtomicUsize;

#[cfg(not(all(test, informer_shuttle)))]
pub(crate) use parking_lot::Mutex;

/// Shuttle's lock in the shape of parking_lot's: it is never poisoned.
#[cfg(all(test, informer_shuttle))]
mod explored {
    use std::sync::PoisonError;

    use shuttle::sync;
    use shuttle::sync::MutexGuard;

    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

#[cfg(all(test, informer_shuttle))]
pub(crate) use explored::Mutex;
#[cfg(all(test, informer_shuttle))]
pub(crate) use shuttle::sync::atomic::AtomicUsize;
