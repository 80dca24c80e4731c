//! The walk along the JSON of an object.

use std::collections::HashSet;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use informer_wire::schema::{Field, Form, Message, Scalar};
use jiff::Timestamp;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::quantity::{QUANTITY, is_quantity};
use super::{Report, Target};
use crate::schema::go;

pub(super) struct Seed<'r> {
    pub(super) target: Target,
    pub(super) report: &'r mut Report,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Self::Value, D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        // Go leaves a field as it was for null.
        Ok(match self.target {
            Target::Any | Target::Raw => Some(Value::Null),
            _ => None,
        })
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Self::Value, E> {
        Ok(match (self.target, self.target.form()) {
            (Target::Any | Target::Raw | Target::One(Scalar::Bool), _) => Some(bool.into()),
            (_, Some(Form::Quantity)) => {
                self.report.fail(QUANTITY.to_owned());
                None
            }
            (_, Some(form @ (Form::IntOrString | Form::Time | Form::MicroTime))) => {
                self.report.fail(plain_text("bool", form));
                None
            }
            (target, _) => {
                self.report.wrong("bool", target);
                None
            }
        })
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(self.number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(self.number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        let number = Number::from_f64(number).unwrap_or_else(|| 0.into());
        Ok(self.number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        let Self { target, report } = self;
        let fits = match (target, target.form()) {
            (Target::Any | Target::Raw | Target::One(Scalar::String), _) => true,
            (Target::One(Scalar::Bytes), _) => {
                let decoded = STANDARD.decode(text);
                if decoded.is_err() {
                    report.fail(format!(
                        "illegal base64 data at input byte {}",
                        bad_byte(text)
                    ));
                }
                decoded.is_ok()
            }
            (_, Some(Form::Time | Form::MicroTime)) => {
                let parsed = text.parse::<Timestamp>();
                if parsed.is_err() {
                    report.fail(format!(
                        "parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse {} as \"2006\"",
                        go::quote(text),
                        go::quote(text)
                    ));
                }
                parsed.is_ok()
            }
            (_, Some(Form::Quantity)) => {
                let fits = is_quantity(text);
                if !fits {
                    report.fail(QUANTITY.to_owned());
                }
                fits
            }
            (_, Some(Form::IntOrString)) => true,
            _ => {
                report.wrong("string", target);
                false
            }
        };
        Ok(fits.then(|| text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let Self { target, report } = self;
        let inner = match target {
            Target::Any => Target::Any,
            Target::Raw => Target::Raw,
            Target::List(scalar) => item_target(scalar),
            Target::One(Scalar::Message(message)) if message.form() == Form::List => {
                let inner = message.fields().next();
                inner.map_or(Target::Raw, |(_, field)| item_target(field.scalar()))
            }
            _ => {
                if let Some(Form::Quantity) = target.form() {
                    report.fail(QUANTITY.to_owned());
                } else {
                    report.wrong("array", target);
                }
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(None);
            }
        };
        let mut list = Vec::new();
        loop {
            let length = report.path.len();
            report.path.push_str(&format!("[{}]", list.len()));
            let seed = Seed {
                target: inner,
                report: &mut *report,
            };
            let item = items.next_element_seed(seed)?;
            report.path.truncate(length);
            match item {
                Some(item) => list.push(item.unwrap_or_else(|| zero(inner))),
                None => return Ok(Some(list.into())),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let Self { target, report } = self;
        let inner = match target {
            Target::Any => Target::Any,
            Target::Raw => Target::Raw,
            Target::Map(scalar) => item_target(scalar),
            Target::One(Scalar::Message(message)) if message.form() == Form::Object => {
                return read_struct(entries, message, report).map(Some);
            }
            _ => {
                if let Some(Form::Quantity) = target.form() {
                    report.fail(QUANTITY.to_owned());
                } else {
                    report.wrong("object", target);
                }
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(None);
            }
        };
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) && !matches!(inner, Target::Raw) {
                report.note("duplicate", &key);
            }
            let length = report.enter(&key);
            let seed = Seed {
                target: inner,
                report: &mut *report,
            };
            let value = entries.next_value_seed(seed)?;
            report.path.truncate(length);
            map.insert(key, value.unwrap_or_else(|| zero(inner)));
        }
        Ok(Some(map.into()))
    }
}

impl Seed<'_> {
    fn number(self, number: Number) -> Option<Value> {
        let Self { target, report } = self;
        let literal = || go::plain(&Value::Number(number.clone()));
        let whole = number.as_i64();
        let fits = match (target, target.form()) {
            (Target::Any | Target::Raw | Target::One(Scalar::Float64), _) => true,
            (_, Some(Form::Quantity)) => return Some(literal().into()),
            (_, Some(Form::IntOrString)) => {
                let fits = whole.is_some_and(|whole| i32::try_from(whole).is_ok());
                if !fits {
                    report.fail(plain_text(
                        &format!("number {}", literal()),
                        Form::IntOrString,
                    ));
                }
                fits
            }
            (_, Some(form @ (Form::Time | Form::MicroTime))) => {
                report.fail(plain_text("number", form));
                false
            }
            (Target::One(scalar), _) => {
                let fits = match scalar {
                    Scalar::Int32 => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
                    Scalar::Int64 => whole.is_some(),
                    Scalar::Uint32 => whole.is_some_and(|whole| u32::try_from(whole).is_ok()),
                    Scalar::Uint64 => number.is_u64(),
                    _ => {
                        report.wrong("number", target);
                        return None;
                    }
                };
                if !fits {
                    report.wrong(&format!("number {}", literal()), target);
                }
                fits
            }
            _ => {
                report.wrong("number", target);
                false
            }
        };
        fits.then_some(Value::Number(number))
    }
}

impl Report {
    /// Goes on below a field, and returns where to come back to.
    fn enter(&mut self, name: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        length
    }
}

fn read_struct<'de, A: MapAccess<'de>>(
    mut entries: A,
    message: Message,
    report: &mut Report,
) -> Result<Value, A::Error> {
    let mut seen = HashSet::new();
    let mut map = Map::new();
    let owner = report.owner;
    let typed = report.fields.is_empty();
    while let Some(key) = entries.next_key::<String>()? {
        let known = field_named(message, &key);
        // The type of an object is no field of its message.
        let target = match known {
            Some(field) => Target::of_field(field),
            None if typed && matches!(key.as_str(), "apiVersion" | "kind") => {
                Target::One(Scalar::String)
            }
            None => {
                report.note("unknown", &key);
                entries.next_value::<IgnoredAny>()?;
                continue;
            }
        };
        if !seen.insert(key.clone()) {
            report.note("duplicate", &key);
        }
        let length = report.enter(&key);
        report.fields.push(known.map_or("", Field::name));
        report.owner = Some(message);
        let seed = Seed {
            target,
            report: &mut *report,
        };
        let value = entries.next_value_seed(seed)?;
        report.path.truncate(length);
        report.fields.pop();
        report.owner = owner;
        let kept = value.filter(|value| !known.is_some_and(|field| is_left_out(field, value)));
        match kept {
            Some(value) => map.insert(key, value),
            None => map.remove(&key),
        };
    }
    Ok(map.into())
}

/// Returns the field of a message, or of one that is inlined in it.
pub(super) fn field_named(message: Message, key: &str) -> Option<Field> {
    message
        .fields()
        .find_map(|(_, field)| match field.scalar() {
            Scalar::Message(inner) if field.is_inline() && inner.form() == Form::Object => {
                field_named(inner, key)
            }
            _ => Some(field).filter(|field| !field.is_inline() && field.name() == key),
        })
}

fn item_target(scalar: Scalar) -> Target {
    match scalar {
        Scalar::Message(message)
            if matches!(message.form(), Form::FieldsV1 | Form::RawExtension) =>
        {
            Target::Raw
        }
        scalar => Target::One(scalar),
    }
}

/// What a null among the items of a list or a map is.
fn zero(target: Target) -> Value {
    match target {
        Target::One(Scalar::String | Scalar::Bytes) => "".into(),
        Target::One(Scalar::Bool) => false.into(),
        Target::One(Scalar::Message(message)) if message.form() == Form::Object => {
            Map::new().into()
        }
        Target::One(Scalar::Message(_)) | Target::Any | Target::Raw => Value::Null,
        Target::List(_) => Vec::<Value>::new().into(),
        Target::Map(_) => Map::new().into(),
        Target::One(_) => 0.into(),
    }
}

/// Whether Go leaves a field out that has this value.
fn is_left_out(field: Field, value: &Value) -> bool {
    let many = field.is_repeated() || field.is_map();
    match value {
        // An empty list of owners asks to forget them.
        Value::Array(_) if field.name() == "managedFields" => false,
        Value::Array(items) => many && items.is_empty() && !field.is_null_when_absent(),
        Value::Object(fields) => many && fields.is_empty() && !field.is_null_when_absent(),
        Value::String(text) => text.is_empty() && field.omits_zero() && !many,
        Value::Bool(bool) => !bool && field.omits_zero() && !many,
        Value::Number(number) => number.as_f64() == Some(0.0) && field.omits_zero() && !many,
        Value::Null => true,
    }
}

/// What is said of a value of another type in a strategic patch.
pub(super) fn unfit(value: &str, target: Target) -> String {
    let source = match value {
        "array" => "slice",
        "object" => "map",
        "number" => "int64",
        fraction if fraction.starts_with("number") => "float64",
        other => other,
    };
    match target {
        Target::List(_) => format!("cannot restore slice from {source}"),
        Target::Map(_) => format!("cannot restore map from {source}"),
        Target::One(Scalar::Message(_)) => format!("cannot restore struct from: {source}"),
        _ => {
            let source = match source {
                "slice" => "[]interface {}",
                "map" => "map[string]interface {}",
                source => source,
            };
            format!("cannot convert {source} to {}", target.go_type())
        }
    }
}

/// What Go says of a value for a type that decodes itself.
fn plain_text(value: &str, form: Form) -> String {
    let of_type = if form == Form::IntOrString {
        "int32"
    } else {
        "string"
    };
    format!("json: cannot unmarshal {value} into Go value of type {of_type}")
}

/// Where a text stops to be base64.
fn bad_byte(text: &str) -> usize {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let bad = text.bytes().position(|byte| !fits(byte));
    bad.unwrap_or(text.len() - text.len() % 4)
}
