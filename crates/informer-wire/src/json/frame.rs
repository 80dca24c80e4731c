//! Cuts a watch into its events: JSON objects one after the other.

use std::ops::Range;

use super::buffer::Buffer;
use super::scan::{Nesting, Scan, is_space};
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
    /// The frame at the buffer's start, if one has begun.
    begun: Option<Begun>,
    failed: bool,
}

/// A frame that has begun.
#[derive(Debug)]
struct Begun {
    nesting: Nesting,
    /// The number of bytes scanned.
    scanned: usize,
    head: Option<Head>,
    /// Whether the scan is within the event's object.
    in_object: bool,
}

/// The form in which servers start an event, found without a look at its object's contents.
#[derive(Debug)]
struct Head {
    event_type: Range<usize>,
    object: Range<usize>,
}

/// A whole frame.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) bytes: &'a [u8],
    /// Type and object, if the frame is an event of these two members, written as servers do.
    pub(crate) event: Option<(&'a [u8], &'a [u8])>,
}

/// How a stream of frames ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// Between two frames.
    Clean,
    /// Within a frame, which is discarded.
    Truncated {
        /// The number of bytes of the incomplete frame.
        discarded: usize,
    },
}

impl FrameSplitter {
    /// Makes a splitter at the beginning of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            buffer: Buffer::default(),
            limits,
            begun: None,
            failed: false,
        }
    }

    /// Adds bytes. Take all whole frames before pushing more, or they pile up.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.failed {
            self.buffer.push(bytes);
        }
    }

    /// Returns the next whole frame; `None` if it has not been received yet.
    ///
    /// An error is final: the stream is broken from there on, and no frame follows.
    pub fn next_frame(&mut self) -> Option<Result<&[u8], DecodeError>> {
        Some(self.next_event()?.map(|frame| frame.bytes))
    }

    /// The next whole frame with what is known of it as an event.
    pub(crate) fn next_event(&mut self) -> Option<Result<Frame<'_>, DecodeError>> {
        if self.failed {
            return None;
        }
        match self.advance() {
            Ok(Some((length, head))) => {
                let bytes = self.buffer.take(length);
                let event = head.filter(|head| head.is_all_of(bytes));
                let event = event.map(|head| (&bytes[head.event_type], &bytes[head.object]));
                Some(Ok(Frame { bytes, event }))
            }
            Ok(None) => None,
            Err(error) => {
                self.failed = true;
                self.buffer = Buffer::default();
                Some(Err(error))
            }
        }
    }

    /// The length of the frame at the buffer's start, if it is whole, and its head.
    fn advance(&mut self) -> Result<Option<(usize, Option<Head>)>, DecodeError> {
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
        let limit = self.limits.object_bytes;
        let rest = self.buffer.rest();
        // The limit is checked before the bytes behind it, however they are cut.
        let seen = rest.len().min(limit);
        let begun = self.begun.get_or_insert_with(|| Begun::of(&rest[..seen]));
        match begun.scan(&rest[..seen], self.limits.depth) {
            Scan::End(length) => {
                let head = self.begun.take().and_then(|begun| begun.head);
                Ok(Some((length, head)))
            }
            Scan::TooDeep => Err(DecodeError::TooDeep {
                what: WHAT,
                limit: self.limits.depth,
            }),
            Scan::More if rest.len() > limit => Err(DecodeError::TooLarge {
                what: WHAT,
                limit: limit as u64,
            }),
            Scan::More => Ok(None),
        }
    }

    /// Returns how the stream ended, once no more bytes follow.
    #[must_use]
    pub fn finish(&self) -> StreamEnd {
        match self.begun {
            Some(_) => StreamEnd::Truncated {
                discarded: self.buffer.rest().len(),
            },
            None => StreamEnd::Clean,
        }
    }

    /// Returns the number of bytes of memory that the splitter holds for incomplete frames.
    #[must_use]
    pub fn buffered_capacity(&self) -> usize {
        self.buffer.capacity()
    }
}

impl Begun {
    /// A frame that starts with these bytes.
    fn of(bytes: &[u8]) -> Self {
        let head = Head::read(bytes);
        Self {
            nesting: Nesting::default(),
            scanned: head.as_ref().map_or(0, |head| head.object.start),
            in_object: head.is_some(),
            head,
        }
    }

    /// Goes on through the frame's bytes, of which those that are scanned are passed over.
    fn scan(&mut self, bytes: &[u8], max_depth: u32) -> Scan {
        if self.in_object {
            let max_depth = max_depth.saturating_sub(1);
            match self.nesting.scan(&bytes[self.scanned..], max_depth) {
                Scan::End(end) => self.leave_object(end),
                Scan::More => return self.more(bytes),
                Scan::TooDeep => return Scan::TooDeep,
            }
        }
        match self.nesting.scan(&bytes[self.scanned..], max_depth) {
            Scan::End(end) => Scan::End(self.scanned + end),
            Scan::More => self.more(bytes),
            Scan::TooDeep => Scan::TooDeep,
        }
    }

    const fn more(&mut self, bytes: &[u8]) -> Scan {
        self.scanned = bytes.len();
        Scan::More
    }

    /// The object has ended, so many bytes behind what was scanned.
    const fn leave_object(&mut self, end: usize) {
        self.in_object = false;
        self.scanned += end;
        self.nesting = Nesting::inside();
        if let Some(head) = &mut self.head {
            head.object.end = self.scanned;
        }
    }
}

impl Head {
    /// The head of an event, if it is written as servers do and is all there. The end of its object is not known yet.
    fn read(bytes: &[u8]) -> Option<Self> {
        const TYPE: &[u8] = br#"{"type":""#;
        const OBJECT: &[u8] = br#"","object":"#;
        let rest = bytes.strip_prefix(TYPE)?;
        let length = rest.iter().position(|byte| !byte.is_ascii_uppercase())?;
        let rest = rest[length..].strip_prefix(OBJECT)?;
        rest.starts_with(b"{").then(|| {
            let object = bytes.len() - rest.len();
            Self {
                event_type: TYPE.len()..TYPE.len() + length,
                object: object..object,
            }
        })
    }

    /// True if nothing follows the object in its frame.
    fn is_all_of(&self, frame: &[u8]) -> bool {
        match frame[self.object.end..].split_last() {
            Some((b'}', space)) => space.iter().all(|&byte| is_space(byte)),
            _ => false,
        }
    }
}
