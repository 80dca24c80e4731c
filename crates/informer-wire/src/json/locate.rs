//! Says where in a JSON text reading failed, as a path and without the contents.

use std::fmt::Write;

use super::Cursor;
use crate::error::DecodeError;

/// The deepest place that is named; below it only its container is.
const MAX_DEPTH: usize = 32;
/// The most bytes of a key that are written.
const MAX_KEY: usize = 64;

/// Describes an error of serde without its message, which may quote the contents.
pub(crate) fn describe(what: &'static str, text: &[u8], error: &serde_json::Error) -> DecodeError {
    use serde_json::error::Category;
    // This message is serde_json's own and fixed.
    let too_deep = error.is_syntax() && error.to_string().starts_with("recursion limit exceeded");
    let reason = match error.classify() {
        _ if too_deep => "nested too deeply",
        Category::Data => "a value has the wrong type or is missing",
        Category::Eof => "the JSON ends too early",
        Category::Syntax => "no valid JSON",
        Category::Io => "the bytes cannot be read",
    };
    let (line, column) = (error.line(), error.column());
    let path = path_at(text, offset(text, line, column));
    DecodeError::malformed(
        what,
        format!("{reason} at {path} (line {line}, column {column})"),
    )
}

/// The index of the last byte that was read, from serde_json's line and column, which count from 1.
fn offset(text: &[u8], line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].iter().position(|&byte| byte == b'\n') {
            Some(end) => start += end + 1,
            None => break,
        }
    }
    start + column.saturating_sub(1)
}

/// The path of the value that holds the byte at `offset`, as `.spec.containers[0].image`.
fn path_at(text: &[u8], offset: usize) -> String {
    let mut path = String::new();
    let mut cursor = Cursor::new(text);
    for _ in 0..MAX_DEPTH {
        let entered = match cursor.peek() {
            Some(b'{') => enter_member(&mut cursor, offset, &mut path),
            Some(b'[') => enter_element(&mut cursor, offset, &mut path),
            _ => None,
        };
        if entered.is_none() {
            break;
        }
    }
    if path.is_empty() {
        "the top level".to_owned()
    } else {
        path
    }
}

/// Moves to the member that holds the byte and writes its name; `None` if none does.
fn enter_member(cursor: &mut Cursor<'_>, offset: usize, path: &mut String) -> Option<()> {
    let mut walk = cursor.open_object().ok()?;
    while let Some(key) = cursor.next_key(&mut walk).ok()? {
        let value = cursor.clone();
        let whole = cursor.skip_value();
        if offset < key.at {
            return None;
        }
        if whole.is_err() || offset < cursor.at() {
            let name = key.text().unwrap_or_default();
            path.push('.');
            path.extend(name.chars().filter(|c| !c.is_control()).take(MAX_KEY));
            *cursor = value;
            return Some(());
        }
    }
    None
}

fn enter_element(cursor: &mut Cursor<'_>, offset: usize, path: &mut String) -> Option<()> {
    let mut walk = cursor.open_array().ok()?;
    let mut index = 0usize;
    while cursor.next_element(&mut walk).ok()? {
        let value = cursor.clone();
        let whole = cursor.skip_value();
        if offset < value.at() {
            return None;
        }
        if whole.is_err() || offset < cursor.at() {
            write!(path, "[{index}]").ok()?;
            *cursor = value;
            return Some(());
        }
        index += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Outer {
        spec: Spec,
    }

    #[derive(serde::Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Spec {
        items: Vec<u8>,
        name: String,
    }

    fn refusal(text: &str) -> String {
        let error = serde_json::from_str::<Outer>(text)
            .err()
            .expect("the text is wrong");
        describe("object", text.as_bytes(), &error).to_string()
    }

    #[test]
    fn json_error_names_its_place_and_quotes_nothing() {
        let text = "{\"other\":1,\n \"spec\":{\"items\":[1,\"hunter2\"],\"name\":\"x\"}}";
        let message = refusal(text);
        assert!(message.contains(".spec.items[1] (line 2"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");

        let message = refusal(r#"{"spec":{"items":[1]}}"#);
        assert!(message.contains("missing at .spec "), "{message}");
        let message = refusal(r#"{"spec":{"items":[1], "name":"#);
        assert!(message.contains("ends too early at .spec"), "{message}");
        let message = refusal("[]");
        assert!(message.contains("at the top level"), "{message}");
    }
}
