//! Reads one field of an object by its path, and no more of the object than that.

use serde::de::{Deserialize, DeserializeOwned};

use super::access::{entry, run};
use super::canonical::canonical;
use super::de::{Place, Progress, Scope, Value, text};
use super::fault::Fault;
use super::node::{Many, Node};
use super::object::DEPTH;
use super::reader::{Payload, Reader};
use super::table::Message;
use crate::error::DecodeError;

const WHAT: &str = "field";

/// Decodes the field of an object at the path of these keys; `None` if it is absent or null.
pub(crate) fn field<T: DeserializeOwned>(
    message: Option<Message>,
    bytes: &[u8],
    keys: &[String],
) -> Result<Option<T>, DecodeError> {
    let Some(message) = message else {
        return Err(DecodeError::malformed(WHAT, Fault::UnknownKind.to_string()));
    };
    let failed = |fault: Fault| {
        DecodeError::malformed(WHAT, format!("{fault}, at or in /{}", keys.join("/")))
    };
    match read(message, bytes, keys) {
        Err(Fault::Disorder) => {
            let ordered = canonical(message, bytes, DEPTH).map_err(failed)?;
            read(message, &ordered, keys).map_err(failed)
        }
        value => value.map_err(failed),
    }
}

fn read<T: DeserializeOwned>(
    message: Message,
    bytes: &[u8],
    keys: &[String],
) -> Result<Option<T>, Fault> {
    let mut node = Node::Object(message, bytes);
    for (at, key) in keys.iter().enumerate() {
        node = match node {
            Node::Object(message, bytes) => match member(message, bytes, key)? {
                Some(found) => found,
                None => return Ok(None),
            },
            Node::Many(many) => {
                let find = if many.is_map { value } else { element };
                match find(many, key)? {
                    Some(found) => found,
                    None => return Ok(None),
                }
            }
            // JSON within protobuf.
            node => return within(node, &keys[at..]),
        };
    }
    of_node(node)
}

fn of_node<T: DeserializeOwned>(node: Node<'_>) -> Result<Option<T>, Fault> {
    let progress = Progress::new(b"", true, true);
    let scope = Scope {
        progress: &progress,
        depth: DEPTH,
        place: Place::Other,
    };
    let value = Option::<T>::deserialize(Value { node, scope });
    if progress.is_disorderly() {
        return Err(Fault::Disorder);
    }
    value
}

fn within<T: DeserializeOwned>(node: Node<'_>, keys: &[String]) -> Result<Option<T>, Fault> {
    let Some(value) = of_node::<serde_json::Value>(node)? else {
        return Ok(None);
    };
    let mut value = &value;
    for key in keys {
        let child = match value {
            serde_json::Value::Array(all) => key.parse().ok().and_then(|at: usize| all.get(at)),
            value => value.get(key),
        };
        match child {
            Some(child) => value = child,
            None => return Ok(None),
        }
    }
    serde_json::from_value(value.clone()).map_err(|_| Fault::Value)
}

/// The value of a message's field; of one that is inlined those of its fields count as the message's own.
fn member<'a>(message: Message, bytes: &'a [u8], key: &str) -> Result<Option<Node<'a>>, Fault> {
    let mut found = None;
    let mut last = 0;
    let mut reader = Reader(bytes);
    loop {
        let start = reader;
        let Some((no, payload)) = reader.field()? else {
            return Ok(found);
        };
        let Some(field) = message.field(no) else {
            continue;
        };
        if no <= last {
            return Err(Fault::Disorder);
        }
        last = no;
        if field.is_repeated() || field.is_map() {
            let many = run(field, no, start, &mut reader)?;
            if field.name() == key {
                found = Some(Node::Many(many));
            }
            continue;
        }
        if field.is_inline() {
            if let Node::Object(inner, bytes) = Node::of(field, payload)? {
                found = found.or(member(inner, bytes, key)?);
            }
        } else if field.name() == key {
            let node = Node::of(field, payload)?;
            let is_omitted = field.omits_zero() && node.is_zero();
            found = Some(node).filter(|_| !is_omitted);
        }
    }
}

fn element<'a>(mut many: Many<'a>, key: &str) -> Result<Option<Node<'a>>, Fault> {
    let Ok(mut index) = key.parse::<usize>() else {
        return Ok(None);
    };
    while let Some((no, payload)) = many.rest.field()? {
        if no != u32::from(many.no) {
            continue;
        }
        if index == 0 {
            return Node::of(many.field, payload).map(Some);
        }
        index -= 1;
    }
    Ok(None)
}

fn value<'a>(mut many: Many<'a>, key: &str) -> Result<Option<Node<'a>>, Fault> {
    let mut found = None;
    while let Some((_, payload)) = many.rest.field()? {
        let (name, value): (_, Option<Payload<'a>>) = entry(payload)?;
        if text(name) == key {
            found = Some(match value {
                Some(payload) => Node::of(many.field, payload)?,
                None => Node::zero(many.field)?,
            });
        }
    }
    Ok(found)
}
