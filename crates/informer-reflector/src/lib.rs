//! List and watch Kubernetes objects into a store or queue, whatever the server does.

mod boxed;
mod config;
mod driver;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod list_watch;
mod lister_watcher;
pub mod machine;
mod report;
mod source;
mod status;

pub use boxed::BoxListerWatcher;
pub use config::{FirstList, ListMode, ReflectorConfig};
pub use driver::Reflector;
pub use error::ListWatchError;
pub use list_watch::{IntoPage, List, ListPage, ListWatch};
pub use lister_watcher::{KnownFn, ListEvent, ListRequest, ListerWatcher};
pub use machine::BackoffConfig;
pub use report::{Operation, Report, WatchErrorHandler};
pub use source::ListerWatcherSource;
pub use status::{Phase, ReflectorStatus};
