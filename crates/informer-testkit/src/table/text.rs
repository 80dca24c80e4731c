//! Parts of objects as texts of cells.

use serde_json::Value;

pub(crate) const NONE: &str = "<none>";
pub(super) const UNSET: &str = "<unset>";

/// Returns a text, or another if there is none.
pub(super) fn or(value: &Value, other: &str) -> Value {
    match value.as_str() {
        None | Some("") => other.into(),
        Some(text) => text.into(),
    }
}

/// Returns a number, 0 if there is none.
pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// Returns a text or number as text.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the number of entries.
pub(super) fn count(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.len(),
        Value::Object(all) => all.len(),
        _ => 0,
    }
}

/// Iterates over a list.
pub(super) fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Joins the texts of a field of each element.
pub(super) fn joined(list: &Value, field: &str, by: &str) -> String {
    let texts: Vec<String> = each(list).map(|element| plain(&element[field])).collect();
    texts.join(by)
}

/// Writes a map as `a=b,c=d`.
pub(crate) fn labels(map: &Value) -> String {
    let pairs = map.as_object().into_iter().flatten();
    let mut pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{key}={}", plain(value)))
        .collect();
    pairs.sort();
    match pairs.is_empty() {
        true => NONE.to_owned(),
        false => pairs.join(","),
    }
}

/// Writes a label selector.
pub(crate) fn selector(selector: &Value) -> String {
    let pairs = selector["matchLabels"].as_object().into_iter().flatten();
    let mut all: Vec<(String, String)> = pairs
        .map(|(key, value)| (key.clone(), format!("{key}={}", plain(value))))
        .collect();
    all.extend(each(&selector["matchExpressions"]).map(|expression| {
        let key = plain(&expression["key"]);
        let mut values: Vec<String> = each(&expression["values"]).map(plain).collect();
        values.sort();
        let values = values.join(",");
        let text = match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.clone(),
        };
        (key, text)
    }));
    all.sort();
    match all.is_empty() {
        true => NONE.to_owned(),
        false => all
            .into_iter()
            .map(|(_, text)| text)
            .collect::<Vec<_>>()
            .join(","),
    }
}

/// Whether a condition of this type has this status.
pub(super) fn has_condition(object: &Value, kind: &str, status: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == status)
}

/// Returns the condition of a type.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    each(&object["status"]["conditions"]).find(|condition| condition["type"] == kind)
}

/// Whether the object is being deleted.
pub(super) fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Returns the access modes of a volume, abbreviated.
pub(super) fn access_modes(modes: &Value) -> String {
    let short = |mode: &Value| match mode.as_str() {
        Some("ReadWriteOnce") => Some("RWO"),
        Some("ReadOnlyMany") => Some("ROX"),
        Some("ReadWriteMany") => Some("RWX"),
        Some("ReadWriteOncePod") => Some("RWOP"),
        _ => None,
    };
    each(modes).filter_map(short).collect::<Vec<_>>().join(",")
}
