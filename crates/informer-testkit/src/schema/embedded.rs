//! Resources within resources: they have a type and metadata of their own.

use serde_json::Value;

use super::decode::{self, Target};
use super::error::{FieldError, Path};
use super::node::Node;

/// Brings the metadata of embedded resources into the shape of Go's type. Returns the unknown fields, or what is not of
/// that type.
pub(crate) fn coerce(object: &mut Value, root: &Node) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    descend(object, root, &Path::default(), true, &mut unknown)?;
    unknown.sort();
    Ok(unknown)
}

fn descend(
    value: &mut Value,
    node: &Node,
    path: &Path,
    root: bool,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            if node.embedded && !root {
                for name in ["apiVersion", "kind"] {
                    if let Some(odd) = fields.get(name).filter(|value| !value.is_string()) {
                        let error = FieldError::invalid(&path.child(name), odd, "must be a string");
                        return Err(error.text());
                    }
                }
                if let Some(metadata) = fields.get_mut("metadata") {
                    let path = path.child("metadata");
                    unknown.extend(
                        read_metadata(metadata, path.text())
                            .map_err(|why| FieldError::invalid(&path, metadata, &why).text())?,
                    );
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(inner) = node.properties.get(name) {
                    descend(value, inner, &path.child(name), false, unknown)?;
                } else if let Some(inner) = node.field(name) {
                    descend(value, inner, &path.key(name), false, unknown)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = node.items.as_deref() {
                for (at, item) in items.iter_mut().enumerate() {
                    descend(item, inner, &path.index(at), false, unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Reads metadata as Go's type. Returns the fields that it does not have, or what is of another type.
pub(crate) fn read_metadata(metadata: &mut Value, path: &str) -> Result<Vec<String>, String> {
    let decoded = decode::decode(&*metadata, Target::metadata(), path);
    let (value, report) = decoded.map_err(|error| error.to_string())?;
    if let Some(wrong) = report.wrong {
        return Err(wrong);
    }
    *metadata = value;
    // A field that stands twice was one field when it came to here.
    Ok(report
        .strict
        .iter()
        .filter_map(|text| text.strip_prefix("unknown field \"")?.strip_suffix('"'))
        .map(str::to_owned)
        .collect())
}

/// Returns what is wrong with the types of embedded resources.
pub(crate) fn check(value: &Value, node: &Node, path: &Path, root: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match value {
        Value::Object(fields) => {
            if node.embedded && !root {
                for name in ["apiVersion", "kind"] {
                    let path = path.child(name);
                    match fields.get(name) {
                        None => errors.push(FieldError::required(&path, "")),
                        Some(value) if value == "" => {
                            errors.push(FieldError::invalid(&path, value, "must not be empty"));
                        }
                        Some(_) => {}
                    }
                }
            }
            for (name, value) in fields {
                if let Some(inner) = node.properties.get(name) {
                    errors.extend(check(value, inner, &path.child(name), false));
                } else if let Some(inner) = node.field(name) {
                    errors.extend(check(value, inner, &path.key(name), false));
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = node.items.as_deref() {
                for (at, item) in items.iter().enumerate() {
                    errors.extend(check(item, inner, &path.index(at), false));
                }
            }
        }
        _ => {}
    }
    errors
}
