//! A handler whose failure stops its informer, once armed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informer_shared::{
    EndReason, Event, FailurePolicy, InformerPhase, Registration, RunError, SharedInformer,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::object::Item;
use crate::trace::{Trace, holds};

/// One handler of an informer, which fails once it is armed.
pub(super) struct Breaker {
    registration: Registration,
    /// A handler beside it, which never fails.
    other: Registration,
    armed: Arc<AtomicBool>,
    broke: Arc<Mutex<Option<Instant>>>,
    judged: bool,
}

impl Breaker {
    pub(super) fn join(informer: &SharedInformer<Item>) -> Result<Self, RunError> {
        let armed = Arc::new(AtomicBool::new(false));
        let broke = Arc::new(Mutex::new(None));
        let (is_armed, breaks) = (Arc::clone(&armed), Arc::clone(&broke));
        let handle = move |_: Event<Item>| {
            let fails = is_armed.load(Ordering::Relaxed);
            if fails {
                breaks.lock().get_or_insert_with(Instant::now);
            }
            std::future::ready(if fails { Err("it breaks") } else { Ok(()) })
        };
        let registration = informer
            .handler()
            .on_error(FailurePolicy::StopInformer)
            .register(handle)?;
        Ok(Self {
            registration,
            other: informer.add_handler(|_: Event<Item>| std::future::ready(()))?,
            armed,
            broke,
            judged: false,
        })
    }

    /// From now on it fails.
    pub(super) fn arm(&self) {
        self.armed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_broken(&self) -> bool {
        self.broke.lock().is_some()
    }

    /// Whether an informer ended for this failure.
    pub(super) fn is_reason(&self, error: &RunError) -> bool {
        let name = self.registration.status().name;
        matches!(error, RunError::Handler { handler, .. } if *handler == name)
    }

    /// Judges what must hold once it has failed: within a second the informer has stopped, and its other handlers have
    /// ended (INV-SHARED-10). Returns `true` the first time.
    pub(super) fn judge(&mut self, informer: &SharedInformer<Item>, trace: &Trace) -> bool {
        let broke = *self.broke.lock();
        let is_over = broke.is_some_and(|at| at.elapsed() > Duration::from_secs(1));
        if self.judged || !is_over {
            return false;
        }
        self.judged = true;
        let status = informer.status();
        holds!(
            trace,
            status.phase == InformerPhase::Stopped,
            "{} goes on after a failure that was to stop it",
            status.name
        );
        let ends = [&self.registration, &self.other].map(|it| it.status().ended);
        let fits = matches!(
            ends,
            [Some(EndReason::Failed(_)), Some(EndReason::InformerStopped)]
        );
        holds!(trace, fits, "the ends of its handlers: {ends:?}");
        true
    }
}
