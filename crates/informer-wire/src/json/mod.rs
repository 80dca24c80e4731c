//! JSON from a stream, cut into the values that matter: events of a watch, items of a list.
//!
//! Nothing here builds objects; the splitters only find where each begins and ends, at the speed of memory. They do
//! no I/O: bytes are pushed in, whole values are taken out.

pub(crate) mod buffer;
mod cursor;
mod frame;
mod list;
mod locate;
mod outline;
mod prune;
mod scan;

pub use frame::{FrameSplitter, StreamEnd};
pub use list::{ListSplitter, ListText};

pub(crate) use cursor::{Cursor, Syntax, text_of};
pub(crate) use frame::Frame;
pub(crate) use list::{ItemText, written_status};
pub(crate) use locate::describe;
pub(crate) use outline::Outline;
pub(crate) use prune::prune;
