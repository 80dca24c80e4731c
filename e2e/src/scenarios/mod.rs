//! The scenarios, each a program of its own against a server of its own.

mod server;

use std::future::Future;
use std::pin::Pin;

/// One scenario.
pub(crate) struct Scenario {
    /// By which it is chosen.
    pub(crate) name: &'static str,
    /// What it shows.
    pub(crate) about: &'static str,
    /// Runs it.
    pub(crate) run: fn() -> Run,
}

/// A scenario at work.
pub(crate) type Run = Pin<Box<dyn Future<Output = anyhow::Result<()>>>>;

/// Every scenario, in the order in which they run.
pub(crate) const SCENARIOS: &[Scenario] = &[Scenario {
    name: "server",
    about: "what the other scenarios take for granted of the server",
    run: || Box::pin(server::run()),
}];
