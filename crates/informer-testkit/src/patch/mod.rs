//! Patches: merge patch, JSON patch, strategic merge patch, and server-side apply as a merge.

mod strategic;

use serde_json::Value;

use crate::resource::ResourceType;
use crate::status::{Status, StatusDetails};

/// A change of an object, in one of the forms that a `PATCH` request can have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Patch {
    /// RFC 7386: maps are merged, null removes, everything else replaces.
    Merge(Value),
    /// RFC 6902: a list of operations.
    Json(Value),
    /// Kubernetes' own: as merge patch, but known lists are merged by a key.
    Strategic(Value),
    /// Server-side apply. Field managers are not tracked: the object is created, or merged into
    /// the one that exists, and a field left out of a later apply stays.
    Apply(Value),
}

impl Patch {
    /// Reads a patch by the media type of its request. An apply must be JSON, which is YAML too.
    pub(crate) fn parse(media_type: &str, body: &[u8]) -> Result<Self, Status> {
        let kind = match media_type.split(';').next().unwrap_or_default().trim() {
            "application/merge-patch+json" => Self::Merge,
            "application/json-patch+json" => Self::Json,
            "application/strategic-merge-patch+json" => Self::Strategic,
            "application/apply-patch+yaml" => Self::Apply,
            _ => {
                return Err(Status::unsupported_media_type(&[
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/strategic-merge-patch+json",
                    "application/apply-patch+yaml",
                ]));
            }
        };
        let value = serde_json::from_slice(body).map_err(|error| {
            Status::bad_request(format!("error decoding patch, which must be JSON: {error}"))
        })?;
        Ok(kind(value))
    }

    /// The object with this patch applied.
    pub(crate) fn apply(&self, resource: &ResourceType, object: &Value) -> Result<Value, Status> {
        let mut patched = object.clone();
        match self {
            Self::Merge(patch) => {
                require_object(patch)?;
                json_patch::merge(&mut patched, patch);
            }
            Self::Json(patch) => apply_json(patch, &mut patched)?,
            Self::Strategic(_) if resource.custom => {
                return Err(Status::unsupported_media_type(&[
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/apply-patch+yaml",
                ]));
            }
            Self::Strategic(patch) => {
                require_object(patch)?;
                strategic::merge(&mut patched, patch).map_err(Status::bad_request)?;
            }
            Self::Apply(patch) => {
                require_object(patch)?;
                if resource.custom {
                    json_patch::merge(&mut patched, patch);
                } else {
                    strategic::merge(&mut patched, patch).map_err(Status::bad_request)?;
                }
            }
        }
        Ok(patched)
    }
}

fn require_object(patch: &Value) -> Result<(), Status> {
    if patch.is_object() {
        return Ok(());
    }
    Err(Status::bad_request("the patch is not a JSON object"))
}

fn apply_json(patch: &Value, object: &mut Value) -> Result<(), Status> {
    let operations: json_patch::Patch = serde_json::from_value(patch.clone())
        .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    json_patch::patch(object, &operations).map_err(|error| {
        Status::new(
            422,
            "Invalid",
            format!("the server rejected our request due to an error in our request: {error}"),
        )
        .with_details(StatusDetails::default())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::Registry;

    #[test]
    fn each_media_type_has_its_form() {
        let pods = Registry::with_builtin().resolve("pods").unwrap();
        let pod = json!({"spec": {"containers": [{"name": "a"}]}});
        let apply = |media_type: &str, body: &str| {
            Patch::parse(media_type, body.as_bytes()).and_then(|patch| patch.apply(&pods, &pod))
        };
        let second = r#"{"spec":{"containers":[{"name":"b"}]}}"#;
        let merged = apply("application/merge-patch+json", second).unwrap();
        assert_eq!(merged, json!({"spec": {"containers": [{"name": "b"}]}}));
        let both = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}});
        let strategic = "application/strategic-merge-patch+json; charset=utf-8";
        assert_eq!(apply(strategic, second).unwrap(), both);
        assert_eq!(apply("application/apply-patch+yaml", second).unwrap(), both);
        let operations = r#"[{"op":"add","path":"/spec/containers/-","value":{"name":"b"}}]"#;
        assert_eq!(
            apply("application/json-patch+json", operations).unwrap(),
            both
        );
        let failing = r#"[{"op":"test","path":"/spec/x","value":1}]"#;
        assert_eq!(
            apply("application/json-patch+json", failing)
                .unwrap_err()
                .code(),
            422
        );
        assert_eq!(apply("text/plain", "{}").unwrap_err().code(), 415);
        assert_eq!(
            apply("application/merge-patch+json", "[]")
                .unwrap_err()
                .code(),
            400
        );
        assert_eq!(
            apply("application/merge-patch+json", "{")
                .unwrap_err()
                .code(),
            400
        );
    }

    #[test]
    fn a_custom_resource_takes_no_strategic_patch() {
        let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets");
        let patch = Patch::Strategic(json!({}));
        assert_eq!(patch.apply(&widgets, &json!({})).unwrap_err().code(), 415);
    }
}
