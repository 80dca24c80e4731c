//! One level of a structural schema, read from a definition's `openAPIV3Schema`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::format::is_supported;
use super::pattern::Pattern;

/// How deep schemas may be nested: as deep as JSON on the wire.
pub(crate) const DEEPEST: usize = 128;

/// What a map may hold beside its properties.
#[derive(Clone, Debug, Default)]
pub(crate) enum Additional {
    #[default]
    Unset,
    Bool(bool),
    Node(Box<Node>),
}

/// The type of a list: how its items are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    Map,
}

/// A schema. What a keyword that is not set means is what JSON schema says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// One type; `integer` and `string` for `x-kubernetes-int-or-string`; none if it is not said.
    pub(crate) types: Vec<String>,
    pub(crate) nullable: bool,
    pub(crate) format: String,
    pub(crate) default: Option<Value>,
    pub(crate) choices: Vec<Value>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) required: Vec<String>,
    pub(crate) all_of: Vec<Self>,
    pub(crate) any_of: Vec<Self>,
    pub(crate) one_of: Vec<Self>,
    pub(crate) not: Option<Box<Self>>,
    pub(crate) items: Option<Box<Self>>,
    pub(crate) properties: BTreeMap<String, Self>,
    pub(crate) additional: Additional,
    pub(crate) preserve: bool,
    pub(crate) embedded: bool,
    pub(crate) list_type: ListType,
    pub(crate) map_keys: Vec<String>,
}

impl Node {
    /// Reads a schema. Keywords of a wrong type count as not set, and what lies deeper than [`DEEPEST`] as well.
    pub(crate) fn read(schema: &Value) -> Self {
        let mut node = Self::read_at(schema, 0);
        node.settle(true);
        node
    }

    fn read_at(schema: &Value, depth: usize) -> Self {
        let Some(schema) = schema.as_object().filter(|_| depth < DEEPEST) else {
            return Self::default();
        };
        let flag = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let count = |key: &str| schema.get(key).and_then(Value::as_i64);
        let inner = |schema: &Value| Self::read_at(schema, depth + 1);
        let each = |key: &str| {
            let list = schema.get(key).and_then(Value::as_array);
            list.into_iter().flatten().map(inner).collect::<Vec<_>>()
        };
        let one = |key: &str| {
            let found = schema.get(key).filter(|inner| inner.is_object());
            found.map(|schema| Box::new(inner(schema)))
        };
        let int_or_string = flag("x-kubernetes-int-or-string");
        Self {
            types: match text("type") {
                _ if int_or_string => vec!["integer".to_owned(), "string".to_owned()],
                "" => Vec::new(),
                one => vec![one.to_owned()],
            },
            nullable: flag("nullable"),
            format: text("format").to_owned(),
            default: schema
                .get("default")
                .filter(|value| !value.is_null())
                .cloned(),
            choices: list(schema, "enum").cloned().collect(),
            maximum: number("maximum"),
            exclusive_maximum: flag("exclusiveMaximum"),
            minimum: number("minimum"),
            exclusive_minimum: flag("exclusiveMinimum"),
            multiple_of: number("multipleOf"),
            max_length: count("maxLength"),
            min_length: count("minLength"),
            pattern: Some(text("pattern"))
                .filter(|pattern| !pattern.is_empty())
                .map(Pattern::new),
            max_items: count("maxItems"),
            min_items: count("minItems"),
            unique_items: flag("uniqueItems"),
            max_properties: count("maxProperties"),
            min_properties: count("minProperties"),
            required: texts(schema, "required"),
            all_of: each("allOf"),
            any_of: each("anyOf"),
            one_of: each("oneOf"),
            not: one("not"),
            items: one("items"),
            properties: match schema.get("properties") {
                Some(Value::Object(properties)) => properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), inner(schema)))
                    .collect(),
                _ => BTreeMap::new(),
            },
            additional: match schema.get("additionalProperties") {
                Some(Value::Bool(allowed)) => Additional::Bool(*allowed),
                Some(schema @ Value::Object(_)) => Additional::Node(Box::new(inner(schema))),
                _ => Additional::Unset,
            },
            preserve: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            list_type: match text("x-kubernetes-list-type") {
                "set" => ListType::Set,
                "map" => ListType::Map,
                _ => ListType::Atomic,
            },
            map_keys: texts(schema, "x-kubernetes-list-map-keys"),
        }
    }

    /// Drops formats that a server does not check.
    fn settle(&mut self, root: bool) {
        if !is_supported(&self.types, &self.format) {
            self.format.clear();
        }
        if root {
            // The root is always a resource, whether it says so or not.
            self.embedded = true;
        }
        let nested = [&mut self.all_of, &mut self.any_of, &mut self.one_of];
        nested
            .into_iter()
            .flatten()
            .for_each(|node| node.settle(false));
        let boxed = [&mut self.not, &mut self.items];
        boxed
            .into_iter()
            .flatten()
            .for_each(|node| node.settle(false));
        self.properties
            .values_mut()
            .for_each(|node| node.settle(false));
        if let Additional::Node(node) = &mut self.additional {
            node.settle(false);
        }
    }

    /// Returns the schema of a map's field.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.additional {
            Additional::Node(node) => Some(node),
            _ => None,
        })
    }
}

pub(super) fn list<'a>(
    schema: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a Value> {
    let list = schema.get(key).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn texts(schema: &Map<String, Value>, key: &str) -> Vec<String> {
    let texts = list(schema, key);
    texts
        .filter_map(|text| text.as_str().map(str::to_owned))
        .collect()
}
