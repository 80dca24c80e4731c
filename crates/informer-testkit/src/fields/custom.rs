//! The types of a custom resource, from the schema in its definition.

use std::collections::BTreeMap;

use serde_json::Value;

use super::table::METADATA;
use super::{Field, List, Map, Scalar, Strategy, Type, TypeRef, Zero};

/// Deeper than any schema; JSON itself is read to a depth of 128.
const DEPTH_LIMIT: usize = 128;

/// Returns the type of objects with this `openAPIV3Schema`.
pub(crate) fn custom(schema: &Value) -> TypeRef {
    let mut of = read(schema, false, DEPTH_LIMIT);
    if let Some(map) = &mut of.map {
        embed(map);
    }
    TypeRef::here(of)
}

/// Adds what every object has.
fn embed(map: &mut Map) {
    let text = || TypeRef::here(Type::scalar(Scalar::Text));
    for (name, of) in [
        ("apiVersion", text()),
        ("kind", text()),
        ("metadata", TypeRef::table(METADATA)),
    ] {
        map.fields.insert(name.to_owned(), plain(of));
    }
}

fn plain(of: TypeRef) -> Field {
    Field {
        of,
        default: None,
        zero: Zero::Absent,
        strategy: Strategy::Unset,
    }
}

fn reference(schema: &Value, preserve: bool, depth: usize) -> TypeRef {
    if depth == 0 {
        return TypeRef::deduced();
    }
    TypeRef::here(read(schema, preserve, depth))
}

fn read(schema: &Value, preserve: bool, depth: usize) -> Type {
    // What lies below keeps unknown fields too.
    let preserve = preserve || schema["x-kubernetes-preserve-unknown-fields"] == true;
    match schema["type"].as_str() {
        Some("object") => Type::map(map(schema, preserve, depth)),
        Some("array") => Type {
            list: Some(list(schema, preserve, depth)),
            ..Type::default()
        },
        Some("integer" | "number") => Type::scalar(Scalar::Number),
        Some("boolean") => Type::scalar(Scalar::Bool),
        Some("string") => match schema["format"].as_str() {
            None | Some("" | "byte") => Type::scalar(Scalar::Text),
            Some(_) => Type::scalar(Scalar::Any),
        },
        _ => Type {
            scalar: Some(Scalar::Any),
            list: Some(list(schema, preserve, depth)),
            map: Some(map(schema, preserve, depth)),
        },
    }
}

fn list(schema: &Value, preserve: bool, depth: usize) -> List {
    let items = &schema["items"];
    let items = match items {
        Value::Object(_) => reference(items, preserve, depth - 1),
        _ => TypeRef::untyped(),
    };
    let keys = schema["x-kubernetes-list-map-keys"].as_array();
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    let (keys, atomic) = match schema["x-kubernetes-list-type"].as_str() {
        Some("map") => (keys.map(str::to_owned).collect(), false),
        Some("set") => (Vec::new(), false),
        _ => (Vec::new(), true),
    };
    List {
        items,
        keys,
        atomic,
    }
}

fn map(schema: &Value, preserve: bool, depth: usize) -> Map {
    let properties = schema["properties"].as_object();
    let fields: BTreeMap<String, Field> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let mut field = plain(reference(property, preserve, depth - 1));
            field.default = property
                .get("default")
                .filter(|value| !value.is_null())
                .cloned();
            (name.clone(), field)
        })
        .collect();
    let others = &schema["additionalProperties"];
    let values = match others {
        Value::Object(_) => Some(reference(others, preserve, depth - 1)),
        Value::Bool(true) => Some(TypeRef::deduced()),
        Value::Bool(false) => None,
        _ => (preserve || fields.is_empty()).then(TypeRef::deduced),
    };
    let mut map = Map {
        fields,
        values,
        atomic: schema["x-kubernetes-map-type"] == "atomic",
    };
    if schema["x-kubernetes-embedded-resource"] == true {
        embed(&mut map);
    }
    map
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Shape;
    use super::*;

    #[test]
    fn schema_decides_lists_and_maps() {
        let of = custom(&json!({"type": "object", "properties": {
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                "items": {"type": "object", "properties": {"port": {"type": "integer", "default": 80}}}},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "args": {"type": "array", "items": {"type": "string"}},
            "pair": {"type": "object", "x-kubernetes-map-type": "atomic"},
            "either": {"x-kubernetes-int-or-string": true},
        }}));
        let map = of.view().as_map().unwrap();
        let list = |name: &str| map.fields[name].of.view().as_list().unwrap().clone();
        assert_eq!(
            (list("ports").atomic, list("ports").keys),
            (false, vec!["port".to_owned()])
        );
        assert!(!list("tags").atomic && list("args").atomic);
        let pair = map.field("pair");
        assert!(matches!(
            pair.view().shape_of(&json!({})),
            Shape::Map(_, true)
        ));
        let either = map.field("either");
        assert!(matches!(
            either.view().shape_of(&json!(1)),
            Shape::Scalar(Scalar::Any)
        ));
        assert!(map.values.is_none() && map.fields.contains_key("metadata"));
    }
}
