//! Create, replace, patch and delete.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use jiff::Timestamp;
use serde_json::Value;

use super::body::Body;
use super::negotiate::Shape;
use super::read::list_options;
use super::{Target, header_text, respond};
use crate::encode;
use crate::model::{DeleteOptions, Part, WriteOptions};
use crate::patch::Patch;
use crate::request::RequestRecord;
use crate::shared::Shared;
use crate::status::Status;

/// What a real server takes at most.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

pub(super) async fn create(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let options = write_options(record, target);
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
    let options = write_options(record, target);
    let object = json_body(request).await?;
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let object =
        shared.write(|cluster| cluster.replace(resource, namespace, name, object, &options))?;
    Ok(respond::object(StatusCode::OK, resource, &object, encoding))
}

pub(super) async fn patch(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let options = write_options(record, target);
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let patch = Patch::parse(&media_type, &body(request).await?)?;
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let (existed, object) = shared.write(|cluster| {
        let existed = cluster.get(resource, namespace, name).is_ok();
        (
            existed,
            cluster.patch(resource, namespace, name, &patch, &options),
        )
    });
    let code = if existed {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let object = object?;
    Ok(respond::object(code, resource, &object, encoding))
}

pub(super) async fn delete(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let asked = delete_body(request).await?;
    let preconditions = preconditions(&asked);
    let options = delete_write_options(record, target, &asked);
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let deleted = shared
        .write(|cluster| cluster.delete(resource, namespace, name, &preconditions, &options))?;
    if deleted.gone {
        let status = Status::deleted(resource, name, deleted.object.uid());
        return Ok(respond::status(status, encoding.format));
    }
    Ok(respond::object(
        StatusCode::OK,
        resource,
        &deleted.object,
        encoding,
    ))
}

pub(super) async fn delete_collection(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: Request<Incoming>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::List)?;
    let selection = list_options(record)?;
    let asked = delete_body(request).await?;
    let options = delete_write_options(record, target, &asked);
    let (resource, namespace) = (target.resource.clone(), &record.namespace);
    let page = shared
        .write(|cluster| cluster.delete_collection(&resource, namespace, &selection, &options))?;
    Ok(respond::list(encode::list(resource, page, encoding)))
}

fn write_options(record: &RequestRecord, target: &Target) -> WriteOptions {
    let part = if target.on_status {
        Part::Status
    } else {
        Part::Main
    };
    let dry_run = record
        .query_value("dryRun")
        .is_some_and(|value| !value.is_empty());
    WriteOptions::at(Timestamp::now())
        .part(part)
        .dry_run(dry_run)
}

fn delete_write_options(record: &RequestRecord, target: &Target, asked: &Value) -> WriteOptions {
    let options = write_options(record, target);
    let dry_run = asked["dryRun"]
        .as_array()
        .is_some_and(|values| !values.is_empty());
    options.dry_run(options.dry_run || dry_run)
}

fn preconditions(asked: &Value) -> DeleteOptions {
    let text = |field: &str| asked["preconditions"][field].as_str().map(str::to_owned);
    DeleteOptions {
        uid: text("uid"),
        resource_version: text("resourceVersion"),
    }
}

async fn body(request: Request<Incoming>) -> Result<Bytes, Status> {
    let limited = Limited::new(request.into_body(), BODY_LIMIT);
    let collected = limited.collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            let message = format!("limit is {BODY_LIMIT} bytes");
            return Status::new(413, "RequestEntityTooLarge", message);
        }
        Status::bad_request(format!("the body could not be read: {error}"))
    })?;
    Ok(collected.to_bytes())
}

async fn json_body(request: Request<Incoming>) -> Result<Value, Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if !matches!(essence, "" | "*/*" | "application/json") {
        return Err(Status::unsupported_media_type(&["application/json"]));
    }
    let body = body(request).await?;
    serde_json::from_slice(&body)
        .map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))
}

/// A delete needs no body.
async fn delete_body(request: Request<Incoming>) -> Result<Value, Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let body = body(request).await?;
    if body.is_empty() {
        return Ok(Value::Null);
    }
    if media_type.contains("protobuf") {
        return Err(Status::unsupported_media_type(&["application/json"]));
    }
    serde_json::from_slice(&body)
        .map_err(|error| Status::bad_request(format!("the body is not JSON: {error}")))
}
