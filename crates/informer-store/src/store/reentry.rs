//! Writes from inside a write of the same store and thread, which would wait for themselves.
//!
//! An index function runs while its store is being written to, and a transaction holds up other writers: a write that
//! either of them waits for on its own thread could never begin. It panics instead; in an index function that is a
//! failure of the function like any other.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::thread_local;

thread_local! {
    /// The stores that this thread is writing to while other code runs.
    static WRITING: RefCell<Vec<StoreId>> = const { RefCell::new(Vec::new()) };
}

/// The number of a store in its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreId(u64);

impl StoreId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Checks that this thread is not writing to the store.
    ///
    /// # Panics
    /// If it is.
    #[inline]
    pub(crate) fn assert_not_writing(self) {
        // A thread that ends has no transaction left.
        let is_writing = WRITING.try_with(|writing| writing.borrow().contains(&self));
        assert!(
            !is_writing.unwrap_or(false),
            "write to a store from its own index function, or beside a transaction of it on the same thread; \
             index functions may only read, and a transaction is committed or dropped first"
        );
    }
}

/// While it exists, this thread is writing to a store. It stays on its thread.
pub(crate) struct Writing(StoreId, PhantomData<*const ()>);

impl Writing {
    pub(crate) fn to(store: StoreId) -> Self {
        let _ = WRITING.try_with(|writing| writing.borrow_mut().push(store));
        Self(store, PhantomData)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let _ = WRITING.try_with(|writing| {
            let mut writing = writing.borrow_mut();
            // Transactions of several stores end in any order.
            if let Some(at) = writing.iter().rposition(|store| *store == self.0) {
                writing.swap_remove(at);
            }
        });
    }
}
