//! How an elector is set up.

use std::time::Duration;

/// The waits of client-go's and of the control plane's own elections.
const LEASE_DURATION: Duration = Duration::from_secs(15);
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const RETRY_PERIOD: Duration = Duration::from_secs(2);

/// How much longer than its period a retry may wait, so that replicas do not ask in step.
pub(crate) const JITTER: f64 = 1.2;

/// How a [`LeaderElector`](crate::LeaderElector) is set up.
///
/// ```
/// use std::time::Duration;
/// use informer_leader_election::Config;
///
/// let config = Config::new("pod-7f9c").lease_duration(Duration::from_secs(30)).renew_deadline(Duration::from_secs(20));
/// assert!(config.validate().is_ok());
/// assert!(Config::new("").validate().is_err());
/// ```
#[derive(Debug, Clone)]
#[must_use]
#[doc(alias = "LeaderElectionConfig")]
pub struct Config {
    pub(crate) identity: String,
    pub(crate) lease_duration: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) retry_period: Duration,
    pub(crate) release_on_stop: bool,
    pub(crate) coordinated: bool,
    pub(crate) seed: Option<u64>,
}

/// What is wrong with a [`Config`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Nobody can tell who holds the lease.
    #[error("the identity is empty; give each replica one of its own, as the name of its pod")]
    NoIdentity,
    /// The lease would end before its holder gives up.
    #[error(
        "the lease duration {lease_duration:?} must be longer than the renew deadline {renew_deadline:?}"
    )]
    LeaseDuration {
        /// How long others wait.
        lease_duration: Duration,
        /// When the holder gives up.
        renew_deadline: Duration,
    },
    /// The holder would give up before it tried again.
    #[error(
        "the renew deadline {renew_deadline:?} must be longer than 1.2 times the retry period {retry_period:?}"
    )]
    RenewDeadline {
        /// When the holder gives up.
        renew_deadline: Duration,
        /// How long it waits between two tries.
        retry_period: Duration,
    },
    /// A lease is measured in whole seconds, and retries need a pause.
    #[error("the lease duration must be at least a second, and the retry period more than zero")]
    TooShort,
}

impl Config {
    /// The default waits: a lease of 15 s, given up after 10 s without renewal, tried again every 2 s. The identity
    /// names this replica among all: the name of its pod, or the host's with something random.
    pub fn new(identity: impl Into<String>) -> Self {
        Self {
            identity: identity.into(),
            lease_duration: LEASE_DURATION,
            renew_deadline: RENEW_DEADLINE,
            retry_period: RETRY_PERIOD,
            release_on_stop: true,
            coordinated: false,
            seed: None,
        }
    }

    /// How long others wait, after they last saw the lease renewed, before they take it. Written in whole seconds,
    /// rounded up.
    pub const fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// How long the leader tries to renew before it gives up. What remains of the lease is for its work to stop.
    pub const fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.renew_deadline = deadline;
        self
    }

    /// How long to wait between two tries, to renew and (up to 2.2 times that) to acquire.
    pub const fn retry_period(mut self, period: Duration) -> Self {
        self.retry_period = period;
        self
    }

    /// Whether the lease is given back when the leader stops, so that another takes over at once. It is by default.
    #[doc(alias = "ReleaseOnCancel")]
    pub const fn release_on_stop(mut self, release: bool) -> Self {
        self.release_on_stop = release;
        self
    }

    /// Whether the control plane chooses the leader (coordinated leader election): the lease is only ever renewed, never
    /// taken, and given up when another is preferred.
    #[doc(alias = "Coordinated")]
    pub const fn coordinated(mut self, coordinated: bool) -> Self {
        self.coordinated = coordinated;
        self
    }

    /// Makes the random part of waits repeat; for tests.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Checks that the waits fit each other.
    ///
    /// # Errors
    /// When an election with them could have two leaders, or none for ever.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (lease_duration, renew_deadline) = (self.lease_duration, self.renew_deadline);
        if self.identity.is_empty() {
            return Err(ConfigError::NoIdentity);
        }
        if lease_duration < Duration::from_secs(1) || self.retry_period.is_zero() {
            return Err(ConfigError::TooShort);
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
}
