//! The errors of an API server, in its words.

use informer_wire::{Status, StatusCause, StatusDetails};

use crate::request::RequestRecord;
use crate::resource::ResourceType;

/// Writes a `Status` as JSON.
pub(crate) fn to_json(status: &Status) -> String {
    serde_json::to_string(status).expect("a Status is plain data")
}

/// Writes a `Status` as JSON, indented as Go indents it: a real server sends its 406 like this.
pub(crate) fn to_pretty_json(status: &Status) -> String {
    serde_json::to_string_pretty(status).expect("a Status is plain data")
}

/// 200: an object is deleted.
pub(crate) fn deleted(resource: &ResourceType, name: &str, uid: &str) -> Status {
    let mut details = object_details(resource, name);
    details.uid = uid.to_owned();
    let mut status = Status::default().with_details(details);
    status.status = "Success".to_owned();
    status
}

/// Returns 400 with the reason `BadRequest`.
pub fn bad_request(message: impl Into<String>) -> Status {
    Status::failure(400, "BadRequest", message)
}

/// Returns 401, as a server does for a missing or wrong token.
pub fn unauthorized() -> Status {
    Status::failure(401, "Unauthorized", "Unauthorized")
}

/// Returns 403 for one verb on one resource. An empty namespace stands for the whole cluster.
pub fn forbidden(user: &str, verb: &str, group: &str, plural: &str, namespace: &str) -> Status {
    let why = lacks(user, verb, group, plural, namespace);
    forbidden_object(group, plural, "", &why)
}

/// What RBAC says of a user without a right.
fn lacks(user: &str, verb: &str, group: &str, resource: &str, namespace: &str) -> String {
    let scope = if namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{namespace}\"")
    };
    format!(
        "User \"{user}\" cannot {verb} resource \"{resource}\" in API group \"{group}\" {scope}"
    )
}

/// 403 for one request, whose user is its client.
pub(crate) fn forbidden_request(request: &RequestRecord) -> Status {
    let user = match request.client.as_str() {
        "" => "system:anonymous",
        client => client,
    };
    let verb = request.verb.word(&request.method);
    let (group, plural) = (&request.group, &request.resource);
    let resource = match request.subresource.as_str() {
        "" => plural.clone(),
        subresource => format!("{plural}/{subresource}"),
    };
    let why = lacks(user, &verb, group, &resource, &request.namespace);
    forbidden_object(group, plural, &request.name, &why)
}

fn forbidden_object(group: &str, plural: &str, name: &str, why: &str) -> Status {
    let dot = if group.is_empty() { "" } else { "." };
    let quoted = if name.is_empty() {
        String::new()
    } else {
        format!(" \"{name}\"")
    };
    let message = format!("{plural}{dot}{group}{quoted} is forbidden: {why}");
    let mut details = StatusDetails::default();
    details.name = name.to_owned();
    details.group = group.to_owned();
    details.kind = plural.to_owned();
    Status::failure(403, "Forbidden", message).with_details(details)
}

/// 403: a rule of the cluster, not the user's rights, forbids it.
pub(crate) fn refused(resource: &ResourceType, name: &str, why: &str) -> Status {
    let message = format!("{} \"{name}\" is forbidden: {why}", resource.qualified());
    Status::failure(403, "Forbidden", message).with_details(object_details(resource, name))
}

/// Returns 404 for an unknown path: an unknown resource, or one whose definition is deleted.
pub fn unknown_resource() -> Status {
    let message = "the server could not find the requested resource";
    Status::failure(404, "NotFound", message).with_details(StatusDetails::default())
}

/// Returns 404 for one object.
pub fn not_found(resource: &ResourceType, name: &str) -> Status {
    let message = format!("{} \"{name}\" not found", resource.qualified());
    Status::failure(404, "NotFound", message).with_details(object_details(resource, name))
}

/// 405.
pub(crate) fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::failure(405, "MethodNotAllowed", message).with_details(StatusDetails::default())
}

/// 406; the text names what this server can send.
pub(crate) fn not_acceptable() -> Status {
    let message = "406: Not Acceptable\n\nAvailable representations: application/json, \
                   application/json;stream=watch";
    Status::failure(406, "NotAcceptable", message).with_details(StatusDetails::default())
}

/// Returns 409 for a name that is taken.
pub fn already_exists(resource: &ResourceType, name: &str) -> Status {
    let message = format!("{} \"{name}\" already exists", resource.qualified());
    Status::failure(409, "AlreadyExists", message).with_details(object_details(resource, name))
}

/// Returns 409 for a write that was based on an older version, or whose precondition does not hold.
pub fn conflict(resource: &ResourceType, name: &str, why: &str) -> Status {
    let message = format!(
        "Operation cannot be fulfilled on {} \"{name}\": {why}",
        resource.qualified()
    );
    Status::failure(409, "Conflict", message).with_details(object_details(resource, name))
}

/// Returns 410 with the reason `Expired`: the requested revision is older than the history.
pub fn expired(message: impl Into<String>) -> Status {
    Status::failure(410, "Expired", message)
}

/// Returns 410 as a watch does.
pub fn too_old(requested: u64, oldest: u64) -> Status {
    expired(format!("too old resource version: {requested} ({oldest})"))
}

/// 415: the body has a media type this server does not read.
pub(crate) fn unsupported_media_type(accepted: &[&str]) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        accepted.join(", ")
    );
    Status::failure(415, "UnsupportedMediaType", message)
}

/// Returns 422 with one cause or more.
pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<StatusCause>) -> Status {
    let each: Vec<String> = causes
        .iter()
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect();
    let what = match each.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let dot = if group.is_empty() { "" } else { "." };
    let mut details = StatusDetails::default();
    details.name = name.to_owned();
    details.group = group.to_owned();
    details.kind = kind.to_owned();
    details.causes = causes;
    let message = format!("{kind}{dot}{group} \"{name}\" is invalid: {what}");
    Status::failure(422, "Invalid", message).with_details(details)
}

/// Returns 500 with the reason `InternalError`.
pub fn internal(message: impl Into<String>) -> Status {
    let why = message.into();
    let message = format!("Internal error occurred: {why}");
    let mut details = StatusDetails::default();
    details.causes = vec![StatusCause::new("", why)];
    Status::failure(500, "InternalError", message).with_details(details)
}

/// Returns 504: the server has not reached the requested revision.
pub fn too_large(requested: u64, current: u64, retry_after_seconds: u32) -> Status {
    let mut details = StatusDetails::default();
    details.causes = vec![StatusCause::new(
        "ResourceVersionTooLarge",
        "Too large resource version",
    )];
    details.retry_after_seconds = retry_after_seconds;
    let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
    Status::failure(504, "Timeout", message).with_details(details)
}

fn object_details(resource: &ResourceType, name: &str) -> StatusDetails {
    let mut details = StatusDetails::default();
    details.name = name.to_owned();
    details.group.clone_from(&resource.group);
    details.kind.clone_from(&resource.plural);
    details
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact text of a recorded answer.
    #[test]
    fn status_has_the_key_order_of_a_real_server() {
        assert_eq!(
            to_json(&too_large(99_999_999, 100_680, 1)),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 99999999, current: 100680","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}"#
        );
    }

    #[test]
    fn forbidden_reads_as_recorded() {
        assert_eq!(
            forbidden("viewer", "list", "", "pods", "rec").message,
            "pods is forbidden: User \"viewer\" cannot list resource \"pods\" in API group \"\" in the namespace \"rec\""
        );
    }
}
