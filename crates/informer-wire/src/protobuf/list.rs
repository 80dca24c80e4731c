//! Cuts a list into its items as it arrives.

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
/// How much is kept of what follows a break, to see whether the server wrote there what happened.
const TAIL_LIMIT: usize = 64 << 10;

/// Cuts an enveloped list into its items as its bytes arrive, in either order of metadata and items.
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
    /// Where the item that came out last starts.
    item: u64,
    error: Option<DecodeError>,
}

/// What comes next.
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
    /// How many bytes follow.
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
            error: None,
        }
    }

    /// Takes in the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.buffer.push(bytes);
        }
    }

    /// The next item, with what is known of the list's type by now; `None` if it has not fully arrived yet, or if
    /// there is none any more. An error is final.
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
            Err(mut error) => {
                if matches!(error, DecodeError::Malformed { .. }) {
                    error = self.written().unwrap_or(error);
                }
                self.error = Some(error.clone());
                self.buffer = Buffer::default();
                Some(Err(error))
            }
        }
    }

    /// Says whether the list ended well, once no more bytes come and no item is left, and gives its metadata.
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
                let written = has_more.then(|| self.written()).flatten();
                return Err(written.unwrap_or(error));
            }
        }
        match self.kind.as_deref() {
            Some(kind) if kind.ends_with("List") => {}
            kind => return Err(unexpected(kind.unwrap_or_default())),
        }
        Ok(std::mem::take(&mut self.metadata))
    }

    /// Goes on until an item is whole (the lengths of its head and body) or bytes are missing.
    fn advance(&mut self) -> Result<Option<(usize, usize)>, DecodeError> {
        loop {
            self.check_page(self.buffer.used())?;
            match self.state {
                State::Start => {
                    let rest = self.buffer.rest();
                    let seen = rest.len().min(MAGIC.len());
                    if rest[..seen] != MAGIC[..seen] {
                        self.break_off();
                        continue;
                    }
                    if seen < MAGIC.len() {
                        return Ok(None);
                    }
                    self.buffer.take(seen);
                    self.state = State::Head;
                }
                State::Broken(at) if self.buffer.rest().len() >= TAIL_LIMIT => {
                    return Err(self.why_broken(at));
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

    /// The head of the next field, of which `left` bytes may be used; `None` if it has not fully arrived yet.
    fn head(&mut self, left: u64) -> Option<Head> {
        let rest = self.buffer.rest();
        let rest = &rest[..rest.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        let is_all = rest.len() as u64 == left;
        match head(rest) {
            Ok(Some(found)) if found.head as u64 + found.body <= left => Some(found),
            Ok(None) if !is_all => None,
            _ => {
                self.break_off();
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

    /// Takes in a field of the envelope. False if it has not fully arrived.
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
                self.break_off();
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
                let reason = format!("it is packed in another format at byte {at}");
                return Err(DecodeError::malformed(WHAT, reason));
            }
            _ => {}
        }
        Ok(true)
    }

    /// Refuses what can be seen to be no list before it has all come.
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

    fn break_off(&mut self) {
        self.state = State::Broken(self.buffer.used());
    }

    fn why_broken(&self, at: u64) -> DecodeError {
        let reason =
            || DecodeError::malformed(WHAT, format!("no list goes on as it does at byte {at}"));
        self.written().unwrap_or_else(reason)
    }

    /// The error that the server wrote at the end of what has come, if it did: behind an item, or within the last,
    /// whose length then covers a part of it.
    pub(crate) fn written(&self) -> Option<DecodeError> {
        let rest = self.buffer.since(self.item);
        let tail = &rest[rest.len() - rest.len().min(TAIL_LIMIT)..];
        written_status(tail).map(|status| DecodeError::Status(Box::new(status)))
    }
}

/// What became of a field.
enum Step {
    /// It has not fully arrived.
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
