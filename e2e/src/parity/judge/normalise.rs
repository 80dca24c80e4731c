//! Makes the answers of two servers comparable: what each server chooses for itself becomes a symbol.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::causes;
use super::op::Op;
use super::session::Answer;

/// The answers of one play with versions as ranks, identities in the order of first sight, and times as "(time)".
pub(crate) fn normalise(run: &str, ops: &[Op], answers: &[Answer]) -> Vec<Answer> {
    let mut names = Names::new(run);
    // Ranks count what was seen so far: a later difference must not show in an earlier answer.
    let normal = ops.iter().zip(answers).map(|(op, answer)| {
        names.learn(op, &answer.body);
        let mut body = names.apply(&answer.body);
        causes::normalise(&mut body);
        Answer {
            code: answer.code,
            body,
            warnings: answer
                .warnings
                .iter()
                .map(|text| names.text(text))
                .collect(),
        }
    });
    normal.collect()
}

/// What a play's symbols are.
struct Names {
    /// Texts of this server and what stands for them, in the order of first sight.
    texts: Vec<(String, String)>,
    /// The versions of objects; not those of lists, which also count foreign writes.
    versions: BTreeSet<u64>,
    uids: usize,
    generated: usize,
}

impl Names {
    fn new(run: &str) -> Self {
        Self {
            texts: vec![(run.to_owned(), "(run)".to_owned())],
            versions: BTreeSet::new(),
            uids: 0,
            generated: 0,
        }
    }

    fn learn(&mut self, op: &Op, body: &Value) {
        let asked = op.body.as_ref().map(|body| &body["metadata"]);
        let base = asked.and_then(|metadata| metadata["generateName"].as_str());
        let named = asked.is_some_and(|metadata| metadata["name"].is_string());
        if let (Some(base), Some(name), false) = (base, body["metadata"]["name"].as_str(), named) {
            self.generated += 1;
            let symbol = format!("{base}(generated {})", self.generated);
            self.know(name, symbol);
        }
        self.walk(body);
    }

    fn walk(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.walk(item)),
            Value::Object(fields) => {
                if let Some(uid) = fields.get("uid").and_then(Value::as_str) {
                    if is_uid(uid) && !self.texts.iter().any(|(text, _)| text == uid) {
                        self.uids += 1;
                        let symbol = format!("(uid {})", self.uids);
                        self.know(uid, symbol);
                    }
                    self.versions.extend(version(fields));
                }
                fields.values().for_each(|field| self.walk(field));
            }
            _ => {}
        }
    }

    fn know(&mut self, text: &str, symbol: String) {
        if !self.texts.iter().any(|(known, _)| known == text) {
            // Before the run's prefix, which a generated name may hold.
            self.texts.insert(0, (text.to_owned(), symbol));
        }
    }

    fn apply(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.apply(item)).collect(),
            Value::Object(fields) => Value::Object(self.fields(fields)),
            other => other.clone(),
        }
    }

    fn fields(&self, fields: &Map<String, Value>) -> Map<String, Value> {
        let mut normal = Map::new();
        for (name, value) in fields {
            let value = match (name.as_str(), value) {
                ("managedFields", Value::Array(entries)) => self.entries(entries),
                // No version at all, which a real server repeats in a dry run.
                ("resourceVersion", Value::String(text)) if text == "0" => continue,
                ("causes", Value::Array(causes)) => self.causes(causes),
                ("resourceVersion", Value::String(text)) => match text.parse::<u64>() {
                    Ok(version) => self.rank(version),
                    Err(_) => value.clone(),
                },
                ("continue", Value::String(text)) if !text.is_empty() => "(token)".into(),
                _ => self.apply(value),
            };
            normal.insert(self.text(name), value);
        }
        normal
    }

    /// Managed fields in an order without their times.
    fn entries(&self, entries: &[Value]) -> Value {
        let mut normal: Vec<Value> = entries.iter().map(|entry| self.apply(entry)).collect();
        normal.sort_by_key(ToString::to_string);
        normal.into()
    }

    /// Each cause once, since a real server's checks overlap; it names managers in no order.
    fn causes(&self, causes: &[Value]) -> Value {
        let mut each: Vec<Value> = Vec::new();
        for cause in causes.iter().map(|cause| self.apply(cause)) {
            if !each.contains(&cause) {
                each.push(cause);
            }
        }
        if each
            .iter()
            .any(|cause| cause["reason"] == "FieldManagerConflict")
        {
            each.sort_by_key(ToString::to_string);
        }
        Value::Array(each)
    }

    /// How many versions of objects there are up to this one.
    fn rank(&self, version: u64) -> Value {
        format!("(version {})", self.versions.range(..=version).count()).into()
    }

    fn text(&self, text: &str) -> String {
        if is_time(text) {
            return "(time)".to_owned();
        }
        let mut normal = text.to_owned();
        for (known, symbol) in &self.texts {
            if normal.contains(known.as_str()) {
                normal = normal.replace(known, symbol);
            }
        }
        self.numbers(normal)
    }

    /// Replaces versions in messages, which stand in parentheses there.
    fn numbers(&self, text: String) -> String {
        let mut parts = text.split('(');
        let mut normal = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // No answer may have had this one, as after a delete of a collection.
            let stored = normal.ends_with("ResourceVersion in record ");
            normal.push('(');
            match part.split_once(')') {
                Some((number, rest)) if stored || self.is_version(number) => {
                    normal.push_str("version)");
                    normal.push_str(rest);
                }
                _ => normal.push_str(part),
            }
        }
        normal
    }

    fn is_version(&self, text: &str) -> bool {
        text.parse()
            .is_ok_and(|number| self.versions.contains(&number))
    }
}

fn version(metadata: &Map<String, Value>) -> Option<u64> {
    let version = metadata.get("resourceVersion")?.as_str()?.parse().ok()?;
    (version > 0).then_some(version)
}

fn is_uid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && !text.starts_with("00000000")
}

/// Whether it is a time as Kubernetes writes them, such as `2026-01-02T03:04:05Z`, with or without microseconds.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    (20..=27).contains(&bytes.len()) && digits >= 14 && bytes[10] == b'T' && text.ends_with('Z')
}
