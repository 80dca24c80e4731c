//! Schemas of definitions: they must be structural, so that every field has one type that is found without its value.

use serde_json::{Map, Value};

use super::error::{FieldError, Path};
use super::node::{DEEPEST, Node, list};
use super::pattern::{Pattern, Refusal};
use super::{go, keywords, prune, validate};

/// Returns what is wrong with the schema of one version.
pub(crate) fn check_schema(schema: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(root) = schema.as_object() else {
        return errors;
    };
    if depth(schema) > DEEPEST {
        errors.push(FieldError::forbidden(
            path,
            "nested too deeply for this server",
        ));
        return errors;
    }
    structure(root, Level::Root, path, &mut errors);
    if errors.is_empty() {
        defaults(root, path, true, &mut errors);
    }
    errors.sort_by_key(FieldError::text);
    if flag(root, "nullable") {
        let why = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(&path.child("nullable"), why));
    }
    keywords::check(root, path, Level::Root, None, &mut errors);
    errors
}

/// How deep a value is nested; counted only as far as it matters.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        if depth > 4 * DEEPEST {
            break;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|field| (field, depth + 1))),
            _ => {}
        }
    }
    deepest
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Root,
    Item,
    Field,
}

pub(super) fn text<'a>(schema: &'a Map<String, Value>, key: &str) -> &'a str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(schema: &Map<String, Value>, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

pub(super) fn object<'a>(
    schema: &'a Map<String, Value>,
    key: &str,
) -> Option<&'a Map<String, Value>> {
    schema.get(key).and_then(Value::as_object)
}

pub(super) const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Checks the shape of a schema and those below it.
fn structure(schema: &Map<String, Value>, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let of_type = text(schema, "type");
    let (embedded, int_or_string) = (flag(schema, EMBEDDED), flag(schema, INT_OR_STRING));
    if of_type == "array" && object(schema, "items").is_none() {
        errors.push(FieldError::required(
            &path.child("items"),
            "must be specified",
        ));
    }
    if let Some(items) = object(schema, "items") {
        structure(items, Level::Item, &path.child("items"), errors);
    }
    for (name, inner) in object(schema, "properties").into_iter().flatten() {
        if let Some(inner) = inner.as_object() {
            structure(
                inner,
                Level::Field,
                &path.child("properties").key(name),
                errors,
            );
        }
    }
    if let Some(additional) = schema.get("additionalProperties") {
        let path = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&path, "must not be used at the root"));
        }
        if embedded {
            let why = "must not be used if x-kubernetes-embedded-resource is set";
            errors.push(FieldError::forbidden(&path, why));
        }
        if let Some(additional) = additional.as_object() {
            structure(additional, Level::Field, &path, errors);
        }
    }
    for (key, set) in [(PRESERVE, flag(schema, PRESERVE)), (EMBEDDED, embedded)] {
        if int_or_string && set {
            let why = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(&path.child(key), &true.into(), why));
        }
    }
    let type_path = path.child("type");
    if embedded && of_type != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match of_type.is_empty() {
            true => FieldError::required(&type_path, why),
            false => FieldError::invalid(&type_path, &of_type.into(), why),
        });
    } else if of_type.is_empty() && !int_or_string && !flag(schema, PRESERVE) {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&type_path, why));
    }
    if level == Level::Root && !of_type.is_empty() && of_type != "object" {
        let why = "must be object at the root";
        errors.push(FieldError::invalid(&type_path, &of_type.into(), why));
    }
    metadata(schema, level, path, errors);
    let has_properties = object(schema, "properties").is_some_and(|fields| !fields.is_empty());
    if embedded && !flag(schema, PRESERVE) && !has_properties {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&path.child("properties"), why));
    }
    check_pattern(schema, path, errors);
    // Only what the root itself combines has to be said outside of it as well: a real server looks no deeper.
    let outer = (level == Level::Root).then_some(schema);
    combined(schema, outer, path, Junction::Structural, errors);
}

fn check_pattern(schema: &Map<String, Value>, path: &Path, errors: &mut Vec<FieldError>) {
    let source = text(schema, "pattern");
    if source.is_empty() {
        return;
    }
    if let Some(Refusal::Invalid(why)) = Pattern::new(source).invalid() {
        let why = format!(
            "must be a valid regular expression, but isn't: error parsing regexp: {why}: `{source}`"
        );
        errors.push(FieldError::invalid(
            &path.child("pattern"),
            &source.into(),
            &why,
        ));
    }
}

/// The type and metadata of a resource: a schema may only restrict names.
fn metadata(schema: &Map<String, Value>, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    if level != Level::Root && !flag(schema, EMBEDDED) {
        return;
    }
    let Some(properties) = object(schema, "properties") else {
        return;
    };
    for name in ["kind", "apiVersion"] {
        if let Some(inner) = properties.get(name).and_then(Value::as_object)
            && text(inner, "type") != "string"
        {
            let path = path.child("properties").key(name).child("type");
            errors.push(FieldError::invalid(
                &path,
                &text(inner, "type").into(),
                "must be string",
            ));
        }
    }
    let Some(inner) = properties.get("metadata").and_then(Value::as_object) else {
        return;
    };
    let path = path.child("properties").key("metadata");
    if text(inner, "type") != "object" {
        let of_type = text(inner, "type").into();
        errors.push(FieldError::invalid(
            &path.child("type"),
            &of_type,
            "must be object",
        ));
    }
    let names_alone = inner.iter().all(|(key, value)| match key.as_str() {
        "type" | "default" => true,
        "properties" => value.as_object().is_some_and(|properties| {
            properties
                .keys()
                .all(|name| matches!(name.as_str(), "name" | "generateName"))
        }),
        _ => false,
    });
    if level == Level::Root && !names_alone {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(FieldError::forbidden(&path, why));
    }
}

/// Where a schema stands that may combine others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Junction {
    /// Outside of `allOf` and the like.
    Structural,
    /// In the first place of an `allOf`, with the two types in its `anyOf`.
    TwoTypes,
    Nested,
}

/// The schemas of `allOf` and the like: they only restrict what is said beside them.
fn combined(
    schema: &Map<String, Value>,
    outer: Option<&Map<String, Value>>,
    path: &Path,
    junction: Junction,
    errors: &mut Vec<FieldError>,
) {
    let skips_any_of = match junction {
        Junction::Structural => is_two_types(schema),
        Junction::TwoTypes => true,
        Junction::Nested => false,
    };
    for key in ["anyOf", "allOf", "oneOf"] {
        if key == "anyOf" && skips_any_of {
            continue;
        }
        for (at, inner) in list(schema, key).enumerate() {
            let Some(inner) = inner.as_object() else {
                continue;
            };
            let first = junction == Junction::Structural && key == "allOf" && at == 0;
            let junction = match first && is_two_types(inner) {
                true => Junction::TwoTypes,
                false => Junction::Nested,
            };
            nested(inner, outer, &path.child(key).index(at), junction, errors);
        }
    }
    if let Some(inner) = object(schema, "not") {
        nested(inner, outer, &path.child("not"), Junction::Nested, errors);
    }
}

/// Whether it has the two types of `x-kubernetes-int-or-string`, which may be said in `anyOf`.
fn is_two_types(schema: &Map<String, Value>) -> bool {
    let types: Vec<&Value> = list(schema, "anyOf").collect();
    types.len() == 2
        && *types[0] == serde_json::json!({"type": "integer"})
        && *types[1] == serde_json::json!({"type": "string"})
}

/// A schema in `allOf` and the like; with an outer one, what it restricts must be said there.
fn nested(
    schema: &Map<String, Value>,
    outer: Option<&Map<String, Value>>,
    path: &Path,
    junction: Junction,
    errors: &mut Vec<FieldError>,
) {
    for (key, why) in [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        (PRESERVE, "must be false to be structural"),
        (EMBEDDED, "must be false to be structural"),
        (INT_OR_STRING, "must be false to be structural"),
        (
            "x-kubernetes-list-map-keys",
            "must be empty to be structural",
        ),
        (
            "x-kubernetes-list-type",
            "must be undefined to be structural",
        ),
        (
            "x-kubernetes-map-type",
            "must be undefined to be structural",
        ),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ] {
        let set = schema.get(key).is_some_and(|value| {
            !value.is_null()
                && *value != Value::Bool(false)
                && *value != ""
                && *value != Value::Array(Vec::new())
        });
        if set {
            errors.push(FieldError::forbidden(&path.child(key), why));
        }
    }
    check_pattern(schema, path, errors);
    combined(schema, outer, path, junction, errors);
    if let Some(items) = object(schema, "items") {
        let path = path.child("items");
        let known = outer.map(|outer| object(outer, "items"));
        if known == Some(None) {
            errors.push(undefined(&path));
        }
        nested(items, known.flatten(), &path, Junction::Nested, errors);
    }
    for (name, inner) in object(schema, "properties").into_iter().flatten() {
        let path = path.child("properties").key(name);
        if name == "metadata" {
            let why = "must not be specified in a nested context";
            errors.push(FieldError::forbidden(&path, why));
        }
        let known = outer.map(|outer| object(outer, "properties")?.get(name)?.as_object());
        if known == Some(None) {
            errors.push(undefined(&path));
        }
        if let Some(inner) = inner.as_object() {
            nested(inner, known.flatten(), &path, Junction::Nested, errors);
        }
    }
}

/// A field that is restricted in `allOf` and the like, but not said outside of them.
fn undefined(path: &Path) -> FieldError {
    let mut kept: Vec<&str> = Vec::new();
    for part in path.text().split('.') {
        let name = part.split('[').next().unwrap_or_default();
        if !matches!(name, "anyOf" | "allOf" | "oneOf" | "not") {
            kept.push(part);
        }
    }
    let why = format!("because it is defined in {}", path.text());
    FieldError::required(&Path::new(kept.join(".")), &why)
}

/// Checks that each default is valid for its own schema.
fn defaults(schema: &Map<String, Value>, path: &Path, root: bool, errors: &mut Vec<FieldError>) {
    if let Some(default) = schema
        .get("default")
        .filter(|value| !value.is_null() && !root)
    {
        let node = Node::read(&Value::Object(schema.clone()));
        let node = Node {
            embedded: flag(schema, EMBEDDED),
            ..node
        };
        let path = path.child("default");
        let mut pruned = default.clone();
        prune::prune(&mut pruned, &node);
        if !go::same(&pruned, default) {
            let why = "must not have unknown fields";
            errors.push(FieldError::invalid(&path, default, why));
        }
        errors.extend(validate::validate(default, None, &node, &path));
    }
    if let Some(items) = object(schema, "items") {
        defaults(items, &path.child("items"), false, errors);
    }
    for (name, inner) in object(schema, "properties").into_iter().flatten() {
        if let Some(inner) = inner.as_object() {
            defaults(inner, &path.child("properties").key(name), false, errors);
        }
    }
}
