//! An informer of a factory, whatever the type of its objects.

use std::any::{Any, TypeId};
use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use informer_store::Object;
use informer_wire::Resource;

use crate::error::RunError;
use crate::informer::{InformerStatus, SharedInformer};
use crate::synced::{SyncError, Watched};
use crate::wait::Wait;

/// What tells the informers of a factory apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryKey {
    type_id: TypeId,
    resource: Resource,
}

impl EntryKey {
    pub(super) fn of<K: 'static>(resource: Resource) -> Self {
        Self {
            type_id: TypeId::of::<K>(),
            resource,
        }
    }
}

pub(super) struct Entry {
    pub(super) key: EntryKey,
    pub(super) informer: Box<dyn AnyInformer>,
}

/// What a factory does with an informer.
pub(super) trait AnyInformer: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn boxed_clone(&self) -> Box<dyn AnyInformer>;
    fn is_started(&self) -> bool;
    fn start(&self) -> Result<(), RunError>;
    fn stop(&self) -> BoxFuture<'_, Result<(), RunError>>;
    fn watched(&self) -> Watched;
    fn status(&self) -> InformerStatus;
}

impl<K: Object> AnyInformer for SharedInformer<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed_clone(&self) -> Box<dyn AnyInformer> {
        Box::new(self.clone())
    }

    fn is_started(&self) -> bool {
        Self::is_started(self)
    }

    fn start(&self) -> Result<(), RunError> {
        Self::start(self)
    }

    fn stop(&self) -> BoxFuture<'_, Result<(), RunError>> {
        Self::stop(self).boxed()
    }

    fn watched(&self) -> Watched {
        self.watched()
    }

    fn status(&self) -> InformerStatus {
        Self::status(self)
    }
}

/// Why the informers of a factory are not all synced.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{} of {started} informers did not sync: {}", .failed.len(), Lines(.failed))]
#[non_exhaustive]
pub struct FactorySyncError {
    /// How many informers were waited for.
    pub started: usize,
    /// What is late, or stopped before it was synced, and why.
    pub failed: Vec<SyncError>,
}

struct Lines<'a>(&'a [SyncError]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "; " };
            write!(f, "{comma}{error}")?;
        }
        Ok(())
    }
}

/// The wait for all these informers. It fails as soon as one of them has stopped.
pub(super) fn all_synced(watched: Vec<Watched>) -> Wait<FactorySyncError> {
    let started = watched.len();
    let late = watched.clone();
    let outcome = async move {
        let waits = watched
            .iter()
            .cloned()
            .map(|one| one.synced().into_future());
        let mut waits: FuturesUnordered<_> = waits.collect();
        while let Some(result) = waits.next().await {
            // The rest is still open; what has ended as well is told with it.
            if let Err(first) = result {
                let mut failed: Vec<_> = watched.iter().filter_map(Watched::failed).collect();
                if failed.is_empty() {
                    failed.push(first);
                }
                return Err(FactorySyncError { started, failed });
            }
        }
        Ok(())
    };
    Wait::new(outcome, move |deadline: Duration| {
        let failed = late.iter().filter_map(|one| one.late(deadline)).collect();
        FactorySyncError { started, failed }
    })
}
