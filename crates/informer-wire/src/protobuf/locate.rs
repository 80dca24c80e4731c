//! Says where in an object reading failed, as a path and without the contents.

use super::access::entry;
use super::de::text;
use super::node::{Many, Node};
use super::reader::{Payload, Reader};
use super::table::Message;

/// The deepest place that is named; below it only its container is.
const MAX_DEPTH: usize = 32;
/// The most bytes of a key that are written.
const MAX_KEY: usize = 64;

/// The path of the value whose bytes reach over `at`, as `.spec.containers[0].image`.
pub(super) fn path_at(message: Message, bytes: &[u8], at: usize) -> String {
    let mut path = String::new();
    let target = (bytes.as_ptr() as usize).wrapping_add(at);
    let mut place = Some((message, bytes));
    for _ in 0..MAX_DEPTH {
        let Some((message, bytes)) = place else { break };
        place = enter(message, bytes, target, &mut path);
    }
    if path.is_empty() {
        "the top level".to_owned()
    } else {
        path
    }
}

/// Writes the name of the field that holds the byte at `target`; the message in it, if it is one.
fn enter<'a>(
    message: Message,
    bytes: &'a [u8],
    target: usize,
    path: &mut String,
) -> Option<(Message, &'a [u8])> {
    let mut reader = Reader(bytes);
    let (mut last, mut index) = (0, 0);
    loop {
        let start = reader.0.as_ptr() as usize;
        let (no, payload) = reader.field().ok()??;
        index = if no == last { index + 1 } else { 0 };
        last = no;
        let end = start + (bytes.as_ptr() as usize + bytes.len() - reader.0.len() - start);
        if !(start..end).contains(&target) {
            continue;
        }
        let field = message.field(no)?;
        if !field.is_inline() {
            path.push('.');
            path.push_str(field.name());
        }
        let payload = if field.is_map() {
            let (key, value) = entry(payload).ok()?;
            path.push('.');
            path.extend(text(key).chars().filter(|c| !c.is_control()).take(MAX_KEY));
            value?
        } else {
            if field.is_repeated() {
                path.push_str(&format!("[{index}]"));
            }
            payload
        };
        return inside(Node::of(field, payload).ok()?, payload);
    }
}

fn inside<'a>(node: Node<'a>, payload: Payload<'a>) -> Option<(Message, &'a [u8])> {
    match (node, payload) {
        (Node::Object(message, bytes), _) => Some((message, bytes)),
        (Node::Many(Many { .. }), _) => None,
        _ => None,
    }
}
