//! Reads one object from its JSON text.

use std::ops::Range;

use serde::de::DeserializeOwned;

use super::object::Context;
use crate::error::DecodeError;
use crate::json::{Outline, describe};

const WHAT: &str = "object";

/// The `apiVersion` and `kind` of an object without its own.
pub(super) type Said = [Option<String>; 2];

/// Reads the object with its type, and without managed fields unless they are to be kept.
pub(super) fn deserialize<T: DeserializeOwned>(
    outline: &Outline<'_>,
    types: Said,
    context: &mut Context,
) -> Result<T, DecodeError> {
    let cut = outline.managed_fields.clone();
    let cut = cut.filter(|_| !context.options.keep_managed_fields);
    let untyped = outline.api_version.is_none() || outline.kind.is_none();
    if cut.is_none() && !untyped {
        let text = outline.text;
        return serde_json::from_slice(text).map_err(|error| describe(WHAT, text, &error));
    }
    let text = &mut context.scratch;
    text.clear();
    write_typed(outline, types, text, cut);
    serde_json::from_slice(text).map_err(|error| describe(WHAT, text, &error))
}

/// Reads all but the metadata.
pub(super) fn deserialize_rest<T: DeserializeOwned>(
    outline: &Outline<'_>,
    [api_version, kind]: Said,
    context: &mut Context,
) -> Result<T, DecodeError> {
    let text = &mut context.scratch;
    text.clear();
    text.push(b'{');
    for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
        if let Some(value) = value {
            write_member(text, key, &value);
            text.push(b',');
        }
    }
    if !outline.write_rest(text) && text.last() == Some(&b',') {
        text.pop();
    }
    text.push(b'}');
    serde_json::from_slice(text).map_err(|error| describe(WHAT, text, &error))
}

/// An object of the members but `apiVersion`, `kind` and `metadata`.
pub(super) fn rest(outline: &Outline<'_>, text: &mut Vec<u8>) -> Box<[u8]> {
    text.clear();
    text.push(b'{');
    outline.write_rest(text);
    text.push(b'}');
    Box::from(&**text)
}

/// Writes the object's text with its type and without what is cut out.
fn write_typed(
    outline: &Outline<'_>,
    [api_version, kind]: Said,
    out: &mut Vec<u8>,
    cut: Option<Range<usize>>,
) {
    let text = outline.text;
    let from = outline.members_start();
    out.push(b'{');
    let api_version = api_version.filter(|_| outline.api_version.is_none());
    let kind = kind.filter(|_| outline.kind.is_none());
    for (key, value) in [("apiVersion", api_version), ("kind", kind)] {
        if let Some(value) = value {
            write_member(out, key, &value);
            out.push(b',');
        }
    }
    if outline.is_empty() && out.last() == Some(&b',') {
        out.pop();
    }
    let cut = cut.unwrap_or(text.len()..text.len());
    out.extend_from_slice(&text[from..cut.start]);
    out.extend_from_slice(&text[cut.end..]);
}

/// Writes `"key":"value"`.
pub(crate) fn write_member(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend([b"\"", key.as_bytes(), b"\":"].concat());
    // Writing a string to memory does not fail.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.extend_from_slice(b"null");
    }
}
