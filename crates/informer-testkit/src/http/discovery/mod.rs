//! Discovery, health, version: the paths without a resource.

mod served;

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Response, StatusCode};
use informer_wire::Status;
use serde_json::{Value, json};

use self::served::served;
use super::body::Body;
use super::{openapi, respond};
use crate::request::RequestRecord;
use crate::resource::{Registry, ResourceType};
use crate::shared::Shared;
use crate::status;
use crate::virtual_resource;

/// The minor version in `/version`: the Kubernetes version whose behaviour is followed.
const MINOR: u32 = 36;

pub(super) fn answer(shared: &Shared, record: &RequestRecord) -> Result<Response<Body>, Status> {
    if !matches!(record.method.as_str(), "GET" | "HEAD") {
        return Err(status::method_not_allowed());
    }
    let segments = record.segments();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let cluster = shared.cluster.lock();
    let registry = cluster.registry();
    let body = match segments.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => {
            return Ok(respond::typed("text/plain; charset=utf-8", "ok"));
        }
        [] => paths(registry),
        ["version"] => version(),
        ["api"] if wants_aggregated(&record.accept) => {
            return Ok(aggregated(registry, |group| group.is_empty()));
        }
        ["apis"] if wants_aggregated(&record.accept) => {
            return Ok(aggregated(registry, |group| !group.is_empty()));
        }
        ["api"] => json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [],
        }),
        ["apis"] => group_list(registry),
        ["apis", group] => one_group(registry, group)?,
        ["api", version] => resource_list(registry, "", version)?,
        ["apis", group, version] => resource_list(registry, group, version)?,
        ["openapi", "v3"] => openapi::index(registry),
        ["openapi", "v3", "api", version] => openapi::group(registry, "", version)?,
        ["openapi", "v3", "apis", group, version] => openapi::group(registry, group, version)?,
        _ => return Err(status::unknown_resource()),
    };
    Ok(respond::json(StatusCode::OK, body.to_string()))
}

fn paths(registry: &Registry) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in named_groups(registry) {
        paths.push(format!("/apis/{group}"));
        paths.extend(
            versions
                .iter()
                .map(|version| format!("/apis/{group}/{version}")),
        );
    }
    paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    json!({ "paths": paths })
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": MINOR.to_string(),
        "emulationMajor": "1",
        "emulationMinor": MINOR.to_string(),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": (MINOR - 1).to_string(),
        "gitVersion": format!("v1.{MINOR}.0-informer-testkit"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// The versions of each group, also of those without objects.
fn all_groups(registry: &Registry) -> BTreeMap<&str, Vec<&str>> {
    let mut groups = registry.groups();
    for known in &virtual_resource::ALL {
        let versions = groups.entry(known.group).or_default();
        if !versions.contains(&known.version) {
            versions.push(known.version);
        }
    }
    groups
}

fn named_groups(registry: &Registry) -> BTreeMap<&str, Vec<&str>> {
    let mut groups = all_groups(registry);
    groups.remove("");
    groups
}

fn group_value(group: &str, versions: &[&str]) -> Value {
    let version =
        |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    json!({
        "name": group,
        "versions": versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(version),
    })
}

fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> = named_groups(registry)
        .into_iter()
        .map(|(group, versions)| group_value(group, &versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn one_group(registry: &Registry, group: &str) -> Result<Value, Status> {
    let groups = named_groups(registry);
    let versions = groups.get(group).ok_or_else(status::unknown_resource)?;
    let mut value = group_value(group, versions);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    Ok(value)
}

/// Returns the types of one group and version, or 404 if there are none.
pub(super) fn types_of<'a>(
    registry: &'a Registry,
    group: &str,
    version: &str,
) -> Result<Vec<&'a Arc<ResourceType>>, Status> {
    let types: Vec<_> = registry
        .iter()
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    if types.is_empty() {
        return Err(status::unknown_resource());
    }
    Ok(types)
}

fn resource_list(registry: &Registry, group: &str, version: &str) -> Result<Value, Status> {
    let served = served(registry, group, version);
    if served.is_empty() {
        return Err(status::unknown_resource());
    }
    let api_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    Ok(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": served.iter().flat_map(|one| one.entries()).collect::<Vec<_>>(),
    }))
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn wants_aggregated(accept: &str) -> bool {
    accept.split(',').any(|clause| {
        let has = |wanted: &str| clause.split(';').any(|part| part.trim() == wanted);
        has("as=APIGroupDiscoveryList") && has("g=apidiscovery.k8s.io") && has("v=v2")
    })
}

fn aggregated(registry: &Registry, wanted: impl Fn(&str) -> bool) -> Response<Body> {
    let groups = all_groups(registry)
        .into_iter()
        .filter(|(group, _)| wanted(group));
    let items: Vec<Value> = groups
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let served = served(registry, group, version);
                    let resources: Vec<Value> = served
                        .iter()
                        .map(|one| one.aggregated(group, version))
                        .collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            json!({"metadata": {"name": group}, "versions": versions})
        })
        .collect();
    let body = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    });
    respond::typed(AGGREGATED, body.to_string())
}
