//! Create, replace, patch and delete.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use informer_wire::{Deleted, Status};
use jiff::Timestamp;
use serde_json::Value;

use super::body::Body;
use super::delete_options::{check_dry_run, delete_options};
use super::negotiate::Shape;
use super::read::list_options;
use super::{Target, header_text, respond};
use crate::encode;
use crate::model::WriteOptions;
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
    let (wish, options) = (
        delete_options(record, request).await?,
        options(target, false),
    );
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let (deleted, gone) = shared.write(|cluster| {
        let deleted = cluster.delete(resource, namespace, name, &wish.how, &options);
        (deleted, cluster.get(resource, namespace, name).is_err())
    });
    let code = if wish.cascades_by_old_option && !gone {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    };
    Ok(match deleted? {
        Deleted::Status(status) => respond::status(*status, encoding.format),
        Deleted::Object(object) => respond::object(code, resource, &object, encoding),
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
    let (wish, options) = (
        delete_options(record, request).await?,
        options(target, false),
    );
    let (resource, namespace) = (target.resource.clone(), &record.namespace);
    let page = shared.write(|cluster| {
        cluster.delete_collection(&resource, namespace, &selection, &wish.how, &options)
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
    check_dry_run(kind, &directives)?;
    Ok(options(target, !directives.is_empty()))
}

fn options(target: &Target, dry_run: bool) -> WriteOptions {
    WriteOptions::at(Timestamp::now())
        .part(target.part)
        .dry_run(dry_run)
}

pub(super) async fn body(request: Request<Incoming>) -> Result<Bytes, Status> {
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
