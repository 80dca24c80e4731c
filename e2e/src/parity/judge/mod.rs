//! What a sequence of operations is and how two servers' answers to it are compared; without any I/O.
//!
//! The tests of the test kit take these files in too, to replay recorded sequences without a real server.

pub(crate) mod allowed;
pub(crate) mod causes;
pub(crate) mod compare;
pub(crate) mod definitions;
pub(crate) mod normalise;
pub(crate) mod op;
pub(crate) mod session;
pub(crate) mod transcript;
