//! Reviews of users and of what they may: whoever is let in may do everything.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use informer_wire::{Status, StatusCause};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::super::body::Body;
use super::{read, respond_with};
use crate::request::RequestRecord;
use crate::shared::Shared;
use crate::status;
use crate::time::rfc3339;

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// The user that every client is.
fn user() -> Value {
    json!({"username": "testkit", "uid": "testkit", "groups": ["system:masters", "system:authenticated"]})
}

/// What a real server says of an administrator, whose every role it lists.
fn rules() -> Value {
    let reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];
    let discovery = [
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/",
    ];
    let health = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    json!({
        "resourceRules": [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["create"], "apiGroups": [AUTHORIZATION], "resources": reviews},
            {"verbs": ["create"], "apiGroups": [AUTHENTICATION], "resources": ["selfsubjectreviews"]},
        ],
        "nonResourceRules": [
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
            {"verbs": ["get"], "nonResourceURLs": discovery},
            {"verbs": ["get"], "nonResourceURLs": health},
        ],
        "incomplete": false,
    })
}

/// Answers a review of this kind.
pub(super) fn review(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    kind: &str,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let mut review = read(shared, request, &record.group, &record.version, kind)?;
    let spec = &review["spec"];
    review["status"] = match kind {
        "SelfSubjectReview" => json!({ "userInfo": user() }),
        "TokenReview" => {
            let token = spec["token"].as_str().unwrap_or_default();
            match shared.authorizes(&format!("Bearer {token}")) {
                true => json!({"authenticated": true, "user": user()}),
                false => json!({"user": {}, "error": "[invalid bearer token, unknown]"}),
            }
        }
        "SelfSubjectRulesReview" => {
            if spec["namespace"].as_str().unwrap_or_default().is_empty() {
                return Err(status::bad_request("no namespace on request"));
            }
            rules()
        }
        _ => {
            if spec["resourceAttributes"].is_null() == spec["nonResourceAttributes"].is_null() {
                let why = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be \
                           specified";
                let cause = StatusCause::new("FieldValueInvalid", why);
                let cause = cause.with_field("spec.resourceAttributes");
                return Err(status::invalid(AUTHORIZATION, "", "", vec![cause]));
            }
            json!({"allowed": true})
        }
    };
    if !review["metadata"].is_object() {
        review["metadata"] = json!({});
    }
    respond_with(shared, record, StatusCode::CREATED, &review)
}

/// Makes a token of a service account, which no server knows.
pub(super) fn token(
    shared: &Arc<Shared>,
    record: &RequestRecord,
    request: &Request<Bytes>,
) -> Result<Response<Body>, Status> {
    let mut wish = read(shared, request, AUTHENTICATION, "v1", "TokenRequest")?;
    let cluster = shared.cluster.lock();
    let accounts = cluster.resource("v1/serviceaccounts")?;
    let account = cluster.get(&accounts, &record.namespace, &record.name)?;
    drop(cluster);
    let now = shared.clock.now();
    let seconds = wish["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
    wish["spec"]["expirationSeconds"] = seconds.into();
    let seconds = SignedDuration::from_secs(seconds.clamp(0, i64::from(u32::MAX)));
    let end = now.checked_add(seconds).unwrap_or(now);
    wish["metadata"]["name"] = account.name().into();
    wish["metadata"]["namespace"] = account.namespace().into();
    wish["metadata"]["uid"] = account.uid().into();
    wish["metadata"]["creationTimestamp"] = rfc3339(now).into();
    wish["status"] = json!({
        "token": format!("testkit.{}.{}", account.uid(), now.as_second()),
        "expirationTimestamp": rfc3339(end),
    });
    respond_with(shared, record, StatusCode::CREATED, &wish)
}
