//! One value as JSON would show it, by its type in the table.

use super::fault::Fault;
use super::reader::{Payload, Reader};
use super::table::{Field, Form, Message, Scalar};
use super::time::Time;

/// The magic bytes before an enveloped object.
pub(crate) const MAGIC: &[u8] = b"k8s\0";

/// A value whose type is known and whose contents are not looked at yet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(&'a [u8]),
    /// Bytes, which JSON writes in base64.
    Base64(&'a [u8]),
    /// A key of a map.
    Key(&'a [u8]),
    /// A text that is known to be one.
    Name(&'a str),
    Time(Time),
    Object(Message, &'a [u8]),
    /// A list or a map.
    Many(Many<'a>),
    /// A JSON text.
    Json(&'a [u8]),
    /// An object with its type before it.
    Envelope(&'a [u8]),
}

/// Fields of one number, among others perhaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Many<'a> {
    pub(super) field: Field,
    pub(super) rest: Reader<'a>,
    /// How many there are; 0 if they were not counted.
    pub(super) count: u32,
    /// No table has a field beyond 255.
    pub(super) no: u8,
    /// Whether they are a map's entries.
    pub(super) is_map: bool,
}

impl Many<'_> {
    /// How many there are, if they were counted.
    pub(super) fn known_count(&self) -> Option<usize> {
        usize::try_from(self.count).ok().filter(|count| *count > 0)
    }
}

impl<'a> Node<'a> {
    /// The value of a field, or of one element of it.
    #[inline]
    pub(super) fn of(field: Field, payload: Payload<'a>) -> Result<Self, Fault> {
        Ok(match (field.scalar(), payload) {
            (Scalar::String, Payload::Bytes(bytes)) => Self::Text(bytes),
            (Scalar::Message(message), Payload::Bytes(bytes)) => Self::of_message(message, bytes)?,
            (Scalar::Bytes, Payload::Bytes(bytes)) => Self::Base64(bytes),
            (Scalar::Bool, Payload::Varint(value)) => Self::Bool(value != 0),
            // As Go does: the low bits count.
            (Scalar::Int32, Payload::Varint(value)) => Self::Int((value as i32).into()),
            (Scalar::Int64, Payload::Varint(value)) => Self::Int(value as i64),
            (Scalar::Uint32, Payload::Varint(value)) => Self::Uint((value as u32).into()),
            (Scalar::Uint64, Payload::Varint(value)) => Self::Uint(value),
            (Scalar::Float64, Payload::Fixed64(bits)) => Self::Float(f64::from_bits(bits)),
            _ => return Err(Fault::Encoding),
        })
    }

    /// The value of an entry that names none.
    pub(super) fn zero(field: Field) -> Result<Self, Fault> {
        use super::reader::Wire;
        Self::of(
            field,
            match field.wire() {
                Wire::Bytes => Payload::Bytes(b""),
                Wire::Fixed64 => Payload::Fixed64(0),
                _ => Payload::Varint(0),
            },
        )
    }

    fn of_message(message: Message, bytes: &'a [u8]) -> Result<Self, Fault> {
        Ok(match message.form() {
            Form::Object => Self::Object(message, bytes),
            Form::List => match message.field(1) {
                Some(field) => Self::Many(Many {
                    field,
                    rest: Reader(bytes),
                    count: 0,
                    no: 1,
                    is_map: false,
                }),
                None => return Err(Fault::Malformed),
            },
            Form::Time => Time::read(bytes)?.map_or(Self::Null, |time| Self::Time(time.seconds())),
            Form::MicroTime => Time::read(bytes)?.map_or(Self::Null, Self::Time),
            Form::Quantity => Self::Text(first_bytes(bytes)?.unwrap_or(b"0")),
            Form::IntOrString => int_or_string(bytes)?,
            Form::FieldsV1 => match first_bytes(bytes)? {
                None | Some([]) => Self::Null,
                Some(json) => Self::Json(json),
            },
            Form::RawExtension => match first_bytes(bytes)? {
                None | Some([]) => Self::Null,
                Some(raw) if raw.starts_with(MAGIC) => Self::Envelope(raw),
                Some(json) => Self::Json(json),
            },
        })
    }

    /// Whether JSON would leave it out, were it a field that is left out when zero. Objects never are.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Float(value) => *value == 0.0,
            Self::Text(bytes) | Self::Base64(bytes) => bytes.is_empty(),
            _ => false,
        }
    }
}

/// The bytes of the last field 1.
pub(super) fn first_bytes(bytes: &[u8]) -> Result<Option<&[u8]>, Fault> {
    let mut reader = Reader(bytes);
    let mut found = None;
    while let Some((no, payload)) = reader.field()? {
        match (no, payload) {
            (1, Payload::Bytes(bytes)) => found = Some(bytes),
            (1, _) => return Err(Fault::Encoding),
            _ => {}
        }
    }
    Ok(found)
}

fn int_or_string(bytes: &[u8]) -> Result<Node<'_>, Fault> {
    let (mut is_text, mut number, mut text) = (false, 0, &b""[..]);
    let mut reader = Reader(bytes);
    while let Some((no, payload)) = reader.field()? {
        match (no, payload) {
            (1, Payload::Varint(kind)) => is_text = kind == 1,
            (2, Payload::Varint(value)) => number = value as i32,
            (3, Payload::Bytes(bytes)) => text = bytes,
            (1..=3, _) => return Err(Fault::Encoding),
            _ => {}
        }
    }
    Ok(if is_text {
        Node::Text(text)
    } else {
        Node::Int(number.into())
    })
}
