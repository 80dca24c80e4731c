//! Paused time, and what does not go together with it.

use std::sync::OnceLock;

use tokio::runtime::{Handle, Id};
use tokio::time::Instant;

/// Returns `true` if tokio's clock is paused here.
pub(crate) fn is_paused() -> bool {
    let shown = Instant::now();
    let begun = std::time::Instant::now();
    while begun.elapsed().is_zero() {
        std::hint::spin_loop();
    }
    Instant::now() == shown
}

/// The runtime that the first request in memory was sent on.
#[derive(Debug, Default)]
pub(crate) struct Home(OnceLock<(Id, bool)>);

impl Home {
    /// # Panics
    /// When this is another runtime, and the time of the first one is paused: that does not wait for threads.
    pub(crate) fn check(&self) {
        let here = Handle::current().id();
        let (home, paused) = *self.0.get_or_init(|| (here, is_paused()));
        assert!(
            home == here || !paused,
            "a request from a thread with another runtime, to a server whose time is paused: a paused clock does not \
             wait for other threads, but leaps over what they do; run all on one runtime, as a leader election with \
             `Renewal::Task` and handlers that are async, or do not pause the time"
        );
    }
}
