//! The time of day in a test.

use std::fmt;
use std::sync::Arc;

use informer_wire::WallClock;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::time::Instant;

/// A wall clock that begins at a time of the test's choice, goes as tokio's clock does, and jumps when the test says so.
/// Clones are the same clock.
///
/// Give it to the server and to the programs under test, all the same one, or a process one of its own whose clock is
/// wrong.
///
/// ```
/// use informer_testkit::{ApiServer, TestClock};
/// use serde_json::json;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let clock = TestClock::starting_at("2026-06-01T12:00:00Z".parse()?);
/// let server = ApiServer::builder().clock(&clock).in_memory();
/// tokio::time::sleep(Duration::from_secs(3600)).await;
/// let pod = server.create("pods", json!({"metadata": {"name": "a"}}))?;
/// assert_eq!(pod["metadata"]["creationTimestamp"], "2026-06-01T13:00:00Z");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TestClock(Arc<Mutex<Mark>>);

/// A time at a moment.
#[derive(Clone, Copy)]
struct Mark {
    time: Timestamp,
    at: Instant,
}

impl Mark {
    fn now(self) -> Timestamp {
        let passed = SignedDuration::try_from(self.at.elapsed()).unwrap_or(SignedDuration::MAX);
        self.time.saturating_add(passed).unwrap_or(Timestamp::MAX)
    }
}

impl TestClock {
    /// Makes a clock that shows this time now.
    pub fn starting_at(time: Timestamp) -> Self {
        let at = Instant::now();
        Self(Arc::new(Mutex::new(Mark { time, at })))
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        self.0.lock().now()
    }

    /// Sets the time, later or earlier. Nothing that waits is woken: waits are tokio's.
    pub fn set(&self, time: Timestamp) {
        let at = Instant::now();
        *self.0.lock() = Mark { time, at };
    }

    /// Moves the time on, or back by a negative duration; at most to the first or last time there is.
    pub fn jump(&self, by: SignedDuration) {
        let end = if by.is_negative() {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        self.set(self.now().saturating_add(by).unwrap_or(end));
    }
}

impl From<&TestClock> for WallClock {
    fn from(clock: &TestClock) -> Self {
        let clock = clock.clone();
        Self::from_fn(move || clock.now())
    }
}

impl fmt::Debug for TestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestClock").field(&self.now()).finish()
    }
}
