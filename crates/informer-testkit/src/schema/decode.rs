//! Objects as Go decodes them: fields that a type does not have are dropped and named, a value of another type is an
//! error, and so is a field that stands twice.
//!
//! The types of Kubernetes' own kinds come from the table of the wire. Names of Go's structs are not in it: messages
//! name those that can be told from the kind and the field.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use informer_wire::schema::{Field, Form, Message, Scalar};
use jiff::Timestamp;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::go;

/// How many faults are told.
const MOST: usize = 100;

/// What was found while decoding.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Fields that are unknown or stand twice, in the order in which they stand.
    pub(crate) strict: Vec<String>,
    /// The first value of a wrong type.
    pub(crate) wrong: Option<String>,
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

struct Seed<'r> {
    target: Target,
    report: &'r mut Report,
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
        fits.then(|| Value::Number(number))
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
fn field_named(message: Message, key: &str) -> Option<Field> {
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
        Value::Array(items) => many && items.is_empty() && !field.is_null_when_absent(),
        Value::Object(fields) => many && fields.is_empty() && !field.is_null_when_absent(),
        Value::String(text) => text.is_empty() && field.omits_zero() && !many,
        Value::Bool(bool) => !bool && field.omits_zero() && !many,
        Value::Number(number) => number.as_f64() == Some(0.0) && field.omits_zero() && !many,
        Value::Null => true,
    }
}

const QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.');
    let number = &unsigned[..unsigned.len() - digits.len()];
    const UNITS: [&str; 16] = [
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    ];
    let exponent = digits
        .strip_prefix(['e', 'E'])
        .is_some_and(|rest| rest.parse::<i32>().is_ok());
    let point =
        number.matches('.').count() <= 1 && number.bytes().any(|byte| byte.is_ascii_digit());
    point && (exponent || UNITS.contains(&digits))
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

/// The names of Go's structs, as far as the kinds tell them.
static NAMES: LazyLock<HashMap<Message, String>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    let mut name = |message: Message, name: String| {
        names.entry(message).or_insert(name);
    };
    for (_, kind, message) in Message::kinds() {
        name(message, kind.to_owned());
    }
    for (_, kind, message) in Message::kinds() {
        for (_, field) in message.fields() {
            let Scalar::Message(inner) = field.scalar() else {
                continue;
            };
            match field.name() {
                "metadata" if kind.ends_with("List") => name(inner, "ListMeta".to_owned()),
                "metadata" => name(inner, "ObjectMeta".to_owned()),
                "spec" => name(inner, format!("{kind}Spec")),
                "status" => name(inner, format!("{kind}Status")),
                _ => {}
            }
        }
    }
    for (kind, path, known) in [
        ("Deployment", "spec.template", "PodTemplateSpec"),
        ("Deployment", "spec.selector", "LabelSelector"),
        ("Deployment", "spec.strategy", "DeploymentStrategy"),
        ("Pod", "spec.containers", "Container"),
        ("Pod", "spec.containers.ports", "ContainerPort"),
        ("Pod", "spec.containers.env", "EnvVar"),
        ("Pod", "spec.containers.resources", "ResourceRequirements"),
        ("Pod", "spec.tolerations", "Toleration"),
        ("Pod", "spec.volumes", "Volume"),
        ("Pod", "metadata.ownerReferences", "OwnerReference"),
        ("Service", "spec.ports", "ServicePort"),
        ("Node", "spec.taints", "Taint"),
    ] {
        let start = Message::kinds().find(|(_, of, _)| *of == kind);
        let found = path
            .split('.')
            .try_fold(
                start.map(|(_, _, message)| message),
                |at, key| match field_named(at?, key)?.scalar() {
                    Scalar::Message(inner) => Some(Some(inner)),
                    _ => None,
                },
            );
        if let Some(Some(message)) = found {
            name(message, known.to_owned());
        }
    }
    names
});

fn go_name(message: Message) -> &'static str {
    NAMES.get(&message).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(api_version: &str, kind: &str, text: &str) -> (Value, Report) {
        let target = Target::of_kind(api_version, kind).expect("a kind of the table");
        decode(&mut serde_json::Deserializer::from_str(text), target, "").expect("JSON")
    }

    #[test]
    fn unknown_and_double_fields_are_named_in_their_order() {
        let text = r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","labels":{"x":"1","x":"2"},"odd":1},
            "spec":{"replicas":1,"replicas":2,"nope":{"a":1,"a":2},"template":{"spec":{"containers":[{"name":"c","nam":1}]}}},"top":1}"#;
        let (value, report) = read("apps/v1", "Deployment", text);
        assert_eq!(
            report.strict,
            [
                r#"duplicate field "metadata.labels.x""#,
                r#"unknown field "metadata.odd""#,
                r#"duplicate field "spec.replicas""#,
                r#"unknown field "spec.nope""#,
                r#"unknown field "spec.template.spec.containers[0].nam""#,
                r#"unknown field "top""#,
            ]
        );
        assert_eq!(report.wrong, None);
        assert_eq!(
            value["spec"],
            json!({"replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}})
        );
    }

    #[test]
    fn first_value_of_another_type_is_told_in_the_words_of_go() {
        for (text, wrong) in [
            (
                r#"{"spec":{"replicas":"3","paused":1}}"#,
                "string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                r#"{"spec":{"replicas":3.5}}"#,
                "number 3.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                r#"{"metadata":{"labels":{"a":1}}}"#,
                "number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                r#"{"spec":[]}"#,
                "array into Go struct field Deployment.spec of type v1.DeploymentSpec",
            ),
            (
                r#"{"spec":{"template":{"spec":{"containers":[{"name":1}]}}}}"#,
                "number into Go struct field Container.spec.template.spec.containers.name of type string",
            ),
        ] {
            let (_, report) = read("apps/v1", "Deployment", text);
            assert_eq!(
                report.wrong.unwrap_or_default(),
                format!("json: cannot unmarshal {wrong}")
            );
        }
    }

    #[test]
    fn what_go_leaves_out_is_left_out() {
        let text = r#"{"metadata":{"name":"a","labels":{},"annotations":null,"generation":0},"data":{"k":null},"immutable":false}"#;
        let (value, report) = read("v1", "ConfigMap", text);
        assert_eq!(
            value,
            json!({"metadata": {"name": "a"}, "data": {"k": ""}, "immutable": false})
        );
        assert!(report.strict.is_empty() && report.wrong.is_none());
    }

    #[test]
    fn decoding_again_changes_nothing() {
        let text = r#"{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":1}},"ports":[]}],"nope":1}}"#;
        let (once, _) = read("v1", "Pod", text);
        let (twice, report) = read("v1", "Pod", &once.to_string());
        assert_eq!(once, twice);
        assert!(report.strict.is_empty());
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z0-9]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let key = prop_oneof![
                "spec",
                "metadata",
                "labels",
                "containers",
                "template",
                "name",
                "a"
            ];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map(key, inner, 0..4)
                    .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_decoded_once(value in json_value()) {
            for (api_version, kind) in [("v1", "Pod"), ("apps/v1", "Deployment")] {
                let (once, _) = read(api_version, kind, &value.to_string());
                let (twice, report) = read(api_version, kind, &once.to_string());
                prop_assert_eq!(&once, &twice);
                prop_assert!(report.strict.is_empty());
            }
        }
    }
}
