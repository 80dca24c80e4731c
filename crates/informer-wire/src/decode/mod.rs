//! From bytes to objects: what a type must offer, and the decoders of lists, watches and single answers.

mod accept;
mod format;
mod from_wire;
mod list;
mod object;
mod options;
mod single;
mod watch;

pub use accept::ObjectForm;
pub use format::{ReadVerb, WireFormat};
pub use from_wire::FromWire;
pub use list::ListDecoder;
pub use object::WireObject;
pub use options::{DecodeOptions, KnownFn};
pub use single::decode_object;
pub use watch::WatchDecoder;

pub(crate) use object::write_member;
