//! Metadata of objects, in little memory.

mod object_meta;
mod owner;
mod protobuf;
mod read;
mod time;
mod write;

pub use object_meta::ObjectMeta;
pub(crate) use object_meta::Pair;
pub(crate) use owner::Owner;
