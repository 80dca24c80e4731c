//! How requests fail.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use informer_kubeconfig::ExecError;
use informer_wire::Status;

/// A request that failed.
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
    /// The server answered with an error.
    #[error("the API server refused: {status}")]
    Status {
        /// What the server said, or what its HTTP status code says where the body told nothing.
        status: Box<Status>,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server cannot be reached, or the connection broke.
    #[error("cannot talk to the API server; check its address and the network")]
    Transport {
        /// True if the connection was refused: nothing listens there, for now.
        refused: bool,
        /// What happened.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server's certificate is not accepted, or the server did not accept ours.
    #[error(
        "no trusted connection to the API server; check certificate-authority, tls-server-name and the client certificate"
    )]
    Tls {
        /// What happened.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server did not answer in time.
    #[error("the API server gave no {what} within {limit:?}")]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// For how long.
        limit: Duration,
    },
    /// The answer is larger than it may be.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The answer is not what was expected. The contents are not quoted.
    #[error("the answer cannot be read: {reason}")]
    Decode {
        /// What is wrong, and where.
        reason: String,
    },
    /// What should be sent cannot be written as JSON.
    #[error("the request's body cannot be written as JSON")]
    Encode {
        /// Why not.
        source: serde_json::Error,
    },
    /// The request itself cannot be made.
    #[error("not a valid request: {reason}")]
    Request {
        /// What is wrong and what to do.
        reason: String,
    },
    /// The file with the token cannot be read, and there is no older token.
    #[error("cannot read the token from {}; check that the file exists and that you may read it", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The program that the configuration names gives no credentials.
    #[error("no credentials for the API server")]
    Exec {
        /// Why not.
        #[from]
        source: Arc<ExecError>,
    },
    /// The server serves no such resource.
    #[error("the API server has no resource {name:?}; see `kubectl api-resources` for what it has")]
    UnknownResource {
        /// What was asked for.
        name: String,
    },
}

impl Error {
    /// The server's error answer.
    #[must_use]
    pub fn from_status(status: Status) -> Self {
        let retry_after = status.retry_after();
        Self::Status {
            status: Box::new(status),
            retry_after,
        }
    }

    /// What the server said, if it was the server that refused.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// How long the server asks to wait before the next try.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The object or resource is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// The object exists already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// The object was changed by another in the meantime: read it again and retry.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }

    /// The user may not do this.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(Status::is_forbidden)
    }

    /// The server does not know who is asking.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status().is_some_and(Status::is_unauthorized)
    }

    /// The object is not valid.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(Status::is_invalid)
    }

    /// The server asks for fewer requests.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.status().is_some_and(Status::is_too_many_requests)
    }

    /// The resource version or the continue token is too old.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// The connection was refused: nothing listens there, for now.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        matches!(self, Self::Transport { refused: true, .. })
    }

    /// A body that cannot be unpacked: it broke off, or is not what its head says.
    pub(crate) fn broken_body(error: io::Error) -> Self {
        Self::Transport {
            refused: false,
            source: error.into(),
        }
    }

    /// A service that the program gave us failed.
    #[cfg(feature = "tower")]
    pub(crate) fn from_service(source: Box<dyn StdError + Send + Sync>) -> Self {
        let refused = find::<io::Error>(&*source)
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        Self::Transport { refused, source }
    }

    /// A request that took too long.
    pub(crate) const fn timeout(what: &'static str, limit: Duration) -> Self {
        Self::Timeout { what, limit }
    }

    /// Sorts what the HTTP library reports. The URL is left out: it is long, and says nothing new.
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

/// The text of the last cause.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}

/// The first cause of a type. An I/O error may hold another error inside that `source` does not show.
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

/// A client that cannot be made from its configuration. Never quotes a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The configuration cannot be used.
    #[error("the configuration cannot be used")]
    Config(#[from] informer_kubeconfig::ConfigError),
    /// The credentials come from a program, and it may not be run or is not there.
    #[error("no credentials for the API server")]
    Exec(#[from] ExecError),
    /// No implementation of cryptography was chosen.
    #[error(
        "TLS has no cryptography; enable a feature (`ring` or `aws-lc-rs`), or give `ClientBuilder::crypto_provider` one"
    )]
    NoCryptoProvider,
    /// A certificate or key cannot be read from its file.
    #[error("cannot read the {what}")]
    Read {
        /// What it is, as `client certificate`.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A certificate or key is not usable.
    #[error("the {what} cannot be used: {reason}")]
    Credential {
        /// What it is, as `client certificate`.
        what: &'static str,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The connection cannot be set up.
    #[error("TLS cannot be set up")]
    Tls {
        /// Why not.
        source: rustls::Error,
    },
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up")]
    Http {
        /// Why not.
        source: Box<dyn StdError + Send + Sync>,
    },
}
