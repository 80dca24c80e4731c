//! Takes fields out of a JSON text.

use super::{Cursor, Syntax};
use crate::decode::{Fate, Within};

/// Writes the text without what is taken out of it.
///
/// A map or list in an object's metadata goes with the last that is taken out of it, as servers write no empty ones
/// there. Elsewhere what becomes empty may be an object, and stays.
pub(crate) fn prune(text: &[u8], within: Within<'_>, out: &mut Vec<u8>) -> Result<(), Syntax> {
    value(&mut Cursor::new(text), text, (within, Place::Root), out)
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Metadata,
    Other,
}

fn value(
    cursor: &mut Cursor<'_>,
    text: &[u8],
    (within, place): (Within<'_>, Place),
    out: &mut Vec<u8>,
) -> Result<(), Syntax> {
    match cursor.peek() {
        Some(b'{') => object(cursor, text, (within, place), out),
        Some(b'[') => array(cursor, text, within, out),
        _ => {
            out.extend_from_slice(cursor.skip_value()?);
            Ok(())
        }
    }
}

fn object(
    cursor: &mut Cursor<'_>,
    text: &[u8],
    (within, place): (Within<'_>, Place),
    out: &mut Vec<u8>,
) -> Result<(), Syntax> {
    let mut walk = cursor.open_object()?;
    let start = out.len() + 1;
    out.push(b'{');
    while let Some(key) = cursor.next_key(&mut walk)? {
        let fate = within.fate(&key.text().unwrap_or_default());
        if matches!(fate, Fate::Drop) {
            cursor.skip_value()?;
            continue;
        }
        let before = out.len();
        if out.len() > start {
            out.push(b',');
        }
        out.extend_from_slice(&text[key.at..cursor.at()]);
        let at = out.len();
        let is_pruned = matches!(fate, Fate::Prune(_));
        let below = match place {
            Place::Root if &*key.name() == b"metadata" => Place::Metadata,
            _ => Place::Other,
        };
        keep(cursor, text, (fate, below), out)?;
        if is_pruned && place == Place::Metadata && matches!(&out[at..], b"{}" | b"[]") {
            out.truncate(before);
        }
    }
    out.push(b'}');
    Ok(())
}

fn array(
    cursor: &mut Cursor<'_>,
    text: &[u8],
    within: Within<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Syntax> {
    let mut walk = cursor.open_array()?;
    let start = out.len() + 1;
    let mut index = 0usize;
    out.push(b'[');
    while cursor.next_element(&mut walk)? {
        let fate = within.fate(&index.to_string());
        index += 1;
        if matches!(fate, Fate::Drop) {
            cursor.skip_value()?;
            continue;
        }
        if out.len() > start {
            out.push(b',');
        }
        keep(cursor, text, (fate, Place::Other), out)?;
    }
    out.push(b']');
    Ok(())
}

fn keep(
    cursor: &mut Cursor<'_>,
    text: &[u8],
    (fate, place): (Fate<'_>, Place),
    out: &mut Vec<u8>,
) -> Result<(), Syntax> {
    match fate {
        Fate::Prune(within) => value(cursor, text, (within, place), out),
        Fate::Keep | Fate::Drop => {
            out.extend_from_slice(cursor.skip_value()?);
            Ok(())
        }
    }
}
