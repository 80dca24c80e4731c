//! Handlers: what they are, how they are added, run, fail and end.

mod builder;
mod control;
mod end;
mod filter;
mod fns;
mod listener;
mod registration;
mod registry;
mod run;
mod status;
mod stream;
mod traits;

pub use builder::HandlerBuilder;
pub use end::{FailurePolicy, HandlerEnd, HandlerFailure};
pub use fns::HandlerFns;
pub use registration::Registration;
pub use status::HandlerStatus;
pub use stream::EventStream;
pub use traits::{BlockingEventHandler, BoxError, EventHandler, HandlerOutcome};

pub(crate) use builder::Host;
pub(crate) use control::Control;
pub(crate) use listener::{Listener, RunsAs};
pub(crate) use registry::{Arrival, Registry, Runner};
