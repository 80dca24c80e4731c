//! Objects as Go decodes them: fields that a type does not have are dropped and named, a value of another type is an
//! error, and so is a field that stands twice.
//!
//! The types of Kubernetes' own kinds come from the table of the wire. Names of Go's structs are not in it: messages
//! name those that follow from the kind and the field.

mod names;
mod quantity;
mod visitor;

use informer_wire::schema::{Field, Form, Message, Scalar};
use serde::de::{DeserializeSeed, Deserializer};
use serde_json::Value;

use self::names::go_name;
use self::visitor::{Seed, unfit};
use super::go;

/// How many faults are reported.
const MOST: usize = 100;

/// What was found while decoding.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Fields that are unknown or stand twice, in the order in which they stand.
    pub(crate) strict: Vec<String>,
    /// The first value of a wrong type.
    pub(crate) wrong: Option<String>,
    /// The same in the words that are used of a strategic patch.
    pub(crate) unfit: Option<String>,
    path: String,
    fields: Vec<&'static str>,
    owner: Option<Message>,
}

impl Report {
    fn note(&mut self, what: &str, name: &str) {
        let path = match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        };
        let text = format!("{what} field {}", go::quote(&path));
        if self.strict.len() < MOST && !self.strict.contains(&text) {
            self.strict.push(text);
        }
    }

    fn wrong(&mut self, value: &str, target: Target) {
        if self.wrong.is_some() {
            return;
        }
        let of_type = target.go_type();
        self.unfit = Some(unfit(value, target));
        self.wrong = Some(match self.owner {
            Some(owner) => format!(
                "json: cannot unmarshal {value} into Go struct field {}.{} of type {of_type}",
                go_name(owner),
                self.fields.join(".")
            ),
            None => {
                format!("json: cannot unmarshal {value} into Go value of type {of_type}")
            }
        });
    }

    fn fail(&mut self, text: String) {
        self.wrong.get_or_insert(text);
    }
}

/// What a value is decoded into.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Anything; fields that stand twice are noted.
    Any,
    /// Anything, unread.
    Raw,
    One(Scalar),
    List(Scalar),
    Map(Scalar),
}

impl Target {
    /// The type of a kind.
    pub(crate) fn of_kind(api_version: &str, kind: &str) -> Option<Self> {
        Message::of_kind(api_version, kind).map(|message| Self::One(Scalar::Message(message)))
    }

    /// The metadata of all kinds.
    pub(crate) fn metadata() -> Self {
        let field = Message::of_kind("v1", "ConfigMap").and_then(|message| message.field(1));
        field.map_or(Self::Raw, Self::of_field)
    }

    fn of_field(field: Field) -> Self {
        let scalar = field.scalar();
        match scalar {
            _ if field.is_repeated() => Self::List(scalar),
            _ if field.is_map() => Self::Map(scalar),
            Scalar::Message(message)
                if matches!(message.form(), Form::FieldsV1 | Form::RawExtension) =>
            {
                Self::Raw
            }
            _ => Self::One(scalar),
        }
    }

    fn form(self) -> Option<Form> {
        match self {
            Self::One(Scalar::Message(message)) => Some(message.form()),
            _ => None,
        }
    }

    fn go_type(self) -> String {
        let scalar = |scalar| match scalar {
            Scalar::String => "string".to_owned(),
            Scalar::Bytes => "[]uint8".to_owned(),
            Scalar::Bool => "bool".to_owned(),
            Scalar::Int32 => "int32".to_owned(),
            Scalar::Int64 => "int64".to_owned(),
            Scalar::Uint32 => "uint32".to_owned(),
            Scalar::Uint64 => "uint64".to_owned(),
            Scalar::Float64 => "float64".to_owned(),
            Scalar::Message(message) => format!("v1.{}", go_name(message)),
        };
        match self {
            Self::Any | Self::Raw => "interface {}".to_owned(),
            Self::One(one) => scalar(one),
            Self::List(one) => format!("[]{}", scalar(one)),
            Self::Map(one) => format!("map[string]{}", scalar(one)),
        }
    }
}

/// Decodes a value; what is left is what Go would write again.
pub(crate) fn decode<'de, D: Deserializer<'de>>(
    text: D,
    target: Target,
    prefix: &str,
) -> Result<(Value, Report), D::Error> {
    let mut report = Report {
        path: prefix.to_owned(),
        ..Report::default()
    };
    let seed = Seed {
        target,
        report: &mut report,
    };
    let value = seed.deserialize(text)?;
    Ok((value.unwrap_or(Value::Null), report))
}

#[cfg(test)]
mod tests;
