//! Properties of schemas: whatever they and the objects are.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::error::{FieldError, Path};
use super::family::Family;
use super::node::Node;
use super::structural::check_schema;
use super::{defaults, prune, validate};

fn texts(schema: &Value, value: &Value, old: Option<&Value>) -> Vec<String> {
    let errors = validate::validate(value, old, &Node::read(schema), &Path::default());
    errors.iter().map(FieldError::text).collect()
}

#[test]
fn alternatives_are_told_by_the_one_that_got_furthest() {
    let schema = json!({"type": "object", "properties": {"a": {
        "type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
        "anyOf": [{"required": ["x"]}, {"required": ["y"], "properties": {"x": {"maxLength": 1}}}]}}});
    assert_eq!(
        texts(&schema, &json!({"a": {}}), None),
        [
            "<nil>: Invalid value: \"\": \"a\" must validate at least one schema (anyOf)",
            "a.x: Required value"
        ]
    );
    let one = json!({"type": "object", "oneOf": [{"required": ["x"]}, {"required": ["y"]}]});
    assert_eq!(
        texts(&one, &json!({"x": 1, "y": 1}), None),
        [
            "<nil>: Invalid value: \"\": \"\" must validate one and only one schema (oneOf). Found 2 valid alternatives"
        ]
    );
    let all = json!({"type": "integer", "allOf": [{"minimum": 4}, {"maximum": 2}]});
    let found = texts(&json!({"properties": {"n": all}}), &json!({"n": 3}), None);
    assert_eq!(found.len(), 3);
    assert!(found[2].ends_with("\"n\" must validate all the schemas (allOf). None validated"));
    let not = json!({"properties": {"n": {"type": "string", "not": {"enum": ["bad"]}}}});
    assert!(texts(&not, &json!({"n": "good"}), None).is_empty());
    assert_eq!(texts(&not, &json!({"n": "bad"}), None).len(), 1);
}

#[test]
fn what_did_not_change_is_not_wrong() {
    let item = json!({"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "integer", "maximum": 1}}});
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item});
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer", "maximum": 1}, "keyed": keyed, "plain": {"type": "array", "items": item}}});
    let old = json!({"n": 5, "keyed": [{"k": "a", "n": 5}], "plain": [{"k": "a", "n": 5}]});
    assert_eq!(texts(&schema, &old, None).len(), 3);
    assert!(texts(&schema, &old, Some(&old)).is_empty());
    let new = json!({"n": 6, "keyed": [{"k": "b", "n": 1}, {"k": "a", "n": 5}], "plain": [{"k": "a", "n": 5}, {}]});
    let found = texts(&schema, &new, Some(&old));
    assert_eq!(
        found,
        [
            "n: Invalid value: 6: n in body should be less than or equal to 1",
            "plain[0].n: Invalid value: 5: plain[0].n in body should be less than or equal to 1"
        ]
    );
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]",
        Just("metadata".to_owned()),
        Just("kind".to_owned())
    ]
}

fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..200_i64).prop_map(Value::from),
        (-3.0..3.0_f64).prop_map(Value::from),
        "[a-z0-9]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            map(inner),
        ]
    })
}

fn map(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let fields = proptest::collection::btree_map(name(), values, 0..4);
    fields.prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into())
}

/// Schemas as definitions may have them, whether they make sense or not.
fn schema() -> impl Strategy<Value = Value> {
    let keyword = || {
        prop_oneof![
            (
                "minimum|maximum|multipleOf|maxLength|minItems|minProperties",
                -1..3_i64
            )
                .prop_map(|(key, number)| json!({ key: number })),
            "[a-c(\\[^]{1,3}".prop_map(|pattern| json!({ "pattern": pattern })),
            object().prop_map(|default| json!({ "default": default })),
            Just(json!({"nullable": true})),
            Just(json!({"enum": ["a", 1, null]})),
            Just(json!({"required": ["a"]})),
            Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
            Just(json!({"x-kubernetes-embedded-resource": true})),
            Just(json!({"x-kubernetes-int-or-string": true})),
            Just(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]})),
            Just(json!({"x-kubernetes-list-type": "set"})),
            Just(json!({"additionalProperties": false})),
            "date-time|int32|ipv4|nonsense".prop_map(|format| json!({ "format": format })),
        ]
    };
    let types = "object|array|string|integer|number|boolean|odd";
    let leaf =
        (types, proptest::collection::vec(keyword(), 0..3)).prop_map(|(of_type, keywords)| {
            let mut schema = json!({ "type": of_type });
            for (key, value) in keywords.iter().filter_map(Value::as_object).flatten() {
                schema[key] = value.clone();
            }
            schema
        });
    leaf.prop_recursive(4, 24, 4, |inner| {
        let place = "items|additionalProperties|not|anyOf|allOf|oneOf";
        (inner.clone(), place, inner.clone(), map(inner)).prop_map(
            |(mut schema, place, below, properties)| {
                schema["properties"] = properties;
                schema[&place] = match place.as_str() {
                    "anyOf" | "allOf" | "oneOf" => json!([below, {"minimum": 1}]),
                    _ => below,
                };
                schema
            },
        )
    })
}

proptest! {
    #[test]
    fn pruned_object_is_a_fixed_point(schema in schema(), object in object()) {
        let node = Node::read(&schema);
        let mut once = object;
        prune::prune(&mut once, &node);
        prune::prune_nulls(&mut once, Some(&node));
        let mut twice = once.clone();
        prop_assert!(prune::prune(&mut twice, &node).is_empty());
        prune::prune_nulls(&mut twice, Some(&node));
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn defaults_are_filled_in_once(schema in schema(), object in object()) {
        let node = Node::read(&schema);
        let mut once = object;
        defaults::fill(&mut once, &node);
        let mut twice = once.clone();
        defaults::fill(&mut twice, &node);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn no_schema_panics(schema in prop_oneof![schema(), object()], value in object()) {
        let _ = check_schema(&schema, &Path::new("spec"));
        let node = Node::read(&schema);
        let _ = validate::validate(&value, Some(&json!({"a": 1})), &node, &Path::default());
        let versions = json!([{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": schema}}]);
        if let Some(family) = Family::read(&versions) {
            let mut value = value;
            let _ = family.shape(&mut value, "v1", false);
            family.convert(&mut value, "v1");
        }
    }

    #[test]
    fn unchanged_value_is_valid(schema in schema(), value in object()) {
        let found = validate::validate(&value, Some(&value), &Node::read(&schema), &Path::default());
        prop_assert!(found.is_empty());
    }
}
