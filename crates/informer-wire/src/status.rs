//! `Status`: how an API server reports errors.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};

/// A `Status` of the Kubernetes API: the body of an error answer, or the object of an ERROR event.
///
/// Servers, proxies and old versions leave fields out, so every field may be missing. It serialises as servers write
/// it, without empty fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Status {
    /// The HTTP status code; 0 if unknown.
    #[serde(deserialize_with = "null_default")]
    pub code: u16,
    /// The machine-readable reason, such as `Expired`.
    #[serde(deserialize_with = "null_default")]
    pub reason: String,
    /// The human-readable message.
    #[serde(deserialize_with = "null_default")]
    pub message: String,
    /// `Success` or `Failure`.
    #[serde(deserialize_with = "null_default")]
    pub status: String,
    /// Details of the cause.
    pub details: Option<Box<StatusDetails>>,
    /// Metadata of the answer.
    #[serde(deserialize_with = "null_default")]
    pub metadata: StatusMeta,
}

/// Metadata of a [`Status`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusMeta {
    /// A token for the rest of an expired list, which may be inconsistent with its first pages. An informer must not use
    /// it.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<Box<str>>,
    /// The resource version of the deletion, in the response to a delete; servers before Kubernetes 1.38 send none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<Box<str>>,
}

/// The details of a [`Status`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusDetails {
    /// The object's name, if the error concerns one.
    #[serde(
        deserialize_with = "null_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
    /// The group of the resource.
    #[serde(
        deserialize_with = "null_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub group: String,
    /// The kind or the plural name of the resource.
    #[serde(
        deserialize_with = "null_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub kind: String,
    /// The object's UID.
    #[serde(
        deserialize_with = "null_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub uid: String,
    /// The causes, one for each fault.
    #[serde(
        deserialize_with = "null_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub causes: Vec<StatusCause>,
    /// The number of seconds to wait before trying again; 0 if the server asks for none.
    #[serde(deserialize_with = "null_default", skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One cause in [`StatusDetails`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusCause {
    /// The machine-readable cause, such as `ResourceVersionTooLarge`.
    #[serde(
        deserialize_with = "null_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub reason: String,
    /// The human-readable message.
    #[serde(
        deserialize_with = "null_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub message: String,
    /// The field at fault.
    #[serde(
        deserialize_with = "null_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub field: String,
}

const fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

/// Reads `null` as the default value.
fn null_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl Status {
    /// Makes a failure with this code, reason and message.
    ///
    /// ```
    /// use informer_wire::Status;
    ///
    /// let status = Status::failure(429, "TooManyRequests", "slow down").with_retry_after(3);
    /// assert!(status.is_too_many_requests());
    /// assert!(serde_json::to_string(&status)?.contains(r#""retryAfterSeconds":3"#));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn failure(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            status: "Failure".to_owned(),
            ..Self::default()
        }
    }

    /// Sets the details.
    #[must_use]
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Sets the number of seconds to wait before trying again.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// Returns `true` if the requested resource version is too old: HTTP 410, reason `Expired` or (of old servers) `Gone`.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.code == 410 || matches!(self.reason.as_str(), "Expired" | "Gone")
    }

    /// Returns `true` if the requested resource version is newer than the server's, in each form that servers have sent.
    #[must_use]
    #[doc(alias = "IsTooLargeResourceVersionError")]
    pub fn is_resource_version_too_large(&self) -> bool {
        let cause = self.details.iter().flat_map(|details| &details.causes);
        if cause
            .clone()
            .any(|cause| cause.reason == "ResourceVersionTooLarge")
        {
            return true;
        }
        // Servers up to 1.18 say it in words only, as a cause or in the message.
        let says = |text: &str| {
            text.to_ascii_lowercase()
                .contains("too large resource version")
        };
        let timeout = self.code == 504 || self.reason == "Timeout";
        timeout && (says(&self.message) || cause.into_iter().any(|cause| says(&cause.message)))
    }

    /// Returns `true` if the server asks for fewer requests: HTTP 429.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.code == 429 || self.reason == "TooManyRequests"
    }

    /// Returns `true` if the object or resource does not exist: HTTP 404.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == 404 || self.reason == "NotFound"
    }

    /// Returns `true` if the object exists already: HTTP 409, reason `AlreadyExists`.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Returns `true` if the object was changed by another, so that reading it again and repeating the write may help: HTTP
    /// 409, but for existing objects and [conflicts of an apply](Self::is_apply_conflict).
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        let is_conflict = self.reason == "Conflict" || self.code == 409;
        is_conflict && !self.is_already_exists() && !self.is_apply_conflict()
    }

    /// Returns `true` if a server-side apply was refused because another manager owns a field: HTTP 409 with causes of type
    /// `FieldManagerConflict`. It lasts until one of the two gives way, by force or by leaving the field out.
    #[must_use]
    pub fn is_apply_conflict(&self) -> bool {
        let mut causes = self.details.iter().flat_map(|details| &details.causes);
        self.code == 409 && causes.any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// Returns `true` if the user lacks the right: HTTP 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.code == 403 || self.reason == "Forbidden"
    }

    /// Returns `true` if the server does not know the user: HTTP 401.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.code == 401 || self.reason == "Unauthorized"
    }

    /// Returns `true` if the request is invalid: HTTP 422, reason `Invalid`.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.code == 422 || self.reason == "Invalid"
    }

    /// Returns `true` if the server has none of the requested formats: HTTP 406.
    #[must_use]
    pub fn is_not_acceptable(&self) -> bool {
        self.code == 406 || self.reason == "NotAcceptable"
    }

    /// Returns `true` if the server failed: HTTP 500, reason `InternalError`.
    #[must_use]
    pub fn is_internal_error(&self) -> bool {
        self.code == 500 || self.reason == "InternalError"
    }

    /// Returns the time to wait before trying again, if the server asks for one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }
}

impl StatusCause {
    /// Makes a cause that names no field.
    #[must_use]
    pub fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            message: message.into(),
            field: String::new(),
        }
    }

    /// Sets the field at fault.
    #[must_use]
    pub fn with_field(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Written<'a> {
            kind: &'static str,
            api_version: &'static str,
            metadata: &'a StatusMeta,
            #[serde(skip_serializing_if = "str::is_empty")]
            status: &'a str,
            #[serde(skip_serializing_if = "str::is_empty")]
            message: &'a str,
            #[serde(skip_serializing_if = "str::is_empty")]
            reason: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            details: Option<&'a StatusDetails>,
            #[serde(skip_serializing_if = "Option::is_none")]
            code: Option<u16>,
        }
        let written = Written {
            kind: "Status",
            api_version: "v1",
            metadata: &self.metadata,
            status: &self.status,
            message: &self.message,
            reason: &self.reason,
            details: self.details.as_deref(),
            code: Some(self.code).filter(|code| *code != 0),
        };
        written.serialize(serializer)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = if self.message.is_empty() {
            "no message"
        } else {
            &self.message
        };
        match (self.code, self.reason.as_str()) {
            (0, "") => f.write_str(message),
            (0, reason) => write!(f, "{message} ({reason})"),
            (code, "") => write!(f, "{message} ({code})"),
            (code, reason) => write!(f, "{message} ({code} {reason})"),
        }
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact text of two recorded answers.
    #[test]
    fn status_serialises_as_servers_write_it() {
        for text in [
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 99999999, current: 100680","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}"#,
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#,
            r#"{"kind":"Status","apiVersion":"v1","metadata":{"continue":"x"},"status":"Success","details":{"name":"a","kind":"pods","uid":"u"}}"#,
        ] {
            let status: Status = serde_json::from_str(text).expect("a Status");
            assert_eq!(serde_json::to_string(&status).expect("plain data"), text);
        }
    }
}
