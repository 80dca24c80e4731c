//! Where an informer's changes come from, without the type of the lister-watcher.

use std::fmt;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use informer_reflector::{ListerWatcher, Reflector, ReflectorStatus};
use informer_store::DeltaSink;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A reflector that has yet to run.
pub(crate) struct Source {
    pub(crate) status: watch::Receiver<ReflectorStatus>,
    run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>,
}

impl Source {
    pub(crate) fn new<L: ListerWatcher, S: DeltaSink<L::Object>>(
        reflector: Reflector<L, S>,
    ) -> Self {
        let status = reflector.status();
        Self {
            status,
            run: Box::new(move |stop| reflector.run(stop).boxed()),
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
