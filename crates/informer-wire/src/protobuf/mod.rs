//! Kubernetes' protobuf: objects, lists and watches, read by a table of the fields that each kind has.
//!
//! Nothing here is generated code. A `Deserializer` walks the bytes with the table at hand and shows serde what JSON
//! would show: the same keys, the same omissions, times and quantities as texts. What a type does not want is passed
//! over by its length.

mod access;
mod canonical;
mod de;
mod envelope;
mod fault;
mod field;
mod frame;
mod list;
mod locate;
mod node;
mod object;
mod outline;
mod prune;
mod reader;
mod status;
mod table;
mod time;

pub(crate) use canonical::{write_bytes, write_tag, write_varint};
pub(crate) use de::text;
pub(crate) use envelope::{Envelope, watch_event};
pub(crate) use fault::Fault;
pub(crate) use field::field;
pub(crate) use frame::FrameSplitter;
pub(crate) use list::{ListSplitter, list_meta};
pub(crate) use node::MAGIC;
pub(crate) use object::ObjectBytes;
pub(crate) use outline::Outline;
pub(crate) use prune::prune;
pub(crate) use reader::{Payload, Reader, Wire};
pub(crate) use status::{enveloped_status, error as status_error, status};
pub use table::{Field, Form, Message, Scalar};
pub(crate) use time::parts as time_parts;
