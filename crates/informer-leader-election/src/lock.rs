//! The lease's storage: a trait of three requests, and its implementation over HTTP.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use informer_client::{Api, Client};
use informer_wire::{Resource, Scope};
use serde_json::Value;

use crate::lease::Lease;

/// Why a request for a lease failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// It was written concurrently.
    #[error("lease was written concurrently")]
    Conflict,
    /// There was no response in time. The elector limits each request.
    #[error("no response to a lease request within {0:?}; check the connection to the API server")]
    Timeout(Duration),
    /// Anything else.
    #[error("lease request failed")]
    Failed(#[source] Box<dyn StdError + Send + Sync>),
}

impl LockError {
    /// How long the server asks to wait before the next request.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let Self::Failed(source) = self else {
            return None;
        };
        let error: &informer_client::Error = source.downcast_ref()?;
        error.retry_after()
    }
}

/// A lease that replicas compete for.
///
/// Dropping one of its futures ends the request; a write may have happened or not. They need no time limit: the elector has
/// one.
#[doc(alias = "resourcelock.Interface")]
pub trait LeaseLock: Send + Sync + 'static {
    /// Returns the present lease; `None` if it does not exist.
    ///
    /// # Errors
    /// If it cannot be read.
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

    /// Returns the name for a new lease.
    fn name(&self) -> &str;

    /// Returns the same lock with connections of its own, which another runtime may drive; `None`, the default, if there
    /// are none.
    ///
    /// A connection belongs to the runtime that opened it: while that is blocked, requests over it are not answered,
    /// whoever sent them. So a thread that renews beside the work needs connections that it opens itself.
    fn separate(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// A lease on an API server. The caller needs the rights to get, create and update `leases` of `coordination.k8s.io`.
///
/// Its requests use connections of their own, where an elector [asks for them](LeaseLock::separate). Give it the client as it
/// is, without the elector's [gate](crate::LeaderElector::gate): who may not ask for the lease never leads.
#[doc(alias = "LeaseLock")]
pub struct HttpLeaseLock {
    client: Client,
    api: Api<Value>,
    namespace: String,
    name: String,
}

impl HttpLeaseLock {
    /// Makes the lock of the lease of this namespace and name.
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
            api: Api::new(client.clone(), leases).in_namespace(&namespace),
            client,
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

    fn separate(&self) -> Option<Self> {
        let client = self.client.with_own_connections()?;
        Some(Self::new(client, &self.namespace, &self.name))
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
