//! Puts a message's fields in order, as Kubernetes servers write them, where others did not.
//!
//! Protobuf allows fields in any order, and a message in several parts. Servers write neither, so the reader takes
//! fields as they come, and only when that fails the bytes are put in order first. That takes no more memory than the
//! bytes, however many fields they are: they are looked through once for each field of the table.

use std::borrow::Cow;

use super::fault::Fault;
use super::node::first_bytes;
use super::reader::{Payload, Reader, Wire};
use super::table::{Field, Form, Message, Scalar};

/// The message with its fields in the order of their numbers, the fields of one number together, and of those that
/// come once the last, or all of them merged. Fields that the table does not have are left out.
pub(super) fn canonical(message: Message, bytes: &[u8], depth: u32) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(bytes.len());
    write(message, bytes, depth, &mut out)?;
    Ok(out)
}

fn write(message: Message, bytes: &[u8], depth: u32, out: &mut Vec<u8>) -> Result<(), Fault> {
    let depth = depth.checked_sub(1).ok_or(Fault::TooDeep)?;
    // Which fields there are, so that the others need not be looked for.
    let mut there = vec![false; usize::from(message.last_field()) + 1];
    let mut reader = Reader(bytes);
    while let Some((no, _)) = reader.field()? {
        if let Some(there) = there.get_mut(no as usize) {
            *there = true;
        }
    }
    for (no, field) in message.fields().filter(|(no, _)| there[*no as usize]) {
        let of_no = Fields {
            reader: Reader(bytes),
            no,
        };
        if field.is_map() {
            for payload in of_no {
                write_entry(no, field, payload?, depth, out)?;
            }
        } else if field.is_repeated() {
            for payload in of_no {
                write_field(no, field, payload?, depth, out)?;
            }
        } else {
            let merged = merged(field, of_no)?;
            write_field(no, field, merged.payload(), depth, out)?;
        }
    }
    Ok(())
}

/// The values of the fields of one number.
struct Fields<'a> {
    reader: Reader<'a>,
    no: u32,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Payload<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.reader.field() {
                Ok(Some((no, payload))) if no == self.no => return Some(Ok(payload)),
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(fault) => return Some(Err(fault)),
            }
        }
    }
}

/// A value in one or more parts.
enum Merged<'a> {
    Number(Payload<'a>),
    Bytes(Cow<'a, [u8]>),
}

impl Merged<'_> {
    fn payload(&self) -> Payload<'_> {
        match self {
            Self::Number(payload) => *payload,
            Self::Bytes(bytes) => Payload::Bytes(bytes),
        }
    }
}

/// Of a scalar the last value counts, of a message all parts do.
fn merged<'a>(field: Field, parts: Fields<'a>) -> Result<Merged<'a>, Fault> {
    let mut merged = None;
    for part in parts {
        merged = Some(match (part?, merged, field.scalar()) {
            (Payload::Bytes(part), Some(Merged::Bytes(before)), Scalar::Message(_)) => {
                let mut bytes = before.into_owned();
                bytes.extend_from_slice(part);
                Merged::Bytes(Cow::Owned(bytes))
            }
            (Payload::Bytes(part), ..) => Merged::Bytes(Cow::Borrowed(part)),
            (number, ..) => Merged::Number(number),
        });
    }
    merged.ok_or(Fault::Malformed)
}

fn write_field(
    no: u32,
    field: Field,
    payload: Payload<'_>,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    match (field.scalar(), payload) {
        (Scalar::Message(message), Payload::Bytes(bytes)) => {
            write_within(no, out, |out| write_value(message, bytes, depth, out))?;
        }
        (Scalar::Message(_), _) => return Err(Fault::Encoding),
        (_, Payload::Bytes(bytes)) => write_bytes(no, bytes, out),
        (_, Payload::Varint(number)) => {
            write_tag(no, Wire::Varint, out);
            write_varint(number, out);
        }
        (_, Payload::Fixed64(bits)) => {
            write_tag(no, Wire::Fixed64, out);
            out.extend(bits.to_le_bytes());
        }
        (_, Payload::Fixed32(bits)) => {
            write_tag(no, Wire::Fixed32, out);
            out.extend(bits.to_le_bytes());
        }
    }
    Ok(())
}

fn write_value(message: Message, bytes: &[u8], depth: u32, out: &mut Vec<u8>) -> Result<(), Fault> {
    match message.form() {
        Form::Object | Form::List => write(message, bytes, depth, out),
        Form::RawExtension | Form::FieldsV1 => {
            if let Some(raw) = first_bytes(bytes)? {
                write_bytes(1, raw, out);
            }
            Ok(())
        }
        // They are read field by field, in any order.
        _ => {
            out.extend_from_slice(bytes);
            Ok(())
        }
    }
}

fn write_entry(
    no: u32,
    field: Field,
    payload: Payload<'_>,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let (key, value) = super::access::entry(payload)?;
    write_within(no, out, |out| {
        write_bytes(1, key, out);
        match value {
            Some(value) => write_field(2, field, value, depth, out),
            None => Ok(()),
        }
    })
}

/// Writes a field of bytes that `write` writes, with their length before them.
fn write_within(
    no: u32,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    write_tag(no, Wire::Bytes, out);
    let start = out.len();
    write(out)?;
    let mut length = Vec::with_capacity(5);
    write_varint((out.len() - start) as u64, &mut length);
    out.splice(start..start, length);
    Ok(())
}

/// Writes a field of bytes.
pub(crate) fn write_bytes(no: u32, bytes: &[u8], out: &mut Vec<u8>) {
    write_tag(no, Wire::Bytes, out);
    write_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(crate) fn write_tag(no: u32, wire: Wire, out: &mut Vec<u8>) {
    let code = match wire {
        Wire::Varint => 0,
        Wire::Fixed64 => 1,
        Wire::Bytes => 2,
        Wire::Fixed32 => 5,
    };
    write_varint(u64::from(no) << 3 | code, out);
}

pub(crate) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
