//! Create, replace, patch and delete.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use informer_wire::{DeleteOptions, Deleted, Status, StatusCause};
use jiff::Timestamp;
use serde_json::Value;

use super::body::Body;
use super::negotiate::Shape;
use super::read::list_options;
use super::{Target, header_text, respond};
use crate::apply::check_manager;
use crate::encode;
use crate::model::{FieldManager, Part, WriteOptions};
use crate::patch;
use crate::request::RequestRecord;
use crate::shared::Shared;
use crate::status;

/// The most bytes that a real server accepts.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

pub(super) async fn create(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let options = write_options(record, target, "CreateOptions")?;
    let object = json_body(request).await?;
    let resource = &target.resource;
    let object =
        shared.write(|cluster| cluster.create(resource, &record.namespace, object, &options))?;
    Ok(respond::object(
        StatusCode::CREATED,
        resource,
        &object,
        encoding,
    ))
}

pub(super) async fn replace(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let options = write_options(record, target, "UpdateOptions")?;
    let object = json_body(request).await?;
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let (existed, object) = shared.write(|cluster| {
        let existed = cluster.get(resource, namespace, name).is_ok();
        (
            existed,
            cluster.replace(resource, namespace, name, object, &options),
        )
    });
    let object = object?;
    Ok(respond::object(
        written(existed),
        resource,
        &object,
        encoding,
    ))
}

/// 201 for what did not exist before.
fn written(existed: bool) -> StatusCode {
    if existed {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    }
}

pub(super) async fn patch(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let options = write_options(record, target, "PatchOptions")?;
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let patch = patch::parse(&media_type, record, &body(request).await?)?;
    patch::check_kind(&patch, &target.resource)?;
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let (existed, object) = shared.write(|cluster| {
        let existed = cluster.get(resource, namespace, name).is_ok();
        (
            existed,
            cluster.patch(resource, namespace, name, &patch, &options),
        )
    });
    let object = object?;
    Ok(respond::object(
        written(existed),
        resource,
        &object,
        encoding,
    ))
}

pub(super) async fn delete(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let (how, options) = (
        delete_options(record, request).await?,
        options(target, false),
    );
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let deleted =
        shared.write(|cluster| cluster.delete(resource, namespace, name, &how, &options))?;
    Ok(match deleted {
        Deleted::Status(status) => respond::status(*status, encoding.format),
        Deleted::Object(object) => respond::object(StatusCode::OK, resource, &object, encoding),
    })
}

pub(super) async fn delete_collection(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::List)?;
    let selection = list_options(record)?;
    let (how, options) = (
        delete_options(record, request).await?,
        options(target, false),
    );
    let (resource, namespace) = (target.resource.clone(), &record.namespace);
    let page = shared.write(|cluster| {
        cluster.delete_collection(&resource, namespace, &selection, &how, &options)
    })?;
    Ok(respond::list(encode::list(resource, page, encoding)))
}

/// Reads the options of a write from the query.
fn write_options(
    record: &RequestRecord,
    target: &Target,
    kind: &str,
) -> Result<WriteOptions, Status> {
    let directives: Vec<_> = record.query_values("dryRun").collect();
    let manager = record.query_value("fieldManager").unwrap_or_default();
    check_manager(kind, manager)?;
    check_dry_run(kind, &directives)?;
    let manager = match manager {
        "" => FieldManager::of_user_agent(&record.user_agent),
        manager => FieldManager::new(manager),
    };
    Ok(options(target, !directives.is_empty()).manager(manager))
}

fn options(target: &Target, dry_run: bool) -> WriteOptions {
    let part = if target.on_status {
        Part::Status
    } else {
        Part::Main
    };
    WriteOptions::at(Timestamp::now())
        .part(part)
        .dry_run(dry_run)
}

/// Refuses dry-run directives but `All`, the only one there is.
fn check_dry_run(kind: &str, directives: &[&str]) -> Result<(), Status> {
    if directives.iter().all(|directive| *directive == "All") {
        return Ok(());
    }
    let directives = Value::from(directives);
    let message = format!("Unsupported value: {directives}: supported values: \"All\"");
    let cause = StatusCause::new("FieldValueNotSupported", message).with_field("dryRun");
    Err(status::invalid("meta.k8s.io", kind, "", vec![cause]))
}

/// Reads the options of a delete: from the body if there is one, otherwise from the query. Beside a body the query
/// does not count.
async fn delete_options(
    record: &RequestRecord,
    request: Request<Incoming>,
) -> Result<DeleteOptions, Status> {
    const KIND: &str = "DeleteOptions";
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let body = body(request).await?;
    if body.is_empty() {
        let directives: Vec<_> = record.query_values("dryRun").collect();
        check_dry_run(KIND, &directives)?;
        check_propagation(record.query_value("propagationPolicy"))?;
        let mut options = DeleteOptions::default().dry_run(!directives.is_empty());
        let text = |key| record.query_value(key).filter(|text| !text.is_empty());
        if let Some(uid) = text("uid") {
            options = options.only_uid(uid);
        }
        if let Some(version) = text("resourceVersion") {
            options = options.only_resource_version(version);
        }
        return Ok(options);
    }
    if media_type.contains("protobuf") {
        return Err(status::unsupported_media_type(&["application/json"]));
    }
    let invalid = |error| status::bad_request(format!("invalid {KIND}: {error}"));
    let body: Value = serde_json::from_slice(&body).map_err(invalid)?;
    if !matches!(body["kind"].as_str(), None | Some(KIND)) {
        let kind = &body["kind"];
        return Err(status::bad_request(format!("{kind} is no {KIND}")));
    }
    let directives = body["dryRun"].as_array().map(Vec::as_slice);
    let directives = directives.unwrap_or_default().iter();
    check_dry_run(
        KIND,
        &directives.filter_map(Value::as_str).collect::<Vec<_>>(),
    )?;
    check_propagation(body["propagationPolicy"].as_str())?;
    serde_json::from_value(body).map_err(invalid)
}

/// Refuses propagation policies that there are not.
fn check_propagation(policy: Option<&str>) -> Result<(), Status> {
    let Some(policy) =
        policy.filter(|policy| !matches!(*policy, "Foreground" | "Background" | "Orphan"))
    else {
        return Ok(());
    };
    let supported = "\"Foreground\", \"Background\", \"Orphan\", \"nil\"";
    let message = format!("Unsupported value: {policy:?}: supported values: {supported}");
    let cause = StatusCause::new("FieldValueNotSupported", message).with_field("propagationPolicy");
    Err(status::invalid(
        "meta.k8s.io",
        "DeleteOptions",
        "",
        vec![cause],
    ))
}

async fn body(request: Request<Incoming>) -> Result<Bytes, Status> {
    let limited = Limited::new(request.into_body(), BODY_LIMIT);
    let collected = limited.collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            let message = format!("limit is {BODY_LIMIT} bytes");
            return Status::failure(413, "RequestEntityTooLarge", message);
        }
        status::bad_request(format!("the body could not be read: {error}"))
    })?;
    Ok(collected.to_bytes())
}

async fn json_body(request: Request<Incoming>) -> Result<Value, Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !matches!(essence, "" | "*/*" | "application/json") {
        return Err(status::unsupported_media_type(&["application/json"]));
    }
    let body = body(request).await?;
    serde_json::from_slice(&body)
        .map_err(|error| status::bad_request(format!("the body is not JSON: {error}")))
}
