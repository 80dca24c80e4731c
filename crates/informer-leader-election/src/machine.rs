//! The election as plain data: requests out, answers in, the time passed in.
//!
//! # Invariants
//! - Whether another's lease has ended is decided by this process' own clock since the record was last seen to change,
//!   never by a time that is written in it: clocks of other machines do not matter, only that none runs much faster.
//! - Our own lease counts from before the request that renewed it, so it ends here no later than with anyone else.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::config::{Config, JITTER};
use crate::lease::{Lease, LeaseRecord};

/// What to ask the server for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    Get,
    Create(LeaseRecord),
    Update(Lease),
}

/// What the server answered.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The lease as it was read, if it exists.
    Read(Option<Lease>),
    /// The lease as it was written.
    Written(Lease),
    /// It failed, or another was faster.
    Failed,
}

/// Why one leads no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It was not renewed in time.
    Deadline,
    /// Another holds it, or is to hold it.
    Taken,
}

#[derive(Debug)]
struct Observed {
    lease: Lease,
    record: LeaseRecord,
    /// When the record was last seen to change.
    at: Instant,
}

/// Where an attempt to acquire or renew stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Idle,
    /// Renewing what is known, without reading it first.
    Renewing {
        sent: Instant,
    },
    Reading,
    Writing {
        sent: Instant,
    },
}

#[derive(Debug)]
pub(crate) struct Machine {
    config: Config,
    random: fastrand::Rng,
    observed: Option<Observed>,
    step: Step,
    next_try: Instant,
    /// When the request was sent that last acquired or renewed the lease.
    renewed: Option<Instant>,
    loss: Option<Loss>,
    /// A write may have happened whose answer is not known.
    is_uncertain: bool,
}

impl Machine {
    pub(crate) fn new(config: Config, now: Instant) -> Self {
        let random = config
            .seed
            .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self {
            config,
            random,
            observed: None,
            step: Step::Idle,
            next_try: now,
            renewed: None,
            loss: None,
            is_uncertain: false,
        }
    }

    /// Whether this one leads, as of the last event.
    pub(crate) const fn is_leader(&self) -> bool {
        self.renewed.is_some()
    }

    /// Why it leads no longer.
    pub(crate) const fn loss(&self) -> Option<Loss> {
        self.loss
    }

    /// The lease may be held in this one's name.
    pub(crate) const fn may_hold(&self) -> bool {
        self.is_leader() || self.is_uncertain
    }

    /// Who holds the lease, as last seen, and when that was seen to change.
    pub(crate) fn leader(&self) -> Option<(&str, Instant)> {
        let observed = self.observed.as_ref()?;
        Some((&observed.record.holder, observed.at))
    }

    /// When to try next.
    pub(crate) const fn next_try(&self) -> Instant {
        self.next_try
    }

    /// When a leader gives up that was not able to renew.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        Some(self.renewed? + self.config.renew_deadline)
    }

    /// Until when nobody else leads.
    pub(crate) fn expiry(&self) -> Option<Instant> {
        Some(self.renewed? + self.config.lease_duration)
    }

    /// Begins an attempt to acquire or renew the lease.
    pub(crate) fn begin(&mut self, now: Instant, wall: Timestamp) -> Request {
        if let (Some(observed), true) = (&self.observed, self.is_leader()) {
            let is_valid = now < observed.at + observed.record.duration;
            if is_valid && observed.record.holder == self.config.identity && !self.is_unwanted() {
                let request = Request::Update(self.claim(&observed.lease, wall));
                self.step = Step::Renewing { sent: now };
                self.is_uncertain = true;
                return request;
            }
        }
        self.step = Step::Reading;
        Request::Get
    }

    /// Takes in an answer. Gives back what to ask next in this attempt, if anything.
    pub(crate) fn answered(
        &mut self,
        answer: Answer,
        now: Instant,
        wall: Timestamp,
    ) -> Option<Request> {
        match (std::mem::replace(&mut self.step, Step::Idle), answer) {
            (Step::Renewing { sent } | Step::Writing { sent }, Answer::Written(lease)) => {
                self.held(lease, sent, now);
                None
            }
            (Step::Renewing { .. }, _) => {
                self.step = Step::Reading;
                Some(Request::Get)
            }
            (Step::Reading, Answer::Read(lease)) => self.read(lease, now, wall),
            _ => {
                self.failed(now);
                None
            }
        }
    }

    /// An attempt was broken off, because it took too long.
    pub(crate) fn broken_off(&mut self, now: Instant) {
        self.step = Step::Idle;
        self.failed(now);
    }

    /// Gives up a leadership that was not renewed in time.
    pub(crate) fn check_deadline(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| now >= deadline) {
            self.lose(Loss::Deadline);
        }
    }

    /// What to write so that another may take over at once, if this one holds the lease that was read.
    pub(crate) fn release(&self, lease: &Lease, wall: Timestamp) -> Option<Lease> {
        let record = lease.record();
        if record.holder != self.config.identity {
            return None;
        }
        let mut released = lease.clone();
        released.set_record(&LeaseRecord {
            holder: String::new(),
            duration: Duration::from_secs(1),
            acquired: Some(wall),
            renewed: Some(wall),
            ..record
        });
        Some(released)
    }

    fn read(&mut self, lease: Option<Lease>, now: Instant, wall: Timestamp) -> Option<Request> {
        // A write before this answer has happened or never will: the server takes requests of one client in turn, or
        // the resource version refuses the late one.
        let Some(lease) = lease else {
            if self.config.coordinated {
                self.failed(now);
                return None;
            }
            self.step = Step::Writing { sent: now };
            self.is_uncertain = true;
            return Some(Request::Create(LeaseRecord {
                acquired: Some(wall),
                renewed: Some(wall),
                ..LeaseRecord::held_by(&self.config.identity, self.config.lease_duration)
            }));
        };
        self.observe(lease, now);
        let observed = self.observed.as_ref()?;
        let is_own = observed.record.holder == self.config.identity;
        let is_free =
            observed.record.holder.is_empty() || now >= observed.at + observed.record.duration;
        if !is_own && (self.config.coordinated || !is_free) || self.is_unwanted() {
            self.is_uncertain = is_own;
            if self.is_leader() {
                self.lose(Loss::Taken);
            }
            self.failed(now);
            return None;
        }
        let claim = self.claim(&observed.lease, wall);
        self.step = Step::Writing { sent: now };
        self.is_uncertain = true;
        Some(Request::Update(claim))
    }

    /// The control plane wants another to lead.
    fn is_unwanted(&self) -> bool {
        let record = self.observed.as_ref().map(|observed| &observed.record);
        let preferred = record.and_then(|record| record.preferred_holder.as_ref());
        self.config.coordinated && preferred.is_some_and(|holder| !holder.is_empty())
    }

    /// The lease as this one writes it to take or to keep it.
    fn claim(&self, lease: &Lease, wall: Timestamp) -> Lease {
        let record = lease.record();
        let is_own = record.holder == self.config.identity;
        let mut claim = lease.clone();
        claim.set_record(&LeaseRecord {
            holder: self.config.identity.clone(),
            duration: self.config.lease_duration,
            acquired: if is_own {
                record.acquired.or(Some(wall))
            } else {
                Some(wall)
            },
            renewed: Some(wall),
            transitions: record.transitions + i64::from(!is_own),
            ..record
        });
        claim
    }

    fn observe(&mut self, lease: Lease, now: Instant) {
        let record = lease.record();
        let at = match &self.observed {
            Some(observed) if observed.record == record => observed.at,
            _ => now,
        };
        self.observed = Some(Observed { lease, record, at });
    }

    fn held(&mut self, lease: Lease, sent: Instant, now: Instant) {
        self.observe(lease, now);
        self.is_uncertain = false;
        self.renewed = Some(sent);
        self.loss = None;
        self.next_try = now + self.config.retry_period;
    }

    fn failed(&mut self, now: Instant) {
        let stretch = if self.is_leader() {
            1.0
        } else {
            1.0 + JITTER * self.random.f64()
        };
        self.next_try = now + self.config.retry_period.mul_f64(stretch);
    }

    fn lose(&mut self, loss: Loss) {
        self.renewed = None;
        self.loss = Some(loss);
    }
}

#[cfg(test)]
mod tests;
