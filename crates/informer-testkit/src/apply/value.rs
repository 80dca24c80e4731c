//! What the owners need of an object: the set of its fields, its validity, and itself without some fields.

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;
use crate::fields::{List, Map as MapType, Scalar, Shape, TypeRef};

/// Returns the set of a value's fields.
pub(super) fn field_set(value: &Value, of: &TypeRef) -> FieldSet {
    let mut set = FieldSet::default();
    collect(value, of, &mut Vec::new(), &mut set);
    set
}

fn collect(value: &Value, of: &TypeRef, path: &mut Vec<Element>, set: &mut FieldSet) {
    match of.view().shape_of(value) {
        Shape::Map(_, true) | Shape::Scalar(_) => set.insert(path),
        Shape::List(list) if list.atomic => set.insert(path),
        Shape::Map(map, false) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                path.push(Element::field(name));
                collect(value, &map.field(name), path, set);
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if empty || !map.fields.contains_key(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Shape::List(list) => {
            let entries = identified(list, value);
            for (at, (step, entry)) in entries.iter().enumerate() {
                path.push(step.clone());
                // Entries that are there twice are owned as a whole.
                let twice =
                    |(other, (known, _)): (usize, &(Element, &Value))| other != at && known == step;
                if !entries.iter().enumerate().any(twice) {
                    collect(entry, &list.items, path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
        Shape::Unknown => {}
    }
}

/// The entries of a list with the steps to them, without those that have none.
pub(super) fn identified<'v>(list: &List, value: &'v Value) -> Vec<(Element, &'v Value)> {
    let entries = value.as_array().into_iter().flatten();
    entries
        .filter_map(|entry| Some((Element::of(list, entry).ok()?, entry)))
        .collect()
}

/// Returns what a real server finds wrong with an applied object, as text.
pub(super) fn problems(value: &Value, of: &TypeRef) -> Option<String> {
    let mut found = Vec::new();
    check(value, of, &mut Vec::new(), &mut found);
    match found.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n  {}", many.join("\n  "))),
    }
}

fn check(value: &Value, of: &TypeRef, path: &mut Vec<Element>, found: &mut Vec<String>) {
    if value.is_null() {
        return;
    }
    let problem = match of.view().shape_of(value) {
        Shape::Scalar(scalar) => check_scalar(scalar, value),
        Shape::Map(map, _) => match value.as_object() {
            Some(fields) => return check_fields(fields, map, path, found),
            None => Some(format!("expected map, got &{{{}}}", go(value))),
        },
        Shape::List(list) => match value.as_array() {
            Some(entries) => return check_entries(entries, list, path, found),
            None => Some(format!("expected list, got &{{{}}}", go(value))),
        },
        Shape::Unknown => None,
    };
    found.extend(problem.map(|problem| at(path, &problem)));
}

fn at(path: &[Element], problem: &str) -> String {
    match path {
        [] => problem.to_owned(),
        path => format!("{}: {problem}", super::set::text(path)),
    }
}

/// A value as Go prints it.
fn go(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value as Go's own syntax has it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(entries) => {
            let entries: Vec<String> = entries.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", entries.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", go_syntax(value)));
            let fields: Vec<String> = fields.collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

fn check_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    let plain = value.is_string() || value.is_number() || value.is_boolean();
    let wrong = match scalar {
        Scalar::Text => (!value.is_string()).then(|| {
            format!(
                "string, got &value.valueUnstructured{{Value:{}}}",
                go_syntax(value)
            )
        }),
        Scalar::Number => (!value.is_number()).then(|| {
            let kind = match value {
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                Value::Array(_) => "[]interface {}",
                _ => "map[string]interface {}",
            };
            format!("numeric (int or float), got {kind}")
        }),
        Scalar::Bool => (!value.is_boolean()).then(|| format!("boolean, got &{{{}}}", go(value))),
        Scalar::Any => (!plain).then(|| format!("any scalar, got &{{{}}}", go(value))),
    };
    wrong.map(|wrong| format!("expected {wrong}"))
}

fn check_fields(
    fields: &Map<String, Value>,
    map: &MapType,
    path: &mut Vec<Element>,
    found: &mut Vec<String>,
) {
    for (name, value) in fields {
        path.push(Element::field(name));
        if map.values.is_none() && !map.fields.contains_key(name) {
            // A real server looks at no further field, in whatever order it found this one.
            found.push(at(path, "field not declared in schema"));
            path.pop();
            return;
        }
        check(value, &map.field(name), path, found);
        path.pop();
    }
}

fn check_entries(entries: &[Value], list: &List, path: &mut Vec<Element>, found: &mut Vec<String>) {
    let mut known: Vec<Element> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let step = if list.atomic {
            Element::Index(i64::try_from(place).unwrap_or(i64::MAX))
        } else {
            match Element::of(list, entry) {
                Ok(step) => step,
                Err(why) => return found.push(at(path, &format!("element {place}: {why}"))),
            }
        };
        if known.contains(&step) {
            found.push(at(path, &format!("duplicate entries for key {step}")));
        }
        known.push(step.clone());
        path.push(step);
        check(entry, &list.items, path, found);
        path.pop();
    }
}

/// Returns the value without the fields and entries of a set; null if nothing is left.
pub(super) fn remove(value: &Value, of: &TypeRef, set: &FieldSet) -> Value {
    match of.view().shape_of(value) {
        Shape::Scalar(_) => value.clone(),
        Shape::Map(_, true) | Shape::Unknown => Value::Null,
        Shape::List(list) if list.atomic => Value::Null,
        Shape::Map(map, false) => {
            let fields = value.as_object().into_iter().flatten();
            let mut kept = Map::new();
            for (name, value) in fields {
                let step = Element::field(name);
                if set.has(&step) {
                    continue;
                }
                let value = match set.below(&step) {
                    Some(below) => remove(value, &map.field(name), below),
                    None => value.clone(),
                };
                kept.insert(name.clone(), value);
            }
            if kept.is_empty() {
                return Value::Null;
            }
            Value::Object(kept)
        }
        Shape::List(list) => {
            let entries = identified(list, value).into_iter();
            let kept: Vec<Value> = entries
                .filter(|(step, _)| !set.has(step))
                .map(|(step, entry)| match set.below(&step) {
                    Some(below) => remove(entry, &list.items, below),
                    None => entry.clone(),
                })
                .collect();
            if kept.is_empty() {
                return Value::Null;
            }
            kept.into()
        }
    }
}
