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

/// Reads a patch by the media type of its request. An apply must be JSON, which is YAML too.
pub(crate) fn parse(
    media_type: &str,
    record: &RequestRecord,
    body: &[u8],
) -> Result<Patch<Value>, Status> {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let value = || {
        serde_json::from_slice(body).map_err(|error| {
            status::bad_request(format!("error decoding patch, which must be JSON: {error}"))
        })
    };
    if media_type != "application/apply-patch+yaml" && record.query_value("force").is_some() {
        let message = "Forbidden: may not be specified for non-apply patch";
        let cause = StatusCause::new("FieldValueForbidden", message).with_field("force");
        return Err(status::invalid(
            "meta.k8s.io",
            "PatchOptions",
            "",
            vec![cause],
        ));
    }
    Ok(match media_type {
        "application/merge-patch+json" => Patch::Merge(value()?),
        "application/json-patch+json" => Patch::Json(value()?),
        "application/strategic-merge-patch+json" => Patch::Strategic(value()?),
        "application/apply-patch+yaml" => {
            let manager = record.query_value("fieldManager").unwrap_or_default();
            if manager.is_empty() {
                let message = "Required value: is required for apply patch";
                let cause = StatusCause::new("FieldValueRequired", message);
                let causes = vec![cause.with_field("fieldManager")];
                return Err(status::invalid("meta.k8s.io", "PatchOptions", "", causes));
            }
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
        let refused = parse(apply, &nobody, b"{}").unwrap_err();
        assert_eq!(refused.details.unwrap().causes[0].field, "fieldManager");
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
