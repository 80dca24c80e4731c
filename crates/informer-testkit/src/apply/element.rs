//! One step of a path to a field, as `fieldsV1` writes it.

use std::fmt;

use serde_json::{Map, Value};

use crate::fields::List;

/// A plain value in a path. Sorts as Kubernetes sorts them: numbers, texts, booleans.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plain {
    Integer(i64),
    /// A number as it is written.
    Number(String),
    Text(String),
    Bool(bool),
}

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// `f:NAME`: a field of a map.
    Field(String),
    /// `k:{…}`: the entry of a list with these keys.
    Key(Vec<(String, Plain)>),
    /// `v:VALUE`: a plain value of a list.
    Value(Plain),
    /// `i:N`: a place in a list.
    Index(i64),
}

impl Plain {
    fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Number(number) => match number.as_i64() {
                Some(integer) => Self::Integer(integer),
                None => Self::Number(number.to_string()),
            },
            Value::String(text) => Self::Text(text.clone()),
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        })
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Integer(integer) => (*integer).into(),
            Self::Number(text) => serde_json::from_str(text).unwrap_or_default(),
            Self::Text(text) => text.as_str().into(),
            Self::Bool(bool) => (*bool).into(),
        }
    }
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            other => other.to_json().fmt(f),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={v}")).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

impl Element {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// The step to an entry of a list whose entries have owners; the error is the words of a real server.
    pub(super) fn of(list: &List, entry: &Value) -> Result<Self, String> {
        if list.keys.is_empty() {
            let what = match entry {
                Value::Object(_) => {
                    "associative list without keys has an element that's a map type"
                }
                Value::Array(_) => "not supported: associative list with lists as elements",
                _ => "associative list without keys has an element that's an explicit null",
            };
            let plain = Plain::of(entry);
            return plain.map(Self::Value).ok_or_else(|| what.to_owned());
        }
        let Some(fields) = entry.as_object() else {
            let what = match entry {
                Value::Null => "a null element",
                _ => "non-map elements",
            };
            return Err(format!("associative list with keys may not have {what}"));
        };
        let declared = list.items.view().as_map();
        let mut keys: Vec<(String, Plain)> = list
            .keys
            .iter()
            .filter_map(|name| {
                let default = || declared?.fields.get(name)?.default.as_ref();
                let value = fields.get(name).or_else(default)?;
                Some((name.clone(), Plain::of(value)?))
            })
            .collect();
        if keys.is_empty() {
            let names: Vec<String> = list.keys.iter().map(|key| format!("{key:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                names.join(" ")
            ));
        }
        keys.sort();
        Ok(Self::Key(keys))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        Some(match kind {
            "f" => Self::field(rest),
            "v" => Self::Value(Plain::of(&serde_json::from_str(rest).ok()?)?),
            "i" => Self::Index(rest.parse().ok()?),
            "k" => {
                let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
                let keys = keys
                    .into_iter()
                    .map(|(name, value)| Some((name, Plain::of(&value)?)));
                let mut keys: Vec<_> = keys.collect::<Option<_>>()?;
                keys.sort();
                Self::Key(keys)
            }
            _ => return None,
        })
    }

    pub(super) fn write(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Value(value) => format!("v:{}", value.to_json()),
            Self::Index(at) => format!("i:{at}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> = keys
                    .iter()
                    .map(|(name, value)| (name.clone(), value.to_json()))
                    .collect();
                format!("k:{}", Value::Object(keys))
            }
        }
    }
}
