//! The part of an election that talks to the server: acquires the lease, renews it beside the work, releases it.
//!
//! It runs apart from the work: see [`drive`](crate::drive). Both know of each other by [`Link`], and by the status, in
//! which the end of the lease is.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::config::ElectionConfig;
use crate::error::LeadershipLost;
use crate::lease::Lease;
use crate::lock::{LeaseLock, LockError};
use crate::machine::{Answer, Loss, Machine, Request};
use crate::reasons::{Reasons, chain};
use crate::status::ElectionStatus;

/// The first pause after a conflict at a release; it doubles up to the retry period.
const CONFLICT_PAUSE: Duration = Duration::from_millis(50);

/// What a campaign works with.
pub(crate) struct Desk<L> {
    pub(crate) lock: L,
    pub(crate) config: ElectionConfig,
    pub(crate) status: watch::Sender<ElectionStatus>,
}

/// What the side with the work knows of its campaign.
pub(crate) struct Link {
    /// The lease is held. Dropped if it never will be.
    pub(crate) acquired: oneshot::Receiver<()>,
    /// The lease is no longer renewed.
    pub(crate) lost: oneshot::Receiver<LeadershipLost>,
    /// Cancelled once the work has ended: the lease is no longer renewed, but released.
    pub(crate) ended: CancellationToken,
}

pub(crate) struct Campaign<L> {
    desk: Arc<Desk<L>>,
    machine: Machine,
    /// The number of the run that this is for. Another's status is not written.
    run: u64,
    reasons: Reasons,
    /// What the last request that failed was refused for, since the last one that did not.
    refusal: Option<Arc<LockError>>,
    acquired: oneshot::Sender<()>,
    lost: oneshot::Sender<LeadershipLost>,
    ended: CancellationToken,
}

impl<L: LeaseLock> Campaign<L> {
    pub(crate) fn new(desk: Arc<Desk<L>>, run: u64) -> (Self, Link) {
        let (acquired, on_acquired) = oneshot::channel();
        let (lost, on_lost) = oneshot::channel();
        let ended = CancellationToken::new();
        let link = Link {
            acquired: on_acquired,
            lost: on_lost,
            ended: ended.clone(),
        };
        let machine = Machine::new(desk.config.clone(), Instant::now());
        let campaign = Self {
            desk,
            machine,
            run,
            reasons: Reasons::default(),
            refusal: None,
            acquired,
            lost,
            ended,
        };
        (campaign, link)
    }

    /// Runs until the work has ended and the lease is released, or `stop` comes first.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        if self.acquire(&stop).await {
            let _ = std::mem::replace(&mut self.acquired, oneshot::channel().0).send(());
            let ended = self.ended.clone();
            let lost = ended.run_until_cancelled(self.renew()).await;
            if let Some(lost) = lost {
                let _ = std::mem::replace(&mut self.lost, oneshot::channel().0).send(lost);
            }
            ended.cancelled().await;
        }
        self.release().await;
    }

    /// Tries until the lease is held. Returns `false` if `stop` comes first.
    async fn acquire(&mut self, stop: &CancellationToken) -> bool {
        while stop
            .run_until_cancelled(sleep_until(self.machine.next_try()))
            .await
            .is_some()
        {
            self.attempt(None, stop).await;
            if self.machine.is_leader() {
                tracing::info!(identity = self.desk.config.identity, "leading");
                return !stop.is_cancelled();
            }
        }
        false
    }

    /// Renews until the leadership is lost. Returns why.
    async fn renew(&mut self) -> LeadershipLost {
        let never = CancellationToken::new();
        while let Some(deadline) = self.machine.deadline() {
            sleep_until(self.machine.next_try().min(deadline)).await;
            if Instant::now() < deadline {
                self.attempt(Some(deadline), &never).await;
            } else {
                self.machine.check_deadline(Instant::now());
                self.publish();
            }
        }
        match self.machine.loss() {
            Some(Loss::Taken) => LeadershipLost::Taken,
            Some(Loss::Unwanted) => LeadershipLost::OtherPreferred,
            Some(Loss::Deadline) | None => match &self.refusal {
                Some(source) => LeadershipLost::RenewalFailed {
                    source: Arc::clone(source),
                },
                None => LeadershipLost::NotRenewed,
            },
        }
    }

    /// Makes one attempt to acquire or renew. It is dropped at the deadline, and at `stop`, which a write under way does
    /// not heed: if it was lost sight of, it could still happen after a release.
    async fn attempt(&mut self, deadline: Option<Instant>, stop: &CancellationToken) {
        let mut next = Some(
            self.machine
                .begin(Instant::now(), self.desk.config.clock.now()),
        );
        let mut failure = None;
        while let Some(request) = next.take() {
            let now = Instant::now();
            if stop.is_cancelled() || deadline.is_some_and(|deadline| now >= deadline) {
                self.machine.dropped(now);
                break;
            }
            let limit = self.desk.config.request_limit();
            let limit_at = Instant::now() + limit;
            let asked = timeout_at(
                deadline.map_or(limit_at, |deadline| deadline.min(limit_at)),
                self.desk.ask(&request),
            );
            let answer = if matches!(request, Request::Get) {
                stop.run_until_cancelled(asked).await
            } else {
                Some(asked.await)
            };
            let now = Instant::now();
            match answer {
                None => self.machine.dropped(now),
                Some(Err(_)) => {
                    self.machine.dropped(now);
                    failure = Some(LockError::Timeout(limit));
                }
                Some(Ok(Ok(answer))) => {
                    failure = None;
                    next = self
                        .machine
                        .answered(answer, now, self.desk.config.clock.now());
                }
                Some(Ok(Err(error))) => {
                    let answer = Answer::Failed(error.retry_after());
                    failure = Some(error);
                    next = self
                        .machine
                        .answered(answer, now, self.desk.config.clock.now());
                }
            }
        }
        // An answer that came late gives no lease.
        self.machine.check_deadline(Instant::now());
        if !stop.is_cancelled() {
            self.note(failure);
        }
        self.publish();
    }

    /// Logs and counts how an attempt went.
    fn note(&mut self, failure: Option<LockError>) {
        // Another candidate was faster.
        let failure = failure.filter(|error| {
            !matches!(error, LockError::Conflict)
                || self.machine.loss().is_some()
                || self.machine.is_leader()
        });
        let (lease, identity) = (self.desk.lock.name(), &*self.desk.config.identity);
        let Some(error) = failure else {
            if self.reasons.clear(Instant::now()) {
                tracing::info!(lease, identity, "lease requests succeed again");
            }
            self.refusal = None;
            self.write_status(|status| {
                status.running.has_access = true;
                status.failed_attempts = 0;
                status.last_error.take().is_some()
            });
            return;
        };
        let reason = chain(&error);
        if self.reasons.is_new(&reason, Instant::now()) {
            tracing::warn!(
                lease,
                identity,
                error = reason,
                "cannot acquire or renew lease; tried again every {:?}",
                self.desk.config.retry_period
            );
        } else {
            tracing::debug!(
                lease,
                identity,
                error = reason,
                "cannot acquire or renew lease"
            );
        }
        if !matches!(error, LockError::Timeout(_)) {
            self.refusal = Some(Arc::new(error));
        }
        self.write_status(|status| {
            status.failed_attempts = status.failed_attempts.saturating_add(1);
            let is_news = status.last_error.as_ref() != Some(&reason);
            status.last_error = Some(reason);
            is_news
        });
    }

    fn publish(&self) {
        let leader = self.machine.leader().map(str::to_owned);
        let (renewed, lease_ends) = (self.machine.renewed(), self.machine.lease_ends());
        self.write_status(|status| {
            let is_news = status.leader != leader || status.renewed.is_some() != renewed.is_some();
            status.leader = leader;
            status.renewed = renewed;
            status.lease_ends = lease_ends;
            is_news
        });
    }

    /// Writes the status, unless the run has ended. Those who follow it are woken if `change` returns `true`.
    fn write_status(&self, change: impl FnOnce(&mut ElectionStatus) -> bool) {
        self.desk
            .status
            .send_if_modified(|status| status.running.number == self.run && change(status));
    }

    /// Releases the lease if it may be held, within the time that a renewal may take; after a loss by time within what
    /// remains of the lease, which then ends by itself.
    async fn release(&self) {
        let config = &self.desk.config;
        if !config.release_on_stop || !self.machine.may_hold() {
            return;
        }
        let now = Instant::now();
        let limit = match (self.machine.lease_ends(), self.machine.loss()) {
            (_, Some(Loss::Unwanted)) | (None, _) => config.renew_deadline,
            (Some(ends), loss) => {
                let left = ends.saturating_duration_since(now);
                if left.is_zero() {
                    return;
                }
                if loss.is_some() {
                    left
                } else {
                    config.renew_deadline
                }
            }
        };
        match timeout(limit, self.try_release()).await {
            Ok(Ok(())) => tracing::info!(identity = config.identity, "lease released"),
            Ok(Err(error)) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "cannot release lease; it ends by itself");
            }
            Err(_) => tracing::warn!("lease not released in time; it ends by itself"),
        }
    }

    async fn try_release(&self) -> Result<(), LockError> {
        let mut pause = CONFLICT_PAUSE;
        let limit = self.desk.config.request_limit();
        loop {
            let released = async {
                let Some(lease) = self.desk.lock.get().await? else {
                    return Ok(());
                };
                match self.machine.release(&lease, self.desk.config.clock.now()) {
                    Some(released) => self.desk.lock.update(&released).await.map(drop),
                    None => Ok(()),
                }
            };
            match timeout(limit, released).await {
                // The server may have received a cancelled renewal later, or the connection is dead.
                Ok(Err(LockError::Conflict)) | Err(_) => {}
                Ok(end) => return end,
            }
            sleep(pause).await;
            pause = (pause * 2).min(self.desk.config.retry_period);
        }
    }
}

impl<L: LeaseLock> Desk<L> {
    async fn ask(&self, request: &Request) -> Result<Answer, LockError> {
        match request {
            Request::Get => self.lock.get().await.map(Answer::Read),
            Request::Create(record) => {
                let lease = Lease::new(self.lock.name(), record);
                self.lock.create(&lease).await.map(Answer::Written)
            }
            Request::Update(lease) => self.lock.update(lease).await.map(Answer::Written),
        }
    }
}
