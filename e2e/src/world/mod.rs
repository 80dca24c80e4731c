//! The cluster of a scenario: a real server, the two resources, and clients to change and to judge them.

mod objects;
mod writer;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use informer::client::{ClientBuilder, Config, ConfigLoader};
use informer::kubeconfig::Cluster;
use informer::{Api, Client, Resource, Scope};
use informer_e2e::{ApiClient, RealApiServer, ServerOptions};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

pub(crate) use objects::{Widget, new_object};
pub(crate) use writer::Writers;

use objects::widget_definition;

/// The namespaces of a scenario. `default` is there before.
pub(crate) const NAMESPACES: [&str; 3] = ["default", "red", "blue"];
/// How long a new custom resource may take until it is served.
const SERVED_LIMIT: Duration = Duration::from_secs(60);

/// The resources of a scenario: a built-in one and a custom one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pods,
    Widgets,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Pods, Self::Widgets];

    pub(crate) fn resource(self) -> Resource {
        match self {
            Self::Pods => Resource::core("v1", "Pod", "pods", Scope::Namespaced),
            Self::Widgets => {
                Resource::new("demo.example", "v1", "Widget", "widgets", Scope::Namespaced)
            }
        }
    }

    /// Where the judge finds all of them.
    pub(crate) fn collection(self) -> &'static str {
        match self {
            Self::Pods => "/api/v1/pods",
            Self::Widgets => "/apis/demo.example/v1/widgets",
        }
    }

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Widgets => "widgets",
        }
    }
}

/// A server with the namespaces and the custom resource.
pub(crate) struct World {
    pub(crate) server: RealApiServer,
    /// Reads the server with nothing of ours.
    pub(crate) judge: ApiClient,
    /// Our client, by a bearer token. Scenarios write through it.
    pub(crate) client: Client,
}

impl World {
    /// Starts a server and makes what is not there by itself.
    pub(crate) async fn start() -> anyhow::Result<Self> {
        Self::start_with(ServerOptions::default()).await
    }

    /// The same with options of the server.
    pub(crate) async fn start_with(options: ServerOptions) -> anyhow::Result<Self> {
        let server = RealApiServer::start(options).await?;
        let judge = server.client()?;
        let client = client(&server.kubeconfig_token(), None)?;
        let world = Self {
            server,
            judge,
            client,
        };
        for name in NAMESPACES.iter().skip(1) {
            let namespace = json!({ "metadata": { "name": name } });
            Api::<Namespace>::cluster(world.client.clone())
                .create(&namespace)
                .await
                .with_context(|| format!("create the namespace {name}"))?;
        }
        Api::<CustomResourceDefinition>::cluster(world.client.clone())
            .create(&widget_definition())
            .await
            .context("create the definition of widgets")?;
        world.served(Kind::Widgets).await?;
        Ok(world)
    }

    /// A client by the administrator's certificate, as informers use it here; through another port if one is given.
    pub(crate) fn informers_client(&self, port: Option<u16>) -> anyhow::Result<Client> {
        client(&self.server.kubeconfig(), port)
    }

    /// The administrator's client, through this port, with more to choose.
    pub(crate) fn client_through(
        &self,
        port: u16,
        choose: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> anyhow::Result<Client> {
        let config = config(&self.server.kubeconfig(), Some(port))?;
        Ok(choose(Client::builder(config)).build()?)
    }

    /// All objects of a kind, as the server has them now, read by the judge.
    pub(crate) async fn fresh(&self, kind: Kind) -> anyhow::Result<(String, Vec<Value>)> {
        Ok(self.judge.list(kind.collection()).await?)
    }

    /// Waits until the server serves a kind, as it does a moment after its definition was made, or after a start.
    pub(crate) async fn served(&self, kind: Kind) -> anyhow::Result<()> {
        let served = async {
            while self.judge.list(kind.collection()).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(SERVED_LIMIT, served).await;
        ensure!(waited.is_ok(), "{} are not served", kind.plural());
        Ok(())
    }

    /// The port that the server listens on.
    pub(crate) fn port(&self) -> anyhow::Result<u16> {
        let url = self.server.url();
        let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
        port.with_context(|| format!("{url} has no port"))
    }

    /// Objects of a kind, as our client writes them.
    pub(crate) fn api(&self, kind: Kind, namespace: &str) -> Api<Value> {
        Api::new(self.client.clone(), kind.resource()).in_namespace(namespace)
    }
}

fn client(kubeconfig: &Path, port: Option<u16>) -> anyhow::Result<Client> {
    Ok(Client::new(config(kubeconfig, port)?)?)
}

fn config(kubeconfig: &Path, port: Option<u16>) -> anyhow::Result<Config> {
    let mut config = ConfigLoader::new().kubeconfig(kubeconfig).load()?;
    if let Some(port) = port {
        let Cluster { server, .. } = &mut config.cluster;
        ensure!(
            server.set_port(Some(port)).is_ok(),
            "{server} takes no port"
        );
    }
    Ok(config)
}
