//! The options of a delete, from the body or the query of its request.

use informer_wire::schema::Message;
use informer_wire::{DeleteOptions, Propagation, Status, StatusCause};
use serde_json::Value;

use super::protobuf::Envelope;
use super::{Format, json_type, protobuf, text, types, unregistered};
use crate::request::RequestRecord;
use crate::status;

const KIND: &str = "DeleteOptions";

/// What a request asks of a deletion.
#[derive(Debug, Default)]
pub(crate) struct DeleteWish {
    pub(crate) how: DeleteOptions,
    /// Whether it asks with `orphanDependents: false`, the one case in which a real server says 202 while the object
    /// is still there.
    pub(crate) cascades_by_old_option: bool,
}

/// Reads the options of a delete: from the body if there is one, otherwise from the query. Beside a body the query does
/// not count.
pub(crate) fn delete_options(
    record: &RequestRecord,
    media_type: &str,
    body: &[u8],
    protobuf_spoken: bool,
) -> Result<DeleteWish, Status> {
    if body.is_empty() {
        return from_query(record);
    }
    let mut options =
        read(Format::of(media_type, protobuf_spoken)?, body).map_err(status::bad_request)?;
    let directives = options["dryRun"].as_array().map(Vec::as_slice);
    let directives = directives.unwrap_or_default().iter();
    let directives: Vec<_> = directives.filter_map(Value::as_str).collect();
    let orphan = options["orphanDependents"].as_bool();
    let policy = policy(&directives, options["propagationPolicy"].as_str(), orphan)?;
    if let Some(fields) = options.as_object_mut() {
        fields.remove("propagationPolicy");
    }
    if let Some(seconds) = options["gracePeriodSeconds"].as_i64() {
        options["gracePeriodSeconds"] = at_least_one(seconds).into();
    }
    let mut how: DeleteOptions =
        serde_json::from_value(options).map_err(|error| status::bad_request(error.to_string()))?;
    how.propagation_policy = policy;
    Ok(DeleteWish {
        how,
        cascades_by_old_option: orphan == Some(false),
    })
}

fn from_query(record: &RequestRecord) -> Result<DeleteWish, Status> {
    let directives: Vec<_> = record.query_values("dryRun").collect();
    let text = |key| record.query_value(key).filter(|text| !text.is_empty());
    let orphan = text("orphanDependents").map(|text| !matches!(text, "false" | "0"));
    let mut how = DeleteOptions::default().dry_run(!directives.is_empty());
    how.propagation_policy = policy(&directives, text("propagationPolicy"), orphan)?;
    if let Some(seconds) = text("gracePeriodSeconds") {
        let seconds: i64 = seconds.parse().map_err(|_| {
            status::bad_request(format!(
                "invalid {KIND}: gracePeriodSeconds: strconv.ParseInt: parsing {seconds:?}: invalid syntax"
            ))
        })?;
        how.grace_period_seconds = Some(at_least_one(seconds));
    }
    if let Some(uid) = text("uid") {
        how = how.only_uid(uid);
    }
    if let Some(version) = text("resourceVersion") {
        how = how.only_resource_version(version);
    }
    Ok(DeleteWish {
        how,
        cascades_by_old_option: orphan == Some(false),
    })
}

/// What is below zero counts as one second.
fn at_least_one(seconds: i64) -> u64 {
    u64::try_from(seconds).unwrap_or(1)
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
pub(crate) fn dry_run_refusal(directives: &[&str]) -> Option<StatusCause> {
    if directives.iter().all(|directive| *directive == "All") {
        return None;
    }
    let directives = Value::from(directives);
    let message = format!("Unsupported value: {directives}: supported values: \"All\"");
    Some(StatusCause::new("FieldValueNotSupported", message).with_field("dryRun"))
}

/// Reads the propagation policy and the older option. Refuses, in one answer, dry-run directives and policies that there
/// are not, and two policies that contradict each other.
fn policy(
    directives: &[&str],
    policy: Option<&str>,
    orphan: Option<bool>,
) -> Result<Option<Propagation>, Status> {
    let mut causes = Vec::from_iter(dry_run_refusal(directives));
    let mut refuse = |reason: &str, message: String| {
        causes.push(StatusCause::new(reason, message).with_field("propagationPolicy"));
    };
    if let Some(policy) = policy
        && orphan.is_some()
    {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        refuse(
            "FieldValueInvalid",
            format!("Invalid value: {policy:?}: {why}"),
        );
    }
    let known = match policy {
        None => orphan.map(|orphan| match orphan {
            true => Propagation::Orphan,
            false => Propagation::Background,
        }),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Background") => Some(Propagation::Background),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(policy) => {
            let supported = "\"Foreground\", \"Background\", \"Orphan\", \"nil\"";
            refuse(
                "FieldValueNotSupported",
                format!("Unsupported value: {policy:?}: supported values: {supported}"),
            );
            None
        }
    };
    if causes.is_empty() {
        return Ok(known);
    }
    Err(status::invalid("meta.k8s.io", KIND, "", causes))
}
