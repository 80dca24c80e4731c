//! Strategic merge patch: maps merge as in a merge patch, lists by the keys of the [table of fields](crate::fields).

mod lists;
#[cfg(test)]
mod tests;

use informer_wire::{Status, StatusDetails};
use serde_json::{Map, Value};

use crate::fields::{Field, Strategy, TypeRef};
use crate::status;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

type Fields = Map<String, Value>;

/// Merges a patch into an object of this type.
pub(super) fn merge(target: &mut Value, patch: &Value, of: &TypeRef) -> Result<(), Status> {
    let Some(patch) = patch.as_object() else {
        return Err(status::bad_request("the patch is not a JSON object"));
    };
    let fields = std::mem::take(target);
    let Value::Object(fields) = fields else {
        return Err(status::bad_request("the object is not a JSON object"));
    };
    *target = Value::Object(merge_map(fields, patch.clone(), of)?);
    Ok(())
}

/// What a real server does not foresee in a patch: its words, and no reason.
fn refuse(message: impl Into<String>) -> Status {
    Status::failure(500, "", message)
}

fn wrong_type(wanted: &str, is: &Value) -> Status {
    let is = go_type(is);
    refuse(format!("expected a {wanted}, but received a {is}"))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go prints it.
fn go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(entries) => {
            let entries: Vec<String> = entries.iter().map(go).collect();
            format!("[{}]", entries.join(" "))
        }
        Value::Object(fields) => go_map(fields),
        other => other.to_string(),
    }
}

fn go_map(fields: &Fields) -> String {
    let mut fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}:{}", go(value)))
        .collect();
    fields.sort();
    format!("map[{}]", fields.join(" "))
}

fn unknown_directive(directive: &Value, patch: &Fields) -> Status {
    refuse(format!(
        "unknown patch type: {} in map: {}",
        go(directive),
        go_map(patch)
    ))
}

fn merge_map(mut original: Fields, mut patch: Fields, of: &TypeRef) -> Result<Fields, Status> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Fields::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    lists::set_orders(&mut original, &mut patch, of)?;
    for (name, value) in patch {
        match name.strip_prefix(DELETE_FROM) {
            Some(rest) => {
                let Some(name) = rest.strip_prefix('/') else {
                    return Err(status::bad_request(
                        "invalid patch format of primitive list",
                    ));
                };
                lists::delete_from(&mut original, name, value)?;
            }
            None => merge_field(&mut original, name, value, of)?,
        }
    }
    Ok(original)
}

/// The declaration of a field of a structure.
fn declared<'t>(of: &'t TypeRef, name: &str) -> Option<&'t Field> {
    of.view().as_map()?.fields.get(name)
}

fn merge_field(
    original: &mut Fields,
    name: String,
    value: Value,
    of: &TypeRef,
) -> Result<(), Status> {
    if value.is_null() {
        original.remove(&name);
        return Ok(());
    }
    let strategy = declared(of, &name).map(|field| &field.strategy);
    let replaces = strategy == Some(&Strategy::Replace);
    let merged = match (original.remove(&name), value) {
        (Some(Value::Object(old)), Value::Object(new)) if !replaces => {
            let inner = of.view().as_map().map(|map| map.field(&name));
            let inner = inner.unwrap_or_else(TypeRef::deduced);
            Some(Value::Object(merge_map(old, new, &inner)?))
        }
        (Some(Value::Array(old)), Value::Array(new)) => Some(match strategy {
            Some(Strategy::Merge(key)) => lists::merge(old, new, key, of, &name)?.into(),
            _ => Value::Array(new),
        }),
        (old, mut new) => {
            let same_kind = old.is_some_and(|old| go_type(&old) == go_type(&new));
            if !same_kind {
                discard_nulls(&mut new);
            }
            without_directives(new)
        }
    };
    if let Some(merged) = merged {
        original.insert(name, merged);
    }
    Ok(())
}

/// Drops fields of the original that the patch does not list.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), Status> {
    let Some(kept) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let malformed = || status::bad_request("invalid patch format of retainKeys");
    let kept = kept.as_array().ok_or_else(malformed)?;
    let keeps = |name: &str| kept.iter().any(|kept| kept == name);
    let directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    let unkept = patch
        .iter()
        .any(|(name, value)| !value.is_null() && !directive(name) && !keeps(name));
    if unkept {
        return Err(malformed());
    }
    original.retain(|name, _| keeps(name));
    Ok(())
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(discard_nulls);
        }
        Value::Array(entries) => entries.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// The value without maps that have a directive; `None` if it is one.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let kept = fields.filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(
                kept.filter(|(name, _)| !name.starts_with('$')).collect(),
            ))
        }
        Value::Array(entries) => {
            let entries = entries.into_iter();
            Some(entries.filter_map(without_directives).collect())
        }
        other => Some(other),
    }
}

/// 422: a list of lists.
fn list_of_lists() -> Status {
    let message = "the server rejected our request due to an error in our request";
    Status::failure(422, "Invalid", message).with_details(StatusDetails::default())
}
