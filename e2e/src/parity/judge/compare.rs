//! Finds where two servers' normalised answers differ.

use std::fmt;

use serde_json::Value;

use super::op::Op;
use super::session::Answer;

/// One place in which the answers to one operation differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// The operation's place in the sequence.
    pub(crate) at: usize,
    pub(crate) label: String,
    /// The place in the answer: `/code`, or a path into the body in which `*` stands for any index.
    pub(crate) path: String,
    pub(crate) real: Value,
    pub(crate) kit: Value,
}

impl Difference {
    /// Whether it is the same fault, whatever the values.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let code = |value: &Value| {
            value
                .as_str()
                .and_then(|text| text.get(..3))
                .map(str::to_owned)
        };
        let codes = |one: &Self| (code(&one.real), code(&one.kit));
        self.label == other.label
            && self.path == other.path
            && (self.path != "/code" || codes(self) == codes(other))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, path, .. } = self;
        write!(f, "{label} {path}: real {}, kit {}", self.real, self.kit)
    }
}

/// All differences between the answers to a sequence, in its order.
pub(crate) fn compare(ops: &[Op], real: &[Answer], kit: &[Answer]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (at, (op, (real, kit))) in ops.iter().zip(real.iter().zip(kit)).enumerate() {
        let mut differ = |path: &str, real: &Value, kit: &Value| {
            found.push(Difference {
                at,
                label: op.label.clone(),
                path: path.to_owned(),
                real: real.clone(),
                kit: kit.clone(),
            });
        };
        if real.code != kit.code {
            // The bodies cannot be the same.
            let said = |answer: &Answer| {
                format!(
                    "{} {}",
                    answer.code,
                    answer.body["message"].as_str().unwrap_or("")
                )
            };
            differ("/code", &said(real).into(), &said(kit).into());
        } else {
            differences("", &real.body, &kit.body, &mut differ);
            if real.warnings != kit.warnings {
                let texts = |answer: &Answer| answer.warnings.as_slice().into();
                differ("/warnings", &texts(real), &texts(kit));
            }
        }
    }
    found
}

fn differences(
    path: &str,
    real: &Value,
    kit: &Value,
    differ: &mut impl FnMut(&str, &Value, &Value),
) {
    match (real, kit) {
        (Value::Object(left), Value::Object(right)) => {
            let mut names: Vec<&String> = left.keys().chain(right.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let side = |fields: &serde_json::Map<String, Value>| {
                    fields
                        .get(name)
                        .cloned()
                        .unwrap_or_else(|| "(absent)".into())
                };
                let path = format!("{path}/{}", name.replace('/', "~1"));
                differences(&path, &side(left), &side(right), differ);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (left, right) in left.iter().zip(right) {
                // A bookmark is no object, though it looks like one.
                let index = match left["type"] == "BOOKMARK" {
                    true => "bookmark",
                    false => "*",
                };
                differences(&format!("{path}/{index}"), left, right, differ);
            }
        }
        _ if real == kit => {}
        _ => differ(path, real, kit),
    }
}
