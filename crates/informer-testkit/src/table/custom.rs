//! The columns and cells of custom resources: those of their definition.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::{since, since_creation};
use crate::resource::ResourceType;

/// Returns the columns: the name, and those of the definition or the age.
pub(super) fn definitions(resource: &ResourceType) -> Value {
    let column = |name: &str, kind: &str, format: &str, description: &str, priority: i64| json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
    let mut all = vec![column("Name", "string", "name", "", 0)];
    let defined = &resource.definition.columns;
    if defined.is_empty() {
        all.push(column("Age", "date", "", "", 0));
    }
    all.extend(defined.iter().map(|defined| {
        let text = |field: &str| defined[field].as_str().unwrap_or_default();
        let priority = defined["priority"].as_i64().unwrap_or_default();
        column(
            text("name"),
            text("type"),
            text("format"),
            text("description"),
            priority,
        )
    }));
    all.into()
}

/// Returns the cells.
pub(super) fn cells(resource: &ResourceType, object: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = vec![object["metadata"]["name"].clone()];
    let defined = &resource.definition.columns;
    if defined.is_empty() {
        all.push(since_creation(object, now));
    }
    all.extend(defined.iter().map(|defined| {
        let value = at(object, defined["jsonPath"].as_str().unwrap_or_default());
        match (defined["type"].as_str(), value) {
            (_, Value::Null) => Value::Null,
            (Some("date"), time) => since(&time, now),
            (Some("string"), Value::String(text)) => text.into(),
            (Some("string"), other) => other.to_string().into(),
            (Some("integer"), other) if !other.is_i64() && !other.is_u64() => Value::Null,
            (Some("number"), other) if !other.is_number() => Value::Null,
            (Some("boolean"), other) if !other.is_boolean() => Value::Null,
            (_, other) => other,
        }
    }));
    all
}

/// Returns the value at a path of plain steps, such as `.spec.size` or `.status.conditions[0].type`; of conditions also
/// the one of a type: `.status.conditions[?(@.type=="Ready")].status`. Other paths have none.
pub(crate) fn at(object: &Value, path: &str) -> Value {
    let mut value = object;
    let mut rest = path;
    while !rest.is_empty() {
        let step;
        if let Some(inner) = rest.strip_prefix("[?(@.") {
            let Some((condition, behind)) = inner.split_once(")]") else {
                return Value::Null;
            };
            let Some((field, wanted)) = condition.split_once("==") else {
                return Value::Null;
            };
            let wanted = wanted.trim().trim_matches(['"', '\'']);
            let mut all = value.as_array().into_iter().flatten();
            let found = all.find(|one| one[field.trim()].as_str() == Some(wanted));
            value = found.unwrap_or(&Value::Null);
            rest = behind;
            continue;
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let Some((index, behind)) = inner.split_once(']') else {
                return Value::Null;
            };
            value = match index.parse::<usize>() {
                Ok(index) => &value[index],
                Err(_) => &value[index.trim_matches(['"', '\''])],
            };
            rest = behind;
            continue;
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
        let mut end = rest.len();
        let mut escaped = false;
        for (at, byte) in rest.bytes().enumerate() {
            if !escaped && matches!(byte, b'.' | b'[') {
                end = at;
                break;
            }
            escaped = byte == b'\\';
        }
        (step, rest) = rest.split_at(end);
        value = &value[step.replace('\\', "").as_str()];
    }
    value.clone()
}
