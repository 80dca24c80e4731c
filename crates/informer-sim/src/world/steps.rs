//! The steps of a run.

use std::time::Duration;

use informer_reflector::ReflectorPhase;
use informer_testkit::StreamEnd;
use tokio::time::{Instant, sleep};

use super::World;
use super::client::Client;
use crate::chaos::Weather;
use crate::handlers::Handler;
use crate::row::{Place, Row};
use crate::trace::{holds, note};

/// A rewind is noticed within this, also where there are no bookmarks.
const REWIND_NOTICED: Duration = Duration::from_secs(60 * 60);

impl World {
    pub(super) async fn step(&mut self) {
        if self.checked.within() == Some(Place::WithinStream) && self.rng.bool() {
            self.end_streams();
        }
        match self.rng.u8(0..40) {
            0..16 => {
                for _ in 0..[1, 1, 1, 3, 20][self.rng.usize(0..5)] {
                    self.workload.change(&mut self.rng);
                }
            }
            16 => {
                self.event("compaction");
                self.server.compact();
            }
            17..20 => self.change_weather(),
            20..22 => self.end_streams(),
            22..25 => self.trouble_replicas(),
            25 if self.plan.rewinds && self.rng.bool() => self.rewind().await,
            26 | 27 => self.join(),
            28 => self.leave().await,
            29 if self.rng.u8(0..3) == 0 => self.restart().await,
            _ => {}
        }
        let pause = match self.rng.u8(0..16) {
            0..8 => self.rng.u64(1..50),
            8..13 => self.rng.u64(50..5000),
            13 | 14 => self.rng.u64(5000..90_000),
            _ => self.rng.u64(90_000..900_000),
        };
        sleep(Duration::from_millis(pause)).await;
    }

    pub(super) fn event(&self, what: &'static str) {
        note!(self.trace, "{what}");
        self.chaos.tally(|tally| tally.event(what));
    }

    fn change_weather(&mut self) {
        let rows = &self.plan.rows;
        let weather = match self.rng.u8(0..4) {
            0 => Weather::Calm,
            1 if !rows.is_empty() => {
                self.event("outage");
                Weather::Outage(rows[self.rng.usize(0..rows.len())])
            }
            _ => Weather::Storm(self.plan.per_mille),
        };
        self.chaos.set(weather);
    }

    fn end_streams(&self) {
        let Some(place) = self.checked.within() else {
            return;
        };
        let row = if self.chaos.weather() == Weather::Calm {
            None
        } else {
            self.chaos.row_within(place)
        };
        self.event("watch ended");
        let end = row.and_then(Row::within).unwrap_or(StreamEnd::Clean);
        note!(self.trace, "{} ends: {end:?}", place.name());
        self.server.end_watches(end);
    }

    fn trouble_replicas(&mut self) {
        let replica = self.rng.usize(0..self.plan.replicas);
        match self.rng.u8(0..6) {
            0 if self.plan.replicas > 1 => {
                self.event("replica behind");
                let behind = self.rng.u64(0..10);
                let revision = self.server.resource_version().saturating_sub(behind);
                self.server.hold_replica(replica, revision.max(1));
            }
            1 => {
                self.event("replica restarted");
                self.server.restart_replica(replica);
            }
            2 | 3 => self.server.release_replica(replica),
            _ => self.server.route_to(replica),
        }
    }

    fn join(&mut self) {
        let Client::Shared {
            informer,
            handlers,
            reference,
        } = &mut self.client
        else {
            return;
        };
        if handlers.len() >= 5 {
            return;
        }
        self.joined += 1;
        let since = reference.read();
        match Handler::join(informer, &self.around, since, self.joined, &mut self.rng) {
            Ok(handler) => handlers.push(handler),
            Err(stopped) => holds!(self.trace, false, "{stopped}"),
        }
    }

    async fn leave(&mut self) {
        let Client::Shared {
            handlers,
            reference,
            ..
        } = &mut self.client
        else {
            return;
        };
        if handlers.is_empty() {
            return;
        }
        let handler = handlers.swap_remove(self.rng.usize(0..handlers.len()));
        reference.read();
        let is_stopping = || !self.around.fatal.lock().is_empty();
        let wait = self.rng.bool();
        handler.leave(reference, wait, is_stopping).await;
        self.event("handler left");
    }

    async fn restart(&mut self) {
        self.stop().await;
        self.event("informer restarted");
        self.start_again();
    }

    /// Starts another informer where a handler has stopped the present one.
    pub(super) async fn replace_stopped(&mut self) -> bool {
        if self.around.fatal.lock().is_empty() {
            return false;
        }
        self.stop().await;
        self.event("a handler stopped the informer");
        self.start_again();
        true
    }

    fn start_again(&mut self) {
        self.around.fatal.lock().clear();
        self.checked = Self::connect(
            &self.server,
            &self.plan,
            &self.versions,
            &self.chaos,
            &self.trace,
        );
        // A retry-after of the old one does not bind the new one.
        self.chaos.take_not_before();
        self.client = Client::start(&self.plan, self.seed, &self.checked, &self.around);
        (self.last_resume, self.last_rewinds, self.was_synced) = (None, 0, false);
    }

    /// Protocol 3.3: 14, 17; INV-SHARED-12.
    pub(super) async fn stop(&mut self) {
        let store = std::sync::Arc::new(informer_store::Store::new());
        let (_, status) = tokio::sync::watch::channel(Default::default());
        let none = Client::Plain {
            store,
            status,
            stop: Default::default(),
            task: tokio::spawn(async {}),
        };
        let client = std::mem::replace(&mut self.client, none);
        client.stop(self.plan.drain, &self.around).await;
        holds!(
            self.trace,
            !self.checked.is_busy(),
            "a request outlives the informer"
        );
        self.checked.stop();
    }

    /// Rewinds the server, then writes nothing until that is recognised: versions that were given twice cannot be told
    /// apart.
    async fn rewind(&mut self) {
        self.chaos.set(Weather::Calm);
        let (_, mut watches) = self.checked.counts();
        let head = self.server.resource_version();
        let target = head.saturating_sub(self.rng.u64(1..30)).max(1);
        let reached = self.server.rewind(target);
        note!(self.trace, "rewind from {head} to {reached}");
        self.oracle.lock().rewound(reached);
        self.server.route_to(0);
        let start = Instant::now();
        // A stream from before may still send what is undone, so only a later one counts.
        while self.checked.counts().1 == watches || !self.is_current() {
            if start.elapsed() > REWIND_NOTICED {
                let status = self.client.reflector_status();
                let why = self.oracle.lock().equals(&self.client.snapshot());
                holds!(
                    self.trace,
                    false,
                    "the rewind to {reached} is not recognised: {why:?}, {status:?}"
                );
                return;
            }
            sleep(Duration::from_secs(1)).await;
            if self.replace_stopped().await {
                watches = 0;
            }
        }
        self.oracle.lock().rewind_is_recognised();
        (self.last_resume, self.last_rewinds) = (None, 0);
    }

    /// Whether the cache equals the server and a watch from now on is open.
    fn is_current(&self) -> bool {
        let status = self.client.reflector_status();
        let head = self.server.resource_version();
        let resume = status.resource_version.and_then(|rv| rv.as_u64());
        status.phase == ReflectorPhase::Watching
            && resume.is_some_and(|resume| resume <= head)
            && self.client.is_drained()
            && self.oracle.lock().equals(&self.client.snapshot()).is_ok()
    }
}
