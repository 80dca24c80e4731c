//! What is wrong with a field, in a real server's words.

use informer_wire::StatusCause;
use serde_json::Value;

use super::go;

/// A path into an object; the root of none is written `<nil>`, as a real server does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(String);

impl Path {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            return Self(name.to_owned());
        }
        Self(format!("{}.{name}", self.0))
    }

    pub(crate) fn index(&self, at: usize) -> Self {
        Self(format!("{}[{at}]", self.0))
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    pub(crate) fn text(&self) -> &str {
        if self.0.is_empty() { "<nil>" } else { &self.0 }
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    reason: &'static str,
    field: String,
    message: String,
}

impl FieldError {
    fn new(reason: &'static str, field: &Path, message: String) -> Self {
        Self {
            reason,
            field: field.text().to_owned(),
            message,
        }
    }

    pub(crate) fn required(field: &Path, detail: &str) -> Self {
        Self::new(
            "FieldValueRequired",
            field,
            with_detail("Required value".to_owned(), detail),
        )
    }

    pub(crate) fn forbidden(field: &Path, detail: &str) -> Self {
        Self::new(
            "FieldValueForbidden",
            field,
            with_detail("Forbidden".to_owned(), detail),
        )
    }

    pub(crate) fn invalid(field: &Path, value: &Value, detail: &str) -> Self {
        let message = with_detail(with_value("Invalid value", value), detail);
        Self::new("FieldValueInvalid", field, message)
    }

    /// A value of another type, which a real server gives a reason of its own.
    pub(crate) fn wrong_type(field: &Path, value: &Value, detail: &str) -> Self {
        Self {
            reason: "FieldValueTypeInvalid",
            ..Self::invalid(field, value, detail)
        }
    }

    pub(crate) fn duplicate(field: &Path, value: &Value) -> Self {
        Self::new(
            "FieldValueDuplicate",
            field,
            with_value("Duplicate value", value),
        )
    }

    pub(crate) fn too_long(field: &Path, longest: i64) -> Self {
        let unit = if longest == 1 { "byte" } else { "bytes" };
        let message = format!("Too long: may not be more than {longest} {unit}");
        Self::new("FieldValueTooLong", field, message)
    }

    pub(crate) fn too_many(field: &Path, count: usize, most: i64) -> Self {
        let unit = if most == 1 { "item" } else { "items" };
        let message = format!("Too many: {count}: must have at most {most} {unit}");
        Self::new("FieldValueTooMany", field, message)
    }

    pub(crate) fn not_supported<S: AsRef<str>>(field: &Path, value: &Value, known: &[S]) -> Self {
        let known: Vec<String> = known.iter().map(|text| go::quote(text.as_ref())).collect();
        let detail = match known.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", known.join(", ")),
        };
        let message = with_detail(with_value("Unsupported value", value), &detail);
        Self::new("FieldValueNotSupported", field, message)
    }

    /// Whether rules over the whole object are not tried after it.
    pub(crate) fn blocks_rules(&self) -> bool {
        matches!(
            self.reason,
            "FieldValueNotSupported"
                | "FieldValueRequired"
                | "FieldValueTooLong"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
        )
    }

    /// The text of an error: its field and what is wrong.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }

    pub(crate) fn into_cause(self) -> StatusCause {
        StatusCause::new(self.reason, self.message).with_field(self.field)
    }
}

fn with_detail(text: String, detail: &str) -> String {
    if detail.is_empty() {
        return text;
    }
    format!("{text}: {detail}")
}

fn with_value(what: &str, value: &Value) -> String {
    let value = match value {
        Value::String(text) => go::quote(text),
        Value::Number(_) | Value::Bool(_) => go::plain(value),
        other => go::json(other),
    };
    format!("{what}: {value}")
}
