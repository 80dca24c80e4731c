//! Fields that a client sent and that are unknown or stand twice: told or refused, as the client asks.

use informer_wire::{Patch, Status, StatusCause};
use serde_json::Value;

use super::decode::{self, Report, Target};
use super::{embedded, go};
use crate::resource::ResourceType;
use crate::status;

/// What a request does with fields that are unknown or stand twice: the query parameter `fieldValidation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldValidation {
    /// They are dropped in silence, as by every method of the test kit that is no request.
    #[default]
    Ignore,
    /// They are dropped with a warning each, as by a request that says nothing else.
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    /// Reads the parameter of a query, or says why it is none.
    pub(crate) fn parse(text: &str) -> Result<Self, StatusCause> {
        Ok(match text {
            "" | "Warn" => Self::Warn,
            "Ignore" => Self::Ignore,
            "Strict" => Self::Strict,
            _ => {
                let message = format!(
                    "Unsupported value: {}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
                    go::quote(text)
                );
                let cause = StatusCause::new("FieldValueNotSupported", message);
                return Err(cause.with_field("fieldValidation"));
            }
        })
    }
}

/// Decodes a request's object as its type; `json` is its text, in which fields may stand twice. Returns the object and
/// warnings.
pub(crate) fn read(
    resource: &ResourceType,
    object: Value,
    json: Option<&[u8]>,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), Status> {
    let cannot = |why: String| {
        let (kind, version) = (&resource.kind, &resource.version);
        status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    };
    let target = target(resource);
    let shape_of = target.unwrap_or(Target::Any);
    let decoded = match json {
        Some(json) => decode::decode(
            &mut serde_json::Deserializer::from_slice(json),
            shape_of,
            "",
        ),
        None => decode::decode(&object, shape_of, ""),
    };
    let (mut decoded, report) = decoded
        .map_err(|error| status::bad_request(format!("the body cannot be read: {error}")))?;
    if decoded.is_object() {
        // Which a body may leave out.
        for field in ["apiVersion", "kind"] {
            decoded[field] = object[field].clone();
        }
    }
    let mut object = decoded;
    let Report {
        mut strict, wrong, ..
    } = report;
    if !object.is_object() {
        return Ok((object, Vec::new()));
    }
    if let Some(wrong) = wrong {
        return Err(cannot(wrong));
    }
    if target.is_none() {
        strict.extend(shape(resource, &mut object, false).map_err(cannot)?);
    }
    if !strict.is_empty() && validation == FieldValidation::Strict {
        let why = format!("strict decoding error: {}", strict.join(", "));
        return Err(cannot(why));
    }
    if validation == FieldValidation::Ignore {
        strict.clear();
    }
    Ok((object, strict))
}

/// The type of a kind, if it is one of Kubernetes' own.
fn target(resource: &ResourceType) -> Option<Target> {
    if resource.custom {
        return None;
    }
    Target::of_kind(&resource.api_version(), &resource.kind)
}

/// Brings a custom resource into its shape, with its nulls if it comes from an apply. Returns its unknown fields as
/// texts, or what cannot be decoded.
pub(crate) fn shape(
    resource: &ResourceType,
    object: &mut Value,
    applied: bool,
) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    if let Some(metadata) = object.get_mut("metadata").filter(|value| !value.is_null()) {
        unknown.extend(embedded::read_metadata(metadata, "metadata")?);
        if metadata["creationTimestamp"].is_null()
            && let Some(fields) = metadata.as_object_mut()
        {
            fields.remove("creationTimestamp");
        }
    }
    if let Some(family) = &resource.family {
        unknown.extend(family.shape(object, &resource.version, applied)?);
    }
    let text = |path: &String| format!("unknown field {}", go::quote(path));
    Ok(unknown.iter().map(text).collect())
}

/// Returns what stands twice in a patch, and the unknown fields of a JSON patch's operations.
pub(crate) fn repeated_in_patch(patch: &Patch<Value>, body: &[u8]) -> Vec<String> {
    let mut text = serde_json::Deserializer::from_slice(body);
    let Ok((value, report)) = decode::decode(&mut text, Target::Any, "") else {
        return Vec::new();
    };
    let mut found = report.strict;
    match patch {
        Patch::Json(_) => {
            const KNOWN: [&str; 4] = ["op", "path", "from", "value"];
            for (at, operation) in value.as_array().into_iter().flatten().enumerate() {
                let fields = operation.as_object().into_iter().flatten();
                let unknown = fields.filter(|(name, _)| !KNOWN.contains(&name.as_str()));
                found.extend(unknown.map(|(name, _)| format!("unknown field \"[{at}].{name}\"")));
            }
            found
                .iter()
                .map(|text| format!("json patch {text}"))
                .collect()
        }
        Patch::Apply { .. } => Vec::new(),
        _ => found,
    }
}

/// Decodes the result of a patch as its type. Returns warnings.
pub(crate) fn check_patched(
    resource: &ResourceType,
    patch: &Patch<Value>,
    patched: &mut Value,
    validation: FieldValidation,
    repeated: Vec<String>,
) -> Result<Vec<String>, Status> {
    let invalid = |patched: &Value, why: &str| {
        let value = match patch {
            Patch::Strategic(patch) => go::plain(patch),
            _ => go::json(patched),
        };
        let message = format!("Invalid value: {}: {why}", go::quote(&value));
        let cause = StatusCause::new("FieldValueInvalid", message).with_field("patch");
        status::invalid("", "", "", vec![cause])
    };
    let mut strict = repeated;
    let sent = patched.clone();
    match target(resource) {
        Some(target) => {
            let (value, report) = decode::decode(&sent, target, "")
                .map_err(|error| invalid(&sent, &error.to_string()))?;
            if let Some(wrong) = report.wrong {
                let unfit = report
                    .unfit
                    .filter(|_| matches!(patch, Patch::Strategic(_)));
                return Err(invalid(&sent, &unfit.unwrap_or(wrong)));
            }
            strict.extend(report.strict);
            *patched = value;
        }
        None => {
            let unknown = shape(resource, patched, matches!(patch, Patch::Apply { .. }));
            strict.extend(unknown.map_err(|why| invalid(&sent, &why))?);
        }
    }
    let is_apply = matches!(patch, Patch::Apply { .. });
    if is_apply || validation == FieldValidation::Ignore {
        return Ok(Vec::new());
    }
    if !strict.is_empty() && validation == FieldValidation::Strict {
        let why = format!("strict decoding error: {}", strict.join(", "));
        return Err(invalid(&sent, &why));
    }
    Ok(strict)
}
