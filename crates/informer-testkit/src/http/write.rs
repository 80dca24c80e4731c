//! Create, replace, patch and delete.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use informer_wire::{Deleted, Patch, Status, StatusCause};
use serde_json::Value;

use super::body::Body;
use super::negotiate::Shape;
use super::read::list_options;
use super::{Target, door, header_text, respond};
use crate::apply::manager_refusals;
use crate::encode;
use crate::model::{FieldManager, WriteOptions};
use crate::patch;
use crate::request::RequestRecord;
use crate::request_body::{self, DeleteWish};
use crate::resource::ResourceType;
use crate::schema::{self, FieldValidation};
use crate::shared::Shared;
use crate::status;

pub(super) fn create(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let options = query_options(record, "CreateOptions", Vec::new())?;
    let options = write_options(shared, target, &options);
    let (object, mut warnings) = object(shared, request, target, &options)?;
    let resource = &target.resource;
    let created = shared.write(|cluster| {
        let created = cluster.create(resource, &record.namespace, object, &options);
        warnings.extend(cluster.take_warnings());
        created
    });
    let response =
        created.map(|object| respond::object(StatusCode::CREATED, resource, &object, encoding));
    Ok(warned(shared, record, response, &warnings))
}

pub(super) fn replace(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let options = query_options(record, "UpdateOptions", Vec::new())?;
    let options = write_options(shared, target, &options);
    let (object, mut warnings) = object(shared, request, target, &options)?;
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let (existed, object) = shared.write(|cluster| {
        let existed = cluster.get(resource, namespace, name).is_ok();
        let object = cluster.replace(resource, namespace, name, object, &options);
        warnings.extend(cluster.take_warnings());
        (existed, object)
    });
    let response =
        object.map(|object| respond::object(written(existed), resource, &object, encoding));
    Ok(warned(shared, record, response, &warnings))
}

/// Adds warnings to a response, which an error has as well.
fn warned(
    shared: &Shared,
    record: &RequestRecord,
    response: Result<Response<Body>, Status>,
    warnings: &[String],
) -> Response<Body> {
    let response = response
        .unwrap_or_else(|status| respond::status(status, super::error_format(shared, record)));
    respond::warned(response, warnings)
}

/// 201 for what did not exist before.
fn written(existed: bool) -> StatusCode {
    if existed {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    }
}

pub(super) fn patch(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let (patch, options) = read_patch(record, &target.resource, request)?;
    let options = write_options(shared, target, &options);
    let (resource, namespace, name) = (&target.resource, &record.namespace, &record.name);
    let (existed, object, warnings) = shared.write(|cluster| {
        let existed = cluster.get(resource, namespace, name).is_ok();
        cluster.note_repeated(schema::repeated_in_patch(&patch, request.body()));
        let object = cluster.patch(resource, namespace, name, &patch, &options);
        (existed, object, cluster.take_warnings())
    });
    let response =
        object.map(|object| respond::object(written(existed), resource, &object, encoding));
    Ok(warned(shared, record, response, &warnings))
}

pub(super) fn delete(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::One)?;
    let (wish, options) = (
        delete_options(shared, record, request)?,
        options(shared, target, false),
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

pub(super) fn delete_collection(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    target: &Target,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let encoding = target.negotiate(shared, record, Shape::List)?;
    let selection = list_options(record)?;
    let (wish, options) = (
        delete_options(shared, record, request)?,
        options(shared, target, false),
    );
    let (resource, namespace) = (target.resource.clone(), &record.namespace);
    let page = shared.write(|cluster| {
        cluster.delete_collection(&resource, namespace, &selection, &wish.how, &options)
    })?;
    Ok(respond::list(encode::list(resource, page, encoding)))
}

/// Reads the patch of a request and its options. A kind of patch that the resource does not take is refused first, then
/// wrong options, then a wrong body.
pub(super) fn read_patch(
    record: &RequestRecord,
    resource: &ResourceType,
    request: &Request<Bytes>,
) -> Result<(Patch<Value>, QueryOptions), Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let patch = patch::parse(&media_type, record, body(request)?)
        .and_then(|patch| patch::check_kind(&patch, resource).map(|()| patch));
    let refusals = patch::refusals(&media_type, record);
    match (patch, query_options(record, "PatchOptions", refusals)) {
        (Err(status), _) if status.code == 415 => Err(status),
        (_, Err(status)) => Err(status),
        (patch, Ok(options)) => Ok((patch?, options)),
    }
}

/// The options of a write to this target.
fn write_options(shared: &Shared, target: &Target, asked: &QueryOptions) -> WriteOptions {
    options(shared, target, asked.dry_run)
        .field_validation(asked.validation)
        .manager(asked.manager)
}

/// What the query of every write may ask.
pub(super) struct QueryOptions {
    /// Who takes ownership of changed fields; the client, if the request does not say.
    pub(super) manager: FieldManager,
    /// Whether the write is to change nothing.
    pub(super) dry_run: bool,
    /// What happens to unknown fields.
    pub(super) validation: FieldValidation,
}

/// Reads what the query of every write may ask. All that is wrong, beside what was refused already, is one answer.
pub(super) fn query_options(
    record: &RequestRecord,
    kind: &str,
    mut refusals: Vec<StatusCause>,
) -> Result<QueryOptions, Status> {
    let manager = record.query_value("fieldManager").unwrap_or_default();
    refusals.extend(manager_refusals(manager));
    let directives: Vec<_> = record.query_values("dryRun").collect();
    refusals.extend(request_body::dry_run_refusal(&directives));
    let validation = record.query_value("fieldValidation").unwrap_or_default();
    let validation = FieldValidation::parse(validation).unwrap_or_else(|refusal| {
        refusals.push(refusal);
        FieldValidation::default()
    });
    if !refusals.is_empty() {
        return Err(status::invalid("meta.k8s.io", kind, "", refusals));
    }
    Ok(QueryOptions {
        manager: match manager {
            "" => FieldManager::of_user_agent(&record.user_agent),
            manager => FieldManager::new(manager),
        },
        dry_run: !directives.is_empty(),
        validation,
    })
}

fn options(shared: &Shared, target: &Target, dry_run: bool) -> WriteOptions {
    WriteOptions::at(shared.clock.now())
        .part(target.part)
        .dry_run(dry_run)
}

/// Reads the options of a delete.
fn delete_options(
    shared: &Shared,
    record: &RequestRecord,
    request: &Request<Bytes>,
) -> Result<DeleteWish, Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let protobuf = shared.settings.protobuf;
    request_body::delete_options(record, &media_type, body(request)?, protobuf)
}

pub(super) fn body(request: &Request<Bytes>) -> Result<&Bytes, Status> {
    door::check_size(request.body())?;
    Ok(request.body())
}

/// Reads the object of a create or an update, and the warnings about its fields.
fn object(
    shared: &Shared,
    request: &Request<Bytes>,
    target: &Target,
    options: &WriteOptions,
) -> Result<(Value, Vec<String>), Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let body = body(request)?;
    let protobuf = shared.settings.protobuf;
    let object = request_body::object(&media_type, body, &target.resource, protobuf)?;
    // Null is an object without fields.
    let json = request_body::is_json(&media_type)
        .then_some(&**body)
        .filter(|json| json.trim_ascii() != b"null");
    schema::read(&target.resource, object, json, options.field_validation)
}
