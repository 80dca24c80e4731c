//! Everything that happened, as one hash, and in words with `--verbose`.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Waker};

use parking_lot::Mutex;
use tokio::time::Instant;

/// More steps at one instant are a hang: time stands still while tasks keep each other awake.
const STEPS_AT_ONCE: usize = 20_000;
/// So many of the last steps are in the report of a hang.
const REPORTED: usize = 8;

/// Everything that happened in a run. Clones share it.
#[derive(Clone)]
pub(crate) struct Trace(Arc<Mutex<State>>);

struct State {
    hash: u64,
    start: Instant,
    verbose: bool,
    broken: Vec<String>,
    instant: Instant,
    at_once: usize,
    last: Vec<String>,
    hangs: bool,
    /// Of the run as a whole, which ends with a hang.
    waker: Option<Waker>,
}

impl Trace {
    pub(crate) fn new(verbose: bool) -> Self {
        let now = Instant::now();
        Self(Arc::new(Mutex::new(State {
            hash: 0xcbf2_9ce4_8422_2325,
            start: now,
            verbose,
            broken: Vec::new(),
            instant: now,
            at_once: 0,
            last: Vec::new(),
            hangs: false,
            waker: None,
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
        state.count(line);
    }

    /// Whether the run hangs. If it does later, the task is woken.
    pub(crate) fn hangs(&self, context: &Context<'_>) -> bool {
        let mut state = self.0.lock();
        state.waker = Some(context.waker().clone());
        state.hangs
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

impl State {
    /// Counts the steps at one instant.
    fn count(&mut self, step: String) {
        let now = Instant::now();
        if now != self.instant {
            (self.instant, self.at_once) = (now, 0);
            self.last.clear();
        }
        self.at_once += 1;
        if self.at_once + REPORTED > STEPS_AT_ONCE && self.last.len() < REPORTED {
            self.last.push(step);
        }
        if self.at_once < STEPS_AT_ONCE || self.hangs {
            return;
        }
        self.hangs = true;
        let (at, last) = (self.start.elapsed(), std::mem::take(&mut self.last));
        let last = last.join("; ");
        self.broken.push(format!(
            "at {at:?}: a hang: {STEPS_AT_ONCE} steps at one instant, the last: {last}"
        ));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
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
