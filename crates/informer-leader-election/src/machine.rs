//! The election as plain data: requests out, responses in, time as an argument.
//!
//! # Invariants
//! - Whether another's lease has ended is decided by this process' own clock since the record was last seen to change,
//!   never by a time that is written in it: clocks of other machines do not matter, only that none runs much faster.
//! - Our own lease counts from before the request that renewed it, so it ends here no later than with anyone else.
//! - No duration that a server sends or a setting has overflows a time.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::config::{ElectionConfig, JITTER};
use crate::lease::{Lease, LeaseRecord};

/// A request to the server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Request {
    Get,
    Create(LeaseRecord),
    Update(Lease),
}

/// The server's response.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The lease as it was read, if it exists.
    Read(Option<Lease>),
    /// The lease as it was written.
    Written(Lease),
    /// It failed, or another wrote first. The server may ask for a wait before the next request.
    Failed(Option<Duration>),
}

/// Why the leadership was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It was not renewed in time.
    Deadline,
    /// Another holds it.
    Taken,
    /// The control plane prefers another holder. The lease is still this one's.
    Unwanted,
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

/// What this process has to do with the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tenure {
    /// It does not hold it, as far as it knows.
    None,
    /// It leads; `renewed` is when the request was sent that last acquired or renewed the lease.
    Leading { renewed: Instant },
    /// It leads no longer; the lease is nobody else's until then.
    Lost { loss: Loss, until: Instant },
}

#[derive(Debug)]
pub(crate) struct Machine {
    config: ElectionConfig,
    random: fastrand::Rng,
    observed: Option<Observed>,
    step: Step,
    /// When the last attempt began.
    began: Instant,
    next_try: Instant,
    tenure: Tenure,
    /// A write may have happened whose response is not known.
    is_uncertain: bool,
}

impl Machine {
    pub(crate) fn new(config: ElectionConfig, now: Instant) -> Self {
        let random = config
            .seed
            .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self {
            config,
            random,
            observed: None,
            step: Step::Idle,
            began: now,
            next_try: now,
            tenure: Tenure::None,
            is_uncertain: false,
        }
    }

    /// Returns `true` if this one leads, as of the last event.
    pub(crate) const fn is_leader(&self) -> bool {
        matches!(self.tenure, Tenure::Leading { .. })
    }

    /// Why it leads no longer.
    pub(crate) const fn loss(&self) -> Option<Loss> {
        match self.tenure {
            Tenure::Lost { loss, .. } => Some(loss),
            _ => None,
        }
    }

    /// The lease may be held in this one's name.
    pub(crate) fn may_hold(&self) -> bool {
        let holds = match self.tenure {
            Tenure::None => false,
            Tenure::Leading { .. } => true,
            Tenure::Lost { loss, .. } => loss != Loss::Taken,
        };
        holds || self.is_uncertain
    }

    /// Who holds the lease, as last seen.
    pub(crate) fn leader(&self) -> Option<&str> {
        let holder = &self.observed.as_ref()?.record.holder;
        (!holder.is_empty()).then_some(holder)
    }

    /// When to try next.
    pub(crate) const fn next_try(&self) -> Instant {
        self.next_try
    }

    /// When a leader sent the request that last renewed the lease.
    pub(crate) const fn renewed(&self) -> Option<Instant> {
        match self.tenure {
            Tenure::Leading { renewed } => Some(renewed),
            _ => None,
        }
    }

    /// When a leader gives up that was not able to renew.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        Some(after(self.renewed()?, self.config.renew_deadline))
    }

    /// Until when nobody else leads: while this one leads, and after a loss.
    pub(crate) fn lease_ends(&self) -> Option<Instant> {
        match self.tenure {
            Tenure::None => None,
            Tenure::Leading { renewed } => Some(after(renewed, self.config.lease_duration)),
            Tenure::Lost { until, .. } => Some(until),
        }
    }

    /// Begins an attempt to acquire or renew the lease.
    pub(crate) fn begin(&mut self, now: Instant, wall: Timestamp) -> Request {
        self.began = now;
        if let (Some(observed), true) = (&self.observed, self.is_leader()) {
            let is_valid = now < after(observed.at, observed.record.duration);
            if is_valid && observed.record.holder == self.config.identity && !self.is_unwanted() {
                let lease = self.claim(&observed.lease, wall);
                self.step = Step::Renewing { sent: now };
                self.is_uncertain = true;
                return Request::Update(lease);
            }
        }
        self.step = Step::Reading;
        Request::Get
    }

    /// Takes a response. Returns the next request of this attempt, if any.
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
            (_, Answer::Failed(Some(wait))) => {
                self.wait(now, Some(wait));
                None
            }
            (Step::Renewing { .. }, _) => {
                self.step = Step::Reading;
                Some(Request::Get)
            }
            (Step::Reading, Answer::Read(lease)) => self.read(lease, now, wall),
            _ => {
                self.wait(now, None);
                None
            }
        }
    }

    /// An attempt was dropped, because it took too long or is no longer wanted.
    pub(crate) fn dropped(&mut self, now: Instant) {
        self.step = Step::Idle;
        self.wait(now, None);
    }

    /// Gives up a leadership that was not renewed in time.
    pub(crate) fn check_deadline(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| now >= deadline) {
            self.lose(Loss::Deadline, now);
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
        let Some(lease) = lease else {
            // Somebody deleted it. Its holder does not know that yet, so it counts until it would have ended.
            if self.config.coordinated || self.is_held_by_another(now) {
                self.wait(now, None);
                return None;
            }
            self.observed = None;
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
        let is_held = self.is_held_by_another(now);
        // In this one's name, whichever write did it.
        self.is_uncertain = is_own;
        // A leader whose lease bears no longer its name has lost it, even if it could have it back: another may have led.
        let is_gone = self.is_leader() && !is_own;
        if is_held || is_gone || !is_own && self.config.coordinated || self.is_unwanted() {
            if self.is_leader() {
                self.lose(if is_own { Loss::Unwanted } else { Loss::Taken }, now);
            }
            self.wait(now, None);
            return None;
        }
        let claim = self.claim(&self.observed.as_ref()?.lease, wall);
        self.step = Step::Writing { sent: now };
        self.is_uncertain = true;
        Some(Request::Update(claim))
    }

    /// Another holds the lease, as last seen.
    fn is_held_by_another(&self, now: Instant) -> bool {
        self.observed.as_ref().is_some_and(|observed| {
            let (record, at) = (&observed.record, observed.at);
            let is_held = !record.holder.is_empty() && record.holder != self.config.identity;
            is_held && now < after(at, record.duration)
        })
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
        self.tenure = Tenure::Leading { renewed: sent };
        self.next_try = after(now, self.config.retry_period);
    }

    /// Sets the time of the next attempt: a period after this one began, which is at once after one that took longer.
    fn wait(&mut self, now: Instant, wait: Option<Duration>) {
        let period = self.config.retry_period;
        if self.is_leader() {
            // It has no time to lose, whatever the server asks for.
            let wait = wait.map_or(now, |wait| after(now, wait.min(period)));
            self.next_try = after(self.began, period).max(wait);
        } else {
            let stretch = 1.0 + JITTER * self.random.f64();
            let wait = wait.map_or(now, |wait| after(now, wait));
            self.next_try = after(self.began, period.mul_f64(stretch)).max(wait);
        }
    }

    fn lose(&mut self, loss: Loss, now: Instant) {
        let until = match loss {
            Loss::Taken => now,
            Loss::Deadline | Loss::Unwanted => self.lease_ends().unwrap_or(now),
        };
        self.tenure = Tenure::Lost { loss, until };
    }
}

/// The time after a duration; a time in a year if it is beyond what a clock can say.
pub(crate) fn after(time: Instant, duration: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    let later = time.checked_add(duration);
    later.or_else(|| time.checked_add(YEAR)).unwrap_or(time)
}

#[cfg(test)]
mod tests;
