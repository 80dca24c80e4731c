//! Fields of messages, elements of lists and entries of maps, as serde asks for them.

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::de::{Place, Scope, Types, Value};
use super::fault::Fault;
use super::node::{Many, Node};
use super::reader::{Payload, Reader};
use super::table::{Field, Message};

/// How deep messages without a key of their own lie in each other at most.
pub(super) const INLINED: usize = 2;
/// The number of an object's metadata, and of the managed fields in it.
const METADATA: u32 = 1;
const MANAGED_FIELDS: u32 = 17;

/// The fields of a message, with those of the messages that are inlined in it.
pub(super) struct Fields<'de, 'c> {
    scope: Scope<'c>,
    types: Types<'de, 'c>,
    /// The message whose fields are read now: the object's, or one that is inlined in it.
    frame: Frame<'de>,
    /// Those that it is inlined in.
    outer: [Frame<'de>; INLINED],
    inlined: usize,
    /// A field of the object that is left out; 0 for none.
    skip: u32,
    next: Option<Node<'de>>,
    next_place: Place,
}

/// A message on the way through its fields.
#[derive(Clone, Copy)]
struct Frame<'de> {
    rest: Reader<'de>,
    /// The fields seen so far, one bit for each number.
    seen: u64,
    message: Message,
    /// The number of the last field that was known.
    last: u8,
    /// Up to which number fields that are absent were looked for.
    nulls: u8,
}

impl<'de> Frame<'de> {
    const fn new(message: Message, bytes: &'de [u8]) -> Self {
        Self {
            rest: Reader(bytes),
            seen: 0,
            message,
            last: 0,
            nulls: 0,
        }
    }

    /// Once the bytes are used up: a field that is absent and that JSON shows as null.
    fn next_null(&mut self) -> Option<Field> {
        if !self.message.has_nulls() {
            return None;
        }
        while self.nulls < self.message.last_field() {
            self.nulls += 1;
            let no = u32::from(self.nulls);
            let is_seen = 1u64.checked_shl(no).is_none_or(|bit| self.seen & bit != 0);
            if is_seen {
                continue;
            }
            let field = self.message.field(no);
            if let Some(field) = field.filter(|field| field.is_null_when_absent()) {
                return Some(field);
            }
        }
        None
    }
}

impl<'de, 'c> Fields<'de, 'c> {
    pub(super) fn new(
        scope: Scope<'c>,
        message: Message,
        bytes: &'de [u8],
        types: Types<'de, 'c>,
    ) -> Self {
        let skip = match scope.place {
            Place::Root if !scope.progress.with_metadata => METADATA,
            Place::Metadata if !scope.progress.keep_managed_fields => MANAGED_FIELDS,
            _ => 0,
        };
        Self {
            scope,
            types,
            frame: Frame::new(message, bytes),
            outer: [Frame::new(message, b""); INLINED],
            inlined: 0,
            skip,
            next: None,
            next_place: Place::Other,
        }
    }

    /// Fails unless all fields were read.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        all_read(self.advance()?.is_none())
    }

    /// The key of the next field, whose value is put in `next`.
    fn advance(&mut self) -> Result<Option<&'de str>, Fault> {
        while let [types, rest @ ..] = self.types {
            self.types = rest;
            if let Some((key, text)) = types {
                self.next = Some(Node::Name(text));
                self.next_place = Place::Other;
                return Ok(Some(key));
            }
        }
        loop {
            let frame = &mut self.frame;
            let start = frame.rest;
            let Some((no, wire)) = frame.rest.tag()? else {
                if let Some(field) = frame.next_null() {
                    self.next = Some(Node::Null);
                    self.next_place = Place::Other;
                    return Ok(Some(field.name()));
                }
                if self.inlined == 0 {
                    return Ok(None);
                }
                self.inlined -= 1;
                self.frame = self.outer[self.inlined];
                continue;
            };
            self.scope.progress.reached(start.0);
            let payload = frame.rest.payload(wire)?;
            let is_skipped = no == self.skip && self.inlined == 0;
            let Some(field) = frame.message.field(no).filter(|_| !is_skipped) else {
                continue;
            };
            // A number that the table has is small.
            let known = no as u8;
            if known <= frame.last {
                return Err(self.scope.progress.disorder());
            }
            frame.last = known;
            frame.seen |= 1u64.checked_shl(no).unwrap_or(0);
            let node = if !field.is_special() {
                Node::of(field, payload)?
            } else if field.is_inline() {
                self.inline(field, payload)?;
                continue;
            } else {
                Node::Many(run(field, no, start, &mut frame.rest)?)
            };
            if omits(field, &node) {
                continue;
            }
            let is_metadata = no == METADATA && self.inlined == 0;
            self.next = Some(node);
            self.next_place = if is_metadata && self.scope.place == Place::Root {
                Place::Metadata
            } else {
                Place::Other
            };
            return Ok(Some(field.name()));
        }
    }

    /// Goes on with the fields of a message that has no key of its own.
    fn inline(&mut self, field: Field, payload: Payload<'de>) -> Result<(), Fault> {
        let Node::Object(message, bytes) = Node::of(field, payload)? else {
            return Err(Fault::Encoding);
        };
        let outer = self.outer.get_mut(self.inlined).ok_or(Fault::TooDeep)?;
        *outer = std::mem::replace(&mut self.frame, Frame::new(message, bytes));
        self.inlined += 1;
        Ok(())
    }
}

/// A visitor that leaves something unread wants another type.
const fn all_read(nothing_is_left: bool) -> Result<(), Fault> {
    if nothing_is_left {
        Ok(())
    } else {
        Err(Fault::Value)
    }
}

/// Whether JSON leaves a field of this value out.
#[inline]
fn omits(field: Field, node: &Node<'_>) -> bool {
    if field.omits_zero() {
        return node.is_zero();
    }
    field.omits_zero_time() && matches!(node, Node::Null)
}

/// All fields of this number that follow each other, of which the reader has passed the first.
pub(super) fn run<'de>(
    field: Field,
    no: u32,
    start: Reader<'de>,
    rest: &mut Reader<'de>,
) -> Result<Many<'de>, Fault> {
    let mut count = 1u32;
    loop {
        let before = *rest;
        match rest.tag()? {
            Some((next, wire)) if next == no => {
                rest.payload(wire)?;
                count = count.saturating_add(1);
            }
            _ => {
                *rest = before;
                break;
            }
        }
    }
    let length = start.0.len() - rest.0.len();
    Ok(Many {
        field,
        rest: Reader(&start.0[..length]),
        count,
        // A number that the table has is small.
        no: no as u8,
        is_map: field.is_map(),
    })
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some(key) = self.advance()? else {
            return Ok(None);
        };
        let node = Node::Name(key);
        let scope = self.scope;
        seed.deserialize(Value { node, scope }).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let node = self.next.take().ok_or(Fault::Value)?;
        let scope = self.scope.at(self.next_place);
        seed.deserialize(Value { node, scope })
    }
}

/// The elements of a list.
pub(super) struct Elements<'de, 'c> {
    scope: Scope<'c>,
    many: Many<'de>,
    /// Numbers packed in one field.
    packed: Reader<'de>,
}

impl<'de, 'c> Elements<'de, 'c> {
    pub(super) fn new(scope: Scope<'c>, many: Many<'de>) -> Self {
        Self {
            scope: scope.at(Place::Other),
            many,
            packed: Reader::default(),
        }
    }

    /// Fails unless all elements were read.
    pub(super) fn end(&mut self) -> Result<(), Fault> {
        all_read(self.advance()?.is_none())
    }

    fn advance(&mut self) -> Result<Option<Node<'de>>, Fault> {
        let field = self.many.field;
        loop {
            if !self.packed.0.is_empty() {
                return Node::of(field, self.packed.payload(field.wire())?).map(Some);
            }
            self.scope.progress.reached(self.many.rest.0);
            match self.many.rest.field()? {
                None => return Ok(None),
                Some((no, _)) if no != u32::from(self.many.no) => {}
                Some((_, Payload::Bytes(packed))) if field.wire() != super::reader::Wire::Bytes => {
                    self.packed = Reader(packed);
                }
                Some((_, payload)) => return Node::of(field, payload).map(Some),
            }
        }
    }
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.advance()? else {
            return Ok(None);
        };
        let scope = self.scope;
        seed.deserialize(Value { node, scope }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        self.many.known_count()
    }
}

/// The entries of a map.
pub(super) struct Entries<'de, 'c> {
    scope: Scope<'c>,
    many: Many<'de>,
    value: Option<Node<'de>>,
}

impl<'de, 'c> Entries<'de, 'c> {
    pub(super) fn new(scope: Scope<'c>, many: Many<'de>) -> Self {
        Self {
            scope: scope.at(Place::Other),
            many,
            value: None,
        }
    }

    /// Fails unless all entries were read.
    pub(super) const fn end(&self) -> Result<(), Fault> {
        all_read(self.many.rest.0.is_empty())
    }
}

/// Key and value of an entry, as they are encoded.
pub(super) fn entry(payload: Payload<'_>) -> Result<(&[u8], Option<Payload<'_>>), Fault> {
    let Payload::Bytes(bytes) = payload else {
        return Err(Fault::Encoding);
    };
    let (mut key, mut value) = (&b""[..], None);
    let mut reader = Reader(bytes);
    while let Some((no, payload)) = reader.field()? {
        match (no, payload) {
            (1, Payload::Bytes(bytes)) => key = bytes,
            (1, _) => return Err(Fault::Encoding),
            (2, payload) => value = Some(payload),
            _ => {}
        }
    }
    Ok((key, value))
}

impl<'de> MapAccess<'de> for Entries<'de, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        self.scope.progress.reached(self.many.rest.0);
        let Some((_, payload)) = self.many.rest.field()? else {
            return Ok(None);
        };
        let (key, value) = entry(payload)?;
        self.value = Some(match value {
            Some(payload) => Node::of(self.many.field, payload)?,
            None => Node::zero(self.many.field)?,
        });
        let (node, scope) = (Node::Key(key), self.scope);
        seed.deserialize(Value { node, scope }).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let node = self.value.take().ok_or(Fault::Value)?;
        let scope = self.scope;
        seed.deserialize(Value { node, scope })
    }

    fn size_hint(&self) -> Option<usize> {
        self.many.known_count()
    }
}
