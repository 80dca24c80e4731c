//! The scale subresource: how many replicas an object wants and has.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use informer_wire::{Status, StatusCause};
use serde_json::{Map, Value, json};

use super::super::body::Body;
use super::super::write;
use super::{kind_of, read, respond_with};
use crate::model::{Part, WriteOptions};
use crate::patch;
use crate::request::{RequestRecord, Verb};
use crate::resource::ResourceType;
use crate::shared::Shared;
use crate::status;
use crate::table;

/// Responds to a request for a scale.
pub(super) fn answer(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    resource: &Arc<ResourceType>,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let (namespace, name) = (record.namespace.as_str(), record.name.as_str());
    if name.is_empty() || resource.namespaced == namespace.is_empty() {
        return Err(status::unknown_resource());
    }
    let get = || shared.cluster.lock().get(resource, namespace, name);
    let scale = match record.verb {
        Verb::Get | Verb::List | Verb::Watch => scale(resource, &get()?.value(resource))?,
        Verb::Update => {
            let wanted = read(shared, request, "autoscaling", "v1", "Scale")?;
            let said = wanted["metadata"]["name"].as_str().unwrap_or_default();
            if !said.is_empty() && said != name {
                return Err(status::bad_request(format!(
                    "the name of the object ({said}) does not match the name on the URL ({name})"
                )));
            }
            let asked = write::query_options(record, "UpdateOptions", Vec::new())?;
            change(shared, record, resource, &asked, |_| Ok(wanted))?
        }
        Verb::Patch => {
            let (patch, asked) = write::read_patch(record, resource, request)?;
            let kind = kind_of("autoscaling", "v1", "Scale");
            let options = WriteOptions::at(shared.clock.now()).part(Part::Scale);
            change(shared, record, resource, &asked, |old| {
                patch::apply(&patch, &kind, Some(old), &options)
            })?
        }
        _ => return Err(status::method_not_allowed()),
    };
    respond_with(shared, record, StatusCode::OK, &scale)
}

/// Changes the wanted replicas of an object, and returns its new scale.
fn change(
    shared: &Shared,
    record: &RequestRecord,
    resource: &Arc<ResourceType>,
    asked: &write::QueryOptions,
    new: impl FnOnce(&Value) -> Result<Value, Status>,
) -> Result<Value, Status> {
    let options = WriteOptions::at(shared.clock.now())
        .part(Part::Scale)
        .manager(asked.manager)
        .dry_run(asked.dry_run);
    let (namespace, name) = (record.namespace.as_str(), record.name.as_str());
    shared.write(|cluster| {
        let mut object = cluster.get(resource, namespace, name)?.value(resource);
        let old = match scale(resource, &object) {
            Ok(scale) => scale,
            // A patch may set what there is not yet.
            Err(_) => with_replicas(&object, 0, 0, None),
        };
        let new = new(&old)?;
        let replicas = new["spec"]["replicas"].as_i64().unwrap_or_default();
        check(resource, name, replicas)?;
        set(&mut object, &paths(resource).0, replicas.into());
        if let Some(version) = new["metadata"]["resourceVersion"].as_str()
            && !version.is_empty()
        {
            object["metadata"]["resourceVersion"] = version.into();
        }
        let stored = cluster.replace(resource, namespace, name, object, &options)?;
        scale(resource, &stored.value(resource))
    })
}

fn check(resource: &ResourceType, name: &str, replicas: i64) -> Result<(), Status> {
    if replicas >= 0 {
        return Ok(());
    }
    let (group, kind, field, why) = match &resource.definition.scale {
        Some(paths) => (
            resource.group.as_str(),
            resource.kind.as_str(),
            paths.replicas.as_str(),
            "should be a non-negative integer",
        ),
        None => (
            "autoscaling",
            "Scale",
            "spec.replicas",
            "must be greater than or equal to 0",
        ),
    };
    let message = format!("Invalid value: {replicas}: {why}");
    let cause = StatusCause::new("FieldValueInvalid", message).with_field(field);
    Err(status::invalid(group, kind, name, vec![cause]))
}

/// Where the object has the wanted replicas, the replicas that there are, and the selector.
fn paths(resource: &ResourceType) -> (String, String, String) {
    match &resource.definition.scale {
        Some(paths) => (
            paths.replicas.clone(),
            paths.current.clone(),
            paths.selector.clone(),
        ),
        None => (
            ".spec.replicas".into(),
            ".status.replicas".into(),
            String::new(),
        ),
    }
}

/// Returns the scale of an object.
fn scale(resource: &ResourceType, object: &Value) -> Result<Value, Status> {
    let (wanted, current, selector) = paths(resource);
    let replicas = table::at(object, &wanted);
    let replicas = match (replicas.as_i64(), resource.custom) {
        (Some(replicas), _) => replicas,
        // Without a number a real server's types have the default.
        (None, false) => 1,
        (None, true) => {
            let why = format!("the spec replicas field {wanted:?} does not exist");
            return Err(status::internal(why));
        }
    };
    let selector = match resource.plural.as_str() {
        _ if resource.custom => table::at(object, &selector).as_str().map(str::to_owned),
        "replicationcontrollers" => Some(table::labels(&object["spec"]["selector"])),
        _ => Some(table::selector(&object["spec"]["selector"])),
    };
    let current = table::at(object, &current).as_i64().unwrap_or_default();
    Ok(with_replicas(object, replicas, current, selector))
}

fn with_replicas(object: &Value, wanted: i64, current: i64, selector: Option<String>) -> Value {
    let of = &object["metadata"];
    let mut metadata = Map::new();
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if !of[field].is_null() {
            metadata.insert(field.to_owned(), of[field].clone());
        }
    }
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {},
        "status": {"replicas": current},
    });
    if wanted != 0 {
        scale["spec"]["replicas"] = wanted.into();
    }
    if let Some(selector) = selector.filter(|text| !text.is_empty() && text != table::NONE) {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// Sets the value at a path of plain steps; maps on the way are made.
fn set(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[step];
    }
    *place = value;
}
