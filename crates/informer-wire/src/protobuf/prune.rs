//! Takes fields out of a message.

use super::access::entry;
use super::canonical::write_bytes;
use super::de::text;
use super::fault::Fault;
use super::node::{MAGIC, first_bytes};
use super::reader::{Payload, Reader};
use super::table::{Field, Form, Message, Scalar};
use crate::decode::{Fate, Within};

/// Writes the message without what is taken out of it.
pub(crate) fn prune(
    message: Message,
    bytes: &[u8],
    within: Within<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    // How many elements of each list there were.
    let mut counts = vec![0u32; usize::from(message.last_field()) + 1];
    let mut reader = Reader(bytes);
    loop {
        let before = reader.0;
        let Some((no, payload)) = reader.field()? else {
            return Ok(());
        };
        let whole = &before[..before.len() - reader.0.len()];
        let Some(field) = message.field(no) else {
            out.extend_from_slice(whole);
            continue;
        };
        let fate = if field.is_inline() {
            Fate::Prune(within)
        } else {
            within.fate(field.name())
        };
        let fate = match fate {
            // Also the elements of a message that is a list.
            Fate::Prune(within) if field.is_repeated() => {
                counts[no as usize] += 1;
                within.fate(&(counts[no as usize] - 1).to_string())
            }
            fate => fate,
        };
        match fate {
            Fate::Keep => out.extend_from_slice(whole),
            Fate::Drop => {}
            Fate::Prune(within) if field.is_map() => {
                prune_entry(no, field, payload, within, whole, out)?;
            }
            Fate::Prune(within) => match pruned(field, payload, within)? {
                Some(inner) => write_bytes(no, &inner, out),
                None => out.extend_from_slice(whole),
            },
        }
    }
}

fn prune_entry(
    no: u32,
    field: Field,
    payload: Payload<'_>,
    within: Within<'_>,
    whole: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let (key, value) = entry(payload)?;
    match (within.fate(&text(key)), value) {
        (Fate::Drop, _) => {}
        (Fate::Prune(within), Some(value)) => {
            let Some(inner) = pruned(field, value, within)? else {
                out.extend_from_slice(whole);
                return Ok(());
            };
            let mut entry = Vec::new();
            write_bytes(1, key, &mut entry);
            write_bytes(2, &inner, &mut entry);
            write_bytes(no, &entry, out);
        }
        _ => out.extend_from_slice(whole),
    }
    Ok(())
}

/// The contents of a message without what is taken out; `None` if it is none of which anything can be.
fn pruned(
    field: Field,
    payload: Payload<'_>,
    within: Within<'_>,
) -> Result<Option<Vec<u8>>, Fault> {
    let (Scalar::Message(message), Payload::Bytes(bytes)) = (field.scalar(), payload) else {
        return Ok(None);
    };
    let mut out = Vec::with_capacity(bytes.len());
    match message.form() {
        Form::Object | Form::List => prune(message, bytes, within, &mut out)?,
        Form::FieldsV1 | Form::RawExtension => {
            let raw = first_bytes(bytes)?.filter(|raw| !raw.is_empty() && !raw.starts_with(MAGIC));
            let Some(json) = raw else {
                return Ok(None);
            };
            let mut inner = Vec::with_capacity(json.len());
            crate::json::prune(json, None, within, &mut inner).map_err(|_| Fault::Json)?;
            write_bytes(1, &inner, &mut out);
        }
        _ => return Ok(None),
    }
    Ok(Some(out))
}
