//! Freezes a process: what belongs to it is not polled, while timers run out around it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

/// Whether a process runs. Clones are of the same process.
#[derive(Clone, Default)]
pub(super) struct Freeze(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    is_frozen: bool,
    /// Those who were woken meanwhile.
    woken: Vec<Waker>,
}

impl Freeze {
    pub(super) fn is_frozen(&self) -> bool {
        self.0.lock().is_frozen
    }

    pub(super) fn freeze(&self) {
        self.0.lock().is_frozen = true;
    }

    /// Lets the process go on: what was woken meanwhile is polled, in this order or the other.
    pub(super) fn thaw(&self, reversed: bool) {
        let mut woken = {
            let mut state = self.0.lock();
            state.is_frozen = false;
            std::mem::take(&mut state.woken)
        };
        if reversed {
            woken.reverse();
        }
        for waker in woken {
            waker.wake();
        }
    }

    /// Returns `true` if nothing may be polled. The waker is then woken by the thaw.
    pub(super) fn holds(&self, context: &Context<'_>) -> bool {
        let mut state = self.0.lock();
        if !state.is_frozen {
            return false;
        }
        if !state
            .woken
            .iter()
            .any(|waker| waker.will_wake(context.waker()))
        {
            state.woken.push(context.waker().clone());
        }
        true
    }

    pub(super) fn wrap<F: Future>(&self, future: F) -> Freezable<F> {
        Freezable {
            freeze: self.clone(),
            future: Box::pin(future),
        }
    }
}

/// A future of a process.
pub(super) struct Freezable<F> {
    freeze: Freeze,
    future: Pin<Box<F>>,
}

impl<F: Future> Future for Freezable<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.freeze.holds(context) {
            return Poll::Pending;
        }
        self.future.as_mut().poll(context)
    }
}
