//! The gate that lets requests pass only while the lease is held.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::status::ElectionStatus;

/// Lets things be done only while this replica holds the lease. Cheap to clone.
///
/// What it lets through begins, and goes on, only after a look at the clock. So after a process was frozen (by SIGSTOP, a
/// debugger, a starved node) longer than its lease, nothing passes any more, whatever timers and tokens say by then. It
/// stays open for what remains of the lease after a loss, so that the work can tidy up.
///
/// It is no fence: what has passed the last look is on its way, and a server may receive it after the lease has ended. Where
/// one late write is one too many, let the server decide: by the resource version of what was read
/// (`metadata.resourceVersion` in an update), by a precondition, or by a number in the object that each leader raises
/// first and the writes of older ones are refused for.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_leader_election::{ElectionConfig, HttpLeaseLock, LeaderElector};
///
/// # fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let lock = HttpLeaseLock::new(client.clone(), "kube-system", "my-controller");
/// let elector = LeaderElector::new(lock, ElectionConfig::new("pod-7f9c"))?;
/// // What the work writes with. Informers keep the client without the gate: they run whether this replica leads or not.
/// let writes = client.gated(elector.gate());
/// # Ok(()) }
/// ```
///
/// [`run`](Self::run) does the same for anything else.
#[derive(Clone)]
pub struct LeaseGate {
    status: watch::Receiver<ElectionStatus>,
}

/// The lease is not held, or no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("lease not held; only the leader may do this")]
pub struct NotLeading;

impl LeaseGate {
    pub(crate) const fn new(status: watch::Receiver<ElectionStatus>) -> Self {
        Self { status }
    }

    fn ends(&self) -> Option<Instant> {
        self.status.borrow().lease_ends
    }

    /// Returns how long the lease is held from now on, if it is not renewed.
    ///
    /// # Errors
    /// When it is not held.
    pub fn remaining(&self) -> Result<Duration, NotLeading> {
        let left = self
            .ends()
            .map(|ends| ends.saturating_duration_since(Instant::now()));
        left.filter(|left| !left.is_zero()).ok_or(NotLeading)
    }

    /// Runs a future for as long as the lease is held: it is polled only after a look at the clock, and dropped once the
    /// lease has ended.
    ///
    /// # Errors
    /// When the lease is not held, or ends before the future does. A request that was sent by then may have been carried
    /// out.
    pub async fn run<F: Future>(&self, future: F) -> Result<F::Output, NotLeading> {
        tokio::select! {
            biased;
            () = self.closed() => Err(NotLeading),
            output = future => Ok(output),
        }
    }

    /// Ends once the lease is not held. Looks at the clock whenever it is polled, not at whether a timer has fired: after
    /// a process was frozen timers come late.
    pub(crate) fn closed(&self) -> Closed<'_> {
        Closed {
            gate: self,
            sleep: None,
        }
    }
}

impl informer_client::Gate for LeaseGate {
    fn remaining(&self) -> Result<Duration, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self::remaining(self)?)
    }
}

impl fmt::Debug for LeaseGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseGate")
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

pub(crate) struct Closed<'a> {
    gate: &'a LeaseGate,
    /// Wakes at the end of the lease as it was when it was last looked at.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Future for Closed<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let ends = self.gate.ends();
            let Some(ends) = ends.filter(|ends| Instant::now() < *ends) else {
                return Poll::Ready(());
            };
            let sleep = self
                .sleep
                .get_or_insert_with(|| Box::pin(sleep_until(ends)));
            if sleep.deadline() != ends {
                sleep.as_mut().reset(ends);
            }
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
