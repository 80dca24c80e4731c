//! The wall clock that stamps of objects come from.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// A wall clock: the source of times that are written into objects, such as those of leases and events. It measures no
/// waits; those are the runtime's.
///
/// The default is the system's. A test gives its programs another one, so that the time of day is part of the test.
///
/// ```
/// use informer_wire::WallClock;
///
/// let noon = "2026-06-01T12:00:00Z".parse()?;
/// let clock = WallClock::from_fn(move || noon);
/// assert_eq!(clock.now(), noon);
/// assert!(WallClock::system().now() > noon);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct WallClock(Option<Arc<Now>>);

type Now = dyn Fn() -> Timestamp + Send + Sync;

impl WallClock {
    /// Returns the system's clock.
    #[must_use]
    pub const fn system() -> Self {
        Self(None)
    }

    /// Makes a clock of a function, which is called for each time.
    #[must_use]
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(now)))
    }

    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.as_ref().map_or_else(Timestamp::now, |now| now())
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            None => "system",
            Some(_) => "from_fn",
        };
        f.debug_tuple("WallClock").field(&name).finish()
    }
}
