//! From bytes to objects: what a type must offer, and the decoders of lists, watches and single answers.

mod accept;
mod dropped;
mod format;
mod from_wire;
mod json_object;
mod list;
mod object;
mod options;
mod outline;
mod single;
mod watch;
mod watch_frame;

pub use accept::ObjectForm;
pub use format::{ReadVerb, WireFormat};
pub use from_wire::FromWire;
pub use list::ListDecoder;
pub use object::WireObject;
pub use options::{DecodeOptions, NewestFn};
pub use single::decode_object;
pub use watch::WatchDecoder;

pub(crate) use dropped::{Fate, Within, keys_of};
pub(crate) use json_object::write_member;
pub(crate) use list::WrittenListMeta;
pub(crate) use object::{Context, Types};
pub(crate) use outline::Outline;
