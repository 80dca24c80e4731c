//! Cuts a list into its items, whatever the order of its members.

use std::ops::Range;

use super::buffer::Buffer;
use super::scan::{Scan, ValueScan, is_space};
use super::{Cursor, text_of};
use crate::error::DecodeError;
use crate::limits::Limits;
use crate::status::Status;

const WHAT: &str = "list";
/// The most bytes of all that is not an item: kind, version and metadata take a few hundred.
const HEAD_LIMIT: usize = 1 << 20;
/// The most bytes behind a break that are searched for an error of the server.
const TAIL_LIMIT: usize = 64 << 10;

/// Cuts a Kubernetes list into its items from its bytes in pieces, in either order of `metadata` and `items`.
///
/// It holds at most one item and the bytes pushed last. Items count only once [`finish`](Self::finish) has succeeded:
/// servers also break lists off, and write an error behind half of one.
///
/// ```
/// use informer_wire::Limits;
/// use informer_wire::json::ListSplitter;
///
/// let mut splitter = ListSplitter::new(Limits::default());
/// splitter.push(br#"{"kind":"PodList","items":[{"a":1},{"b""#);
/// assert_eq!(splitter.next_item().unwrap()?, br#"{"a":1}"#);
/// assert!(splitter.next_item().is_none());
/// splitter.push(br#":2}],"metadata":{"resourceVersion":"7"}}"#);
/// assert_eq!(splitter.next_item().unwrap()?, br#"{"b":2}"#);
/// assert!(splitter.next_item().is_none());
/// let list = splitter.finish()?;
/// assert_eq!(list.kind.as_deref(), Some("PodList"));
/// assert_eq!(list.metadata, br#"{"resourceVersion":"7"}"#);
/// # Ok::<(), informer_wire::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct ListSplitter {
    buffer: Buffer,
    limits: Limits,
    state: State,
    /// The value at the buffer's start, if one has begun, and how far it is scanned.
    begun: Option<(ValueScan, usize)>,
    /// All members but `items`, as received, separated by commas.
    head: Vec<u8>,
    key: Vec<u8>,
    has_items: bool,
    kind: Option<String>,
    api_version: Option<String>,
    error: Option<DecodeError>,
}

/// The next part of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The list itself.
    Start,
    /// Its first key, or its end.
    FirstKey,
    /// A key.
    Key,
    /// The colon behind a key.
    Colon,
    /// The value of a member.
    Value,
    /// A comma and the next member, or the end.
    AfterValue,
    /// The first item, or the end of the items.
    FirstItem,
    /// An item.
    Item,
    /// A comma and the next item, or the end of the items.
    AfterItem,
    /// Nothing but white space: the list has ended.
    End,
    /// No list goes on like this, from this byte on. The rest may say why.
    Broken(u64),
}

/// What a list has beside its items.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListText {
    /// The list's kind, such as `PodList`.
    pub kind: Option<String>,
    /// The list's group and version, such as `apps/v1`.
    pub api_version: Option<String>,
    /// The JSON text of its metadata; empty if it has none.
    pub metadata: Vec<u8>,
}

/// One item, and the type of its list as far as it is known.
#[derive(Debug)]
pub(crate) struct ItemText<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) list_kind: Option<&'a str>,
    pub(crate) api_version: Option<&'a str>,
}

impl ListSplitter {
    /// Makes a splitter at the beginning of a list.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            buffer: Buffer::default(),
            limits,
            state: State::Start,
            begun: None,
            head: Vec::new(),
            key: Vec::new(),
            has_items: false,
            kind: None,
            api_version: None,
            error: None,
        }
    }

    /// Adds bytes. Take all whole items before pushing more, or they pile up.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.buffer.push(bytes);
        }
    }

    /// Returns the text of the next item; `None` if it has not been received yet, or if there are no more.
    ///
    /// An error is final: no item follows, and [`finish`](Self::finish) returns the same error.
    pub fn next_item(&mut self) -> Option<Result<&[u8], DecodeError>> {
        Some(self.next_typed()?.map(|item| item.text))
    }

    /// The next item, with what is known of the list's type by now.
    pub(crate) fn next_typed(&mut self) -> Option<Result<ItemText<'_>, DecodeError>> {
        if self.error.is_some() {
            return None;
        }
        match self.advance() {
            Ok(Some(length)) => Some(Ok(ItemText {
                text: self.buffer.take(length),
                list_kind: self.kind.as_deref(),
                api_version: self.api_version.as_deref(),
            })),
            Ok(None) => None,
            Err(error) => {
                self.error = Some(error.clone());
                self.buffer = Buffer::default();
                Some(Err(error))
            }
        }
    }

    /// Ends the list, once no more bytes follow and all items are taken, and returns what it has beside them.
    ///
    /// # Errors
    /// When the list broke off, when something else than white space follows it, when the server wrote an error
    /// instead of it or behind a part of it ([`DecodeError::Status`]), and when it is no list.
    pub fn finish(&mut self) -> Result<ListText, DecodeError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        match self.state {
            State::End => self.text(),
            State::Broken(at) => Err(self.why_broken(at)),
            _ => Err(self.why_truncated()),
        }
    }

    /// Returns the number of bytes of memory that the splitter holds for an incomplete item.
    #[must_use]
    pub fn buffered_capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Goes on until an item is whole (its length) or bytes are missing.
    fn advance(&mut self) -> Result<Option<usize>, DecodeError> {
        loop {
            if self.buffer.used() > self.limits.page_bytes {
                return Err(DecodeError::TooLarge {
                    what: WHAT,
                    limit: self.limits.page_bytes,
                });
            }
            if let State::Broken(at) = self.state {
                return if self.buffer.rest().len() >= TAIL_LIMIT {
                    Err(self.why_broken(at))
                } else {
                    Ok(None)
                };
            }
            if self.begun.is_none() {
                self.buffer.skip_space();
            }
            let Some(first) = self.buffer.first() else {
                return Ok(None);
            };
            if let Some(next) = self.punctuation(first) {
                self.buffer.take(1);
                self.state = next;
                continue;
            }
            if !self.starts_value(first) {
                self.state = State::Broken(self.buffer.used());
                continue;
            }
            let Some(length) = self.value()? else {
                return Ok(None);
            };
            if self.state == State::Item || self.state == State::FirstItem {
                self.state = State::AfterItem;
                return Ok(Some(length));
            }
            self.member_part(length)?;
        }
    }

    /// The state behind a single byte, where that byte is all that the present state needs.
    fn punctuation(&self, byte: u8) -> Option<State> {
        Some(match (self.state, byte) {
            (State::Start, b'{') => State::FirstKey,
            (State::FirstKey | State::AfterValue, b'}') => State::End,
            (State::Colon, b':') => State::Value,
            (State::AfterValue, b',') => State::Key,
            (State::Value, b'[') if self.key == b"items" => State::FirstItem,
            (State::FirstItem | State::AfterItem, b']') => State::AfterValue,
            (State::AfterItem, b',') => State::Item,
            _ => return None,
        })
    }

    /// Whether the present state takes a value that starts with this byte.
    fn starts_value(&self, byte: u8) -> bool {
        match self.state {
            State::FirstKey | State::Key => byte == b'"',
            State::Value if self.key == b"items" => byte == b'n',
            State::Value => ValueScan::of(byte).is_some(),
            // A value that is no object is taken too, so that the error names the item.
            State::FirstItem | State::Item => ValueScan::of(byte).is_some(),
            _ => false,
        }
    }

    /// The length of the value at the buffer's start, if it is whole.
    fn value(&mut self) -> Result<Option<usize>, DecodeError> {
        let (what, limit) = match self.state {
            State::FirstItem | State::Item => ("list item", self.limits.object_bytes),
            _ => ("list's head", HEAD_LIMIT),
        };
        let rest = self.buffer.rest();
        let page_left = self.limits.page_bytes.saturating_sub(self.buffer.used());
        let page_left = usize::try_from(page_left).unwrap_or(usize::MAX);
        // Limits are checked before the bytes behind them, however they are cut.
        let seen = rest.len().min(limit).min(page_left);
        let started = rest.first().and_then(|&first| ValueScan::of(first));
        let (scan, scanned) = match &mut self.begun {
            Some((scan, scanned)) => (scan, scanned),
            none => {
                let Some(scan) = started else { return Ok(None) };
                let (scan, scanned) = none.insert((scan, 0));
                (scan, scanned)
            }
        };
        match scan.scan(&rest[*scanned..seen], self.limits.depth) {
            Scan::End(end) => {
                let length = *scanned + end;
                self.begun = None;
                Ok(Some(length))
            }
            Scan::TooDeep => Err(DecodeError::TooDeep {
                what,
                limit: self.limits.depth,
            }),
            Scan::More if rest.len() > seen && seen == page_left => Err(DecodeError::TooLarge {
                what: WHAT,
                limit: self.limits.page_bytes,
            }),
            Scan::More if rest.len() > seen => Err(DecodeError::TooLarge {
                what,
                limit: limit as u64,
            }),
            Scan::More => {
                *scanned = seen;
                Ok(None)
            }
        }
    }

    /// Takes in a key or a value of the list itself.
    fn member_part(&mut self, length: usize) -> Result<(), DecodeError> {
        let part = self.buffer.take(length);
        if self.state != State::Value {
            let key = text_of(part).unwrap_or_default();
            self.key.clear();
            self.key.extend_from_slice(key.as_bytes());
            let is_items = self.key == b"items";
            if is_items && self.has_items {
                return Err(DecodeError::malformed(WHAT, "items twice"));
            }
            self.has_items |= is_items;
            self.state = State::Colon;
            if !is_items {
                let comma: &[u8] = if self.head.is_empty() { b"" } else { b"," };
                self.head.extend([comma, part, b":"].concat());
            }
            return Ok(());
        }
        self.state = State::AfterValue;
        match &*self.key {
            b"items" if part == b"null" => return Ok(()),
            b"items" => return Err(DecodeError::malformed(WHAT, "items are not an array")),
            b"kind" => self.kind = text_of(part).map(|kind| kind.into_owned()),
            b"apiVersion" => self.api_version = text_of(part).map(|text| text.into_owned()),
            _ => {}
        }
        self.head.extend_from_slice(part);
        if self.head.len() > HEAD_LIMIT {
            return Err(DecodeError::TooLarge {
                what: "list's head",
                limit: HEAD_LIMIT as u64,
            });
        }
        self.refuse_early()
    }

    /// Refuses a kind that is no list's before all of it is received.
    fn refuse_early(&self) -> Result<(), DecodeError> {
        let (Some(kind), Some(api_version)) = (&self.kind, &self.api_version) else {
            return Ok(());
        };
        // Only a custom resource can call its list otherwise.
        let is_custom = api_version.contains('/') && !api_version.starts_with("meta.k8s.io/");
        if is_custom || kind == "Status" || kind.ends_with("List") {
            return Ok(());
        }
        Err(unexpected(kind))
    }

    /// Returns what the list has beside its items, if it is one.
    fn text(&self) -> Result<ListText, DecodeError> {
        let kind = match self.kind.as_deref() {
            Some("Status") => return Err(self.status()),
            Some(kind) if !kind.is_empty() => kind,
            _ => return Err(unexpected("")),
        };
        let object = self.head_object();
        let metadata = member(&object, b"metadata").map(|range| object[range].to_vec());
        let is_list = if kind.ends_with("List") {
            // Discovery's lists are of other things: an `APIResourceList` must not empty a cache.
            self.has_items || metadata.is_some()
        } else {
            // A list's own metadata has no name.
            let is_named = |metadata: &Vec<u8>| member(metadata, b"name").is_some();
            self.api_version.is_some()
                && self.has_items
                && metadata
                    .as_ref()
                    .is_some_and(|metadata| !is_named(metadata))
        };
        if !is_list {
            return Err(unexpected(kind));
        }
        Ok(ListText {
            kind: self.kind.clone(),
            api_version: self.api_version.clone(),
            metadata: metadata.unwrap_or_default(),
        })
    }

    fn head_object(&self) -> Vec<u8> {
        [b"{", &*self.head, b"}"].concat()
    }

    fn status(&self) -> DecodeError {
        match serde_json::from_slice(&self.head_object()) {
            Ok(status) => DecodeError::Status(Box::new(status)),
            Err(_) => DecodeError::malformed(WHAT, "unreadable Status"),
        }
    }

    fn why_broken(&self, at: u64) -> DecodeError {
        let tail = self.buffer.rest();
        let tail = &tail[..tail.len().min(TAIL_LIMIT)];
        match written_status(tail) {
            Some(status) => DecodeError::Status(Box::new(status)),
            None => DecodeError::malformed(WHAT, format!("unexpected byte {at}")),
        }
    }

    fn why_truncated(&self) -> DecodeError {
        let rest = self.buffer.rest();
        let tail = &rest[rest.len() - rest.len().min(TAIL_LIMIT)..];
        match written_status(tail) {
            Some(status) => DecodeError::Status(Box::new(status)),
            None => DecodeError::Truncated { what: WHAT },
        }
    }
}

fn unexpected(kind: &str) -> DecodeError {
    let kind = kind.chars().take(64).collect();
    DecodeError::UnexpectedKind {
        expected: "a list",
        kind,
    }
}

/// Returns the place of a member's value in an object; the last one, if there are several.
fn member(object: &[u8], name: &[u8]) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(object);
    let mut walk = cursor.open_object().ok()?;
    let mut found = None;
    while let Some(key) = cursor.next_key(&mut walk).ok()? {
        let from = cursor.at();
        cursor.skip_value().ok()?;
        if *key.name() == *name {
            found = Some(from..cursor.at());
        }
    }
    found
}

/// The `Status` that a server wrote at the end of these bytes, as it does where encoding fails half-way.
pub(crate) fn written_status(tail: &[u8]) -> Option<Status> {
    const STARTS: [&[u8]; 2] = [
        br#"{"kind":"Status""#,
        br#"{"apiVersion":"v1","kind":"Status""#,
    ];
    let at = STARTS.iter().filter_map(|start| {
        (0..tail.len())
            .rev()
            .find(|&at| tail[at..].starts_with(start))
    });
    let text = &tail[at.max()?..];
    let end = text.iter().rposition(|&byte| !is_space(byte))? + 1;
    serde_json::from_slice(&text[..end]).ok()
}
