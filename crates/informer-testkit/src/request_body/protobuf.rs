//! Request bodies in protobuf, read into JSON by the table of fields; what is broken is described as Go's generated code
//! describes it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use informer_wire::schema::{Field, Form, Message, Scalar};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::time::{rfc3339, rfc3339_micros};

/// The first bytes of each object.
const MAGIC: &[u8] = b"k8s\0";
/// How deep messages may lie in each other, as in the JSON that is made of them.
const DEPTH: u32 = 120;

const SHORT: &str = "unexpected EOF";

/// An enveloped object.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Opens an envelope.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Err("empty data".to_owned());
        }
        let Some(rest) = body.strip_prefix(MAGIC) else {
            let why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
            return Err(why.to_owned());
        };
        if rest.is_empty() {
            return Err("empty body".to_owned());
        }
        let mut envelope = Self::default();
        let mut fields = Fields::new(rest, "Unknown");
        while let Some(tag) = fields.tag()? {
            match tag.no {
                1 => {
                    let mut types = Fields::new(fields.bytes(tag, "TypeMeta")?, "TypeMeta");
                    while let Some(tag) = types.tag()? {
                        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                        match tag.no {
                            1 => envelope.api_version = text(types.bytes(tag, "APIVersion")?),
                            2 => envelope.kind = text(types.bytes(tag, "Kind")?),
                            _ => types.skip(tag)?,
                        }
                    }
                }
                2 => envelope.raw = fields.bytes(tag, "Raw")?,
                // Which encoding and which type the contents have is not looked at.
                3 => drop(fields.bytes(tag, "ContentEncoding")?),
                4 => drop(fields.bytes(tag, "ContentType")?),
                _ => fields.skip(tag)?,
            }
        }
        Ok(envelope)
    }
}

/// Reads the message of an object of this kind into JSON without its type. What Go's JSON would leave out is left out.
pub(super) fn object(message: Message, kind: &str, raw: &[u8]) -> Result<Value, String> {
    let mut object = Map::new();
    read_object(message, kind, raw, &mut object, DEPTH)?;
    Ok(Value::Object(object))
}

/// A field's number and encoding.
#[derive(Clone, Copy)]
struct Tag {
    no: u32,
    wire: u8,
}

/// The fields of a message.
struct Fields<'a> {
    rest: &'a [u8],
    name: &'a str,
}

impl<'a> Fields<'a> {
    const fn new(rest: &'a [u8], name: &'a str) -> Self {
        Self { rest, name }
    }

    fn tag(&mut self) -> Result<Option<Tag>, String> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let (no, wire) = ((tag >> 3) as i32, (tag & 7) as u8);
        if wire == 4 {
            return Err(format!(
                "proto: {}: wiretype end group for non-group",
                self.name
            ));
        }
        match u32::try_from(no) {
            Ok(no) if no > 0 => Ok(Some(Tag { no, wire })),
            _ => Err(format!(
                "proto: {}: illegal tag {no} (wire type {wire})",
                self.name
            )),
        }
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(SHORT)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        if length as i64 <= -1 {
            return Err("proto: negative length found during unmarshaling".to_owned());
        }
        let length = usize::try_from(length).map_err(|_| SHORT)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self, tag: Tag, field: &str) -> Result<u64, String> {
        expect(tag, 0, field)?;
        self.varint()
    }

    fn bytes(&mut self, tag: Tag, field: &str) -> Result<&'a [u8], String> {
        expect(tag, 2, field)?;
        let length = self.varint()?;
        self.take(length)
    }

    /// Passes over a field that is not known.
    fn skip(&mut self, tag: Tag) -> Result<(), String> {
        let mut wire = tag.wire;
        let mut groups = 0_u32;
        loop {
            match wire {
                0 => drop(self.varint()?),
                1 => drop(self.take(8)?),
                2 => {
                    let length = self.varint()?;
                    self.take(length)?;
                }
                3 => groups += 1,
                4 => {
                    let open = groups.checked_sub(1);
                    groups = open.ok_or("proto: unexpected end of group")?;
                }
                5 => drop(self.take(4)?),
                wire => return Err(format!("proto: illegal wireType {wire}")),
            }
            if groups == 0 {
                return Ok(());
            }
            wire = (self.varint()? & 7) as u8;
        }
    }
}

fn expect(tag: Tag, wire: u8, field: &str) -> Result<(), String> {
    if tag.wire == wire {
        return Ok(());
    }
    Err(format!(
        "proto: wrong wireType = {} for field {field}",
        tag.wire
    ))
}

/// The name of a field in Go.
fn go_name(field: Field) -> String {
    match field.name() {
        "metadata" => "ObjectMeta".to_owned(),
        name => {
            let mut chars = name.chars();
            let first = chars.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(chars).collect()
        }
    }
}

fn read_object(
    message: Message,
    name: &str,
    bytes: &[u8],
    object: &mut Map<String, Value>,
    depth: u32,
) -> Result<(), String> {
    let depth = depth.checked_sub(1).ok_or("exceeded max depth")?;
    let mut fields = Fields::new(bytes, name);
    while let Some(tag) = fields.tag()? {
        let Some(field) = message.field(tag.no) else {
            fields.skip(tag)?;
            continue;
        };
        let name = go_name(field);
        if let (true, Scalar::Message(inner)) = (field.is_inline(), field.scalar()) {
            read_object(inner, &name, fields.bytes(tag, &name)?, object, depth)?;
            continue;
        }
        let key = field.name().to_owned();
        if field.is_map() {
            let entry = read_entry(field, &name, fields.bytes(tag, &name)?, depth)?;
            let all = object.entry(key).or_insert_with(|| Map::new().into());
            if let Some(all) = all.as_object_mut() {
                all.insert(entry.0, entry.1);
            }
            continue;
        }
        let value = read_value(field.scalar(), &name, tag, &mut fields, depth)?;
        if field.is_repeated() {
            let all = object
                .entry(key)
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Some(all) = all.as_array_mut() {
                all.push(value);
            }
        } else if is_left_out(field, &value) {
            object.remove(&key);
        } else {
            match (object.get_mut(&key), value) {
                // A message that comes twice is one.
                (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
                (_, value) => drop(object.insert(key, value)),
            }
        }
    }
    Ok(())
}

/// Whether Go's JSON leaves the field out when it has this value.
fn is_left_out(field: Field, value: &Value) -> bool {
    match value {
        Value::Null => field.is_pointer() || field.omits_zero_time(),
        Value::Bool(value) => !value && field.omits_zero(),
        Value::Number(number) => number.as_f64() == Some(0.0) && field.omits_zero(),
        Value::String(text) => text.is_empty() && field.omits_zero(),
        _ => false,
    }
}

fn read_entry(
    field: Field,
    name: &str,
    bytes: &[u8],
    depth: u32,
) -> Result<(String, Value), String> {
    let (mut key, mut value) = (String::new(), None);
    let mut fields = Fields::new(bytes, name);
    while let Some(tag) = fields.tag()? {
        match tag.no {
            1 => key = String::from_utf8_lossy(fields.bytes(tag, name)?).into_owned(),
            2 => value = Some(read_value(field.scalar(), name, tag, &mut fields, depth)?),
            _ => fields.skip(tag)?,
        }
    }
    let zero = || match field.scalar() {
        Scalar::String | Scalar::Bytes => "".into(),
        Scalar::Message(message) if message.form() == Form::Quantity => "0".into(),
        Scalar::Message(message) if message.form() == Form::List => Value::Array(Vec::new()),
        Scalar::Message(_) => Map::new().into(),
        _ => 0.into(),
    };
    Ok((key, value.unwrap_or_else(zero)))
}

fn read_value(
    scalar: Scalar,
    name: &str,
    tag: Tag,
    fields: &mut Fields<'_>,
    depth: u32,
) -> Result<Value, String> {
    Ok(match scalar {
        Scalar::String => text(fields.bytes(tag, name)?),
        Scalar::Bytes => STANDARD.encode(fields.bytes(tag, name)?).into(),
        Scalar::Bool => (fields.number(tag, name)? != 0).into(),
        Scalar::Int32 => (fields.number(tag, name)? as i32).into(),
        Scalar::Int64 => (fields.number(tag, name)? as i64).into(),
        Scalar::Uint32 => (fields.number(tag, name)? as u32).into(),
        Scalar::Uint64 => fields.number(tag, name)?.into(),
        Scalar::Float64 => {
            expect(tag, 1, name)?;
            let bytes = fields.take(8)?.try_into().unwrap_or_default();
            f64::from_le_bytes(bytes).into()
        }
        Scalar::Message(message) => read_form(message, name, fields.bytes(tag, name)?, depth)?,
    })
}

fn text(bytes: &[u8]) -> Value {
    String::from_utf8_lossy(bytes).into()
}

/// Reads a message that is perhaps no object in JSON.
fn read_form(message: Message, name: &str, bytes: &[u8], depth: u32) -> Result<Value, String> {
    let mut fields = Fields::new(bytes, name);
    match message.form() {
        Form::Object => {
            let mut object = Map::new();
            read_object(message, name, bytes, &mut object, depth)?;
            Ok(object.into())
        }
        Form::List => {
            let element = message.field(1).map(Field::scalar);
            let mut all = Vec::new();
            while let Some(tag) = fields.tag()? {
                match element {
                    Some(scalar) if tag.no == 1 => {
                        all.push(read_value(scalar, name, tag, &mut fields, depth)?);
                    }
                    _ => fields.skip(tag)?,
                }
            }
            Ok(all.into())
        }
        Form::Time | Form::MicroTime => {
            let (mut seconds, mut nanos) = (0, 0);
            while let Some(tag) = fields.tag()? {
                match tag.no {
                    1 => seconds = fields.number(tag, "Seconds")? as i64,
                    2 => nanos = fields.number(tag, "Nanos")? as i32,
                    _ => fields.skip(tag)?,
                }
            }
            if bytes.is_empty() {
                return Ok(Value::Null);
            }
            let time = Timestamp::new(seconds, nanos).map_err(|_| "the time is out of range")?;
            Ok(match message.form() {
                Form::Time => rfc3339(time).into(),
                _ => rfc3339_micros(time).into(),
            })
        }
        Form::Quantity => {
            let mut quantity = "0".into();
            while let Some(tag) = fields.tag()? {
                match tag.no {
                    1 => quantity = text(fields.bytes(tag, "String_")?),
                    _ => fields.skip(tag)?,
                }
            }
            Ok(quantity)
        }
        Form::IntOrString => {
            let (mut is_text, mut number, mut string) = (false, 0, "".into());
            while let Some(tag) = fields.tag()? {
                match tag.no {
                    1 => is_text = fields.number(tag, "Type")? != 0,
                    2 => number = fields.number(tag, "IntVal")? as i32,
                    3 => string = text(fields.bytes(tag, "StrVal")?),
                    _ => fields.skip(tag)?,
                }
            }
            Ok(if is_text { string } else { number.into() })
        }
        Form::FieldsV1 | Form::RawExtension => {
            let mut raw = &b""[..];
            while let Some(tag) = fields.tag()? {
                match tag.no {
                    1 => raw = fields.bytes(tag, "Raw")?,
                    _ => fields.skip(tag)?,
                }
            }
            if raw.is_empty() {
                return Ok(Value::Null);
            }
            serde_json::from_slice(raw)
                .map_err(|_| super::json::syntax_error(raw).unwrap_or_else(|| SHORT.to_owned()))
        }
    }
}
