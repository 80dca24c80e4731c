//! Cuts a watch into its events: each with its length before it.

use crate::error::DecodeError;
use crate::json::StreamEnd;
use crate::json::buffer::Buffer;
use crate::limits::Limits;

const WHAT: &str = "watch event";
/// The bytes of a length.
const HEAD: usize = 4;

/// Cuts a stream of events with their lengths (4 bytes, big-endian) into the single events.
#[derive(Debug)]
pub(crate) struct FrameSplitter {
    buffer: Buffer,
    limit: usize,
    failed: bool,
}

impl FrameSplitter {
    /// A splitter at the beginning of a stream.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            buffer: Buffer::default(),
            limit: limits.object_bytes,
            failed: false,
        }
    }

    /// Takes in the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if !self.failed {
            self.buffer.push(bytes);
        }
    }

    /// Returns the next whole event; `None` if it has not been received yet. An error is final.
    pub(crate) fn next_frame(&mut self) -> Option<Result<&[u8], DecodeError>> {
        if self.failed {
            return None;
        }
        let length = u32::from_be_bytes(*self.buffer.rest().first_chunk::<HEAD>()?) as usize;
        if length > self.limit {
            self.failed = true;
            self.buffer = Buffer::default();
            return Some(Err(DecodeError::TooLarge {
                what: WHAT,
                limit: self.limit as u64,
            }));
        }
        if self.buffer.rest().len() < HEAD + length {
            return None;
        }
        Some(Ok(&self.buffer.take(HEAD + length)[HEAD..]))
    }

    /// Returns how the stream ended.
    pub(crate) fn finish(&self) -> StreamEnd {
        match self.buffer.rest().len() {
            0 => StreamEnd::Clean,
            discarded => StreamEnd::Truncated { discarded },
        }
    }
}
