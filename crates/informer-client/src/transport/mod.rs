//! Connections, and their renewal when certificates in files are replaced.
//!
//! A new certificate means new connections: a TLS connection keeps the certificate that it began with. Requests that
//! run, as watches do, are left alone on the old ones, which close when the last of them ends.

mod lanes;
mod material;
mod recipe;
#[cfg(feature = "tower")]
mod service;

use std::sync::Arc;
use std::time::Duration;

use informer_kubeconfig::ClientCertificate;
use parking_lot::RwLock;
use tokio::sync::Mutex;
use tokio::time::Instant;

pub(crate) use lanes::{Lanes, Place, Pool};
pub(crate) use material::{Identity, Material};
pub use recipe::HttpVersion;
pub(crate) use recipe::Recipe;
#[cfg(feature = "tower")]
pub(crate) use service::Service;

use crate::error::{BuildError, Error};

/// How long certificates that were read from files are used before the files are read again. They are replaced long
/// before they expire, so a minute is early enough.
const FILE_LIFETIME: Duration = Duration::from_secs(60);

/// The shortest time between two readings of the files, however many requests fail.
const RECHECK: Duration = Duration::from_secs(1);

/// Connections to one server with certificates that may change.
pub(crate) struct Transport {
    recipe: Arc<Recipe>,
    /// Swapped as a whole when certificates change.
    current: RwLock<Arc<Lanes>>,
    /// Held while files are read, so that many requests read them once.
    renewal: Mutex<Renewal>,
}

struct Renewal {
    /// The client certificate.
    identity: Option<ClientCertificate>,
    /// The time of the last reading; `None` if nothing is in files.
    read: Option<Instant>,
}

impl Transport {
    /// Reads the certificates and makes the first connection pool. Connects to nothing.
    pub(crate) fn new(
        recipe: Recipe,
        identity: Option<&ClientCertificate>,
    ) -> Result<Self, BuildError> {
        let https = recipe.cluster.server.scheme() == "https";
        let material = if https {
            Material::read(&recipe.cluster, identity)?
        } else {
            Material::NONE
        };
        let in_files = https && material::is_in_files(&recipe.cluster, identity);
        Ok(Self {
            current: RwLock::new(Arc::new(Lanes::new(&recipe, material)?)),
            recipe: Arc::new(recipe),
            renewal: Mutex::new(Renewal {
                identity: identity.cloned(),
                read: in_files.then(Instant::now),
            }),
        })
    }

    /// Returns the connections to use now. Reads files again that are due; other requests do not wait for that.
    pub(crate) async fn lanes(&self) -> Arc<Lanes> {
        if let Ok(mut renewal) = self.renewal.try_lock()
            && renewal
                .read
                .is_some_and(|read| read.elapsed() >= FILE_LIFETIME)
        {
            self.renew(&mut renewal).await;
        }
        Arc::clone(&self.current.read())
    }

    /// A place for one request among these connections.
    pub(crate) fn place(
        &self,
        lanes: &Lanes,
        pool: &Pool,
    ) -> Result<(reqwest::Client, Place), Error> {
        lanes
            .place(&self.recipe, pool)
            .map_err(|error| Error::Request {
                reason: error.to_string(),
            })
    }

    /// Reads files again because something failed over these connections. Returns `true` if there are others now.
    pub(crate) async fn recheck(&self, used: &Arc<Lanes>) -> bool {
        let mut renewal = self.renewal.lock().await;
        let is_other = !Arc::ptr_eq(used, &self.current.read());
        if !is_other && renewal.read.is_some_and(|read| read.elapsed() >= RECHECK) {
            self.renew(&mut renewal).await;
        }
        !Arc::ptr_eq(used, &self.current.read())
    }

    /// Uses this client certificate from now on.
    pub(crate) async fn identify(&self, identity: ClientCertificate) -> Result<(), BuildError> {
        let mut renewal = self.renewal.lock().await;
        self.replace(Some(identity.clone())).await?;
        renewal.identity = Some(identity);
        Ok(())
    }

    async fn renew(&self, renewal: &mut Renewal) {
        renewal.read = Some(Instant::now());
        // Half of a pair that is being replaced does not fit the other half: the old one serves until both are there.
        if let Err(error) = self.replace(renewal.identity.clone()).await {
            tracing::warn!(error = %Chain(&error), "cannot use the certificates in their files; keeping the last ones");
        }
    }

    /// Makes new connections if the certificates differ from those in use.
    async fn replace(&self, identity: Option<ClientCertificate>) -> Result<(), BuildError> {
        let recipe = Arc::clone(&self.recipe);
        let now = Arc::clone(&self.current.read());
        let work = move || -> Result<Option<Lanes>, BuildError> {
            let material = Material::read(&recipe.cluster, identity.as_ref())?;
            if material.is_same(&now.material) {
                return Ok(None);
            }
            Lanes::new(&recipe, material).map(Some)
        };
        let made = tokio::task::spawn_blocking(work)
            .await
            .map_err(|source| BuildError::Http {
                source: source.into(),
            })?;
        if let Some(lanes) = made? {
            *self.current.write() = Arc::new(lanes);
            tracing::info!("certificates were replaced; new requests use new connections");
        }
        Ok(())
    }
}

/// An error with its causes in one line.
struct Chain<'a>(&'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(error) = next {
            write!(f, ": {error}")?;
            next = error.source();
        }
        Ok(())
    }
}
