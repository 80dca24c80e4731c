//! The elector: runs work while this replica leads.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::campaign::{Campaign, Desk, Link};
use crate::config::{ConfigError, ElectionConfig, Renewal};
use crate::drive::Drive;
use crate::error::LeadershipLost;
use crate::gate::LeaseGate;
use crate::lock::LeaseLock;
use crate::status::{ElectionStatus, Health, Running};

/// Runs work in one of several replicas: the one that holds the lease.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_leader_election::{ElectionConfig, HttpLeaseLock, LeaderElector, Leadership};
/// use tokio_util::sync::CancellationToken;
///
/// # async fn example(client: Client, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
/// // Informers may be started here already: a warm cache makes taking over quick.
/// let lock = HttpLeaseLock::new(client, "kube-system", "my-controller");
/// let elector = LeaderElector::new(lock, ElectionConfig::new("pod-7f9c"))?;
/// while !stop.is_cancelled() {
///     let led = elector.run(&stop, |lost| async move {
///         // Work until the leadership ends or the program is to stop, then return.
///         lost.cancelled().await;
///         Ok::<(), std::io::Error>(())
///     });
///     match led.await {
///         // The work has ended, with or without an error.
///         Ok(Leadership::Worked(result)) => return Ok(result?),
///         Ok(_) => return Ok(()),
///         // Take part again, or end the process: a replica that does neither is of no use.
///         Err(lost) => eprintln!("no longer leading: {lost}"),
///     }
/// }
/// # Ok(()) }
/// ```
#[doc(alias = "RunOrDie")]
pub struct LeaderElector<L> {
    desk: Arc<Desk<L>>,
    /// The lock has connections of its own.
    is_separate: bool,
    /// Runs of one elector would not see each other's leases as another's, so they take turns.
    turn: Mutex<()>,
}

/// How a run without a loss ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "what the work returned, also its error, is in here"]
#[non_exhaustive]
pub enum Leadership<T> {
    /// It led, and the work returned this, by itself or because of the stop.
    Worked(T),
    /// It was stopped before it led.
    NeverLed,
}

impl<T> Leadership<T> {
    /// Returns what the work returned, if it ran: of work that returns a `Result`, `worked().transpose()?` is the error.
    #[must_use = "what the work returned, also its error, is in here"]
    pub fn worked(self) -> Option<T> {
        match self {
            Self::Worked(output) => Some(output),
            Self::NeverLed => None,
        }
    }
}

/// What the run waits for while the work goes on.
enum Event<T> {
    Lost(LeadershipLost),
    Stopped,
    Worked(T),
}

impl<L: LeaseLock> LeaderElector<L> {
    /// Makes an elector that takes part once it [runs](Self::run).
    ///
    /// # Errors
    /// If the settings contradict each other.
    #[doc(alias = "NewLeaderElector")]
    pub fn new(lock: L, config: ElectionConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let separate = match config.renewal {
            Renewal::Thread => lock.separate(),
            Renewal::Task | Renewal::InPlace => None,
        };
        let is_separate = separate.is_some();
        Ok(Self {
            desk: Arc::new(Desk {
                lock: separate.unwrap_or(lock),
                config,
                status: watch::Sender::new(ElectionStatus::default()),
            }),
            is_separate,
            turn: Mutex::new(()),
        })
    }

    /// Returns a snapshot of the election, as last seen.
    #[must_use]
    #[doc(alias = "GetLeader")]
    pub fn status(&self) -> ElectionStatus {
        self.desk.status.borrow().clone()
    }

    /// Returns a receiver of the status. It is notified when the leader changes, when this one begins or ceases to lead,
    /// and when requests begin to fail for another reason or no longer do; not of each renewal.
    #[must_use]
    #[doc(alias = "OnNewLeader")]
    pub fn subscribe(&self) -> watch::Receiver<ElectionStatus> {
        self.desk.status.subscribe()
    }

    /// Returns a gate that is open while this replica holds the lease, in this run and in later ones. Give it to the
    /// client that the work writes with.
    #[must_use]
    pub fn gate(&self) -> LeaseGate {
        LeaseGate::new(self.desk.status.subscribe())
    }

    /// Returns the health of the election, for a probe. It is ill in two cases: a leader has not renewed for the lease's
    /// duration and this tolerance, or no attempt to acquire the lease has succeeded for as long since the run began.
    #[must_use]
    #[doc(alias = "HealthzAdaptor")]
    #[doc(alias = "Check")]
    pub fn health(&self, tolerance: Duration) -> Health {
        let limit = self.desk.config.lease_duration.saturating_add(tolerance);
        let status = self.desk.status.borrow();
        let overdue = |since: Instant| Some(since.elapsed()).filter(|passed| *passed > limit);
        if let Some(passed) = status.renewed.and_then(overdue) {
            return Health::Overdue(passed);
        }
        match status.running.since.and_then(overdue) {
            Some(passed) if !status.running.has_access => Health::NoAccess(passed),
            _ => Health::Well,
        }
    }

    /// Waits until this one leads, then runs the work and keeps renewing, until the work has ended.
    ///
    /// The work receives a token that is cancelled when `stop` is cancelled or the leadership is lost. After a stop the
    /// lease is renewed until the work has ended, and then released. After a loss the work has the rest of the lease;
    /// then its future is dropped: what it awaits in that future does not run beside another leader. It is polled only
    /// after a look at the clock, so it takes no further step once the lease has ended, also if the process was frozen
    /// meanwhile. Tasks that it spawned are not dropped, and requests that were sent are not called back; for those there
    /// is the [gate](Self::gate).
    ///
    /// Requests for the lease are sent by a [thread of its own](Renewal), so they do not wait for the work. The rights
    /// that they need are those of the lock.
    ///
    /// # Cancellation
    /// Dropping the future drops the work; the lease is not released. The status no longer says that this one leads.
    ///
    /// # Errors
    /// If the leadership was lost. Call it again to take part again, or end the process.
    #[doc(alias = "OnStartedLeading")]
    #[doc(alias = "OnStoppedLeading")]
    pub async fn run<F, R>(
        &self,
        stop: &CancellationToken,
        work: F,
    ) -> Result<Leadership<R::Output>, LeadershipLost>
    where
        F: FnOnce(CancellationToken) -> R,
        R: Future,
    {
        let Some(_turn) = stop.run_until_cancelled(self.turn.lock()).await else {
            return Ok(Leadership::NeverLed);
        };
        let run = Run::begin(&self.desk.status);
        let (campaign, mut link) = Campaign::new(Arc::clone(&self.desk), run.number);
        let campaign = campaign.run(stop.clone());
        let mut drive = Drive::begin(campaign, self.desk.config.renewal, self.is_separate);
        let result = match drive.beside(&mut link.acquired).await {
            Ok(()) => self.lead(&mut drive, &mut link, stop, work).await,
            Err(_) => Ok(Leadership::NeverLed),
        };
        link.ended.cancel();
        drive.finish().await;
        result
    }

    async fn lead<F, R>(
        &self,
        drive: &mut Drive,
        link: &mut Link,
        stop: &CancellationToken,
        work: F,
    ) -> Result<Leadership<R::Output>, LeadershipLost>
    where
        F: FnOnce(CancellationToken) -> R,
        R: Future,
    {
        let gate = self.gate();
        if gate.remaining().is_err() {
            return Err(why(link));
        }
        let token = CancellationToken::new();
        let mut work = pin!(work(token.clone()));
        let lost = loop {
            // The order matters: the work is polled last, after all that could forbid it.
            let event = drive.beside(async {
                tokio::select! {
                    biased;
                    lost = &mut link.lost => Some(Event::Lost(lost.unwrap_or(LeadershipLost::NotRenewed))),
                    () = gate.closed() => None,
                    () = stop.cancelled(), if !token.is_cancelled() => Some(Event::Stopped),
                    output = &mut work => Some(Event::Worked(output)),
                }
            });
            match event.await {
                Some(Event::Stopped) => token.cancel(),
                Some(Event::Worked(output)) => return Ok(Leadership::Worked(output)),
                Some(Event::Lost(lost)) => break lost,
                None => break why(link),
            }
        };
        tracing::warn!(
            identity = self.desk.config.identity,
            error = &lost as &dyn std::error::Error,
            "no longer leading"
        );
        token.cancel();
        // Until the lease ends.
        drop(drive.beside(gate.run(work)).await);
        Err(lost)
    }
}

/// Why the lease has ended.
fn why(link: &mut Link) -> LeadershipLost {
    // Nothing was received if this process did not run for so long.
    link.lost.try_recv().unwrap_or(LeadershipLost::NotRenewed)
}

/// A run under way. When this is dropped, the status no longer says that this one leads, whatever has ended the run.
struct Run<'a> {
    status: &'a watch::Sender<ElectionStatus>,
    number: u64,
}

impl<'a> Run<'a> {
    fn begin(status: &'a watch::Sender<ElectionStatus>) -> Self {
        let mut number = 0;
        status.send_modify(|status| {
            number = status.running.number + 1;
            status.running = Running {
                number,
                since: Some(Instant::now()),
                has_access: false,
            };
            status.failed_attempts = 0;
            status.last_error = None;
        });
        Self { status, number }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.status.send_modify(|status| {
            // A campaign that is still about to end writes nothing more.
            status.running = Running {
                number: self.number + 1,
                ..Running::default()
            };
            status.renewed = None;
            status.lease_ends = None;
        });
    }
}

impl<L> fmt::Debug for LeaderElector<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElector")
            .field("config", &self.desk.config)
            .field("status", &*self.desk.status.borrow())
            .finish_non_exhaustive()
    }
}
