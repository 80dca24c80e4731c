//! The settings of a server before it starts.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use informer_wire::WallClock;
use tokio::net::TcpListener;

use crate::actors::Actors;
use crate::fault::{Fault, FaultRule, RequestMatcher};
use crate::model::{Cluster, ClusterOptions};
use crate::request::RecordedBodies;
use crate::resource::ResourceType;
use crate::server::ApiServer;
use crate::shared::Shared;
use crate::virtual_time;

/// The longest time of anything: a year. No clock adds up endless times.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The settings of a running server.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) bookmark_period: Duration,
    pub(crate) watch_buffer: usize,
    pub(crate) slow_watch_grace: Duration,
    pub(crate) token: Option<String>,
    pub(crate) protobuf: bool,
    pub(crate) recorded_bodies: RecordedBodies,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("bookmark_period", &self.bookmark_period)
            .field("watch_buffer", &self.watch_buffer)
            .field("slow_watch_grace", &self.slow_watch_grace)
            .field("protobuf", &self.protobuf)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .finish()
    }
}

/// Builds an [`ApiServer`]. Made by [`ApiServer::builder`].
///
/// ```
/// use std::time::Duration;
///
/// use informer_testkit::{ApiServer, ResourceType};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let server = ApiServer::builder()
///     .resource(ResourceType::new("demo.example", "v1", "Widget", "widgets"))
///     .bookmark_period(Duration::from_millis(50))
///     .history_limit(100)
///     .start()
///     .await?;
/// assert!(server.list("widgets", "").unwrap().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct ApiServerBuilder {
    address: SocketAddr,
    settings: Settings,
    options: ClusterOptions,
    resources: Vec<ResourceType>,
    cluster: Option<Cluster>,
    faults: Vec<FaultRule>,
    clock: WallClock,
    actors: Actors,
}

impl Default for ApiServerBuilder {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            settings: Settings {
                bookmark_period: Duration::from_secs(60),
                watch_buffer: 1000,
                slow_watch_grace: Duration::from_secs(2),
                token: None,
                protobuf: true,
                recorded_bodies: RecordedBodies::default(),
            },
            // UIDs differ between servers unless a seed says otherwise, as in real clusters.
            options: ClusterOptions {
                seed: fastrand::u64(..),
                ..ClusterOptions::default()
            },
            resources: Vec::new(),
            cluster: None,
            faults: Vec::new(),
            clock: WallClock::system(),
            actors: Actors::default(),
        }
    }
}

impl ApiServerBuilder {
    /// Sets the address to listen on; the default is a free port on 127.0.0.1. There is no TLS, so
    /// do not listen where others can reach it.
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Sets the port on 127.0.0.1.
    pub fn port(self, port: u16) -> Self {
        self.address(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// Adds a resource to the built-in ones. Creating a `CustomResourceDefinition` later does so too.
    pub fn resource(mut self, resource: ResourceType) -> Self {
        self.resources.push(resource);
        self
    }

    /// Sets how often a quiet watch gets a bookmark, at least a millisecond; the default is 60 seconds. A last one is sent
    /// 2 seconds before the watch's timeout, or at half of a timeout below 4 seconds.
    pub fn bookmark_period(mut self, period: Duration) -> Self {
        self.settings.bookmark_period = period.clamp(Duration::from_millis(1), LONGEST);
        self
    }

    /// Sets how many changes of each resource a list or a new watch may go back; the default is 10,000.
    pub fn history_limit(mut self, changes: usize) -> Self {
        self.options.history_limit = changes;
        self
    }

    /// Sets when a watch counts as too slow, and is ended: it took nothing for `grace`, and at least `events` are
    /// queued for it. The default is 1000 events and 2 seconds.
    pub fn slow_watches(mut self, events: usize, grace: Duration) -> Self {
        self.settings.watch_buffer = events;
        self.settings.slow_watch_grace = grace.clamp(Duration::from_millis(1), LONGEST);
        self
    }

    /// Sets whether streaming lists (`sendInitialEvents`) work; they do by default.
    pub fn streaming_lists(mut self, enabled: bool) -> Self {
        self.options.streaming_lists = enabled;
        self
    }

    /// Sets whether a request that creates an object in a missing namespace makes the namespace. By default it is
    /// refused with 404, as on a real server; the methods of [`ApiServer`] always make it.
    pub fn create_namespaces(mut self, create: bool) -> Self {
        self.options.create_namespaces = create;
        self
    }

    /// Sets whether the server has protobuf, for the kinds of Kubernetes itself and for metadata; it does by default.
    /// Without it, it is like a foreign server with JSON alone.
    pub fn protobuf(mut self, spoken: bool) -> Self {
        self.settings.protobuf = spoken;
        self
    }

    /// Sets of which requests the log keeps the bodies; of none by default.
    pub fn recorded_bodies(mut self, bodies: RecordedBodies) -> Self {
        self.settings.recorded_bodies = bodies;
        self
    }

    /// Refuses every request without this bearer token with 401.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.settings.token = Some(token.into());
        self
    }

    /// Sets the seed of UIDs and generated names, which otherwise differ each time.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Sets the revision before the first write, at most half of what a number of 64 bits holds. The standard namespaces
    /// take the next four.
    pub fn first_revision(mut self, revision: u64) -> Self {
        self.options.first_revision = revision;
        self
    }

    /// Sets the time of day: of the stamps in objects, of the log of requests, of ages in tables. The default is the
    /// system's clock; see [`TestClock`](crate::TestClock).
    pub fn clock(mut self, clock: impl Into<WallClock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// Serves this cluster, such as that of a stopped server. The settings of new clusters (history, namespaces, seed,
    /// first revision, streaming lists) are not applied to it.
    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Fails the next matching requests, so many of them, from the first request on: as [`ApiServer::fail`], which the
    /// first requests may precede.
    pub fn fail(mut self, matcher: RequestMatcher, fault: impl Into<Fault>, times: usize) -> Self {
        self.faults.push(FaultRule {
            matcher,
            fault: fault.into(),
            skip: 0,
            times,
        });
        self
    }

    /// Sets which other programs of a cluster run beside the server. By default namespaces are emptied and pods end.
    /// Those with a delay need a tokio runtime from the start, also [in memory](Self::in_memory).
    pub fn actors(mut self, actors: Actors) -> Self {
        self.actors = actors;
        self
    }

    /// Builds a server without a socket, which only clients [in this process](ApiServer::service) reach. Its waits are
    /// tokio's: in a runtime whose time is paused, hours pass in a moment and every run is repeatable, down to the order of
    /// events; the stamps too, with a [`TestClock`](crate::TestClock). Its address has port 0.
    pub fn in_memory(self) -> ApiServer {
        ApiServer::unconnected(self.shared())
    }

    fn shared(self) -> Shared {
        let cluster = self.cluster;
        let mut cluster = cluster.unwrap_or_else(|| Cluster::new(&self.options, self.clock.now()));
        for resource in self.resources {
            cluster.register(resource);
        }
        let shared = Shared::new(cluster, self.settings, self.clock, self.actors);
        for rule in self.faults {
            shared.faults.lock().push(rule);
        }
        shared
    }

    /// Starts the server on the current tokio runtime.
    ///
    /// # Errors
    /// When the address cannot be listened on. When tokio's time is paused: the clock would leap over the time that bytes
    /// need on a socket, so that waits end before anything is received. Use [`Self::in_memory`] there.
    pub async fn start(self) -> io::Result<ApiServer> {
        if virtual_time::is_paused() {
            let why = "sockets do not work in paused time, which leaps over what they wait for; use \
                       `ApiServerBuilder::in_memory` and `ApiServer::service`, or do not pause the time";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let listener = TcpListener::bind(self.address).await?;
        ApiServer::serve(listener, self.shared())
    }
}
