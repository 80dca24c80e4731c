//! A value, and a signal when it changes, that wakes those who wait in the order in which they began to.
//!
//! tokio's `watch` draws who is woken first, from a source that no seed reaches: runs in paused time would differ.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The side that changes the value.
#[derive(Debug, Default)]
pub(crate) struct Signal<T>(Arc<Inner<T>>);

#[derive(Debug, Default)]
struct Inner<T> {
    state: Mutex<State<T>>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State<T> {
    value: T,
    /// Counts the changes.
    changes: u64,
}

/// The side that waits for changes after those that it has seen.
#[derive(Debug)]
pub(crate) struct Listener<T> {
    inner: Arc<Inner<T>>,
    seen: u64,
}

impl<T> Signal<T> {
    pub(crate) fn new(value: T) -> Self {
        let state = Mutex::new(State { value, changes: 0 });
        let changed = Notify::new();
        Self(Arc::new(Inner { state, changed }))
    }

    /// Changes the value, and wakes those who wait if `change` returns `true`.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T) -> bool) {
        let mut state = self.0.state.lock();
        let is_changed = change(&mut state.value);
        if is_changed {
            state.changes += 1;
            drop(state);
            self.0.changed.notify_waiters();
        }
    }

    /// Returns a listener that has seen all changes so far.
    pub(crate) fn listen(&self) -> Listener<T> {
        let seen = self.0.state.lock().changes;
        let inner = Arc::clone(&self.0);
        Listener { inner, seen }
    }
}

impl<T: Clone> Listener<T> {
    /// Waits for a change that this has not seen.
    ///
    /// # Cancellation
    /// Nothing is lost if it is dropped.
    pub(crate) async fn changed(&mut self) {
        loop {
            let notified = self.inner.changed.notified();
            let changes = self.inner.state.lock().changes;
            if changes != self.seen {
                self.seen = changes;
                return;
            }
            notified.await;
        }
    }

    /// Takes all changes so far for seen. Returns the value.
    pub(crate) fn see(&mut self) -> T {
        let state = self.inner.state.lock();
        self.seen = state.changes;
        state.value.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn listeners_wake_in_their_order() {
        for _ in 0..50 {
            let signal = Signal::new(0);
            let woken = Arc::new(Mutex::new(Vec::new()));
            let tasks: Vec<_> = (0..20)
                .map(|number| {
                    let (mut listener, woken) = (signal.listen(), Arc::clone(&woken));
                    tokio::spawn(async move {
                        listener.changed().await;
                        woken.lock().push(number);
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            signal.change(|value| {
                *value = 1;
                true
            });
            for task in tasks {
                task.await.expect("no panic");
            }
            assert_eq!(*woken.lock(), (0..20).collect::<Vec<_>>());
        }
    }
}
