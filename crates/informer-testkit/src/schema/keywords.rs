//! The keywords of a definition's schema that a server does not take, or takes only together with others.

use serde_json::{Map, Value};

use super::error::{FieldError, Path};
use super::node::list;
use super::prune::META_FIELDS;
use super::structural::{Level, PRESERVE, flag, object, text};

/// Checks the keywords of a schema and those below it.
pub(super) fn check(
    schema: &Map<String, Value>,
    path: &Path,
    level: Level,
    no_defaults: Option<&str>,
    errors: &mut Vec<FieldError>,
) {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    let of_type = text(schema, "type");
    let type_path = path.child("type");
    if !of_type.is_empty() && !TYPES.contains(&of_type) {
        errors.push(FieldError::not_supported(
            &type_path,
            &of_type.into(),
            &TYPES,
        ));
    }
    if let (Some(why), Some(_)) = (no_defaults, schema.get("default")) {
        errors.push(FieldError::forbidden(&path.child("default"), why));
    }
    for key in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        if schema.contains_key(key) {
            let why = format!("{key} is not supported");
            errors.push(FieldError::forbidden(&path.child(key), &why));
        }
    }
    if schema.get("items").is_some_and(Value::is_array) {
        let why = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(&path.child("items"), why));
    }
    if flag(schema, "uniqueItems") {
        let why =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(&path.child("uniqueItems"), why));
    }
    let has_properties = object(schema, "properties").is_some_and(|fields| !fields.is_empty());
    let additional = schema.get("additionalProperties");
    if has_properties && additional.is_some_and(|additional| *additional != Value::Bool(true)) {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(
            &path.child("additionalProperties"),
            why,
        ));
    }
    let mut below = |schema: &Value, path: Path, why: Option<&str>| {
        if let Some(schema) = schema.as_object() {
            check(schema, &path, Level::Field, why.or(no_defaults), errors);
        }
    };
    if let Some(additional) = additional {
        below(additional, path.child("additionalProperties"), None);
    }
    for (name, inner) in object(schema, "properties").into_iter().flatten() {
        let meta = level == Level::Root && META_FIELDS.contains(&name.as_str());
        let why = meta.then(|| format!("must not be set in top-level {name}"));
        below(inner, path.child("properties").key(name), why.as_deref());
    }
    for key in ["not", "items"] {
        if let Some(inner) = schema.get(key) {
            below(inner, path.child(key), None);
        }
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (at, inner) in list(schema, key).enumerate() {
            below(inner, path.child(key).index(at), None);
        }
    }
    if schema.get(PRESERVE) == Some(&Value::Bool(false)) {
        let why = "must be true or undefined";
        errors.push(FieldError::invalid(
            &path.child(PRESERVE),
            &false.into(),
            why,
        ));
    }
    list_keywords(schema, path, errors);
}

fn list_keywords(schema: &Map<String, Value>, path: &Path, errors: &mut Vec<FieldError>) {
    let of_type = text(schema, "type");
    for (key, wanted, kinds) in [
        (
            "x-kubernetes-map-type",
            "object",
            &["atomic", "granular"][..],
        ),
        (
            "x-kubernetes-list-type",
            "array",
            &["atomic", "set", "map"][..],
        ),
    ] {
        let Some(kind) = schema.get(key).and_then(Value::as_str) else {
            continue;
        };
        if of_type != wanted {
            let why = format!("must be {wanted} if {key} is specified");
            let path = path.child("type");
            errors.push(match of_type.is_empty() {
                true => FieldError::required(&path, &why),
                false => FieldError::invalid(&path, &of_type.into(), &why),
            });
        }
        if !kinds.contains(&kind) {
            errors.push(FieldError::not_supported(
                &path.child(key),
                &kind.into(),
                kinds,
            ));
        }
    }
    let list_type = text(schema, "x-kubernetes-list-type");
    let keys: Vec<&str> = list(schema, "x-kubernetes-list-map-keys")
        .filter_map(Value::as_str)
        .collect();
    if !keys.is_empty() && list_type != "map" {
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        let path = path.child("x-kubernetes-list-type");
        errors.push(match list_type.is_empty() {
            true => FieldError::required(&path, why),
            false => FieldError::invalid(&path, &list_type.into(), why),
        });
    }
    let items = object(schema, "items");
    let item_path = path.child("items");
    if matches!(list_type, "set" | "map") && items.is_some_and(|items| flag(items, "nullable")) {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&item_path.child("nullable"), &why));
    }
    if list_type != "map" {
        return;
    }
    let keys_path = path.child("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&keys_path, why));
    }
    let Some(items) = items else { return };
    if text(items, "type") != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        let of_type = text(items, "type").into();
        errors.push(FieldError::invalid(&item_path.child("type"), &of_type, why));
        return;
    }
    let required: Vec<&str> = list(items, "required").filter_map(Value::as_str).collect();
    for key in &keys {
        let property = object(items, "properties").and_then(|known| known.get(*key)?.as_object());
        let path = item_path.child("properties").key(key);
        let Some(property) = property else {
            let why = "entries must all be names of item properties";
            errors.push(FieldError::invalid(
                &keys_path,
                &keys.as_slice().into(),
                why,
            ));
            continue;
        };
        if !required.contains(key) && !property.contains_key("default") {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(&path.child("default"), why));
        }
        if flag(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&path.child("nullable"), why));
        }
    }
}
