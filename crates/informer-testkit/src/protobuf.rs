//! Objects and events in Kubernetes' protobuf, made from their JSON as a real API server would write them.
//!
//! It writes what Go's encoder writes: fields in the order of their numbers, zero values of fields that are no
//! pointers, maps by key. Only kinds of Kubernetes itself can be written; custom resources have no protobuf.
//!
//! ```
//! use informer_testkit::protobuf;
//! use serde_json::json;
//!
//! let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}});
//! let bytes = protobuf::object(&node)?;
//! assert!(bytes.starts_with(b"k8s\0"));
//! let event = protobuf::watch_event("ADDED", &bytes);
//! assert_eq!(event.len() - 4, u32::from_be_bytes(event[..4].try_into()?) as usize);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use informer_wire::schema::{Field, Form, Message, Scalar};
use jiff::Timestamp;
use serde_json::{Map, Value};

/// The media type of this format.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// An object that has no protobuf.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The kind is not Kubernetes' own.
    UnknownKind {
        /// The group and version, such as `apps/v1`.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// A value is not of the type that the field has.
    WrongType {
        /// The place of the value, such as `.spec.replicas`.
        path: String,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind { api_version, kind } => {
                write!(
                    f,
                    "{api_version} {kind} is no kind of Kubernetes itself; ask for JSON"
                )
            }
            Self::WrongType { path } => write!(f, "{path} is not of the type that it should be"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Writes an object, a list or a `Status` in its envelope, as the body of a response. Its JSON must have `apiVersion`
/// and `kind`.
///
/// # Errors
/// When the kind has no protobuf, or a value is not of its field's type.
pub fn object(json: &Value) -> Result<Vec<u8>, EncodeError> {
    let text = |key: &str| json[key].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    Ok(envelope(
        api_version,
        kind,
        &message(api_version, kind, json)?,
    ))
}

/// Writes the bare message of an object of this kind, as in a list.
///
/// # Errors
/// When the kind has no protobuf, or a value is not of its field's type.
pub fn message(api_version: &str, kind: &str, json: &Value) -> Result<Vec<u8>, EncodeError> {
    let message = Message::of_kind(api_version, kind).ok_or_else(|| EncodeError::UnknownKind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    })?;
    let mut out = Vec::new();
    write_message(message, json, &mut out).map_err(|mut place| {
        place.reverse();
        let path = place.concat();
        EncodeError::WrongType { path }
    })?;
    Ok(out)
}

/// Puts the message of an object, or of a list, in an envelope.
#[must_use]
pub fn envelope(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let (mut out, end) = envelope_around(api_version, kind, message, 0);
    out.extend(end);
    out
}

/// Returns the start of an envelope with the first part of its message, of which so many bytes follow, and the
/// envelope's end.
pub(crate) fn envelope_around(
    api_version: &str,
    kind: &str,
    first: &[u8],
    follow: usize,
) -> (Vec<u8>, Vec<u8>) {
    let mut types = Vec::new();
    write_bytes(1, api_version.as_bytes(), &mut types);
    write_bytes(2, kind.as_bytes(), &mut types);
    let mut start = b"k8s\0".to_vec();
    write_bytes(1, &types, &mut start);
    write_head(2, first.len() + follow, &mut start);
    start.extend_from_slice(first);
    let mut end = Vec::new();
    write_bytes(3, b"", &mut end);
    write_bytes(4, b"", &mut end);
    (start, end)
}

/// Returns the length of these bytes as a field of a number below 16.
pub(crate) fn bytes_length(bytes: &[u8]) -> usize {
    let mut head = Vec::new();
    write_head(1, bytes.len(), &mut head);
    head.len() + bytes.len()
}

/// Writes the event of a watch: its length, its type and its object, which is in an envelope.
#[must_use]
pub fn watch_event(event_type: &str, object: &[u8]) -> Vec<u8> {
    let mut raw = Vec::new();
    write_bytes(1, object, &mut raw);
    let mut event = Vec::new();
    write_bytes(1, event_type.as_bytes(), &mut event);
    write_bytes(2, &raw, &mut event);
    // No event is so long: objects have a limit far below.
    let length = u32::try_from(event.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &event].concat()
}

/// Writes a field of bytes: an item of a list is field 2, its metadata field 1.
pub fn write_bytes(no: u32, bytes: &[u8], out: &mut Vec<u8>) {
    write_head(no, bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// Writes number and length of a field of bytes.
fn write_head(no: u32, length: usize, out: &mut Vec<u8>) {
    write_varint(u64::from(no) << 3 | 2, out);
    write_varint(length as u64, out);
}

fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn write_number(no: u32, value: u64, out: &mut Vec<u8>) {
    write_varint(u64::from(no) << 3, out);
    write_varint(value, out);
}

/// The place of a value of the wrong type, from the inside out.
type Place = Vec<String>;

/// Adds a step to the place of an error.
fn within<T>(step: impl FnOnce() -> String, result: Result<T, Place>) -> Result<T, Place> {
    result.map_err(|mut place| {
        place.push(step());
        place
    })
}

fn write_message(message: Message, json: &Value, out: &mut Vec<u8>) -> Result<(), Place> {
    let empty = Map::new();
    let object = match json {
        Value::Object(object) => object,
        Value::Null => &empty,
        _ => return Err(Vec::new()),
    };
    for (no, field) in message.fields() {
        if field.is_inline() {
            write_value(no, field.scalar(), json, out)?;
            continue;
        }
        let value = object.get(field.name()).filter(|value| !value.is_null());
        within(
            || format!(".{}", field.name()),
            write_field(no, field, value, out),
        )?;
    }
    Ok(())
}

fn write_field(
    no: u32,
    field: Field,
    value: Option<&Value>,
    out: &mut Vec<u8>,
) -> Result<(), Place> {
    let Some(value) = value else {
        let is_absent = field.is_pointer() || field.is_repeated() || field.is_map();
        return if is_absent || field.scalar() == Scalar::Bytes {
            Ok(())
        } else {
            write_value(no, field.scalar(), &zero(field.scalar()), out)
        };
    };
    if field.is_map() {
        for (key, value) in value.as_object().ok_or_else(Vec::new)? {
            let mut entry = Vec::new();
            write_bytes(1, key.as_bytes(), &mut entry);
            let written = write_value(2, field.scalar(), value, &mut entry);
            within(|| format!(".{key}"), written)?;
            write_bytes(no, &entry, out);
        }
        return Ok(());
    }
    if field.is_repeated() {
        return write_elements(no, field.scalar(), value, out);
    }
    write_value(no, field.scalar(), value, out)
}

fn write_elements(no: u32, scalar: Scalar, value: &Value, out: &mut Vec<u8>) -> Result<(), Place> {
    for (index, element) in value.as_array().ok_or_else(Vec::new)?.iter().enumerate() {
        within(
            || format!("[{index}]"),
            write_value(no, scalar, element, out),
        )?;
    }
    Ok(())
}

/// What Go writes for a field that was never set.
fn zero(scalar: Scalar) -> Value {
    match scalar {
        Scalar::String | Scalar::Bytes => "".into(),
        Scalar::Bool => false.into(),
        Scalar::Message(message) => match message.form() {
            Form::Quantity => "0".into(),
            Form::IntOrString => 0.into(),
            _ => Value::Null,
        },
        _ => 0.into(),
    }
}

fn write_value(no: u32, scalar: Scalar, value: &Value, out: &mut Vec<u8>) -> Result<(), Place> {
    let wrong = Vec::new;
    match scalar {
        Scalar::String => write_bytes(no, value.as_str().ok_or_else(wrong)?.as_bytes(), out),
        Scalar::Bytes => {
            let bytes = STANDARD.decode(value.as_str().ok_or_else(wrong)?);
            write_bytes(no, &bytes.map_err(|_| wrong())?, out);
        }
        Scalar::Bool => write_number(no, value.as_bool().ok_or_else(wrong)?.into(), out),
        Scalar::Int32 => {
            let value = i32::try_from(value.as_i64().ok_or_else(wrong)?).map_err(|_| wrong())?;
            write_number(no, i64::from(value) as u64, out);
        }
        Scalar::Int64 => write_number(no, value.as_i64().ok_or_else(wrong)? as u64, out),
        Scalar::Uint32 => {
            let value = u32::try_from(value.as_u64().ok_or_else(wrong)?).map_err(|_| wrong())?;
            write_number(no, value.into(), out);
        }
        Scalar::Uint64 => write_number(no, value.as_u64().ok_or_else(wrong)?, out),
        Scalar::Float64 => {
            write_varint(u64::from(no) << 3 | 1, out);
            out.extend(value.as_f64().ok_or_else(wrong)?.to_le_bytes());
        }
        Scalar::Message(message) => {
            let mut inner = Vec::new();
            write_form(message, value, &mut inner)?;
            write_bytes(no, &inner, out);
        }
    }
    Ok(())
}

/// Writes the contents of a message, which is perhaps no object in JSON.
fn write_form(message: Message, value: &Value, out: &mut Vec<u8>) -> Result<(), Place> {
    let wrong = Vec::new;
    match message.form() {
        Form::Object => write_message(message, value, out)?,
        Form::List => {
            let element = message.field(1).ok_or_else(wrong)?;
            write_elements(1, element.scalar(), value, out)?;
        }
        Form::Time | Form::MicroTime => {
            if let Some(text) = value.as_str() {
                let time: Timestamp = text.parse().map_err(|_| wrong())?;
                let nanos = time.as_nanosecond();
                let second = nanos.div_euclid(1_000_000_000) as i64;
                let fraction = match message.form() {
                    Form::MicroTime => nanos.rem_euclid(1_000_000_000) as u64,
                    _ => 0,
                };
                write_number(1, second as u64, out);
                write_number(2, fraction, out);
            } else if !value.is_null() {
                return Err(wrong());
            }
        }
        Form::Quantity => {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => return Err(wrong()),
            };
            write_bytes(1, text.as_bytes(), out);
        }
        Form::IntOrString => {
            let (number, text) = match value {
                Value::String(text) => (None, text.as_str()),
                _ => (Some(value.as_i64().ok_or_else(wrong)?), ""),
            };
            write_number(1, number.is_none().into(), out);
            write_number(2, number.unwrap_or_default() as u64, out);
            write_bytes(3, text.as_bytes(), out);
        }
        Form::FieldsV1 | Form::RawExtension => {
            if !value.is_null() {
                write_bytes(1, value.to_string().as_bytes(), out);
            }
        }
    }
    Ok(())
}
