//! Cuts a watch into its events: JSON objects one after the other.

use super::buffer::Buffer;
use super::scan::{Nesting, Scan};
use crate::error::DecodeError;
use crate::limits::Limits;

const WHAT: &str = "watch event";

/// Cuts a stream of JSON objects into the single objects.
///
/// The stream may be cut at any byte, many objects may come at once, and white space (also line ends and blank lines)
/// may stand between them. What an object means is not looked at.
///
/// ```
/// use informer_wire::Limits;
/// use informer_wire::json::{FrameSplitter, StreamEnd};
///
/// let mut splitter = FrameSplitter::new(Limits::default());
/// splitter.push(br#"{"a":1}{"b":"#);
/// assert_eq!(splitter.next_frame().unwrap()?, br#"{"a":1}"#);
/// assert!(splitter.next_frame().is_none());
/// splitter.push(br#""}"} "#);
/// assert_eq!(splitter.next_frame().unwrap()?, br#"{"b":"}"}"#);
/// assert_eq!(splitter.finish(), StreamEnd::Clean);
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct FrameSplitter {
    buffer: Buffer,
    limits: Limits,
    /// The frame at the buffer's start, if one has begun: how far it is scanned.
    begun: Option<(Nesting, usize)>,
    failed: bool,
}

/// How a stream of frames ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// Between two frames.
    Clean,
    /// Within a frame, which is thrown away.
    Truncated {
        /// How many bytes of the frame had come.
        discarded: usize,
    },
}

impl FrameSplitter {
    /// A splitter at the beginning of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            buffer: Buffer::default(),
            limits,
            begun: None,
            failed: false,
        }
    }

    /// Takes in the next bytes. Take all whole frames out before pushing more, or they pile up.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.failed {
            self.buffer.push(bytes);
        }
    }

    /// The next whole frame; `None` if it has not fully arrived yet.
    ///
    /// An error is final: the stream is broken from there on, and no frame follows.
    pub fn next_frame(&mut self) -> Option<Result<&[u8], DecodeError>> {
        if self.failed {
            return None;
        }
        match self.advance() {
            Ok(Some(length)) => Some(Ok(self.buffer.take(length))),
            Ok(None) => None,
            Err(error) => {
                self.failed = true;
                self.buffer = Buffer::default();
                Some(Err(error))
            }
        }
    }

    /// The length of the frame at the buffer's start, if it is whole.
    fn advance(&mut self) -> Result<Option<usize>, DecodeError> {
        if self.begun.is_none() {
            self.buffer.skip_space();
            match self.buffer.first() {
                None => return Ok(None),
                Some(b'{') => {}
                Some(_) => {
                    let reason = format!("no JSON object starts at byte {}", self.buffer.used());
                    return Err(DecodeError::malformed(WHAT, reason));
                }
            }
        }
        let (nesting, scanned) = self.begun.get_or_insert_default();
        let limit = self.limits.object_bytes;
        let rest = self.buffer.rest();
        // The limit is looked at before the bytes behind it, however they arrive.
        let seen = rest.len().min(limit);
        match nesting.scan(&rest[*scanned..seen], self.limits.depth) {
            Scan::End(end) => {
                let length = *scanned + end;
                self.begun = None;
                Ok(Some(length))
            }
            Scan::TooDeep => Err(DecodeError::TooDeep {
                what: WHAT,
                limit: self.limits.depth,
            }),
            Scan::More if rest.len() > limit => Err(DecodeError::TooLarge {
                what: WHAT,
                limit: limit as u64,
            }),
            Scan::More => {
                *scanned = seen;
                Ok(None)
            }
        }
    }

    /// Says how the stream ended, once no more bytes come.
    #[must_use]
    pub fn finish(&self) -> StreamEnd {
        match self.begun {
            Some(_) => StreamEnd::Truncated {
                discarded: self.buffer.rest().len(),
            },
            None => StreamEnd::Clean,
        }
    }

    /// How many bytes of memory the splitter holds for frames that have not fully arrived.
    #[must_use]
    pub fn buffered_capacity(&self) -> usize {
        self.buffer.capacity()
    }
}
