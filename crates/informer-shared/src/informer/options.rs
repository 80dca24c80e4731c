//! The settings of an informer that its running parts need.

use std::sync::Arc;
use std::time::Duration;

use crate::apply::RecreatedAs;

/// What becomes of events that wait for handlers when an informer stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnStop {
    /// They are dropped. A call of a handler that runs has half a second to end.
    #[default]
    Drop,
    /// What had arrived is applied, and handlers handle what waits, for at most this long altogether.
    Drain {
        /// How long handlers have.
        timeout: Duration,
    },
}

/// How long a call of a handler that runs has to end when the informer stops.
pub(crate) const GRACE: Duration = Duration::from_millis(500);

impl OnStop {
    pub(crate) const fn grace(self) -> Duration {
        match self {
            Self::Drop => GRACE,
            Self::Drain { timeout } => timeout,
        }
    }

    pub(crate) const fn drains(self) -> bool {
        matches!(self, Self::Drain { .. })
    }
}

/// The settings of an informer.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) name: Arc<str>,
    pub(crate) resync_period: Option<Duration>,
    pub(crate) recreated: RecreatedAs,
    pub(crate) on_stop: OnStop,
}
