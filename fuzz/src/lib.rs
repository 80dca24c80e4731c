//! What the fuzz targets do: each feeds bytes to one reader of what comes from outside, and checks what it gives.
//!
//! None may panic, whatever the bytes are. Tests of the crates run all of them over `corpus/`.

mod configuration;
mod decoders;
mod requests;

pub use configuration::{exec_credential, kubeconfig, server};
pub use decoders::{json_list, json_watch, object, protobuf_list, protobuf_watch, status};
pub use requests::{request, selector};
