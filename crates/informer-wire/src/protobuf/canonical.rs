//! Puts a message's fields in order, as Kubernetes servers write them, where others did not.
//!
//! Protobuf allows fields in any order, and a message in several parts. Servers write neither, so the reader takes
//! fields as they come, and only when that fails the bytes are put in order first.

use super::fault::Fault;
use super::node::first_bytes;
use super::reader::{Payload, Reader, Wire};
use super::table::{Field, Form, Message, Scalar};

/// The message with its fields in the order of their numbers, the fields of one number together, and of those that
/// come once the last, or all of them merged. It is never longer than the bytes were.
pub(super) fn canonical(message: Message, bytes: &[u8], depth: u32) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::with_capacity(bytes.len());
    write(message, bytes, depth, &mut out)?;
    Ok(out)
}

/// One field with its tag.
struct Record<'a> {
    no: u32,
    whole: &'a [u8],
    payload: Payload<'a>,
}

fn records(bytes: &[u8]) -> Result<Vec<Record<'_>>, Fault> {
    let mut records = Vec::new();
    let mut reader = Reader(bytes);
    loop {
        let before = reader.0;
        let Some((no, payload)) = reader.field()? else {
            break;
        };
        let whole = &before[..before.len() - reader.0.len()];
        records.push(Record { no, whole, payload });
    }
    records.sort_by_key(|record| record.no);
    Ok(records)
}

fn write(message: Message, bytes: &[u8], depth: u32, out: &mut Vec<u8>) -> Result<(), Fault> {
    let depth = depth.checked_sub(1).ok_or(Fault::TooDeep)?;
    for same in records(bytes)?.chunk_by(|a, b| a.no == b.no) {
        let no = same[0].no;
        match message.field(no) {
            Some(field) if field.is_map() => {
                for record in same {
                    write_entry(field, record, depth, out)?;
                }
            }
            Some(field) if field.is_repeated() => {
                for record in same {
                    write_field(field, no, &[record], depth, out)?;
                }
            }
            Some(field) => write_field(field, no, &same.iter().collect::<Vec<_>>(), depth, out)?,
            None => same
                .iter()
                .for_each(|record| out.extend_from_slice(record.whole)),
        }
    }
    Ok(())
}

/// Writes one value of a field, made of one or more parts.
fn write_field(
    field: Field,
    no: u32,
    parts: &[&Record<'_>],
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let Scalar::Message(message) = field.scalar else {
        // Of a scalar the last one counts.
        out.extend_from_slice(parts.last().map_or(&[], |record| record.whole));
        return Ok(());
    };
    let mut bytes = Vec::new();
    for part in parts {
        match part.payload {
            Payload::Bytes(part) => bytes.extend_from_slice(part),
            _ => return Err(Fault::Encoding),
        }
    }
    let mut inner = Vec::with_capacity(bytes.len());
    write_value(message, &bytes, depth, &mut inner)?;
    write_bytes(no, &inner, out);
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
    field: Field,
    record: &Record<'_>,
    depth: u32,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let (key, value) = super::access::entry(record.payload)?;
    let mut entry = Vec::new();
    write_bytes(1, key, &mut entry);
    match (field.scalar, value) {
        (Scalar::Message(message), Some(Payload::Bytes(bytes))) => {
            let mut inner = Vec::new();
            write_value(message, bytes, depth, &mut inner)?;
            write_bytes(2, &inner, &mut entry);
        }
        (_, Some(Payload::Bytes(bytes))) => write_bytes(2, bytes, &mut entry),
        (_, Some(Payload::Varint(number))) => {
            write_varint(2 << 3, &mut entry);
            write_varint(number, &mut entry);
        }
        (_, None) => {}
        _ => return Err(Fault::Encoding),
    }
    write_bytes(record.no, &entry, out);
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
