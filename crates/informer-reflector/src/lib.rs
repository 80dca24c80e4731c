//! List and watch Kubernetes objects into a store or queue, whatever the server does.

mod error;
mod lister_watcher;

pub use error::ListWatchError;
pub use lister_watcher::{KnownFn, ListEvent, ListRequest, ListerWatcher};
