//! The state that the in-process interface and every connection share.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, header};
use informer_wire::WallClock;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::actors::{Actors, Crew};
use crate::builder::Settings;
use crate::clients::Clients;
use crate::fault::{Fault, FaultQueue};
use crate::hooks::Hooks;
use crate::model::{Cluster, ReplicaView};
use crate::replicas::Replicas;
use crate::request::{RequestLog, RequestRecord};
use crate::rights::Rights;
use crate::server::StreamEnd;
use crate::signal::Signal;
use crate::virtual_time::Home;

/// A request to end watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchesEnd {
    /// Those of this replica alone.
    pub(crate) replica: Option<usize>,
    pub(crate) how: StreamEnd,
}

/// The state of all connections.
///
/// # Lock order
/// Each lock is held for a moment and never together with another one, but for `crew` within `cluster`.
pub(crate) struct Shared {
    pub(crate) cluster: Mutex<Cluster>,
    crew: Mutex<Crew>,
    /// The time at which the actors have something to do.
    alarm: watch::Sender<Option<Instant>>,
    pub(crate) settings: Settings,
    /// The time of day.
    pub(crate) clock: WallClock,
    /// The revision of the last write.
    pub(crate) written: Signal<u64>,
    /// The number of requests to end watches, and the last of them.
    pub(crate) end_watches: Signal<WatchesEnd>,
    pub(crate) replicas: Mutex<Replicas>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) faults: Mutex<FaultQueue>,
    pub(crate) requests: Mutex<RequestLog>,
    pub(crate) clients: Mutex<Clients>,
    pub(crate) hooks: Mutex<Hooks>,
    pub(crate) rights: Mutex<Rights>,
    pub(crate) home: Home,
}

impl Shared {
    pub(crate) fn new(
        mut cluster: Cluster,
        settings: Settings,
        clock: WallClock,
        actors: Actors,
    ) -> Self {
        let mut crew = Crew::new(actors, &mut cluster);
        let due = crew.step(&mut cluster, Instant::now(), clock.now());
        Self {
            crew: Mutex::new(crew),
            alarm: watch::Sender::new(due),
            written: Signal::new(cluster.revision()),
            cluster: Mutex::new(cluster),
            settings,
            clock,
            end_watches: Signal::default(),
            replicas: Mutex::default(),
            shutdown: CancellationToken::new(),
            faults: Mutex::default(),
            requests: Mutex::default(),
            clients: Mutex::default(),
            hooks: Mutex::default(),
            rights: Mutex::default(),
            home: Home::default(),
        }
    }

    /// Changes the cluster, lets the actors do what is due, and wakes the watches.
    pub(crate) fn write<R>(&self, change: impl FnOnce(&mut Cluster) -> R) -> R {
        let mut cluster = self.cluster.lock();
        let result = change(&mut cluster);
        let due = self
            .crew
            .lock()
            .step(&mut cluster, Instant::now(), self.clock.now());
        let revision = cluster.revision();
        drop(cluster);
        self.alarm.send_if_modified(|known| {
            let changed = *known != due;
            *known = due;
            changed
        });
        self.written.change(|known| {
            let newer = revision > *known;
            *known = revision.max(*known);
            newer
        });
        result
    }

    /// Starts the task that wakes the actors, if any of them has a delay.
    pub(crate) fn start_actors(self: &Arc<Self>, runtime: &tokio::runtime::Handle) {
        if self.crew.lock().waits() {
            runtime.spawn(Arc::clone(self).run_actors());
        }
    }

    /// Wakes the actors at their time, until the server ends.
    async fn run_actors(self: Arc<Self>) {
        let mut alarm = self.alarm.subscribe();
        loop {
            let due = *alarm.borrow_and_update();
            let wait = async {
                match due {
                    Some(time) => tokio::time::sleep_until(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return,
                _ = alarm.changed() => {}
                () = wait => self.write(|_| ()),
            }
        }
    }

    /// Wakes the watches although nothing was written.
    pub(crate) fn wake(&self) {
        self.written.change(|_| true);
    }

    pub(crate) fn end_watches(&self, replica: Option<usize>, how: StreamEnd) {
        self.end_watches.change(|last| {
            *last = WatchesEnd { replica, how };
            true
        });
    }

    /// Returns the current replica of a client and its view.
    pub(crate) fn replica(&self, client: &str) -> (usize, ReplicaView) {
        let replicas = self.replicas.lock();
        let replica = replicas.route(client);
        (replica, replicas.view(replica))
    }

    pub(crate) fn log(&self, record: &RequestRecord) {
        self.requests.lock().push(record.clone());
    }

    pub(crate) fn take_fault(&self, record: &RequestRecord) -> Option<Fault> {
        self.faults.lock().take_any(record)
    }

    pub(crate) fn authorizes(&self, authorization: &str) -> bool {
        let Some(token) = &self.settings.token else {
            return true;
        };
        let given = authorization
            .split_once(' ')
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        given.is_some_and(|(_, given)| given.trim() == token)
    }

    /// Gives a request from within the process the right token, unless it has one.
    pub(crate) fn authorize<B>(&self, request: &mut Request<B>) {
        let Some(token) = &self.settings.token else {
            return;
        };
        if let Ok(value) = HeaderValue::try_from(format!("Bearer {token}")) {
            let headers = request.headers_mut();
            headers.entry(header::AUTHORIZATION).or_insert(value);
        }
    }

    /// Returns a default timeout as of a real server: random between 30 and 60 minutes.
    pub(crate) fn default_watch_timeout(&self) -> Duration {
        Duration::from_secs(fastrand::u64(1800..3600))
    }
}
