//! A gate that requests pass only while something holds, as a lease.

use std::error::Error as StdError;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Notify;
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

/// The gate of a client, and whose turn it is to pass it.
pub(crate) struct Gated {
    gate: Box<dyn Gate>,
    turns: Turns,
}

impl Gated {
    pub(crate) fn new(gate: impl Gate) -> Self {
        Self {
            gate: Box::new(gate),
            turns: Turns::default(),
        }
    }

    /// Sends a request as long as the gate is open.
    pub(crate) async fn pass<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut closed = pin!(Closed {
            gate: &*self.gate,
            sleep: None,
        });
        let mut request = pin!(async {
            let turn = self.turns.take().await;
            let mut turn = Some(turn);
            let mut request = pin!(request);
            std::future::poll_fn(|context| {
                let polled = request.as_mut().poll(context);
                if let Some(turn) = turn.take()
                    && polled.is_pending()
                {
                    turn.end_after_others();
                }
                polled
            })
            .await
        });
        std::future::poll_fn(|context| {
            // The request takes no step without this look, whatever woke it.
            if let Poll::Ready(source) = closed.as_mut().poll(context) {
                return Poll::Ready(Err(Error::Gate { source }));
            }
            request.as_mut().poll(context)
        })
        .await
    }
}

/// Lets requests pass one at a time, each until its connection had time to write it. So of a process that is frozen
/// about one is past its last look and not yet written, however many are sent at once.
///
/// Whoever waits owns nothing: a request that is no longer polled holds up no other.
#[derive(Clone, Default)]
struct Turns(Arc<TurnsState>);

#[derive(Default)]
struct TurnsState {
    is_taken: AtomicBool,
    ended: Notify,
}

/// Ends when it is dropped.
struct Turn(Turns);

impl Turns {
    async fn take(&self) -> Turn {
        loop {
            let mut ended = pin!(self.0.ended.notified());
            // From here on: the turn may end between the two.
            ended.as_mut().enable();
            if !self.0.is_taken.swap(true, Ordering::AcqRel) {
                return Turn(self.clone());
            }
            ended.await;
        }
    }
}

impl Turn {
    /// Ends the turn once other tasks were polled, the connection's among them, which has the request by now.
    fn end_after_others(self) {
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            drop(self);
        });
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Turns(state) = &self.0;
        state.is_taken.store(false, Ordering::Release);
        state.ended.notify_waiters();
    }
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tokio::sync::mpsc;

    use super::*;

    struct Open;

    impl Gate for Open {
        fn remaining(&self) -> Result<Duration, Box<dyn StdError + Send + Sync>> {
            Ok(Duration::from_secs(60))
        }
    }

    /// A request that is handed to a connection when it is first polled, and never answered.
    fn handed(
        connection: &mpsc::UnboundedSender<()>,
    ) -> impl Future<Output = Result<Infallible, Error>> + Send + 'static {
        let connection = connection.clone();
        async move {
            let _ = connection.send(());
            std::future::pending().await
        }
    }

    // INV-CLIENT-17
    #[tokio::test]
    async fn connection_has_written_a_request_before_the_next_one_passes() {
        let gated = Arc::new(Gated::new(Open));
        let (connection, mut unwritten) = mpsc::unbounded_channel();
        for _ in 0..50 {
            let (gated, request) = (Arc::clone(&gated), handed(&connection));
            tokio::spawn(async move { gated.pass(request).await.map(drop) });
        }
        for _ in 0..50 {
            unwritten.recv().await.expect("one is handed over");
            assert!(unwritten.is_empty(), "another one passed meanwhile");
        }
    }

    // INV-CLIENT-17
    #[tokio::test]
    async fn requests_that_are_no_longer_polled_hold_up_no_other() {
        let gated = Gated::new(Open);
        let (connection, mut unwritten) = mpsc::unbounded_channel();
        let mut left: Vec<_> = (0..3)
            .map(|_| Box::pin(gated.pass(handed(&connection))))
            .collect();
        for request in &mut left {
            assert!(futures_util::poll!(request).is_pending());
        }
        let next = tokio::time::timeout(
            Duration::from_secs(30),
            gated.pass(async { Ok::<_, Error>(()) }),
        );
        next.await.expect("not held up").expect("open");
        assert!(unwritten.try_recv().is_ok(), "the first one passed");
    }
}
