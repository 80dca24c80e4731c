//! Values as Go's `fmt`, `strconv` and `encoding/json` write them: a real server's messages hold them.

use serde_json::{Map, Number, Value};

/// A JSON number as a real server's decoder keeps it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Num {
    Int(i64),
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Self {
        number.as_i64().map_or_else(
            || Self::Float(number.as_f64().unwrap_or_default()),
            Self::Int,
        )
    }

    #[allow(clippy::cast_precision_loss, reason = "as Go converts")]
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    /// Writes it as `%v`.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Int(number) => number.to_string(),
            Self::Float(number) => float(number),
        }
    }
}

/// Writes a number as `%v`: the shortest digits, with an exponent below 1e-4 and from 1e6 on.
pub(crate) fn float(number: f64) -> String {
    scientific_outside(number, -4, 6)
}

/// Writes a number as JSON has it: with an exponent below 1e-6 and from 1e21 on.
fn json_float(number: f64) -> String {
    let text = scientific_outside(number, -6, 21);
    // Go cleans e-09 up to e-9.
    match text.split_once("e-0") {
        Some((digits, exponent)) => format!("{digits}e-{exponent}"),
        None => text,
    }
}

fn scientific_outside(number: f64, low: i32, high: i32) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() {
            "-0".to_owned()
        } else {
            "0".to_owned()
        };
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent < low || exponent >= high {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{number}")
}

/// Writes a text as `%q`.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            char if char < ' ' || char == '\u{7f}' => {
                out.push_str(&format!("\\x{:02x}", u32::from(char)));
            }
            char if is_printable(char) => out.push(char),
            char if u32::from(char) > 0xffff => {
                out.push_str(&format!("\\U{:08x}", u32::from(char)))
            }
            char => out.push_str(&format!("\\u{:04x}", u32::from(char))),
        }
    }
    out.push('"');
    out
}

fn is_printable(char: char) -> bool {
    let code = u32::from(char);
    let unseen = char.is_control()
        || (char.is_whitespace() && char != ' ')
        || matches!(code, 0xad | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0xfeff);
    !unseen && !matches!(code, 0xe000..=0xf8ff | 0xf0000..)
}

/// Writes a value as `encoding/json` does: keys in order, and what HTML would read escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(value, &mut out);
    out
}

fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => match Num::of(number) {
            Num::Int(number) => out.push_str(&number.to_string()),
            Num::Float(number) => out.push_str(&json_float(number)),
        },
        Value::String(text) => write_json_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (at, (key, value)) in sorted(fields).into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_json_text(key, out);
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
    }
}

fn write_json_text(text: &str, out: &mut String) {
    let quoted = Value::from(text).to_string();
    for char in quoted.chars() {
        match char {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            char => out.push(char),
        }
    }
}

fn sorted(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    fields
}

/// Writes a value as `%v` writes maps and lists of anything.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(bool) => bool.to_string(),
        Value::Number(number) => Num::of(number).text(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields = sorted(fields).into_iter();
            let fields: Vec<String> = fields
                .map(|(key, value)| format!("{key}:{}", plain(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// Whether two values are the same to Go: a number with a fraction is not one without.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Num::of(left) == Num::of(right),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, l)| right.get(key).is_some_and(|r| same(l, r)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        for (number, text) in [
            (1.0, "1"),
            (0.5, "0.5"),
            (-2.5, "-2.5"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (1e21, "1e+21"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
        ] {
            assert_eq!(float(number), text);
        }
        assert_eq!(json(&json!(1.5e-7)), "1.5e-7");
        assert_eq!(json(&json!(1e20)), "100000000000000000000");
        assert_eq!(json(&json!([1.0, 2, -0.5])), "[1,2,-0.5]");
    }

    #[test]
    fn texts_are_quoted_as_go_quotes_them() {
        assert_eq!(
            quote("a\"b\\\n\u{1}'é\u{200b}"),
            "\"a\\\"b\\\\\\n\\x01'é\\u200b\""
        );
        assert_eq!(
            json(&json!({"b": "<a>", "a": null})),
            "{\"a\":null,\"b\":\"\\u003ca\\u003e\"}"
        );
        assert_eq!(
            plain(&json!({"b": [1, "x"], "a": null})),
            "map[a:<nil> b:[1 x]]"
        );
    }
}
