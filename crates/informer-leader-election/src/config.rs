//! The settings of an elector.

use std::time::Duration;

use informer_wire::WallClock;

/// The waits of client-go's and of the control plane's own elections.
const LEASE_DURATION: Duration = Duration::from_secs(15);
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const RETRY_PERIOD: Duration = Duration::from_secs(2);

/// The longest that the API has.
pub(crate) const MAX_LEASE_DURATION: Duration = Duration::from_secs(i32::MAX as u64);

/// How much longer than its period a retry may wait, so that replicas do not ask in step.
pub(crate) const JITTER: f64 = 1.2;

/// The settings of a [`LeaderElector`](crate::LeaderElector).
///
/// ```
/// use std::time::Duration;
/// use informer_leader_election::ElectionConfig;
///
/// let config = ElectionConfig::new("pod-7f9c").lease_duration(Duration::from_secs(30)).renew_deadline(Duration::from_secs(20));
/// assert!(config.validate().is_ok());
/// assert!(ElectionConfig::new("").validate().is_err());
/// ```
#[derive(Debug, Clone)]
#[must_use]
#[doc(alias = "LeaderElectionConfig")]
pub struct ElectionConfig {
    pub(crate) identity: String,
    pub(crate) lease_duration: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) retry_period: Duration,
    pub(crate) release_on_stop: bool,
    pub(crate) coordinated: bool,
    pub(crate) renewal: Renewal,
    pub(crate) seed: Option<u64>,
    pub(crate) clock: WallClock,
}

/// What drives the requests for the lease, beside the work.
///
/// Work that blocks its thread (a long computation, a blocking call in async code) stops everything on that thread. If
/// renewing is among it, the lease ends while the work still goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Renewal {
    /// A thread with a runtime and connections of its own: nothing that the work does holds renewals up. Where the
    /// [lock](crate::LeaseLock::separate) has no connections of its own to give, [`Renewal::Task`].
    #[default]
    Thread,
    /// A task of the runtime that [`run`](crate::LeaderElector::run) is called on. Work that blocks does not hold it up as
    /// long as the runtime has another thread.
    Task,
    /// The future of [`run`](crate::LeaderElector::run) itself: nothing is spawned, and nothing is renewed while that is
    /// not polled. For simulations that decide what is polled when.
    InPlace,
}

/// What is wrong with an [`ElectionConfig`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The identity is empty.
    #[error("identity is empty; set one for each replica, as the name of its pod")]
    NoIdentity,
    /// The lease would end before its holder gives up.
    #[error(
        "lease duration {lease_duration:?} not above the renew deadline {renew_deadline:?}; the work needs the difference to stop"
    )]
    LeaseDuration {
        /// How long others wait.
        lease_duration: Duration,
        /// When the holder gives up.
        renew_deadline: Duration,
    },
    /// The holder would give up before it tried again.
    #[error(
        "renew deadline {renew_deadline:?} not above 1.2 times the retry period {retry_period:?}; there would be no second try"
    )]
    RenewDeadline {
        /// When the holder gives up.
        renew_deadline: Duration,
        /// How long it waits between two tries.
        retry_period: Duration,
    },
    /// A lease is measured in whole seconds, and retries need a pause.
    #[error("lease duration below a second or retry period of zero")]
    TooShort,
    /// The API has 31 bits for the seconds of a lease.
    #[error(
        "lease duration above {} seconds, the longest that a lease can have",
        i32::MAX
    )]
    TooLong,
}

impl ElectionConfig {
    /// Makes settings with the default waits: a lease of 15 s, given up after 10 s without renewal, retried every 2 s. The
    /// identity names this replica among all: the name of its pod, or the host's with something random.
    pub fn new(identity: impl Into<String>) -> Self {
        Self {
            identity: identity.into(),
            lease_duration: LEASE_DURATION,
            renew_deadline: RENEW_DEADLINE,
            retry_period: RETRY_PERIOD,
            release_on_stop: true,
            coordinated: false,
            renewal: Renewal::Thread,
            seed: None,
            clock: WallClock::system(),
        }
    }

    /// Sets how long others wait, after they last saw the lease renewed, before they take it. Written in whole seconds,
    /// rounded up; from one to 2^31 - 1.
    pub const fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// Sets how long the leader tries to renew before it gives up. The rest of the lease is for its work to stop.
    ///
    /// One request may take half of this, at least a second, so that one without a response leaves time for another.
    pub const fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.renew_deadline = deadline;
        self
    }

    /// Sets the time between two attempts, to renew and (up to 2.2 times that) to acquire.
    pub const fn retry_period(mut self, period: Duration) -> Self {
        self.retry_period = period;
        self
    }

    /// Sets whether the lease is released when the work has ended, so that another takes over at once. Default: true.
    #[doc(alias = "ReleaseOnCancel")]
    pub const fn release_on_stop(mut self, release: bool) -> Self {
        self.release_on_stop = release;
        self
    }

    /// Sets whether the control plane chooses the leader (coordinated leader election): the lease is only ever renewed,
    /// never taken, and released once another is preferred and the work has ended.
    #[doc(alias = "Coordinated")]
    pub const fn coordinated(mut self, coordinated: bool) -> Self {
        self.coordinated = coordinated;
        self
    }

    /// Sets what drives the requests for the lease. The default is a thread of its own.
    pub const fn renewal(mut self, renewal: Renewal) -> Self {
        self.renewal = renewal;
        self
    }

    /// Makes the random part of waits repeatable, for tests.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the wall clock whose times are written into the lease. The default is the system's. It decides nothing: leases
    /// are measured by the clock of the runtime.
    pub fn clock(mut self, clock: impl Into<WallClock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// Checks that the settings do not contradict each other.
    ///
    /// # Errors
    /// If an election with them could have two leaders, or none for ever.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (lease_duration, renew_deadline) = (self.lease_duration, self.renew_deadline);
        if self.identity.is_empty() {
            return Err(ConfigError::NoIdentity);
        }
        if lease_duration < Duration::from_secs(1) || self.retry_period.is_zero() {
            return Err(ConfigError::TooShort);
        }
        if lease_duration > MAX_LEASE_DURATION {
            return Err(ConfigError::TooLong);
        }
        if lease_duration <= renew_deadline {
            return Err(ConfigError::LeaseDuration {
                lease_duration,
                renew_deadline,
            });
        }
        if renew_deadline.as_secs_f64() <= self.retry_period.as_secs_f64() * JITTER {
            return Err(ConfigError::RenewDeadline {
                renew_deadline,
                retry_period: self.retry_period,
            });
        }
        Ok(())
    }

    /// How long one request may take.
    pub(crate) fn request_limit(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }
}
