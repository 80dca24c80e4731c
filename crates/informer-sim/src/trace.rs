//! Everything that happened, as one hash, and in words with `--verbose`.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Everything that happened in a run. Clones share it.
#[derive(Clone)]
pub(crate) struct Trace(Arc<Mutex<State>>);

struct State {
    hash: u64,
    start: Instant,
    verbose: bool,
    broken: Vec<String>,
}

impl Trace {
    pub(crate) fn new(verbose: bool) -> Self {
        Self(Arc::new(Mutex::new(State {
            hash: 0xcbf2_9ce4_8422_2325,
            start: Instant::now(),
            verbose,
            broken: Vec::new(),
        })))
    }

    /// Notes what happened.
    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        let mut state = self.0.lock();
        let line = format!("{} {what}", state.start.elapsed().as_millis());
        for byte in line.bytes() {
            // FNV-1a
            state.hash = (state.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if state.verbose {
            eprintln!("{line}");
        }
    }

    /// Notes a broken promise. Code under test may call it, whose panics are caught.
    pub(crate) fn broken(&self, what: fmt::Arguments<'_>) {
        let mut state = self.0.lock();
        let line = format!("at {:?}: {what}", state.start.elapsed());
        if state.verbose {
            eprintln!("BROKEN {line}");
        }
        state.broken.push(line);
    }

    /// The first promise that was broken.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        match self.0.lock().broken.first() {
            Some(first) => Err(first.clone()),
            None => Ok(()),
        }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.0.lock().hash
    }
}

/// Notes what happened.
macro_rules! note {
    ($trace:expr, $($what:tt)*) => { $trace.note(format_args!($($what)*)) };
}

/// Notes a broken promise unless a condition holds.
macro_rules! holds {
    ($trace:expr, $condition:expr, $($what:tt)*) => {
        if !$condition {
            $trace.broken(format_args!($($what)*));
        }
    };
}

pub(crate) use {holds, note};
