//! Why bytes could not be read as what they should be.

/// Bytes that could not be decoded. Says where and why, and never quotes the contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are no valid JSON, or not of the shape that was asked for.
    #[error("not readable as {what}: {reason}")]
    Malformed {
        /// What was being read, as `watch event`.
        what: &'static str,
        /// What is wrong, and where; without the contents.
        reason: String,
    },
}
