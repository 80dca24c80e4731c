//! The settings of an informer that do not depend on the type of its objects.

use std::sync::Arc;
use std::time::Duration;

use informer_delta_fifo::QueueOrder;
use informer_reflector::{ReflectorConfig, WatchErrorHandler};
use informer_wire::ListOptions;

use crate::apply::RecreatedAs;
use crate::start_limit::StartLimit;

/// What happens to queued events when an informer stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnStop {
    /// They are dropped. A call of a handler that runs has half a second to end.
    #[default]
    Drop,
    /// What was received is applied, and handlers handle their queued events, for at most this long altogether.
    Drain {
        /// How long handlers have.
        timeout: Duration,
    },
}

/// How long a call of a handler that runs has to end when the informer stops.
const GRACE: Duration = Duration::from_millis(500);

impl OnStop {
    pub(super) const fn grace(self) -> Duration {
        match self {
            Self::Drop => GRACE,
            Self::Drain { timeout } => timeout,
        }
    }

    pub(super) const fn drains(self) -> bool {
        matches!(self, Self::Drain { .. })
    }
}

/// The settings of an informer, or of all informers of a factory.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) config: ReflectorConfig,
    pub(crate) tweaks: Vec<Arc<Tweak>>,
    pub(crate) error_handlers: Vec<Arc<dyn WatchErrorHandler>>,
    pub(crate) resync_period: Option<Duration>,
    pub(crate) recreated: RecreatedAs,
    pub(crate) on_stop: OnStop,
    /// `None`: as many as the queue keeps by default.
    pub(crate) max_deltas: Option<Option<usize>>,
    pub(crate) queue_order: QueueOrder,
    pub(crate) start_limit: Option<StartLimit>,
}

/// Changes the parameters of a request.
pub(crate) type Tweak = dyn Fn(&mut ListOptions) + Send + Sync;
