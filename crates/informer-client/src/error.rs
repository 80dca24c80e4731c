//! Errors of requests.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use informer_kubeconfig::ExecError;
use informer_wire::Status;

/// An error of a request.
///
/// What the server itself said is [`Error::Status`]; the predicates ask for its usual reasons.
///
/// ```
/// use informer_client::Error;
/// use informer_wire::Status;
///
/// let error = Error::from_status(Status::failure(404, "NotFound", "pods \"web\" not found"));
/// assert!(error.is_not_found());
/// assert!(!error.is_conflict());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server responded with an error.
    #[error("the API server refused: {status}")]
    Status {
        /// The server's error, or that of the HTTP status code if the body has none.
        status: Box<Status>,
        /// The time to wait before trying again, if the server asks for one.
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("cannot talk to the API server; check its address and the network")]
    Transport {
        /// Whether the connection was refused: nothing listens there, for now.
        refused: bool,
        /// The cause.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server's certificate is not accepted, or the server did not accept the client's.
    #[error(
        "no trusted connection to the API server; check certificate-authority, tls-server-name and the client certificate"
    )]
    Tls {
        /// The cause.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server did not respond in time.
    #[error("request timed out: no {what} within {limit:?}")]
    Timeout {
        /// What the request waited for.
        what: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// The response is too large.
    #[error("response larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The response is not the expected one. The contents are not quoted.
    #[error("invalid response: {reason}")]
    Decode {
        /// The fault and its place.
        reason: String,
    },
    /// The body cannot be written as JSON.
    #[error("cannot write the request's body as JSON")]
    Encode {
        /// The cause.
        source: serde_json::Error,
    },
    /// The request cannot be made.
    #[error("invalid request: {reason}")]
    Request {
        /// The fault and the remedy.
        reason: String,
    },
    /// The file with the token cannot be read, and there is no older token.
    #[error("cannot read the token from {}; check that the file exists and that you may read it", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The program for credentials failed, or is not allowed.
    #[error("no credentials for the API server")]
    Exec {
        /// The cause.
        #[from]
        source: Arc<ExecError>,
    },
    /// The [gate](crate::Client::gated) of the client is closed. If it was closed while the response was awaited, it is
    /// unknown whether the server carried the request out.
    #[error("request not sent, or given up: the client's gate is closed")]
    Gate {
        /// The cause.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server has no such resource.
    #[error("the API server has no resource {name:?}; see `kubectl api-resources` for what it has")]
    UnknownResource {
        /// The requested name.
        name: String,
    },
}

impl Error {
    /// Makes the error of a server's response.
    #[must_use]
    pub fn from_status(status: Status) -> Self {
        let retry_after = status.retry_after();
        Self::Status {
            status: Box::new(status),
            retry_after,
        }
    }

    /// Returns the server's error, if this is one.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Returns the time to wait before trying again, if the server asks for one.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns `true` if the object or resource does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Returns `true` if the object exists already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// Returns `true` if the object was changed by another: read it again and retry.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// Returns `true` if a server-side apply was refused because another manager owns a field; see
    /// [`Status::is_apply_conflict`].
    #[must_use]
    pub fn is_apply_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_apply_conflict)
    }

    /// Returns `true` if the user lacks the right.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(Status::is_forbidden)
    }

    /// Returns `true` if the server does not know the user.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status().is_some_and(Status::is_unauthorized)
    }

    /// Returns `true` if the object is invalid.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(Status::is_invalid)
    }

    /// Returns `true` if the server asks for fewer requests.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.status().is_some_and(Status::is_too_many_requests)
    }

    /// Returns `true` if the resource version or the continue token is too old.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// Returns `true` if the connection was refused: nothing listens there, for now.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Transport { refused: true, .. })
    }

    /// Makes the error of a body that cannot be unpacked: it broke off, or is not of the declared format.
    pub(crate) fn broken_body(error: io::Error) -> Self {
        Self::Transport {
            refused: false,
            source: error.into(),
        }
    }

    /// Makes the error of a service of the program.
    #[cfg(feature = "tower")]
    pub(crate) fn from_service(source: Box<dyn StdError + Send + Sync>) -> Self {
        let refused = find::<io::Error>(&*source)
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        Self::Transport { refused, source }
    }

    /// Makes the error of a request that took too long.
    pub(crate) const fn timeout(what: &'static str, limit: Duration) -> Self {
        Self::Timeout { what, limit }
    }

    /// Classifies an error of the HTTP library. The URL is left out: it is long and not needed.
    pub(crate) fn from_reqwest(error: reqwest::Error) -> Self {
        if error.is_builder() {
            let error = error.without_url();
            return Self::Request {
                reason: innermost(&error),
            };
        }
        let error = error.without_url();
        if find::<rustls::Error>(&error).is_some() {
            return Self::Tls {
                source: error.into(),
            };
        }
        let refused = find::<io::Error>(&error)
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        Self::Transport {
            refused,
            source: error.into(),
        }
    }
}

/// Returns the text of the last cause.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

/// Returns the first cause of a type. An I/O error may contain another error that `source` does not show.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

/// An error of building a client. Never quotes a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The configuration cannot be used.
    #[error("invalid configuration")]
    Config(#[from] informer_kubeconfig::ConfigError),
    /// The program for credentials is not allowed or does not exist.
    #[error("no credentials for the API server")]
    Exec(#[from] ExecError),
    /// There is no implementation of cryptography.
    #[error(
        "no cryptography for TLS; enable a feature (`ring` or `aws-lc-rs`), or set `ClientBuilder::crypto_provider`"
    )]
    NoCryptoProvider,
    /// A certificate or key cannot be read from its file.
    #[error("cannot read the {what}")]
    Read {
        /// What it is, such as `client certificate`.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// A certificate or key is not usable.
    #[error("invalid {what}: {reason}")]
    Credential {
        /// What it is, such as `client certificate`.
        what: &'static str,
        /// The fault and the remedy.
        reason: String,
    },
    /// The connection cannot be set up.
    #[error("cannot set up TLS")]
    Tls {
        /// The cause.
        source: rustls::Error,
    },
    /// The HTTP client cannot be set up.
    #[error("cannot set up the HTTP client")]
    Http {
        /// The cause.
        source: Box<dyn StdError + Send + Sync>,
    },
}
