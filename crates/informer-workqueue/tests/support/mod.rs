//! A clock that tests move, and a poll by hand.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use informer_workqueue::{WorkQueue, WorkQueueConfig};

/// Stands still until it is moved.
#[derive(Clone)]
pub(crate) struct ManualClock {
    began: Instant,
    millis: Arc<AtomicU64>,
}

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            millis: Arc::default(),
        }
    }

    pub(crate) fn advance(&self, millis: u64) {
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }

    pub(crate) fn now(&self) -> Instant {
        self.began + Duration::from_millis(self.millis.load(Ordering::SeqCst))
    }

    pub(crate) fn config<T: 'static>(&self) -> WorkQueueConfig<T> {
        let clock = self.clone();
        WorkQueueConfig::new().clock(move || clock.now())
    }
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Takes all that can be taken now, and settles each.
pub(crate) fn drain<T: informer_workqueue::Item>(queue: &WorkQueue<T>) -> Vec<T> {
    let mut taken = Vec::new();
    while let Some(work) = queue.try_get() {
        taken.push(work.item().clone());
        work.success();
    }
    taken
}

pub(crate) fn poll_once<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
