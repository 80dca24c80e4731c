//! What is counted: bytes of the heap, memory and threads of the process, the time that work takes.

use std::alloc::System;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes that are allocated now.
pub(crate) fn heap() -> i64 {
    let stats = ALLOCATOR.stats();
    // `reallocated` is within both sums.
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// What the system says of this process; zero where it does not tell.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Process {
    pub(crate) rss_bytes: u64,
    pub(crate) threads: u64,
}

impl Process {
    #[cfg(target_os = "linux")]
    pub(crate) fn now() -> Self {
        use procfs_core::FromRead as _;
        use procfs_core::process::Status;

        let status = Status::from_file("/proc/self/status");
        status.map_or_else(
            |_| Self::default(),
            |status| Self {
                rss_bytes: status.vmrss.unwrap_or_default() * 1024,
                threads: status.threads,
            },
        )
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now() -> Self {
        Self::default()
    }
}

/// One measure, as a line of JSON.
pub(crate) struct Line(Map<String, Value>);

impl Line {
    pub(crate) fn new(name: &str) -> Self {
        Self(Map::from_iter([("name".to_owned(), name.into())]))
    }

    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0.insert(field.to_owned(), value.into());
        self
    }

    /// A figure of which one digit behind the point is enough.
    pub(crate) fn about(self, field: &str, value: f64) -> Self {
        self.with(field, (value * 10.0).round() / 10.0)
    }

    pub(crate) fn print(self) {
        println!("{}", Value::Object(self.0));
    }
}

/// Runs `work` at least so many times and so long; the median of the times it took.
pub(crate) fn median(runs: usize, at_least: Duration, mut work: impl FnMut()) -> Duration {
    let mut times = Vec::with_capacity(1 << 16);
    let begin = Instant::now();
    while times.len() < runs || begin.elapsed() < at_least {
        let start = Instant::now();
        work();
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

/// The value below which this share of the sorted values lies.
pub(crate) fn quantile(sorted: &[u64], share: f64) -> u64 {
    let last = sorted.len().saturating_sub(1);
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(last)).copied().unwrap_or_default()
}
