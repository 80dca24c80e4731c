//! The informers of a factory, whatever the type of their objects.

use std::any::{Any, TypeId};
use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use informer_store::Object;
use informer_wire::Resource;

use crate::error::RunError;
use crate::informer::{InformerStatus, SharedInformer};
use crate::process_loop::Watched;
use crate::wait::{InformerPhase, Wait, WaitError};

/// What distinguishes the informers of a factory: the type of their objects, and what requests for their resource name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryKey {
    type_id: TypeId,
    /// Group, version and plural. Kind and scope follow from them.
    path: [String; 3],
}

impl EntryKey {
    pub(super) fn of<K: 'static>(resource: &Resource) -> Self {
        let path = [&resource.group, &resource.version, &resource.plural];
        Self {
            type_id: TypeId::of::<K>(),
            path: path.map(ToString::to_string),
        }
    }
}

/// An informer of a factory.
pub(super) trait AnyInformer: Any + Send + Sync {
    fn is_stopping(&self) -> bool;
    fn start(&self) -> Result<(), RunError>;
    fn stop(&self) -> BoxFuture<'_, Result<(), RunError>>;
    fn watched(&self) -> Watched;
    fn status(&self) -> InformerStatus;
}

impl<K: Object> AnyInformer for SharedInformer<K> {
    fn is_stopping(&self) -> bool {
        Self::is_stopping(self)
    }

    fn start(&self) -> Result<(), RunError> {
        Self::start(self)
    }

    fn stop(&self) -> BoxFuture<'_, Result<(), RunError>> {
        Self::stop(self).boxed()
    }

    fn watched(&self) -> Watched {
        Self::watched(self)
    }

    fn status(&self) -> InformerStatus {
        Self::status(self)
    }
}

/// Makes the wait for all these informers. It fails as soon as one of them has stopped.
pub(super) fn all_synced(watched: Vec<Watched>) -> Wait {
    let total = watched.len();
    let late = watched.clone();
    let outcome = async move {
        let waits = watched.iter().cloned();
        let mut waits: FuturesUnordered<_> = waits.map(|one| one.synced().into_future()).collect();
        while let Some(result) = waits.next().await {
            // The others may never end; those that have stopped as well are named with it.
            if let Err(first) = result {
                let stopped = watched.iter().filter(|one| is_stopped_unsynced(one));
                let mut failed: Vec<_> = stopped.map(Watched::stopped).collect();
                if failed.is_empty() {
                    failed.push(first);
                }
                return Err(WaitError::Informers { total, failed });
            }
        }
        Ok(())
    };
    Wait::new(outcome, move |deadline: Duration| {
        let unsynced = late.iter().filter(|one| !one.is_synced());
        let failed = unsynced.map(|one| one.late(deadline)).collect();
        WaitError::Informers { total, failed }
    })
}

fn is_stopped_unsynced(watched: &Watched) -> bool {
    watched.phase() == InformerPhase::Stopped && !watched.is_synced()
}
