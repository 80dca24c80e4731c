//! Runs an election: asks the server as the machine says, and runs the work while it leads.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, ConfigError};
use crate::lease::Lease;
use crate::lock::{LeaseLock, LockError};
use crate::machine::{Answer, Loss, Machine, Request};
use crate::status::{Health, Status};

/// Lets one of several replicas work: whoever holds the lease.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_leader_election::{Config, HttpLeaseLock, LeaderElector, Outcome};
/// use tokio_util::sync::CancellationToken;
///
/// # async fn example(client: Client, stop: CancellationToken) -> Result<(), Box<dyn std::error::Error>> {
/// // Informers may be started here already: a warm cache makes taking over quick.
/// let lock = HttpLeaseLock::new(client, "kube-system", "my-controller");
/// let elector = LeaderElector::new(lock, Config::new("pod-7f9c"))?;
/// let outcome = elector
///     .run(&stop, |lost| async move {
///         // Work until the leadership ends or the program is to stop, then return.
///         lost.cancelled().await;
///     })
///     .await?;
/// assert!(matches!(outcome, Outcome::Worked(()) | Outcome::NeverLed));
/// # Ok(()) }
/// ```
#[doc(alias = "RunOrDie")]
pub struct LeaderElector<L> {
    lock: L,
    config: Config,
    status: watch::Sender<Status>,
}

/// How a run ended that was not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome<T> {
    /// It led, and the work has ended with this, by itself or because of the stop.
    Worked(T),
    /// It was stopped before it led.
    NeverLed,
}

/// The leadership was lost while the work went on. The work has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeadershipLost {
    /// The lease could not be renewed in time.
    #[error(
        "the lease was not renewed within the deadline; check the connection to the API server"
    )]
    NotRenewed,
    /// Another holds the lease, or is to hold it.
    #[error("another took the lease")]
    Taken,
}

impl<L: LeaseLock> LeaderElector<L> {
    /// An elector that takes part once it [runs](Self::run).
    ///
    /// # Errors
    /// When the settings do not fit each other.
    #[doc(alias = "NewLeaderElector")]
    pub fn new(lock: L, config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            lock,
            config,
            status: watch::Sender::new(Status::default()),
        })
    }

    /// Who leads, as last seen.
    #[must_use]
    #[doc(alias = "GetLeader")]
    pub fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Follows who leads.
    #[must_use]
    #[doc(alias = "OnNewLeader")]
    pub fn subscribe(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Whether a leader has stopped renewing without noticing, for a health check: it is ill if it believes to lead and
    /// has not renewed for the lease's duration and this tolerance.
    #[must_use]
    #[doc(alias = "HealthzAdaptor")]
    #[doc(alias = "Check")]
    pub fn health(&self, tolerance: Duration) -> Health {
        let status = self.status.borrow();
        match status.renewed {
            Some(renewed) if renewed.elapsed() > self.config.lease_duration + tolerance => {
                Health::Stale(renewed.elapsed())
            }
            _ => Health::Well,
        }
    }

    /// Waits until this one leads, then runs the work and keeps renewing, until the work has ended.
    ///
    /// The work is told to end, by the token that it is given, when `stop` is cancelled or the leadership is lost. After
    /// a stop the lease is renewed until the work has ended, and then given back. After a loss the work has what remains
    /// of the lease; then its future is dropped: what it awaits in that very future does not go on beside another
    /// leader. Tasks that it spawned are its own business.
    ///
    /// # Cancellation
    /// Dropping the future drops the work; the lease is not given back.
    ///
    /// # Errors
    /// When the leadership was lost. Call it again to take part again, or end the process.
    #[doc(alias = "OnStartedLeading")]
    #[doc(alias = "OnStoppedLeading")]
    pub async fn run<F, R>(
        &self,
        stop: &CancellationToken,
        work: F,
    ) -> Result<Outcome<R::Output>, LeadershipLost>
    where
        F: FnOnce(CancellationToken) -> R,
        R: Future,
    {
        let mut machine = Machine::new(self.config.clone(), Instant::now());
        let acquired = stop.run_until_cancelled(self.acquire(&mut machine)).await;
        let result = match acquired {
            Some(()) => self.lead(&mut machine, stop, work).await,
            None => Ok(Outcome::NeverLed),
        };
        if self.config.release_on_stop && result.is_ok() && machine.may_hold() {
            self.release(&machine).await;
        }
        self.status.send_modify(|status| status.renewed = None);
        result
    }

    async fn acquire(&self, machine: &mut Machine) {
        loop {
            sleep_until(machine.next_try()).await;
            let limit = Instant::now() + self.config.renew_deadline;
            self.attempt(machine, limit).await;
            if machine.is_leader() {
                tracing::info!(identity = self.config.identity, "leading");
                return;
            }
        }
    }

    async fn lead<F, R>(
        &self,
        machine: &mut Machine,
        stop: &CancellationToken,
        work: F,
    ) -> Result<Outcome<R::Output>, LeadershipLost>
    where
        F: FnOnce(CancellationToken) -> R,
        R: Future,
    {
        let token = CancellationToken::new();
        let mut work = pin!(work(token.clone()));
        let mut renewing = pin!(self.renew(machine));
        let (loss, expiry) = loop {
            tokio::select! {
                biased;
                ended = &mut renewing => break ended,
                output = &mut work => return Ok(Outcome::Worked(output)),
                () = stop.cancelled(), if !token.is_cancelled() => token.cancel(),
            }
        };
        tracing::warn!(identity = self.config.identity, ?loss, "no longer leading");
        token.cancel();
        drop(timeout_at(expiry, work).await);
        Err(match loss {
            Loss::Deadline => LeadershipLost::NotRenewed,
            Loss::Taken => LeadershipLost::Taken,
        })
    }

    /// Renews until the leadership is lost. Says why, and until when nobody else leads.
    async fn renew(&self, machine: &mut Machine) -> (Loss, Instant) {
        loop {
            let (Some(deadline), Some(expiry)) = (machine.deadline(), machine.expiry()) else {
                return (Loss::Deadline, Instant::now());
            };
            sleep_until(machine.next_try().min(deadline)).await;
            if Instant::now() < deadline {
                self.attempt(machine, deadline).await;
            }
            machine.check_deadline(Instant::now());
            match machine.loss() {
                Some(Loss::Taken) => return (Loss::Taken, Instant::now()),
                Some(Loss::Deadline) => return (Loss::Deadline, expiry),
                None => {}
            }
        }
    }

    /// One attempt to acquire or renew, broken off at a time.
    async fn attempt(&self, machine: &mut Machine, limit: Instant) {
        let mut next = Some(machine.begin(Instant::now(), Timestamp::now()));
        while let Some(request) = next {
            let Ok(answer) = timeout_at(limit, self.ask(request)).await else {
                machine.broken_off(Instant::now());
                break;
            };
            next = machine.answered(answer, Instant::now(), Timestamp::now());
        }
        self.publish(machine);
    }

    async fn ask(&self, request: Request) -> Answer {
        let written = match request {
            Request::Get => match self.lock.get().await {
                Ok(lease) => return Answer::Read(lease),
                Err(error) => Err(error),
            },
            Request::Create(record) => {
                self.lock
                    .create(&Lease::new(self.lock.name(), &record))
                    .await
            }
            Request::Update(lease) => self.lock.update(&lease).await,
        };
        match written {
            Ok(lease) => Answer::Written(lease),
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "no lease");
                Answer::Failed
            }
        }
    }

    fn publish(&self, machine: &Machine) {
        let leader = machine.leader().filter(|(holder, _)| !holder.is_empty());
        let leader = leader.map(|(holder, _)| holder.to_owned());
        let renewed = machine
            .deadline()
            .map(|deadline| deadline - self.config.renew_deadline);
        self.status.send_if_modified(|status| {
            let is_news = status.leader != leader || status.renewed.is_some() != renewed.is_some();
            *status = Status { leader, renewed };
            is_news
        });
    }

    /// Gives the lease back, within the time that a renewal may take.
    async fn release(&self, machine: &Machine) {
        let released = timeout(self.config.renew_deadline, async {
            loop {
                let lease = match self.lock.get().await {
                    Ok(Some(lease)) => lease,
                    Ok(None) => return Ok(()),
                    Err(error) => return Err(error),
                };
                let Some(released) = machine.release(&lease, Timestamp::now()) else {
                    return Ok(());
                };
                match self.lock.update(&released).await {
                    Ok(_) => return Ok(()),
                    // A renewal that was cancelled may have arrived late.
                    Err(LockError::Conflict) => {}
                    Err(error) => return Err(error),
                }
            }
        });
        match released.await {
            Ok(Ok(())) => tracing::info!(identity = self.config.identity, "gave the lease back"),
            Ok(Err(error)) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "the lease was not given back; it ends by itself");
            }
            Err(_) => tracing::warn!("the lease was not given back in time; it ends by itself"),
        }
    }
}

impl<L> fmt::Debug for LeaderElector<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaderElector")
            .field("config", &self.config)
            .field("status", &*self.status.borrow())
            .finish_non_exhaustive()
    }
}
