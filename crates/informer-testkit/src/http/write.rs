//! Create, replace, patch and delete.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use informer_wire::{DeleteOptions, Deleted, Status};
use jiff::Timestamp;
use serde_json::Value;

use super::body::Body;
use super::negotiate::Shape;
use super::read::list_options;
use super::{Target, header_text, respond};
use crate::encode;
use crate::model::{Part, WriteOptions};
use crate::patch;
use crate::request::RequestRecord;
use crate::request_body;
use crate::resource::ResourceType;
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
    let object = object(shared, request, &target.resource).await?;
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
    let object = object(shared, request, &target.resource).await?;
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
        delete_options(shared, record, request).await?,
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
        delete_options(shared, record, request).await?,
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
    Ok(options(target, is_dry_run(record, kind)?))
}

/// Reads from the query whether a write is to change nothing.
pub(super) fn is_dry_run(record: &RequestRecord, kind: &str) -> Result<bool, Status> {
    let directives: Vec<_> = record.query_values("dryRun").collect();
    request_body::check_dry_run(kind, &directives)?;
    Ok(!directives.is_empty())
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

/// Reads the options of a delete.
async fn delete_options(
    shared: &Shared,
    record: &RequestRecord,
    request: Request<Incoming>,
) -> Result<DeleteOptions, Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let protobuf = shared.settings.protobuf;
    request_body::delete_options(record, &media_type, &body(request).await?, protobuf)
}

pub(super) async fn body(request: Request<Incoming>) -> Result<Bytes, Status> {
    let limited = Limited::new(request.into_body(), BODY_LIMIT);
    let collected = limited.collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            let message = format!("Request entity too large: limit is {BODY_LIMIT}");
            return Status::failure(413, "RequestEntityTooLarge", message);
        }
        status::bad_request(format!("the body could not be read: {error}"))
    })?;
    Ok(collected.to_bytes())
}

/// Reads the object of a create or an update.
async fn object(
    shared: &Shared,
    request: Request<Incoming>,
    resource: &ResourceType,
) -> Result<Value, Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let protobuf = shared.settings.protobuf;
    request_body::object(&media_type, &body(request).await?, resource, protobuf)
}
