//! What both controllers of a provisioner share.

use std::sync::Arc;

use informer::Client;
use informer::controller::{EventRecorder, Finalizer};

use crate::caches::Caches;
use crate::stand_in::StandIn;

pub(crate) struct Context<P> {
    pub(crate) provisioner: Arc<P>,
    /// The provisioner's name, by which classes ask for it.
    pub(crate) name: String,
    pub(crate) client: Client,
    pub(crate) caches: Caches,
    pub(crate) recorder: EventRecorder,
    pub(crate) finalizer: Finalizer,
    pub(crate) stand_in: Option<StandIn>,
}
