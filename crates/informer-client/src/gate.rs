//! A gate that requests pass only while something holds, as a lease.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::Error;

/// Decides at each moment whether the requests of a [client](crate::Client::gated) may be sent, and for how long they may
/// go on.
///
/// ```no_run
/// use std::time::Duration;
/// use informer_client::{Client, Gate};
/// use tokio::time::Instant;
///
/// struct Until(Instant);
///
/// impl Gate for Until {
///     fn remaining(&self) -> Result<Duration, Box<dyn std::error::Error + Send + Sync>> {
///         let left = self.0.saturating_duration_since(Instant::now());
///         if left.is_zero() { Err("the maintenance window is over".into()) } else { Ok(left) }
///     }
/// }
///
/// # fn example(client: Client, end: Instant) {
/// let client = client.gated(Until(end));
/// # }
/// ```
pub trait Gate: Send + Sync + 'static {
    /// Returns how long requests may go on from now, as far as is known now. Called before each step of a request, the last
    /// time right before it is handed to its connection, so keep it short.
    ///
    /// # Errors
    /// When no request may be sent, nor go on.
    fn remaining(&self) -> Result<Duration, Box<dyn StdError + Send + Sync>>;
}

/// Sends a request as long as a gate is open.
pub(crate) async fn pass<T>(
    gate: &dyn Gate,
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut closed = pin!(Closed { gate, sleep: None });
    let mut request = pin!(request);
    std::future::poll_fn(|context| {
        // The request takes no step without this look, whatever woke it.
        if let Poll::Ready(source) = closed.as_mut().poll(context) {
            return Poll::Ready(Err(Error::Gate { source }));
        }
        request.as_mut().poll(context)
    })
    .await
}

/// Ends when a gate is closed, with the reason. Each poll asks the gate: a timer alone could be late, after a process was
/// frozen.
struct Closed<'a> {
    gate: &'a dyn Gate,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Future for Closed<'_> {
    type Output = Box<dyn StdError + Send + Sync>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        /// Asked again after this time at the latest.
        const DAY: Duration = Duration::from_secs(24 * 3600);
        loop {
            let left = match self.gate.remaining() {
                Ok(left) => left.min(DAY),
                Err(reason) => return Poll::Ready(reason),
            };
            let at = Instant::now() + left;
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(at)));
            if sleep.deadline() > at || sleep.is_elapsed() {
                sleep.as_mut().reset(at);
            }
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
