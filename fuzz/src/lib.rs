//! What the fuzz targets do: each feeds bytes to one decoder, whole and in two pieces, and compares.
//!
//! None may panic, whatever the bytes are. The tests of `informer-wire` run all of them over `corpus/`.

mod decoders;

pub use decoders::{json_list, json_watch, object, protobuf_list, protobuf_watch, status};
