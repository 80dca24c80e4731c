//! Just enough of OpenAPI v3 for `kubectl`: the existing paths, that the server takes the `fieldValidation` parameter, and
//! the fields of objects.

mod schemas;

use informer_wire::Status;
use serde_json::{Map, Value, json};

use self::schemas::schemas;
use super::discovery::types_of;
use crate::resource::{Registry, ResourceType};

/// Returns `/openapi/v3`: the places of the documents of each group and version.
pub(super) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, versions) in registry.groups() {
        for version in versions {
            let path = match group {
                "" => format!("api/{version}"),
                _ => format!("apis/{group}/{version}"),
            };
            let url = json!({"serverRelativeURL": format!("/openapi/v3/{path}")});
            paths.insert(path, url);
        }
    }
    json!({ "paths": paths })
}

/// Returns the document of one group and version.
pub(super) fn group(registry: &Registry, group: &str, version: &str) -> Result<Value, Status> {
    let mut paths = Map::new();
    let types = types_of(registry, group, version)?;
    for resource in &types {
        paths.insert(
            object_path(resource),
            json!({"patch": patch_operation(resource)}),
        );
    }
    Ok(json!({
        "openapi": "3.0.0",
        "info": {"title": "informer-testkit", "version": "v1"},
        "paths": paths,
        "components": {"schemas": schemas(&types.iter().map(|known| &***known).collect::<Vec<_>>())},
    }))
}

fn object_path(resource: &ResourceType) -> String {
    let root = if resource.group.is_empty() {
        "/api"
    } else {
        "/apis"
    };
    let namespace = if resource.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    format!(
        "{root}/{}{namespace}/{}/{{name}}",
        resource.api_version(),
        resource.plural
    )
}

fn patch_operation(resource: &ResourceType) -> Value {
    let query = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
    let parameters = ["dryRun", "fieldManager", "fieldValidation", "force"].map(query);
    json!({
        "parameters": parameters,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        },
    })
}
