//! An awaitable value with an optional deadline.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// A wait that fails with `E`. Await it, with a deadline or without.
///
/// Without a deadline it waits until it succeeds or can never succeed. It keeps nothing alive, and dropping it has
/// no effect. A deadline needs a tokio runtime with time.
#[must_use = "it waits only when awaited"]
pub struct Wait<E> {
    outcome: BoxFuture<'static, Result<(), E>>,
    on_deadline: Box<dyn FnOnce(Duration) -> E + Send>,
    deadline: Option<Duration>,
}

impl<E: Send + 'static> Wait<E> {
    pub(crate) fn new(
        outcome: impl Future<Output = Result<(), E>> + Send + 'static,
        on_deadline: impl FnOnce(Duration) -> E + Send + 'static,
    ) -> Self {
        Self {
            outcome: outcome.boxed(),
            on_deadline: Box::new(on_deadline),
            deadline: None,
        }
    }

    /// Fails if it takes longer than this.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

impl<E: Send + 'static> IntoFuture for Wait<E> {
    type Output = Result<(), E>;
    type IntoFuture = Waiting<E>;

    fn into_future(self) -> Waiting<E> {
        let Self {
            outcome,
            on_deadline,
            deadline,
        } = self;
        let Some(deadline) = deadline else {
            return Waiting(outcome);
        };
        let bounded = async move {
            let timed = tokio::time::timeout(deadline, outcome).await;
            timed.unwrap_or_else(|_| Err(on_deadline(deadline)))
        };
        Waiting(bounded.boxed())
    }
}

impl<E> fmt::Debug for Wait<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// The future of a [`Wait`].
#[must_use = "futures do nothing unless awaited"]
pub struct Waiting<E>(BoxFuture<'static, Result<(), E>>);

impl<E> Future for Waiting<E> {
    type Output = Result<(), E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.0.poll_unpin(cx)
    }
}

impl<E> fmt::Debug for Waiting<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").finish_non_exhaustive()
    }
}
