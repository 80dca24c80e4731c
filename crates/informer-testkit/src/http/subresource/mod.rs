//! Requests that are answered from objects or from nothing, and not with objects: scales, evictions, bindings, tokens,
//! reviews of access.

mod pods;
mod reviews;
mod scale;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use informer_wire::Status;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::body::Body;
use super::negotiate::{Protobuf, Shape, negotiate};
use super::{header_text, respond, write};
use crate::encode::{Form, Format};
use crate::protobuf;
use crate::request::{RequestRecord, Verb};
use crate::request_body;
use crate::resource::ResourceType;
use crate::shared::Shared;
use crate::status;
use crate::virtual_resource;

/// What such a request asks for.
#[derive(Debug)]
enum Target {
    /// The scale of an object of this resource.
    Scale(Arc<ResourceType>),
    Eviction,
    /// Of a pod, also without its path.
    Binding,
    Token,
    /// What a pod's containers write, which is nothing.
    Log,
    /// A connection to a pod, which has no node.
    Connection,
    /// Of this kind.
    Review(&'static str),
}

/// Answers a request for one of these; `None` if it is for something else.
pub(super) fn answer(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    request: &Request<Bytes>,
) -> Option<Result<Response<Body>, Status>> {
    let target = target(shared, record)?;
    Some(match target {
        Target::Scale(resource) => scale::answer(shared, record, &resource, request),
        Target::Log => pods::log(shared, record),
        Target::Connection => Err(pods::connect(shared, record)),
        _ if record.verb != Verb::Create => Err(status::method_not_allowed()),
        Target::Eviction => pods::evict(shared, record, request),
        Target::Binding => pods::bind(shared, record, request),
        Target::Token => reviews::token(shared, record, request),
        Target::Review(kind) => reviews::review(shared, record, kind, request),
    })
}

fn target(shared: &Shared, record: &RequestRecord) -> Option<Target> {
    let is_core = record.group.is_empty() && record.version == "v1";
    let path = (record.resource.as_str(), record.subresource.as_str());
    match path {
        ("pods", "eviction") if is_core => return Some(Target::Eviction),
        ("pods", "binding") | ("bindings", "") if is_core => return Some(Target::Binding),
        ("pods", "log") if is_core => return Some(Target::Log),
        ("pods", "attach" | "exec" | "portforward") if is_core => return Some(Target::Connection),
        ("serviceaccounts", "token") if is_core => return Some(Target::Token),
        (_, "scale") => {
            let cluster = shared.cluster.lock();
            let found = cluster.find(&record.group, &record.version, &record.resource);
            let found = found.ok().filter(|resource| resource.has_scale());
            return found.map(Target::Scale);
        }
        _ => {}
    }
    let found = virtual_resource::find(&record.group, &record.version, &record.resource)?;
    let has_path = record.name.is_empty() && record.subresource.is_empty();
    (has_path && !found.group.is_empty()).then_some(Target::Review(found.kind))
}

/// Reads a body as an object of this kind.
fn read(
    shared: &Shared,
    request: &Request<Bytes>,
    group: &str,
    version: &str,
    kind: &str,
) -> Result<Value, Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let body = write::body(request)?;
    let protobuf = shared.settings.protobuf;
    request_body::object(&media_type, body, &kind_of(group, version, kind), protobuf)
}

/// A kind of which there are no collections.
fn kind_of(group: &str, version: &str, kind: &str) -> ResourceType {
    let mut resource = ResourceType::new(group, version, kind, kind.to_lowercase());
    resource.custom = false;
    resource
}

/// Responds with a value that has its type.
fn respond_with(
    shared: &Shared,
    record: &RequestRecord,
    code: StatusCode,
    value: &Value,
) -> Result<Response<Body>, Status> {
    let spoken = Protobuf {
        spoken: shared.settings.protobuf,
        whole: true,
    };
    let encoding = negotiate(&record.accept, Shape::One, spoken, shared.clock.now())?;
    let value = match encoding.form {
        Form::Full => value.clone(),
        Form::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": value["metadata"],
        }),
        Form::Table(now) => table(value, now),
    };
    let encoded = match encoding.format {
        Format::Protobuf => protobuf::object(&value).ok(),
        Format::Json => None,
    };
    Ok(match encoded {
        Some(bytes) => respond::whole(code, Format::Protobuf, bytes),
        None => respond::json(code, value.to_string()),
    })
}

/// A table of one object.
fn table(value: &Value, now: Timestamp) -> Value {
    let column = |name: &str, kind: &str| json!({"name": name, "type": kind, "format": "", "description": "", "priority": 0});
    let age = crate::table::age(value, now);
    let (columns, cells) = match value["kind"].as_str() {
        Some("Scale") => (
            json!([
                column("Name", "string"),
                column("Desired", "integer"),
                column("Available", "integer"),
                column("Age", "string"),
            ]),
            json!([
                value["metadata"]["name"],
                value["spec"]["replicas"].as_i64().unwrap_or_default(),
                value["status"]["replicas"].as_i64().unwrap_or_default(),
                age,
            ]),
        ),
        _ => (
            json!([column("Name", "string"), column("Age", "string")]),
            json!([value["metadata"]["name"], age]),
        ),
    };
    let object = json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": value["metadata"],
    });
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": value["metadata"]["resourceVersion"]},
        "columnDefinitions": columns,
        "rows": [{"cells": cells, "object": object}],
    })
}

/// The success of a request that makes no object.
fn done() -> Status {
    let mut done = Status::default();
    done.status = "Success".to_owned();
    done.code = 201;
    done
}
