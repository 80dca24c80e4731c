//! Objects as types of Rust, beside those in JSON.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use informer_wire::{Resource, StaticResource, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::server::ApiServer;
use crate::status;
use crate::wait::NotYet;

impl ApiServer {
    /// Returns the objects of a type that knows its resource, such as those of `k8s-openapi` (with the feature of that name
    /// of `informer-wire`) and what kube's `CustomResource` derives.
    ///
    /// ```
    /// use informer_testkit::ApiServer;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::start().await?;
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("settings".to_owned());
    /// map.metadata.namespace = Some("shop".to_owned());
    /// let maps = server.objects::<ConfigMap>();
    /// let mut map = maps.create(&map)?;
    /// map.immutable = Some(true);
    /// maps.update(&map)?;
    /// assert_eq!(maps.get("shop", "settings")?.immutable, Some(true));
    /// assert_eq!(maps.list("shop")?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn objects<K: StaticResource>(&self) -> Objects<'_, K> {
        let resource = K::resource();
        Objects {
            server: self,
            name: format!("{}/{}", resource.api_version(), resource.plural),
            resource,
            types: PhantomData,
        }
    }
}

/// The objects of one type on a server. Made by [`ApiServer::objects`]. Its methods work as those of [`ApiServer`] with the
/// same names, on the same objects.
pub struct Objects<'a, K> {
    server: &'a ApiServer,
    resource: Resource,
    name: String,
    types: PhantomData<fn() -> K>,
}

impl<K: Serialize + DeserializeOwned> Objects<'_, K> {
    /// Creates an object, in the namespace that its metadata names, or in `default`.
    ///
    /// # Errors
    /// Those of the server, such as 409 when the name is taken.
    pub fn create(&self, object: &K) -> Result<K, Status> {
        let object = self.write(object)?;
        self.read(self.server.create(&self.name, object)?)
    }

    /// Reads an object.
    ///
    /// # Errors
    /// 404 when it does not exist.
    pub fn get(&self, namespace: &str, name: &str) -> Result<K, Status> {
        self.read(self.server.get(&self.name, namespace, name)?)
    }

    /// Replaces an object, status included. With a resource version in its metadata, only that version is replaced.
    ///
    /// # Errors
    /// Those of the server, such as 404, or 409 for an outdated version.
    pub fn update(&self, object: &K) -> Result<K, Status> {
        let object = self.write(object)?;
        self.read(self.server.replace(&self.name, object)?)
    }

    /// Returns all objects of a namespace, or of all namespaces when it is empty, in the order of their keys.
    ///
    /// # Errors
    /// 404 when there is no such resource.
    pub fn list(&self, namespace: &str) -> Result<Vec<K>, Status> {
        let objects = self.server.list(&self.name, namespace)?;
        objects
            .into_iter()
            .map(|object| self.read(object))
            .collect()
    }

    /// Waits until an object is as awaited, as [`ApiServer::until`].
    ///
    /// # Errors
    /// When it is not within the limit, or not of this type.
    pub async fn until(
        &self,
        namespace: &str,
        name: &str,
        limit: Duration,
        mut is_reached: impl FnMut(&K) -> bool,
    ) -> Result<K, NotYet> {
        let is_reached = |object: &Value| {
            let object = self.read(object.clone());
            object.is_ok_and(|object| is_reached(&object))
        };
        let server = self.server;
        let found = server.until(&self.name, namespace, name, limit, is_reached);
        let found = found.await?;
        // The same text was read a moment ago.
        self.read(found).map_err(|status| NotYet::at_once(&status))
    }

    fn write(&self, object: &K) -> Result<Value, Status> {
        let kind = &self.resource.kind;
        let invalid = |error| status::bad_request(format!("a {kind} that is no JSON: {error}"));
        serde_json::to_value(object).map_err(invalid)
    }

    fn read(&self, object: Value) -> Result<K, Status> {
        let kind = &self.resource.kind;
        let invalid = |error| status::internal(format!("the object is no {kind}: {error}"));
        serde_json::from_value(object).map_err(invalid)
    }
}

impl<K> fmt::Debug for Objects<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Objects").field(&self.name).finish()
    }
}
