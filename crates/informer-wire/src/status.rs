//! `Status`: how an API server reports errors.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A `metav1.Status`: the body of an error answer, or the object of an ERROR event.
///
/// Servers, proxies and old versions leave fields out, so every field may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Status {
    /// The HTTP status code; 0 if the server did not say.
    #[serde(deserialize_with = "null_default")]
    pub code: u16,
    /// The machine-readable reason, as `Expired`.
    #[serde(deserialize_with = "null_default")]
    pub reason: String,
    /// What a person should read.
    #[serde(deserialize_with = "null_default")]
    pub message: String,
    /// `Success` or `Failure`.
    #[serde(deserialize_with = "null_default")]
    pub status: String,
    /// More about the cause.
    pub details: Option<StatusDetails>,
    /// Metadata of the answer.
    #[serde(deserialize_with = "null_default")]
    pub metadata: StatusMeta,
}

/// Metadata of a [`Status`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusMeta {
    /// A token for an inconsistent rest of an expired list. An informer must not use it.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<String>,
}

/// The details of a [`Status`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusDetails {
    /// The object's name, if the error concerns one.
    #[serde(deserialize_with = "null_default")]
    pub name: String,
    /// The group of the resource.
    #[serde(deserialize_with = "null_default")]
    pub group: String,
    /// The kind or the plural name of the resource.
    #[serde(deserialize_with = "null_default")]
    pub kind: String,
    /// The single causes.
    #[serde(deserialize_with = "null_default")]
    pub causes: Vec<StatusCause>,
    /// For how many seconds to wait before trying again; 0: not said.
    #[serde(deserialize_with = "null_default")]
    pub retry_after_seconds: u32,
}

/// One cause in [`StatusDetails`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct StatusCause {
    /// The machine-readable cause, as `ResourceVersionTooLarge`.
    #[serde(deserialize_with = "null_default")]
    pub reason: String,
    /// What a person should read.
    #[serde(deserialize_with = "null_default")]
    pub message: String,
    /// The field that is at fault.
    #[serde(deserialize_with = "null_default")]
    pub field: String,
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
    /// A failure with this code, reason and message.
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

    /// The resource version asked for is too old: HTTP 410, reason `Expired` or (of old servers) `Gone`.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.code == 410 || matches!(self.reason.as_str(), "Expired" | "Gone")
    }

    /// The resource version asked for is newer than the server's, in each form that servers have given it.
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

    /// The server asks for fewer requests: HTTP 429.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.code == 429 || self.reason == "TooManyRequests"
    }

    /// The object or resource is not there: HTTP 404.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == 404 || self.reason == "NotFound"
    }

    /// The object exists already: HTTP 409, reason `AlreadyExists`.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// The object was changed by another: HTTP 409, reason `Conflict`.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.reason == "Conflict" || (self.code == 409 && !self.is_already_exists())
    }

    /// The user may not do this: HTTP 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.code == 403 || self.reason == "Forbidden"
    }

    /// The server does not know who is asking: HTTP 401.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.code == 401 || self.reason == "Unauthorized"
    }

    /// The request is not valid: HTTP 422, reason `Invalid`.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.code == 422 || self.reason == "Invalid"
    }

    /// None of the asked formats is served: HTTP 406.
    #[must_use]
    pub fn is_not_acceptable(&self) -> bool {
        self.code == 406 || self.reason == "NotAcceptable"
    }

    /// The server failed inside: HTTP 500, reason `InternalError`.
    #[must_use]
    pub fn is_internal_error(&self) -> bool {
        self.code == 500 || self.reason == "InternalError"
    }

    /// How long the server asks to wait, if it does.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
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
