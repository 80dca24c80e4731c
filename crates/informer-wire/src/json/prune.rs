//! Takes fields out of a JSON text.

use super::{Cursor, Syntax};
use crate::decode::{Fate, Within};
use crate::protobuf::{Field, Form, Message, Scalar};

/// Writes the text, whose type is known if the table has it, without what is taken out of it.
///
/// A map or a list of a known type goes with the last that is taken out of it, as servers write no empty ones. Where
/// they write null for what is absent, null stays, as it does of such a field that is taken out. Of all else nobody
/// knows what may be absent, and it stays empty.
pub(crate) fn prune(
    text: &[u8],
    message: Option<Message>,
    within: Within<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Syntax> {
    value(&mut Cursor::new(text), text, (within, message), out)
}

fn value(
    cursor: &mut Cursor<'_>,
    text: &[u8],
    (within, message): (Within<'_>, Option<Message>),
    out: &mut Vec<u8>,
) -> Result<(), Syntax> {
    match cursor.peek() {
        Some(b'{') => object(cursor, text, (within, Of::Message(message)), out),
        // The elements of a list are of the type of its field.
        Some(b'[') => array(cursor, text, (within, message), out),
        _ => {
            out.extend_from_slice(cursor.skip_value()?);
            Ok(())
        }
    }
}

/// What the values of an object are.
#[derive(Clone, Copy)]
enum Of {
    /// The fields of a message.
    Message(Option<Message>),
    /// A map's, all of one type.
    Map(Option<Message>),
}

/// The message that a field's value or its elements are, if their fields are those of JSON.
fn message_of(field: Field) -> Option<Message> {
    match field.scalar() {
        Scalar::Message(message) if message.form() == Form::Object => Some(message),
        _ => None,
    }
}

fn object(
    cursor: &mut Cursor<'_>,
    text: &[u8],
    (within, of): (Within<'_>, Of),
    out: &mut Vec<u8>,
) -> Result<(), Syntax> {
    let mut walk = cursor.open_object()?;
    let start = out.len() + 1;
    out.push(b'{');
    while let Some(key) = cursor.next_key(&mut walk)? {
        let name = key.text().unwrap_or_default();
        let fate = within.fate(&name);
        let field = match (&fate, of) {
            (Fate::Drop | Fate::Prune(_), Of::Message(Some(message))) => message.named(&name),
            _ => None,
        };
        let stays_as_null = field.is_some_and(Field::is_null_when_absent);
        if matches!(fate, Fate::Drop) && !stays_as_null {
            cursor.skip_value()?;
            continue;
        }
        let before = out.len();
        if out.len() > start {
            out.push(b',');
        }
        out.extend_from_slice(&text[key.at..cursor.at()]);
        let at = out.len();
        let within = match (fate, of) {
            (Fate::Prune(within), Of::Message(_)) => within,
            (Fate::Prune(within), Of::Map(message)) => {
                value(cursor, text, (within, message), out)?;
                continue;
            }
            (Fate::Keep, _) => {
                out.extend_from_slice(cursor.skip_value()?);
                continue;
            }
            (Fate::Drop, _) => {
                cursor.skip_value()?;
                out.extend_from_slice(b"null");
                continue;
            }
        };
        let is_absent = field_value(cursor, text, (within, field), out)?;
        if is_absent && stays_as_null {
            out.truncate(at);
            out.extend_from_slice(b"null");
        } else if is_absent {
            out.truncate(before);
        }
    }
    out.push(b'}');
    Ok(())
}

/// The value of a field, which is known if the table has it. True if it is a map or a list of which nothing is left.
fn field_value(
    cursor: &mut Cursor<'_>,
    text: &[u8],
    (within, field): (Within<'_>, Option<Field>),
    out: &mut Vec<u8>,
) -> Result<bool, Syntax> {
    let at = out.len();
    let message = field.and_then(message_of);
    if field.is_some_and(Field::is_map) && cursor.peek() == Some(b'{') {
        object(cursor, text, (within, Of::Map(message)), out)?;
    } else {
        value(cursor, text, (within, message), out)?;
    }
    let holds_many = field.is_some_and(|field| field.is_map() || field.is_repeated());
    Ok(holds_many && matches!(&out[at..], b"{}" | b"[]"))
}

fn array(
    cursor: &mut Cursor<'_>,
    text: &[u8],
    (within, message): (Within<'_>, Option<Message>),
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
        match fate {
            Fate::Prune(within) => value(cursor, text, (within, message), out)?,
            Fate::Keep | Fate::Drop => out.extend_from_slice(cursor.skip_value()?),
        }
    }
    out.push(b']');
    Ok(())
}
