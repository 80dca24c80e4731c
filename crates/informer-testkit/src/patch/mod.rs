//! Patches: merge patch, JSON patch, strategic merge patch, and server-side apply.

mod json;
mod strategic;

use informer_wire::{Patch, Status, StatusCause};
use serde_json::Value;

use crate::apply::applied;
use crate::fields::type_of;
use crate::model::WriteOptions;
use crate::request::RequestRecord;
use crate::resource::ResourceType;
use crate::status;

/// The media type of an apply.
const APPLY: &str = "application/apply-patch+yaml";

/// Reads a patch by the media type of its request. An apply must be JSON, which is YAML too.
pub(crate) fn parse(
    media_type: &str,
    record: &RequestRecord,
    body: &[u8],
) -> Result<Patch<Value>, Status> {
    let media_type = essence(media_type);
    let value = || {
        serde_json::from_slice(body).map_err(|error| {
            status::bad_request(format!("error decoding patch, which must be JSON: {error}"))
        })
    };
    Ok(match media_type {
        "application/merge-patch+json" => Patch::Merge(value()?),
        "application/json-patch+json" => Patch::Json(value()?),
        "application/strategic-merge-patch+json" => Patch::Strategic(value()?),
        APPLY => {
            let manager = record.query_value("fieldManager").unwrap_or_default();
            Patch::Apply {
                manager: manager.to_owned(),
                force: record.query_flag("force").unwrap_or_default(),
                object: value()?,
            }
        }
        _ => {
            return Err(status::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
                "application/apply-patch+yaml",
            ]));
        }
    })
}

/// The media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Returns what a request asks that does not go with its kind of patch: an apply needs a manager, and it alone forces.
pub(crate) fn refusals(media_type: &str, record: &RequestRecord) -> Vec<StatusCause> {
    if essence(media_type) != APPLY {
        let message = "Forbidden: may not be specified for non-apply patch";
        let cause = StatusCause::new("FieldValueForbidden", message).with_field("force");
        return Vec::from_iter(record.query_value("force").map(|_| cause));
    }
    let message = "Required value: is required for apply patch";
    let cause = StatusCause::new("FieldValueRequired", message).with_field("fieldManager");
    let manager = record.query_value("fieldManager").unwrap_or_default();
    Vec::from_iter(manager.is_empty().then_some(cause))
}

/// Refuses the kinds of patches that a resource does not take.
pub(crate) fn check_kind(patch: &Patch<Value>, resource: &ResourceType) -> Result<(), Status> {
    if matches!(patch, Patch::Strategic(_)) && resource.custom {
        return Err(status::unsupported_media_type(&[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ]));
    }
    Ok(())
}

/// Returns the object with a patch applied; `live` is `None` if there is none yet, which only an apply takes.
pub(crate) fn apply(
    patch: &Patch<Value>,
    resource: &ResourceType,
    live: Option<&Value>,
    options: &WriteOptions,
) -> Result<Value, Status> {
    check_kind(patch, resource)?;
    let mut patched = live.cloned().unwrap_or_default();
    match patch {
        Patch::Merge(patch) => {
            require_object(patch)?;
            json_patch::merge(&mut patched, patch);
        }
        Patch::Json(patch) => json::apply(patch, &mut patched)?,
        Patch::Strategic(patch) => {
            require_object(patch)?;
            strategic::merge(&mut patched, patch, &type_of(resource))?;
        }
        Patch::Apply { object, force, .. } => {
            require_object(object)?;
            return applied(resource, live, object, *force, options);
        }
        _ => return Err(status::unsupported_media_type(&[])),
    }
    Ok(patched)
}

fn require_object(patch: &Value) -> Result<(), Status> {
    if patch.is_object() {
        return Ok(());
    }
    Err(status::bad_request("the patch is not a JSON object"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::Registry;

    #[test]
    fn media_type_decides_the_kind_of_patch() {
        let options = WriteOptions::at(jiff::Timestamp::UNIX_EPOCH);
        let pods = Registry::with_builtin().resolve("pods").unwrap();
        let pod = json!({"spec": {"containers": [{"name": "a"}]}});
        let record =
            RequestRecord::parse("PATCH", "/api/v1/namespaces/n/pods/a", "fieldManager=me");
        let patched = |media_type: &str, body: &str| {
            let patch = parse(media_type, &record, body.as_bytes())?;
            apply(&patch, &pods, Some(&pod), &options)
        };
        let second = r#"{"spec":{"containers":[{"name":"b"}]}}"#;
        let merged = patched("application/merge-patch+json", second).unwrap();
        assert_eq!(merged, json!({"spec": {"containers": [{"name": "b"}]}}));
        let both = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        let strategic = "application/strategic-merge-patch+json; charset=utf-8";
        let new_first = json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}});
        assert_eq!(patched(strategic, second).unwrap(), new_first);
        let apply = "application/apply-patch+yaml";
        let operations = r#"[{"op":"add","path":"/spec/containers/-","value":{"name":"b"}}]"#;
        let json = "application/json-patch+json";
        assert_eq!(patched(json, operations).unwrap(), both);
        let failing = r#"[{"op":"test","path":"/spec/x","value":1}]"#;
        let merge = "application/merge-patch+json";
        for (media_type, body, code) in [
            (json, failing, 422),
            ("text/plain", "{}", 415),
            (merge, "[]", 400),
            (merge, "{", 400),
        ] {
            assert_eq!(patched(media_type, body).unwrap_err().code, code);
        }
        let nobody = RequestRecord::parse("PATCH", "/api/v1/namespaces/n/pods/a", "");
        assert_eq!(refusals(apply, &nobody)[0].field, "fieldManager");
        assert_eq!(refusals(apply, &record), []);
        assert_eq!(refusals(merge, &record), []);
    }

    #[test]
    fn custom_resource_takes_no_strategic_patch() {
        let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets");
        let patch = Patch::Strategic(json!({}));
        let options = WriteOptions::at(jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(
            apply(&patch, &widgets, None, &options).unwrap_err().code,
            415
        );
    }
}
