//! The model of a cluster: plain data, no I/O, no clock. The HTTP server is a thin layer above it,
//! and a simulation can drive it directly.
//!
//! From the bottom: a *history* is the bounded revision log of one resource, a *collection* adds
//! the live objects, and a [`Cluster`] holds all collections under one revision counter, as etcd
//! does. Lists read a collection at a revision, watches are cursors over its history.

mod cluster;
mod collection;
mod crd;
mod custom;
mod delete;
mod feed;
mod history;
mod list;
mod metadata;
mod names;
mod namespaces;
mod object;
mod options;
mod pod;
mod replica;
mod rewind;
mod rules;
mod ties;
mod token;
mod watch;
mod write;

pub use self::cluster::{Cluster, ClusterOptions};
pub(crate) use self::delete::{FOREGROUND, ORPHAN};
pub(crate) use self::feed::Change;
pub use self::list::Page;
pub(crate) use self::names::{NameForm, label_value, qualified};
pub use self::object::StoredObject;
pub use self::options::ListOptions;
pub use self::replica::ReplicaView;
pub(crate) use self::ties::{Owner, Ties};
pub use self::watch::{Pull, WatchCursor, WatchEvent, WatchEventType, WatchRefusal, WatchStart};
pub use self::write::{Part, WriteOptions};
pub use crate::apply::FieldManager;
