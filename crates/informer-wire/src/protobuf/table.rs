//! The table of Kubernetes' messages: which fields each has, and how JSON shows them.
//!
//! `cargo xtask wire-table` makes it from Kubernetes' own Go types. It is read where it lies; nothing is built from
//! it at the start. `table.bin` holds records of 8 bytes, numbers little-endian: a header of two, then
//!
//! - messages: the index of their first field (2 bytes), how many follow it (1), form (1), whether lists are to be
//!   null when absent (1);
//! - fields, of each message from number 1 on without gaps: where in `names.txt` the JSON name lies (2) and how long
//!   it is (1), type (1), flags (1), one byte unused, the index of the type's message (2);
//! - kinds, sorted by version and name: where these two names lie (2, 2), how long they are (1, 1), and the index of
//!   the message (2).

use super::reader::Wire;

const TABLE: &[u8] = include_bytes!("table.bin");
const NAMES: &str = include_str!("names.txt");

/// The records behind the header.
const RECORDS: &[[u8; 8]] = TABLE.as_chunks::<8>().0.split_at(2).1;
const MESSAGES: usize = word(TABLE, 4) as usize;
const FIELDS: usize = word(TABLE, 6) as usize;
const MESSAGE_RECORDS: &[[u8; 8]] = RECORDS.split_at(MESSAGES).0;
const FIELD_RECORDS: &[[u8; 8]] = RECORDS.split_at(MESSAGES).1.split_at(FIELDS).0;
const KIND_RECORDS: &[[u8; 8]] = RECORDS.split_at(MESSAGES + FIELDS).1;

const fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// A message of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Message(u16);

/// How a message is shown in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An object of its fields.
    Object,
    /// An array: the message has one repeated field and no more.
    List,
    /// A time to the second.
    Time,
    /// A time to the microsecond.
    MicroTime,
    /// A text, as `100m`.
    Quantity,
    /// A number or a text.
    IntOrString,
    /// The JSON that lies in its field 1.
    FieldsV1,
    /// The JSON, or the enveloped object, that lies in its field 1.
    RawExtension,
}

/// The type of a field, or of the elements of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// Text.
    String,
    /// Bytes, which JSON has in base64.
    Bytes,
    /// True or false.
    Bool,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A number of 32 bits without a sign.
    Uint32,
    /// A number of 64 bits without a sign.
    Uint64,
    /// A number with a fraction.
    Float64,
    /// A message.
    Message(Message),
}

/// A field of a message: its record, whose type is one of those below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field(&'static [u8; 8]);

const BYTES: u8 = 2;
const MESSAGE: u8 = 9;

const REPEATED: u8 = 1;
const MAP: u8 = 2;
const OMIT_EMPTY: u8 = 4;
const POINTER: u8 = 8;
const INLINE: u8 = 16;
const OMIT_ZERO: u8 = 32;

impl Message {
    /// All kinds of the table, as `apiVersion` and `kind`, with their messages.
    pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str, Self)> {
        KIND_RECORDS.iter().map(|record| {
            let name = |at: u16, len: u8| &NAMES[at.into()..usize::from(at) + usize::from(len)];
            let version = name(word(record, 0), record[4]);
            let kind = name(word(record, 2), record[5]);
            (version, kind, Self(word(record, 6)))
        })
    }

    /// The message of a kind, if the table has it.
    pub fn of_kind(api_version: &str, kind: &str) -> Option<Self> {
        let name = |at: usize, len: u8| &NAMES[at..at + usize::from(len)];
        let found = KIND_RECORDS.binary_search_by(|record| {
            let version = name(word(record, 0).into(), record[4]);
            let this = name(word(record, 2).into(), record[5]);
            (version, this).cmp(&(api_version, kind))
        });
        Some(Self(word(&KIND_RECORDS[found.ok()?], 6)))
    }

    /// The number of the message in the table.
    pub const fn id(self) -> u16 {
        self.0
    }

    /// Whether objects of this kind have metadata: those have that can be listed.
    pub(crate) fn has_metadata(self) -> bool {
        self.field(1)
            .is_some_and(|field| field.name() == "metadata")
    }

    #[inline]
    fn record(self) -> &'static [u8; 8] {
        &MESSAGE_RECORDS[usize::from(self.0)]
    }

    /// How it is shown in JSON.
    #[inline]
    pub fn form(self) -> Form {
        match self.record()[3] {
            1 => Form::List,
            2 => Form::Time,
            3 => Form::MicroTime,
            4 => Form::Quantity,
            5 => Form::IntOrString,
            6 => Form::FieldsV1,
            7 => Form::RawExtension,
            _ => Form::Object,
        }
    }

    /// Whether JSON shows null for some fields that are absent.
    #[inline]
    pub(super) fn has_nulls(self) -> bool {
        self.record()[4] != 0
    }

    /// The highest number of a field.
    #[inline]
    pub(super) fn last_field(self) -> u8 {
        self.record()[2]
    }

    /// The field of a number.
    #[inline]
    pub fn field(self, no: u32) -> Option<Field> {
        let record = self.record();
        if no == 0 || no > u32::from(record[2]) {
            return None;
        }
        let at = usize::from(word(record, 0)) + no as usize - 1;
        Field::read(&FIELD_RECORDS[at])
    }

    /// The field that JSON has under this key, also one of a message that is inlined.
    pub(crate) fn named(self, key: &str) -> Option<Field> {
        let found = self.fields().find_map(|(_, field)| match field.scalar() {
            Scalar::Message(inner) if field.is_inline() && inner.form() == Form::Object => {
                inner.named(key)
            }
            _ => Some(field).filter(|field| field.name() == key),
        });
        found.filter(|field| !field.is_inline())
    }

    /// The fields with their numbers.
    pub fn fields(self) -> impl Iterator<Item = (u32, Field)> {
        (1..=u32::from(self.last_field())).filter_map(move |no| Some((no, self.field(no)?)))
    }
}

impl Field {
    #[inline]
    fn read(record: &'static [u8; 8]) -> Option<Self> {
        matches!(record[3], 1..=MESSAGE).then_some(Self(record))
    }

    /// Its key in JSON; empty if it is inlined.
    #[inline]
    pub fn name(self) -> &'static str {
        let at = usize::from(word(self.0, 0));
        &NAMES[at..at + usize::from(self.0[2])]
    }

    /// Its type, or that of its elements.
    #[inline]
    pub const fn scalar(self) -> Scalar {
        match self.0[3] {
            1 => Scalar::String,
            BYTES => Scalar::Bytes,
            3 => Scalar::Bool,
            4 => Scalar::Int32,
            5 => Scalar::Int64,
            6 => Scalar::Uint32,
            7 => Scalar::Uint64,
            8 => Scalar::Float64,
            _ => Scalar::Message(Message(word(self.0, 6))),
        }
    }

    #[inline]
    const fn has(self, flags: u8) -> bool {
        self.0[4] & flags != 0
    }

    /// Whether its values are a list or a map, or stand among the fields of its parent.
    #[inline]
    pub(super) const fn is_special(self) -> bool {
        self.has(REPEATED | MAP | INLINE)
    }

    /// Whether it is a list.
    pub const fn is_repeated(self) -> bool {
        self.has(REPEATED)
    }

    /// Whether it is a map from texts.
    pub const fn is_map(self) -> bool {
        self.has(MAP)
    }

    /// Whether JSON has no key for it: its fields stand among those of its parent.
    pub const fn is_inline(self) -> bool {
        self.has(INLINE)
    }

    /// Whether JSON leaves it out when it is a scalar of the zero value.
    pub const fn omits_zero(self) -> bool {
        // Go's `omitempty` never leaves a struct out, and a message is one.
        self.0[3] != MESSAGE && self.0[4] & (OMIT_EMPTY | POINTER) == OMIT_EMPTY
    }

    /// Whether JSON leaves it out when it is a time of the zero value.
    pub const fn omits_zero_time(self) -> bool {
        self.has(OMIT_ZERO)
    }

    /// Whether JSON shows null where it is absent: protobuf has no difference between empty and none.
    pub const fn is_null_when_absent(self) -> bool {
        let many = self.has(REPEATED | MAP) || self.0[3] == BYTES;
        many && !self.has(OMIT_EMPTY | POINTER | INLINE)
    }

    /// Whether absent and zero differ.
    pub const fn is_pointer(self) -> bool {
        self.has(POINTER)
    }

    /// How one value of it is encoded.
    pub(super) const fn wire(self) -> Wire {
        match self.scalar() {
            Scalar::String | Scalar::Bytes | Scalar::Message(_) => Wire::Bytes,
            Scalar::Float64 => Wire::Fixed64,
            _ => Wire::Varint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_can_be_read() {
        let mut fields = 0;
        for id in 0..MESSAGES {
            let message = Message(id as u16);
            let _ = message.form();
            fields += message.fields().count();
            let nulls = message
                .fields()
                .any(|(_, field)| field.is_null_when_absent());
            assert_eq!(nulls, message.has_nulls());
            for (_, field) in message.fields() {
                let is_list = message.form() == Form::List;
                assert_eq!(field.name().is_empty(), field.is_inline());
                assert_eq!(field.is_inline() && field.is_repeated(), is_list);
                if let Scalar::Message(inner) = field.scalar() {
                    assert!(usize::from(inner.0) < MESSAGES);
                }
            }
        }
        assert!(fields > 3000, "{fields}");
    }

    /// How many messages lie in each other without a key of their own.
    fn inlined(message: Message) -> usize {
        let fields = message.fields().filter(|(_, field)| field.is_inline());
        let inner = fields.filter_map(|(_, field)| match field.scalar() {
            Scalar::Message(inner) if inner.form() == Form::Object => Some(1 + inlined(inner)),
            _ => None,
        });
        inner.max().unwrap_or(0)
    }

    #[test]
    fn reader_has_room_for_every_inlined_message() {
        let deepest = (0..MESSAGES)
            .map(|id| inlined(Message(id as u16)))
            .max()
            .unwrap_or(0);
        assert_eq!(deepest, super::super::access::INLINED);
    }

    #[test]
    fn table_finds_kinds_by_name() {
        let pod = Message::of_kind("v1", "Pod").expect("the table has pods");
        assert_eq!(pod.field(2).map(|field| field.name()), Some("spec"));
        assert_eq!(pod.field(0), None);
        assert_eq!(pod.field(u32::MAX), None);
        assert!(Message::of_kind("apps/v1", "Deployment").is_some());
        assert!(Message::of_kind("meta.k8s.io/v1", "PartialObjectMetadata").is_some());
        assert_eq!(Message::of_kind("apps/v1", "Pod"), None);
        assert_eq!(Message::of_kind("", ""), None);
    }
}
