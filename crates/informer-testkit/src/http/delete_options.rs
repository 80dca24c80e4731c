//! The options of a delete: from the body if there is one, otherwise from the query.

use http::{Request, header};
use hyper::body::Incoming;
use informer_wire::{DeleteOptions, Propagation, Status, StatusCause};
use serde_json::Value;

use super::header_text;
use super::write::body;
use crate::request::RequestRecord;
use crate::status;

const KIND: &str = "DeleteOptions";

/// What a request asks of a deletion.
#[derive(Debug, Default)]
pub(super) struct DeleteWish {
    pub(super) how: DeleteOptions,
    /// Whether it asks with `orphanDependents: false`, the one case in which a real server says 202 while the object
    /// is still there.
    pub(super) cascades_by_old_option: bool,
}

/// Reads the options of a delete. Beside a body the query does not count.
pub(super) async fn delete_options(
    record: &RequestRecord,
    request: Request<Incoming>,
) -> Result<DeleteWish, Status> {
    let media_type = header_text(request.headers(), header::CONTENT_TYPE);
    let body = body(request).await?;
    if body.is_empty() {
        return of_query(record);
    }
    if media_type.contains("protobuf") {
        return Err(status::unsupported_media_type(&["application/json"]));
    }
    let body = serde_json::from_slice(&body).map_err(invalid)?;
    of_body(body)
}

fn invalid(why: impl std::fmt::Display) -> Status {
    status::bad_request(format!("invalid {KIND}: {why}"))
}

fn of_query(record: &RequestRecord) -> Result<DeleteWish, Status> {
    let directives: Vec<_> = record.query_values("dryRun").collect();
    check_dry_run(KIND, &directives)?;
    let text = |key| record.query_value(key).filter(|text| !text.is_empty());
    let mut wish = DeleteWish::default();
    let orphan = text("orphanDependents").map(|text| !matches!(text, "false" | "0"));
    wish.set_policy(text("propagationPolicy"), orphan)?;
    wish.how.dry_run = !directives.is_empty();
    if let Some(seconds) = text("gracePeriodSeconds") {
        let seconds: i64 = seconds.parse().map_err(|_| {
            invalid(format!(
                "gracePeriodSeconds: strconv.ParseInt: parsing {seconds:?}: invalid syntax"
            ))
        })?;
        wish.how.grace_period_seconds = Some(at_least_one(seconds));
    }
    if let Some(uid) = text("uid") {
        wish.how = wish.how.only_uid(uid);
    }
    if let Some(version) = text("resourceVersion") {
        wish.how = wish.how.only_resource_version(version);
    }
    Ok(wish)
}

fn of_body(mut body: Value) -> Result<DeleteWish, Status> {
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
    let mut wish = DeleteWish::default();
    let policy = body["propagationPolicy"].as_str();
    wish.set_policy(policy, body["orphanDependents"].as_bool())?;
    let policy = wish.how.propagation_policy;
    if let Some(seconds) = body["gracePeriodSeconds"].as_i64() {
        body["gracePeriodSeconds"] = at_least_one(seconds).into();
    }
    wish.how = serde_json::from_value(body).map_err(invalid)?;
    wish.how.propagation_policy = policy;
    Ok(wish)
}

/// What is below zero counts as one second.
fn at_least_one(seconds: i64) -> u64 {
    u64::try_from(seconds).unwrap_or(1)
}

impl DeleteWish {
    fn set_policy(&mut self, policy: Option<&str>, orphan: Option<bool>) -> Result<(), Status> {
        check_propagation(policy, orphan)?;
        self.cascades_by_old_option = orphan == Some(false);
        self.how.propagation_policy = match (policy, orphan) {
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some(_), _) | (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
        };
        Ok(())
    }
}

/// Refuses dry-run directives but `All`, the only one there is.
pub(super) fn check_dry_run(kind: &str, directives: &[&str]) -> Result<(), Status> {
    if directives.iter().all(|directive| *directive == "All") {
        return Ok(());
    }
    let directives = Value::from(directives);
    let message = format!("Unsupported value: {directives}: supported values: \"All\"");
    let cause = StatusCause::new("FieldValueNotSupported", message).with_field("dryRun");
    Err(status::invalid("meta.k8s.io", kind, "", vec![cause]))
}

/// Refuses propagation policies that there are not, and two that contradict each other.
fn check_propagation(policy: Option<&str>, orphan: Option<bool>) -> Result<(), Status> {
    let Some(policy) = policy else {
        return Ok(());
    };
    let mut causes = Vec::new();
    let mut refuse = |reason: &str, message: String| {
        causes.push(StatusCause::new(reason, message).with_field("propagationPolicy"));
    };
    if orphan.is_some() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        refuse(
            "FieldValueInvalid",
            format!("Invalid value: {policy:?}: {why}"),
        );
    }
    if !matches!(policy, "Foreground" | "Background" | "Orphan") {
        let supported = "\"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        refuse(
            "FieldValueNotSupported",
            format!("Unsupported value: {policy:?}: supported values: {supported}"),
        );
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(status::invalid("meta.k8s.io", KIND, "", causes))
}
