//! The `Status` object: what the server answers when it cannot do what was asked.

use std::fmt;

use serde::Serialize;

use crate::resource::ResourceType;

/// A Kubernetes `Status`, as the server sends it and as the in-process calls return it on failure.
///
/// ```
/// use informer_testkit::Status;
///
/// let status = Status::new(503, "ServiceUnavailable", "the leader is away").retry_after(3);
/// assert_eq!(status.code(), 503);
/// assert!(status.to_json().contains(r#""retryAfterSeconds":3"#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Boxed: it is the error of nearly every function here.
    inner: Box<Inner>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    code: u16,
    success: bool,
    reason: String,
    message: String,
    details: Option<StatusDetails>,
    continue_token: String,
}

/// The `details` of a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StatusDetails {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group of the resource; empty for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The plural of the resource, despite the field's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's UID.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// What was wrong, one entry a cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// After how many seconds to try again; 0 says nothing.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One cause in [`StatusDetails`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StatusCause {
    /// A machine-readable word, such as `FieldValueForbidden`.
    pub reason: String,
    /// What a person reads.
    pub message: String,
    /// The field at fault; empty when there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl StatusCause {
    /// A cause that names no field.
    pub fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            message: message.into(),
            field: String::new(),
        }
    }

    /// Sets the field at fault.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }
}

fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: BodyMetadata<'a>,
    status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a StatusDetails>,
    code: u16,
}

#[derive(Serialize)]
struct BodyMetadata<'a> {
    #[serde(rename = "continue", skip_serializing_if = "str::is_empty")]
    continue_token: &'a str,
}

impl Status {
    /// A failure with an HTTP code, a reason such as `Expired` (may be empty) and a message.
    pub fn new(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        let inner = Inner {
            code,
            success: false,
            reason: reason.into(),
            message: message.into(),
            details: None,
            continue_token: String::new(),
        };
        Self {
            inner: Box::new(inner),
        }
    }

    /// The HTTP status code.
    pub fn code(&self) -> u16 {
        self.inner.code
    }

    /// The machine-readable reason, such as `NotFound`; may be empty.
    pub fn reason(&self) -> &str {
        &self.inner.reason
    }

    /// What a person reads.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The details, if there are any.
    pub fn details(&self) -> Option<&StatusDetails> {
        self.inner.details.as_ref()
    }

    /// The token in `metadata.continue`; only an expired continue token's answer has one.
    pub fn continue_token(&self) -> &str {
        &self.inner.continue_token
    }

    /// Sets the details.
    #[must_use]
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.inner.details = Some(details);
        self
    }

    /// Sets `details.retryAfterSeconds`, from which the server makes a `Retry-After` header.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.inner
            .details
            .get_or_insert_default()
            .retry_after_seconds = seconds;
        self
    }

    /// Sets `metadata.continue`.
    #[must_use]
    pub fn with_continue_token(mut self, token: impl Into<String>) -> Self {
        self.inner.continue_token = token.into();
        self
    }

    /// The JSON text of the object, in the key order of a real server.
    #[allow(
        clippy::missing_panics_doc,
        reason = "plain strings and numbers always serialise"
    )]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.body()).expect("a Status is plain data")
    }

    /// The same, indented as Go indents it: a real server sends its 406 like this.
    pub(crate) fn to_pretty_json(&self) -> String {
        serde_json::to_string_pretty(&self.body()).expect("a Status is plain data")
    }

    fn body(&self) -> Body<'_> {
        Body {
            kind: "Status",
            api_version: "v1",
            metadata: BodyMetadata {
                continue_token: &self.inner.continue_token,
            },
            status: if self.inner.success {
                "Success"
            } else {
                "Failure"
            },
            message: &self.inner.message,
            reason: &self.inner.reason,
            details: self.inner.details.as_ref(),
            code: self.inner.code,
        }
    }

    /// 200: an object is gone.
    pub(crate) fn deleted(resource: &ResourceType, name: &str, uid: &str) -> Self {
        let details = StatusDetails {
            uid: uid.to_owned(),
            ..object_details(resource, name)
        };
        let mut status = Self::new(200, "", "").with_details(details);
        status.inner.success = true;
        status
    }

    /// 400 with the reason `BadRequest`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 401, as a server answers a missing or wrong token.
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 403 for one verb on one resource. An empty namespace stands for the whole cluster.
    pub fn forbidden(user: &str, verb: &str, group: &str, plural: &str, namespace: &str) -> Self {
        let scope = if namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace \"{namespace}\"")
        };
        let message = format!(
            "{plural}{dot}{group} is forbidden: User \"{user}\" cannot {verb} resource \"{plural}\" \
             in API group \"{group}\" {scope}",
            dot = if group.is_empty() { "" } else { "." },
        );
        let details = StatusDetails {
            group: group.to_owned(),
            kind: plural.to_owned(),
            ..StatusDetails::default()
        };
        Self::new(403, "Forbidden", message).with_details(details)
    }

    /// 404 for a path that leads nowhere: an unknown resource, or one whose definition is gone.
    pub fn unknown_resource() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_details(StatusDetails::default())
    }

    /// 404 for one object.
    pub fn not_found(resource: &ResourceType, name: &str) -> Self {
        Self::new(
            404,
            "NotFound",
            format!("{} \"{name}\" not found", resource.qualified()),
        )
        .with_details(object_details(resource, name))
    }

    /// 405.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
        .with_details(StatusDetails::default())
    }

    /// 406; the text names what this server can send.
    pub(crate) fn not_acceptable() -> Self {
        Self::new(
            406,
            "NotAcceptable",
            "406: Not Acceptable\n\nAvailable representations: application/json, \
             application/json;stream=watch",
        )
        .with_details(StatusDetails::default())
    }

    /// 409 for a name that is taken.
    pub fn already_exists(resource: &ResourceType, name: &str) -> Self {
        Self::new(
            409,
            "AlreadyExists",
            format!("{} \"{name}\" already exists", resource.qualified()),
        )
        .with_details(object_details(resource, name))
    }

    /// 409 for a write that was based on an older version, or whose precondition does not hold.
    pub fn conflict(resource: &ResourceType, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            resource.qualified()
        );
        Self::new(409, "Conflict", message).with_details(object_details(resource, name))
    }

    /// 410 with the reason `Expired`: the revision asked for is older than the history kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 410 as a watch says it.
    pub fn too_old(asked: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    /// 415: the body has a media type this server does not read.
    pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: {}",
                accepted.join(", ")
            ),
        )
        .with_details(StatusDetails::default())
    }

    /// 422 with one cause or more.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<StatusCause>) -> Self {
        let each: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let what = match each.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let dot = if group.is_empty() { "" } else { "." };
        let details = StatusDetails {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes,
            ..StatusDetails::default()
        };
        Self::new(
            422,
            "Invalid",
            format!("{kind}{dot}{group} \"{name}\" is invalid: {what}"),
        )
        .with_details(details)
    }

    /// 500 with the reason `InternalError`.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {}", message.into()),
        )
    }

    /// 504: the revision asked for has not been reached.
    pub fn too_large(asked: u64, current: u64, retry_after_seconds: u32) -> Self {
        let causes = vec![StatusCause::new(
            "ResourceVersionTooLarge",
            "Too large resource version",
        )];
        let details = StatusDetails {
            causes,
            retry_after_seconds,
            ..StatusDetails::default()
        };
        Self::new(
            504,
            "Timeout",
            format!("Timeout: Too large resource version: {asked}, current: {current}"),
        )
        .with_details(details)
    }
}

fn object_details(resource: &ResourceType, name: &str) -> StatusDetails {
    StatusDetails {
        name: name.to_owned(),
        group: resource.group.clone(),
        kind: resource.plural.clone(),
        ..StatusDetails::default()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} {})",
            self.inner.message, self.inner.code, self.inner.reason
        )
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact text of two recorded answers.
    #[test]
    fn the_json_has_the_key_order_of_a_real_server() {
        assert_eq!(
            Status::too_large(99_999_999, 100_680, 1).to_json(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 99999999, current: 100680","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}"#
        );
        assert_eq!(
            Status::unknown_resource().to_json(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#
        );
    }

    #[test]
    fn a_forbidden_answer_reads_as_recorded() {
        assert_eq!(
            Status::forbidden("viewer", "list", "", "pods", "rec").message(),
            "pods is forbidden: User \"viewer\" cannot list resource \"pods\" in API group \"\" in the namespace \"rec\""
        );
    }
}
