//! What a client remembers of discovery.

use std::sync::Arc;
use std::time::Duration;

use informer_wire::{Resource, Status};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{Discovery, fetch};
use crate::client::Client;
use crate::error::Error;

/// How long an answer is taken for the truth. A name that is not in it is asked for again at once.
const LIFETIME: Duration = Duration::from_secs(600);

/// The last answer of a server, and when it came.
#[derive(Default)]
pub(crate) struct DiscoveryCache {
    /// Held while the server is asked, so that many who want to know ask once.
    last: Mutex<Option<(Instant, Arc<Discovery>)>>,
}

impl Client {
    /// The server's resources: as they were asked for in the last ten minutes, else asked for now.
    ///
    /// Cancel safe: the next call asks again.
    ///
    /// # Errors
    /// When the server cannot be asked. A group whose own server is down is no error: see [`Discovery::unavailable`].
    pub async fn discovery(&self) -> Result<Arc<Discovery>, Error> {
        let now = Instant::now();
        self.discovery_since(now.checked_sub(LIFETIME)).await
    }

    /// The server's resources, asked for now.
    ///
    /// # Errors
    /// As [`Client::discovery`].
    #[doc(alias = "Invalidate")]
    pub async fn rediscover(&self) -> Result<Arc<Discovery>, Error> {
        self.discovery_since(Some(Instant::now())).await
    }

    /// The resource that a person names, as [`Discovery::find`] says. The server is asked once for all its resources,
    /// and again when it had no such name the last time.
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

    /// The resource of the objects of this kind, from the `apiVersion` and the `kind` that they carry.
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

    /// What the server answered since a time, or answers now.
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
