//! What is under test: a shared informer with handlers, or a reflector that feeds a store alone.

use std::sync::Arc;

use informer_reflector::{Reflector, ReflectorStatus, Report};
use informer_shared::{RecreatedAs, SharedInformer};
use informer_store::{Snapshot, Store};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::World;
use crate::chaos::Chaos;
use crate::checked::Checked;
use crate::handlers::Handler;
use crate::object::Item;
use crate::plan::Plan;
use crate::trace::Trace;

pub(crate) enum Client {
    Shared {
        informer: SharedInformer<Item>,
        handlers: Vec<Handler>,
    },
    Plain {
        store: Arc<Store<Item>>,
        status: watch::Receiver<ReflectorStatus>,
        stop: CancellationToken,
        task: JoinHandle<()>,
    },
}

impl Client {
    pub(crate) fn start(
        plan: &Plan,
        seed: u64,
        checked: &Checked,
        chaos: &Chaos,
        trace: &Trace,
    ) -> Self {
        let config = plan.reflector_config(seed);
        let (chaos, trace) = (chaos.clone(), trace.clone());
        let hear = move |report: &Report<'_>| World::hear(&chaos, &trace, report);
        if !plan.shared {
            let store = Arc::new(Store::new());
            let reflector = Reflector::new(checked.clone(), Arc::clone(&store))
                .config(config)
                .watch_error_handler(hear);
            let (status, stop) = (reflector.status(), CancellationToken::new());
            let task = tokio::spawn(reflector.run(stop.clone()));
            return Self::Plain {
                store,
                status,
                stop,
                task,
            };
        }
        let recreated = match plan.recreated_as_update {
            true => RecreatedAs::Updated,
            false => RecreatedAs::default(),
        };
        let informer = SharedInformer::builder(checked.clone())
            .reflector_config(config)
            .watch_error_handler(hear)
            .recreated_as(recreated)
            .max_deltas(plan.max_deltas)
            .build()
            .unwrap_or_else(|error| panic!("no index clashes: {error}"));
        informer
            .start()
            .unwrap_or_else(|error| panic!("it was not started: {error}"));
        Self::Shared {
            informer,
            handlers: Vec::new(),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot<Item> {
        match self {
            Self::Shared { informer, .. } => informer.store().snapshot(),
            Self::Plain { store, .. } => store.snapshot(),
        }
    }

    pub(crate) fn reflector_status(&self) -> ReflectorStatus {
        match self {
            Self::Shared { informer, .. } => informer.status().reflector,
            Self::Plain { status, .. } => status.borrow().clone(),
        }
    }

    /// Whether nothing waits between watch and cache.
    pub(crate) fn is_drained(&self) -> bool {
        match self {
            Self::Shared { informer, .. } => {
                let queue = informer.status().queue;
                queue.queued_keys + queue.in_flight_keys == 0
            }
            Self::Plain { .. } => true,
        }
    }

    pub(crate) fn is_synced(&self) -> bool {
        match self {
            Self::Shared { informer, .. } => informer.has_synced(),
            Self::Plain { status, .. } => status.borrow().synced,
        }
    }

    /// How many keys wait for the cache, and the most events that wait for a coalescing handler.
    pub(crate) fn backlog(&self) -> (usize, usize) {
        let Self::Shared { informer, handlers } = self else {
            return (0, 0);
        };
        let coalescing = handlers.iter().filter(|handler| handler.coalesces);
        let waiting = coalescing.map(|handler| handler.registration.status().queue_depth);
        (
            informer.status().queue.queued_keys,
            waiting.max().unwrap_or(0),
        )
    }

    /// Stops it; true if it ended without a failure.
    pub(crate) async fn stop(self) -> bool {
        match self {
            Self::Shared { informer, .. } => informer.stop().await.is_ok(),
            Self::Plain { stop, task, .. } => {
                stop.cancel();
                task.await.is_ok()
            }
        }
    }
}
