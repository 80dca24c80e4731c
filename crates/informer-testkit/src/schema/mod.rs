//! Schemas: what a server does with the fields of an object.
//!
//! Custom resources have the schema of their definition, kinds of Kubernetes' own the types of the wire's table. What a
//! client sends is decoded ([`read`], [`check_patched`]): unknown fields are dropped, and named to a client that asked for
//! that ([`FieldValidation`]). Custom resources then get defaults and are validated ([`admit`]); [`family`] has how they
//! look in each version. The rules of `x-kubernetes-validations` are not evaluated.

mod combined;
mod decode;
mod defaults;
mod definition;
mod embedded;
mod error;
mod family;
mod format;
mod go;
mod keywords;
mod lists;
mod node;
mod numbers;
mod pattern;
mod prune;
mod strict;
mod structural;
#[cfg(test)]
mod tests;
mod validate;

use informer_wire::Status;
use serde_json::Value;

pub(crate) use self::definition::{check_definition, check_stored_versions, fill_definition};
use self::error::{FieldError, Path};
pub(crate) use self::family::Family;
pub use self::strict::FieldValidation;
pub(crate) use self::strict::{check_patched, read, repeated_in_patch, shape};
use crate::resource::ResourceType;
use crate::status;

/// Returns what is wrong with an object that is created, or replaces an old one. With `status_alone` only the status is
/// checked.
pub(crate) fn admit(
    resource: &ResourceType,
    name: &str,
    object: &Value,
    old: Option<&Value>,
    status_alone: bool,
) -> Result<(), Status> {
    let family = resource.family.as_ref();
    let Some(version) = family.and_then(|family| family.version(&resource.version)) else {
        return Ok(());
    };
    let (root, whole) = (&version.root, Path::default());
    let mut errors = Vec::new();
    if status_alone {
        let schema = root.properties.get("status");
        if let (Some(schema), Some(status)) = (schema, object.get("status")) {
            let old = old.map(|old| &old["status"]);
            errors.extend(validate::validate(
                status,
                old,
                schema,
                &Path::new("status"),
            ));
        }
    } else {
        errors.extend(validate::validate(object, old, root, &whole));
        errors.extend(scale_errors(object, version.spec_replicas.as_deref()));
    }
    errors.extend(scale_errors(object, version.status_replicas.as_deref()));
    errors.extend(selector_errors(object, version.label_selector.as_deref()));
    errors.extend(embedded::check(object, root, &whole, true));
    // What was double before may stay so.
    if old.is_none_or(|old| lists::check(old, root, &whole).is_empty()) {
        errors.extend(lists::check(object, root, &whole));
    }
    if errors.is_empty() {
        return Ok(());
    }
    if version.has_rules && errors.iter().any(FieldError::blocks_rules) {
        let why = "some validation rules were not checked because the object was invalid; correct the existing errors \
                   to complete validation";
        errors.push(FieldError::invalid(&whole, &Value::Null, why));
    }
    Err(refuse(resource, name, errors))
}

fn refuse(resource: &ResourceType, name: &str, errors: Vec<FieldError>) -> Status {
    let mut causes = Vec::new();
    for error in errors {
        let cause = error.into_cause();
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    status::invalid(&resource.group, &resource.kind, name, causes)
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let names = path.strip_prefix('.').unwrap_or(path).split('.');
    names
        .into_iter()
        .try_fold(object, |value, name| value.get(name))
}

fn scale_errors(object: &Value, path: Option<&str>) -> Option<FieldError> {
    let path = path?;
    let value = at(object, path)?;
    let field = Path::new(path);
    let Some(replicas) = value.as_i64() else {
        let is = match value {
            Value::Null => "<nil>",
            Value::Bool(_) => "bool",
            Value::Number(_) => "float64",
            Value::String(_) => "string",
            Value::Array(_) => "[]interface {}",
            Value::Object(_) => "map[string]interface {}",
        };
        let value = go::plain(value);
        let why = format!("{path} accessor error: {value} is of the type {is}, expected int64");
        return Some(FieldError::invalid(&field, &0.into(), &why));
    };
    let why = match replicas {
        ..0 => "should be a non-negative integer".to_owned(),
        0..=2_147_483_647 => return None,
        _ => "should be less than or equal to 2147483647".to_owned(),
    };
    Some(FieldError::invalid(&field, value, &why))
}

fn selector_errors(object: &Value, path: Option<&str>) -> Option<FieldError> {
    let path = path?;
    let value = at(object, path).filter(|value| !value.is_string())?;
    let why = format!("{path} accessor error: {} is no string", go::plain(value));
    Some(FieldError::invalid(&Path::new(path), &"".into(), &why))
}
