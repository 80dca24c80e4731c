//! Where an informer's changes come from, without the type of the lister-watcher.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use informer_reflector::{ListerWatcher, Reflector, ReflectorStatus};
use informer_store::DeltaSink;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::starts::StartLimit;

/// A reflector that has yet to run.
pub(crate) struct Source {
    pub(crate) status: watch::Receiver<ReflectorStatus>,
    /// True while others have the turns to start.
    pub(crate) waits_for_turn: Arc<AtomicBool>,
    run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>,
}

impl Source {
    pub(crate) fn new<L: ListerWatcher, S: DeltaSink<L::Object>>(
        reflector: Reflector<L, S>,
    ) -> Self {
        let status = reflector.status();
        Self {
            status,
            waits_for_turn: Arc::default(),
            run: Box::new(move |stop| reflector.run(stop).boxed()),
        }
    }

    /// Lets it run once it is its turn.
    pub(crate) fn limited(self, limit: StartLimit) -> Self {
        let Self {
            status,
            waits_for_turn,
            run,
        } = self;
        let (waits, during) = (Arc::clone(&waits_for_turn), status.clone());
        let run = move |stop: CancellationToken| {
            let limited = async move {
                let Some(turn) = limit.turn(&waits, &stop).await else {
                    return;
                };
                let mut run = run(stop);
                tokio::select! {
                    () = &mut run => return,
                    () = limit.turn_over(during) => drop(turn),
                }
                run.await;
            };
            limited.boxed()
        };
        Self {
            status,
            waits_for_turn,
            run: Box::new(run),
        }
    }

    pub(crate) fn run(self, stop: CancellationToken) -> BoxFuture<'static, ()> {
        (self.run)(stop)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}
