//! Where the lease is: the trait of three requests, and its implementation over HTTP.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;

use informer_client::{Api, Client};
use informer_wire::{Resource, Scope};
use serde_json::Value;

use crate::lease::Lease;

/// What went wrong with a request for a lease.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Another wrote it first.
    #[error("another has written the lease meanwhile")]
    Conflict,
    /// Anything else.
    #[error("the request for the lease failed")]
    Failed(#[source] Box<dyn StdError + Send + Sync>),
}

/// A lease that replicas compete for.
///
/// Dropping one of its futures ends the request; a write may have happened or not.
#[doc(alias = "resourcelock.Interface")]
pub trait LeaseLock: Send + Sync {
    /// The lease as it is now; `None` if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    fn get(&self) -> impl Future<Output = Result<Option<Lease>, LockError>> + Send;

    /// Creates the lease.
    ///
    /// # Errors
    /// [`LockError::Conflict`] if it exists already.
    fn create(&self, lease: &Lease) -> impl Future<Output = Result<Lease, LockError>> + Send;

    /// Replaces the lease, if its resource version is still the current one.
    ///
    /// # Errors
    /// [`LockError::Conflict`] if it is not.
    fn update(&self, lease: &Lease) -> impl Future<Output = Result<Lease, LockError>> + Send;

    /// The name of the lease, for new ones.
    fn name(&self) -> &str;
}

/// A lease on an API server. The caller needs the rights to get, create and update `leases` of `coordination.k8s.io`.
#[doc(alias = "LeaseLock")]
pub struct HttpLeaseLock {
    api: Api<Value>,
    namespace: String,
    name: String,
}

impl HttpLeaseLock {
    /// The lease of this namespace and name.
    #[must_use]
    pub fn new(client: Client, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        let (namespace, name) = (namespace.into(), name.into());
        let leases = Resource::new(
            "coordination.k8s.io",
            "v1",
            "Lease",
            "leases",
            Scope::Namespaced,
        );
        Self {
            api: Api::new(client, leases).in_namespace(&namespace),
            namespace,
            name,
        }
    }
}

impl LeaseLock for HttpLeaseLock {
    async fn get(&self) -> Result<Option<Lease>, LockError> {
        match self.api.get(&self.name).await {
            Ok(lease) => Ok(Some(Lease::from_json(lease))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, LockError> {
        let created = self.api.create(lease.as_json()).await;
        created.map(Lease::from_json).map_err(failed)
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, LockError> {
        let updated = self.api.replace(&self.name, lease.as_json()).await;
        updated.map(Lease::from_json).map_err(failed)
    }

    fn name(&self) -> &str {
        &self.name
    }
}

fn failed(error: informer_client::Error) -> LockError {
    if error.is_conflict() || error.is_already_exists() {
        return LockError::Conflict;
    }
    LockError::Failed(Box::new(error))
}

impl fmt::Debug for HttpLeaseLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpLeaseLock")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
