//! What a registration may do with its handler, whatever the type of the objects.

use std::sync::{Arc, Weak};

use tokio::sync::watch;

use super::end::HandlerEnd;
use super::listener::Listener;
use super::registry::Registry;
use super::status::HandlerStatus;
use crate::queue::Phase;

/// A handler, without the type of its objects.
pub(crate) trait Control: Send + Sync {
    fn id(&self) -> u64;
    fn status(&self) -> HandlerStatus;
    fn phase(&self) -> watch::Receiver<Phase>;
    fn end_reason(&self) -> Option<HandlerEnd>;
    /// Ends the handler and takes it from the informer. A call of it that runs now runs on.
    fn remove(&self);
}

pub(crate) struct Registered<K> {
    pub(crate) listener: Arc<Listener<K>>,
    pub(crate) registry: Weak<Registry<K>>,
}

impl<K: Send + Sync + 'static> Control for Registered<K> {
    fn id(&self) -> u64 {
        self.listener.id
    }

    fn status(&self) -> HandlerStatus {
        self.listener.status()
    }

    fn phase(&self) -> watch::Receiver<Phase> {
        self.listener.watch_phase()
    }

    fn end_reason(&self) -> Option<HandlerEnd> {
        self.listener.end_reason()
    }

    fn remove(&self) {
        self.listener.end_with(HandlerEnd::Removed);
        if let Some(registry) = self.registry.upgrade() {
            registry.forget(self.listener.id);
        }
    }
}
