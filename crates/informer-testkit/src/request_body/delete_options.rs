//! The options of a delete, from the body or the query of its request.

use informer_wire::schema::Message;
use informer_wire::{DeleteOptions, Status, StatusCause};
use serde_json::Value;

use super::protobuf::Envelope;
use super::{Format, json_type, protobuf, text, types, unregistered};
use crate::request::RequestRecord;
use crate::status;

const KIND: &str = "DeleteOptions";

/// Reads the options of a delete: from the body if there is one, otherwise from the query. Beside a body the query does
/// not count.
pub(crate) fn delete_options(
    record: &RequestRecord,
    media_type: &str,
    body: &[u8],
    protobuf_spoken: bool,
) -> Result<DeleteOptions, Status> {
    if body.is_empty() {
        return from_query(record);
    }
    let mut options =
        read(Format::of(media_type, protobuf_spoken)?, body).map_err(status::bad_request)?;
    let directives = options["dryRun"].as_array().map(Vec::as_slice);
    let directives = directives.unwrap_or_default().iter();
    let directives: Vec<_> = directives.filter_map(Value::as_str).collect();
    check_dry_run(KIND, &directives)?;
    check_propagation(options["propagationPolicy"].as_str())?;
    if let Some(orphan) = options["orphanDependents"].as_bool() {
        if let Some(policy) = options["propagationPolicy"].as_str() {
            let message = format!(
                "Invalid value: {policy:?}: orphanDependents and deletionPropagation cannot be both set"
            );
            let cause = StatusCause::new("FieldValueInvalid", message);
            return Err(invalid(KIND, cause.with_field("propagationPolicy")));
        }
        let policy = if orphan { "Orphan" } else { "Background" };
        options["propagationPolicy"] = policy.into();
    }
    // A negative grace period is a second, as on a real server.
    if options["gracePeriodSeconds"]
        .as_i64()
        .is_some_and(|seconds| seconds < 0)
    {
        options["gracePeriodSeconds"] = 1.into();
    }
    serde_json::from_value(options).map_err(|error| status::bad_request(error.to_string()))
}

fn from_query(record: &RequestRecord) -> Result<DeleteOptions, Status> {
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
    Ok(options)
}

/// Reads a body as JSON whose fields have their types.
fn read(format: Format, body: &[u8]) -> Result<Value, String> {
    let (object, version, kind) = if format == Format::Protobuf {
        let envelope = Envelope::read(body)?;
        let message = Message::of_kind("v1", KIND).ok_or("there is no such message")?;
        check_kind(&envelope.api_version, &envelope.kind)?;
        let options = protobuf::object(message, KIND, envelope.raw)?;
        (options, envelope.api_version, envelope.kind)
    } else {
        let options = text(format, body)?;
        let (version, kind) = types(&options)?;
        (options, version, kind)
    };
    check_kind(&version, &kind)?;
    if object.is_null() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    type Check = fn(&Value) -> bool;
    let fields: [(&str, &str, Check); 5] = [
        ("gracePeriodSeconds", "int64", Value::is_i64),
        ("preconditions", "v1.Preconditions", Value::is_object),
        ("orphanDependents", "bool", Value::is_boolean),
        (
            "propagationPolicy",
            "v1.DeletionPropagation",
            Value::is_string,
        ),
        ("dryRun", "[]string", Value::is_array),
    ];
    for (field, of, is_good) in fields {
        let value = &object[field];
        if !value.is_null() && !is_good(value) {
            let what = json_type(value);
            return Err(format!(
                "json: cannot unmarshal {what} into Go struct field {KIND}.{field} of type {of}"
            ));
        }
    }
    Ok(object)
}

fn check_kind(version: &str, kind: &str) -> Result<(), String> {
    if matches!(kind, "" | KIND) {
        return Ok(());
    }
    let version = if version.is_empty() { "v1" } else { version };
    Err(unregistered(version, kind))
}

/// Refuses dry-run directives but `All`, the only one there is.
pub(crate) fn check_dry_run(kind: &str, directives: &[&str]) -> Result<(), Status> {
    if directives.iter().all(|directive| *directive == "All") {
        return Ok(());
    }
    let directives = Value::from(directives);
    let message = format!("Unsupported value: {directives}: supported values: \"All\"");
    let cause = StatusCause::new("FieldValueNotSupported", message).with_field("dryRun");
    Err(invalid(kind, cause))
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
    let cause = StatusCause::new("FieldValueNotSupported", message);
    Err(invalid(KIND, cause.with_field("propagationPolicy")))
}

fn invalid(kind: &str, cause: StatusCause) -> Status {
    status::invalid("meta.k8s.io", kind, "", vec![cause])
}
