//! A connection as the source of the lists and watches of a factory.

use informer_client::Client;
use informer_store::Object;
use informer_wire::{FromWire, Resource, Scope};

use super::config::HttpConfig;
use super::lister_watcher::HttpListerWatcher;
use crate::boxed::BoxListerWatcher;
use crate::source::ListerWatcherSource;

/// A connection with the settings of all lists and watches over it. A [`Client`] alone is a source too, with the
/// defaults.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_reflector::http::{HttpConfig, HttpSource, WirePreference};
///
/// # fn main() -> Result<(), informer_client::BuildError> {
/// let config = HttpConfig::default().wire(WirePreference::Json);
/// let source = HttpSource::new(Client::infer()?, config);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct HttpSource {
    client: Client,
    config: HttpConfig,
}

impl HttpSource {
    /// Makes a source over this connection.
    #[must_use]
    pub const fn new(client: Client, config: HttpConfig) -> Self {
        Self { client, config }
    }
}

impl<K: FromWire + Object> ListerWatcherSource<K> for HttpSource {
    fn lister_watcher(&self, resource: &Resource, namespace: Option<&str>) -> BoxListerWatcher<K> {
        let mut lister = HttpListerWatcher::new(self.client.clone(), resource.clone())
            .config(self.config.clone());
        if let (Scope::Namespaced, Some(namespace)) = (resource.scope, namespace) {
            lister = lister.namespace(namespace);
        }
        BoxListerWatcher::new(lister)
    }
}

impl<K: FromWire + Object> ListerWatcherSource<K> for Client {
    fn lister_watcher(&self, resource: &Resource, namespace: Option<&str>) -> BoxListerWatcher<K> {
        HttpSource::new(self.clone(), HttpConfig::default()).lister_watcher(resource, namespace)
    }
}
