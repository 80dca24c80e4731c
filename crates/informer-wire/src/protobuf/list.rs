//! Cuts a list into its items.

use super::de::text;
use super::envelope::type_meta;
use super::fault::Fault;
use super::node::MAGIC;
use super::reader::{Payload, Reader, Wire, long_varint, split_tag};
use super::status::written_status;
use crate::decode::WrittenListMeta;
use crate::error::DecodeError;
use crate::json::ItemText;
use crate::json::buffer::Buffer;
use crate::limits::Limits;

const WHAT: &str = "list";
/// The most bytes of all that is not an item: type and metadata take a few hundred.
const HEAD_LIMIT: u64 = 1 << 20;
/// The most bytes behind a break that are searched for an error of the server.
const TAIL_LIMIT: usize = 64 << 10;
/// Few errors of servers are longer.
const STATUS_LENGTH: u64 = 4 << 10;

/// Cuts an enveloped list into its items from its bytes in pieces, in either order of metadata and items.
///
/// It holds at most one item and what was pushed last. Items that came out are worth something only once
/// [`finish`](Self::finish) has said that the list ended well.
#[derive(Debug)]
pub(crate) struct ListSplitter {
    buffer: Buffer,
    limits: Limits,
    state: State,
    kind: Option<String>,
    api_version: Option<String>,
    metadata: Vec<u8>,
    /// The start of the last item.
    item: u64,
    /// The reason, once the list is broken.
    reason: Option<DecodeError>,
    error: Option<DecodeError>,
}

/// The next part of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The magic bytes.
    Start,
    /// A field of the envelope, before the list.
    Head,
    /// A field of the list, of which this many bytes are left.
    List(u64),
    /// A field of the envelope, behind the list, or the end.
    Tail,
    /// No list goes on like this, from this byte on. The rest may say why.
    Broken(u64),
}

/// A field's number, and how long it is.
struct Head {
    no: u32,
    wire: Wire,
    /// The length of tag and length, or of tag and number.
    head: usize,
    /// The number of bytes that follow.
    body: u64,
}

impl ListSplitter {
    /// A splitter at the beginning of a list.
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            buffer: Buffer::default(),
            limits,
            state: State::Start,
            kind: None,
            api_version: None,
            metadata: Vec::new(),
            item: 0,
            reason: None,
            error: None,
        }
    }

    /// Takes in the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            let from = self.written_from(self.buffer.used());
            self.buffer.push_behind(bytes, from);
        }
    }

    /// Returns the next item, with the type of the list as far as it is known; `None` if it has not been received yet,
    /// or if there are no more. An error is final.
    pub(crate) fn next_typed(&mut self) -> Option<Result<ItemText<'_>, DecodeError>> {
        if self.error.is_some() {
            return None;
        }
        match self.advance() {
            Ok(Some((head, length))) => {
                self.item = self.buffer.used();
                Some(Ok(ItemText {
                    text: &self.buffer.take(head + length)[head..],
                    list_kind: self.kind.as_deref(),
                    api_version: self.api_version.as_deref(),
                }))
            }
            Ok(None) => None,
            Err(error) => {
                self.error = Some(error.clone());
                self.buffer = Buffer::default();
                Some(Err(error))
            }
        }
    }

    /// Ends the list, once no more bytes follow and all items are taken, and returns its metadata.
    pub(crate) fn finish(&mut self) -> Result<Vec<u8>, DecodeError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        match self.state {
            State::Tail if self.buffer.rest().is_empty() => {}
            State::Broken(at) => return Err(self.why_broken(at)),
            _ => {
                let error = DecodeError::Truncated { what: WHAT };
                // Behind a whole item nothing was written: what it says itself is no error of the server.
                let has_more = !self.buffer.rest().is_empty();
                let end = self.buffer.used() + self.buffer.rest().len() as u64;
                let written = has_more.then(|| self.written(end)).flatten();
                return Err(written.unwrap_or(error));
            }
        }
        match self.kind.as_deref() {
            Some(kind) if kind.ends_with("List") => {}
            kind => return Err(unexpected(kind.unwrap_or_default())),
        }
        Ok(std::mem::take(&mut self.metadata))
    }

    /// Goes on until an item is whole (the lengths of its head and body) or bytes are missing. An error is returned
    /// only once enough of the bytes behind it are received: they may be the server's own error.
    fn advance(&mut self) -> Result<Option<(usize, usize)>, DecodeError> {
        if self.reason.is_none() {
            match self.split() {
                Err(error @ DecodeError::Status(_)) => return Err(error),
                Err(error) => self.break_off(error),
                Ok(next) if self.reason.is_none() => return Ok(next),
                Ok(_) => {}
            }
        }
        match self.state {
            State::Broken(at) if self.buffer.rest().len() >= TAIL_LIMIT => Err(self.why_broken(at)),
            _ => Ok(None),
        }
    }

    fn split(&mut self) -> Result<Option<(usize, usize)>, DecodeError> {
        loop {
            self.check_page(self.buffer.used())?;
            match self.state {
                State::Start => {
                    let rest = self.buffer.rest();
                    let seen = rest.len().min(MAGIC.len());
                    if rest[..seen] != MAGIC[..seen] {
                        self.break_off_here();
                        continue;
                    }
                    if seen < MAGIC.len() {
                        return Ok(None);
                    }
                    self.buffer.take(seen);
                    self.state = State::Head;
                }
                State::Broken(_) => return Ok(None),
                State::List(0) => self.state = State::Tail,
                State::List(left) => match self.field(left)? {
                    Step::Missing => return Ok(None),
                    Step::Item(head, body) => return Ok(Some((head, body))),
                    Step::Done => {}
                },
                State::Head | State::Tail => {
                    if !self.envelope_field()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Returns the head of the next field, of which `left` bytes may be used; `None` if it has not been received yet.
    fn head(&mut self, left: u64) -> Option<Head> {
        let rest = self.buffer.rest();
        let rest = &rest[..rest.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        let is_all = rest.len() as u64 == left;
        match head(rest) {
            Ok(Some(found)) if found.head as u64 + found.body <= left => Some(found),
            Ok(None) if !is_all => None,
            _ => {
                self.break_off_here();
                None
            }
        }
    }

    /// Takes in a field of the list.
    fn field(&mut self, left: u64) -> Result<Step, DecodeError> {
        let Some(field) = self.head(left) else {
            let is_broken = matches!(self.state, State::Broken(_));
            return Ok(if is_broken { Step::Done } else { Step::Missing });
        };
        let is_item = (field.no, field.wire) == (2, Wire::Bytes);
        let limit = if is_item {
            self.limits.object_bytes as u64
        } else {
            HEAD_LIMIT
        };
        if field.body > limit {
            let what = if is_item { "list item" } else { "list's head" };
            return Err(DecodeError::TooLarge { what, limit });
        }
        let length = field.head + field.body as usize;
        if self.buffer.rest().len() < length {
            return Ok(Step::Missing);
        }
        self.state = State::List(left - length as u64);
        if is_item {
            return Ok(Step::Item(field.head, field.body as usize));
        }
        let bytes = self.buffer.take(length);
        if (field.no, field.wire) == (1, Wire::Bytes) {
            self.metadata.extend_from_slice(&bytes[field.head..]);
        }
        if self.metadata.len() as u64 > HEAD_LIMIT {
            return Err(DecodeError::TooLarge {
                what: "list's head",
                limit: HEAD_LIMIT,
            });
        }
        Ok(Step::Done)
    }

    /// Takes a field of the envelope; `false` if it has not been received yet.
    fn envelope_field(&mut self) -> Result<bool, DecodeError> {
        if self.buffer.rest().is_empty() {
            return Ok(false);
        }
        let Some(field) = self.head(u64::MAX) else {
            return Ok(matches!(self.state, State::Broken(_)));
        };
        let is_status = self.kind.as_deref() == Some("Status");
        match (self.state, field.no, field.wire) {
            (State::Head, 2, Wire::Bytes) if !is_status => {
                self.check_page(self.buffer.used().saturating_add(field.body))?;
                self.buffer.take(field.head);
                self.state = State::List(field.body);
                return Ok(true);
            }
            // The type and the list come once, and the list behind its type if at all.
            (State::Tail, 1 | 2, _) | (_, 1..=4, Wire::Varint | Wire::Fixed32 | Wire::Fixed64) => {
                self.break_off_here();
                return Ok(true);
            }
            _ => {}
        }
        if field.body > HEAD_LIMIT {
            return Err(DecodeError::TooLarge {
                what: "list's head",
                limit: HEAD_LIMIT,
            });
        }
        let length = field.head + field.body as usize;
        if self.buffer.rest().len() < length {
            return Ok(false);
        }
        let at = self.buffer.used();
        let bytes = &self.buffer.take(length)[field.head..];
        match field.no {
            1 => {
                let (api_version, kind) = type_meta(bytes).map_err(|fault| {
                    DecodeError::malformed(WHAT, format!("{fault}, in its type at byte {at}"))
                })?;
                let types = (api_version.to_owned(), kind.to_owned());
                (self.api_version, self.kind) = (Some(types.0), Some(types.1));
                self.refuse_early()?;
            }
            2 => return Err(super::status::error(WHAT, bytes)),
            // A content encoding or another content type than protobuf.
            3 | 4 if !bytes.is_empty() && !is_protobuf(bytes) => {
                let reason = format!("packed in another format at byte {at}");
                return Err(DecodeError::malformed(WHAT, reason));
            }
            _ => {}
        }
        Ok(true)
    }

    /// Refuses a kind that is no list's before all of it is received.
    fn refuse_early(&self) -> Result<(), DecodeError> {
        match self.kind.as_deref() {
            Some(kind) if kind != "Status" && !kind.ends_with("List") => Err(unexpected(kind)),
            _ => Ok(()),
        }
    }

    fn check_page(&self, bytes: u64) -> Result<(), DecodeError> {
        let limit = self.limits.page_bytes;
        if bytes > limit {
            return Err(DecodeError::TooLarge { what: WHAT, limit });
        }
        Ok(())
    }

    /// Returns `true` if the list is broken.
    pub(crate) const fn is_broken(&self) -> bool {
        self.reason.is_some()
    }

    /// Marks the list as broken from here on.
    pub(crate) fn break_off(&mut self, reason: DecodeError) {
        self.state = State::Broken(self.buffer.used());
        self.reason = Some(reason);
    }

    fn break_off_here(&mut self) {
        let at = self.buffer.used();
        let reason = format!("unexpected byte {at}");
        self.break_off(DecodeError::malformed(WHAT, reason));
    }

    fn why_broken(&self, at: u64) -> DecodeError {
        let reason = || self.reason.clone();
        let error = self.written(at).or_else(reason);
        error.unwrap_or(DecodeError::Truncated { what: WHAT })
    }

    /// From where on an error is looked for if the list breaks off at this byte: within the last item, whose length may
    /// cover a part of it, and a little before, as another part may look like an item.
    fn written_from(&self, at: u64) -> u64 {
        let from = self.item.min(at.saturating_sub(STATUS_LENGTH));
        from.max(at.saturating_sub(TAIL_LIMIT as u64))
    }

    /// The error that the server wrote where the list broke off, if it did.
    fn written(&self, at: u64) -> Option<DecodeError> {
        let from = self.written_from(at);
        let tail = self.buffer.since(from);
        let length = TAIL_LIMIT.saturating_add(usize::try_from(at - from).unwrap_or(usize::MAX));
        let tail = &tail[..tail.len().min(length)];
        written_status(tail).map(|status| DecodeError::Status(Box::new(status)))
    }
}

/// The result of taking a field.
enum Step {
    /// It has not been received yet.
    Missing,
    /// It is an item; the lengths of its head and body.
    Item(usize, usize),
    Done,
}

/// The head of the field at the start of the bytes; `None` if it is not all there.
fn head(bytes: &[u8]) -> Result<Option<Head>, Fault> {
    let Some((tag, tag_length)) = long_varint(bytes)? else {
        return Ok(None);
    };
    let (no, wire) = split_tag(tag)?;
    let (number_length, body) = match wire {
        Wire::Fixed64 => (0, 8),
        Wire::Fixed32 => (0, 4),
        Wire::Varint | Wire::Bytes => match long_varint(&bytes[tag_length..])? {
            Some((_, length)) if wire == Wire::Varint => (length, 0),
            Some((body, length)) => (length, body),
            None => return Ok(None),
        },
    };
    // What no memory could hold is no length.
    if body > u64::from(u32::MAX) * 1024 {
        return Err(Fault::Short);
    }
    Ok(Some(Head {
        no,
        wire,
        head: tag_length + number_length,
        body,
    }))
}

fn is_protobuf(content_type: &[u8]) -> bool {
    content_type.starts_with(b"application/vnd.kubernetes.protobuf")
}

fn unexpected(kind: &str) -> DecodeError {
    DecodeError::UnexpectedKind {
        expected: "a list",
        kind: kind.chars().take(64).collect(),
    }
}

/// Reads a list's metadata.
pub(crate) fn list_meta(bytes: &[u8]) -> Result<WrittenListMeta, Fault> {
    let mut metadata = WrittenListMeta::default();
    let mut reader = Reader(bytes);
    while let Some((no, payload)) = reader.field()? {
        match (no, payload) {
            (2, Payload::Bytes(version)) => metadata.resource_version = Some(text(version).into()),
            (3, Payload::Bytes(token)) => metadata.continue_token = Some(text(token).into()),
            (4, Payload::Varint(count)) => metadata.remaining_item_count = Some(count as i64),
            (2..=4, _) => return Err(Fault::Encoding),
            _ => {}
        }
    }
    Ok(metadata)
}
