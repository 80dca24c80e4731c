//! Handlers: what they are, how they are added, run, fail and end.

mod builder;
mod current;
mod filter;
mod fns;
mod listener;
mod listeners;
mod policy;
mod registration;
mod run;
mod status;
mod stream;
mod traits;

pub use builder::HandlerBuilder;
pub use fns::HandlerFns;
pub use policy::FailurePolicy;
pub use registration::Registration;
pub use status::HandlerStatus;
pub use stream::EventStream;
pub use traits::{BlockingEventHandler, EventHandler, IntoHandlerResult};

pub(crate) use current::is_within_informer;
pub(crate) use listener::Listener;
pub(crate) use listeners::{Code, Listeners, NewListener};
