//! The discovery that a client keeps.

use std::sync::Arc;
use std::time::Duration;

use informer_wire::{Resource, Status};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{Discovery, fetch};
use crate::client::Client;
use crate::error::Error;

/// How long a response is kept. A name that is not in it is requested again at once.
const LIFETIME: Duration = Duration::from_secs(600);

/// The last response of a server, and its time.
#[derive(Default)]
pub(crate) struct DiscoveryCache {
    /// Held during a request, so that many callers cause one.
    last: Mutex<Option<(Instant, Arc<Discovery>)>>,
}

impl Client {
    /// Returns the server's resources: those of the last ten minutes, else requested now.
    ///
    /// Cancel safe: the next call sends the request again.
    ///
    /// # Errors
    /// When the server cannot be asked. A group whose own server is down is no error: see [`Discovery::unavailable`].
    pub async fn discovery(&self) -> Result<Arc<Discovery>, Error> {
        let now = Instant::now();
        self.discovery_since(now.checked_sub(LIFETIME)).await
    }

    /// Returns the server's resources, requested now.
    ///
    /// # Errors
    /// As [`Client::discovery`].
    #[doc(alias = "Invalidate")]
    pub async fn rediscover(&self) -> Result<Arc<Discovery>, Error> {
        self.discovery_since(Some(Instant::now())).await
    }

    /// Returns the resource of a name that people use, see [`Discovery::find`]. The server is asked once for all its
    /// resources, and again if it had no such name the last time.
    ///
    /// ```no_run
    /// # async fn example(client: informer_client::Client) -> Result<(), informer_client::Error> {
    /// let widgets = client.find_resource("widgets.example.org").await?;
    /// assert_eq!(widgets.kind, "Widget");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownResource`] when the server has none of this name; others when it cannot be asked, also when only
    /// a group cannot that might have it.
    pub async fn find_resource(&self, name: &str) -> Result<Resource, Error> {
        self.look_up(name, |all| all.find(name), |all| all.may_have(name))
            .await
    }

    /// Returns the resource of the objects of this kind, from their `apiVersion` and `kind`.
    ///
    /// ```no_run
    /// # async fn example(client: informer_client::Client) -> Result<(), informer_client::Error> {
    /// let widgets = client.find_kind("example.org/v1", "Widget").await?;
    /// assert_eq!(widgets.plural, "widgets");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Client::find_resource`].
    #[doc(alias = "RESTMapping")]
    pub async fn find_kind(&self, api_version: &str, kind: &str) -> Result<Resource, Error> {
        let name = format!("{kind} of {api_version}");
        self.look_up(
            &name,
            |all| all.find_kind(api_version, kind),
            |all| all.unavailable().find(|place| *place == api_version),
        )
        .await
    }

    async fn look_up(
        &self,
        name: &str,
        find: impl Fn(&Discovery) -> Option<Resource>,
        down: impl Fn(&Discovery) -> Option<&str>,
    ) -> Result<Resource, Error> {
        let asked = Instant::now();
        if let Some(found) = find(&*self.discovery().await?) {
            return Ok(found);
        }
        // What is new on the server, an older answer does not know.
        let fresh = self.discovery_since(Some(asked)).await?;
        if let Some(found) = find(&fresh) {
            return Ok(found);
        }
        if let Some(place) = down(&fresh) {
            let message = format!("{place} cannot be asked for {name}: its server is down");
            let status = Status::failure(503, "ServiceUnavailable", &message);
            return Err(Error::from_status(status));
        }
        Err(Error::UnknownResource {
            name: name.to_owned(),
        })
    }

    /// Returns the server's response since a time, or a new one.
    async fn discovery_since(&self, since: Option<Instant>) -> Result<Arc<Discovery>, Error> {
        let mut last = self.inner.discovery.last.lock().await;
        if let Some((at, known)) = &*last
            && since.is_none_or(|since| *at >= since)
        {
            return Ok(Arc::clone(known));
        }
        let fresh = Arc::new(fetch::discover(self).await?);
        *last = Some((Instant::now(), Arc::clone(&fresh)));
        Ok(fresh)
    }
}
