//! Measures what a shared informer and its handlers take: memory while a handler hangs, the cost of many handlers, what
//! handlers that left leave behind, the size of an idle informer, and the time from an event's bytes to a handler.
//!
//! Prints one JSON line for each measure. Bytes are those of the heap, counted by the allocator; `rss_bytes` is what the
//! system counts, where it tells. `limit_…` is what is promised. The names and fields are in `docs/testing.md`.
//!
//! `cargo xtask bench handlers [FILTER]`

mod blocked;
mod come_and_go;
mod fan_out;
mod feed;
mod idle;
mod latency;
mod measure;
mod pacer;
mod pods;

use tokio::runtime::{Builder, Runtime};

fn main() {
    if std::env::var_os(idle::SERVES).is_some() {
        return idle::serve();
    }
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let wants = |name: &str| {
        filter
            .as_ref()
            .is_none_or(|filter| name.contains(&**filter))
    };
    blocked::run(&wants);
    fan_out::run(&wants);
    come_and_go::run(&wants);
    idle::run(&wants);
    latency::run(&wants);
}

/// Two threads, so that the figures of larger machines can be compared.
fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    runtime.expect("a runtime")
}
