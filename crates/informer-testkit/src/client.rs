//! The project's own client over the server in memory.

use bytes::Bytes;
use http_body_util::Full;
use informer_client::Client;

use crate::server::ApiServer;

/// Clients of `informer-client`, by the feature `client`.
impl ApiServer {
    /// Returns a client of this server. Its requests go over [`Self::service`], also where the server has a socket:
    /// [`Self::url`] is for clients over that.
    ///
    /// ```
    /// use informer_client::Api;
    /// use informer_testkit::ApiServer;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::builder().in_memory();
    /// let maps = Api::<ConfigMap>::namespaced(server.client(), "default");
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("settings".to_owned());
    /// let map = maps.create(&map).await?;
    /// assert_eq!(map.metadata.resource_version, Some(server.resource_version().to_string()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn client(&self) -> Client {
        self.client_as("")
    }

    /// Returns a client of this name, over [`Self::service_as`].
    pub fn client_as(&self, name: &str) -> Client {
        Client::from_service::<_, Full<Bytes>, _>(self.service_as(name))
    }
}
