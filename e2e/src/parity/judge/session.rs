//! One play of a sequence on one server: replaces symbols by what this server answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::op::Op;

/// A request without symbols.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query, encoded.
    pub(crate) target: String,
    pub(crate) media: Option<String>,
    pub(crate) body: Option<String>,
}

/// What a server answered: one JSON value, or the events of a watch as a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    /// The texts of the `Warning` headers, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// The answers of one server so far.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    run: String,
    answers: BTreeMap<u32, Answer>,
}

impl Session {
    /// A play whose namespaces and names begin with `run`.
    pub(crate) fn new(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            answers: BTreeMap::new(),
        }
    }

    /// The request that this operation is on this server.
    pub(crate) fn request(&self, op: &Op) -> Request {
        let mut target = self.fill(&op.path);
        for (at, (name, value)) in op.query.iter().enumerate() {
            target.push(if at == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            encode(&self.fill(value), &mut target);
        }
        let body = op.body.as_ref().map(|body| match body {
            Value::String(text) => self.fill(text),
            other => self.filled(other).to_string(),
        });
        Request {
            method: op.method.clone(),
            target,
            media: op.media.clone(),
            body,
        }
    }

    /// Keeps what the server answered.
    pub(crate) fn answered(&mut self, op: &Op, answer: Answer) {
        self.answers.insert(op.id, answer);
    }

    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                Value::Object(
                    fields
                        .map(|(k, v)| (self.fill(k), self.filled(v)))
                        .collect(),
                )
            }
            other => other.clone(),
        }
    }

    fn fill(&self, text: &str) -> String {
        let mut parts = text.split("${");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (symbol, rest) = part.split_once('}').unwrap_or((part, ""));
            filled.push_str(&self.value(symbol));
            filled.push_str(rest);
        }
        filled
    }

    /// What a symbol stands for. An answer without such a value gives the same stand-in on every server.
    fn value(&self, symbol: &str) -> String {
        let Some((what, id)) = symbol.split_once(':') else {
            return self.run.clone();
        };
        let answer = id.parse().ok().and_then(|id: u32| self.answers.get(&id));
        let (field, otherwise) = match what {
            "rv" => ("resourceVersion", "0"),
            "uid" => ("uid", "00000000-0000-4000-8000-000000000000"),
            "name" => ("name", "missing"),
            _ => ("continue", ""),
        };
        let found = answer.and_then(|answer| answer.body["metadata"][field].as_str());
        found.unwrap_or(otherwise).to_owned()
    }
}

/// Encodes a value of a query.
fn encode(text: &str, into: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            into.push_str(&format!("%{byte:02X}"));
        }
    }
}
