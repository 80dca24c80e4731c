//! A server that keeps one lease in memory, and what it does to requests; a log that tests can read.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fmt::Write as _;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use informer_leader_election::{
    ElectionConfig, LeaderElector, Lease, LeaseLock, LeaseRecord, LockError,
};
use parking_lot::Mutex;
use tokio::time::sleep;

/// A server that keeps one lease, and what it does to requests.
#[derive(Default)]
pub(crate) struct Server {
    pub(crate) lease: Mutex<Option<(u64, serde_json::Value)>>,
    pub(crate) asked: Mutex<Vec<&'static str>>,
    /// Requests of this kind hang.
    pub(crate) hang: Mutex<Option<&'static str>>,
    /// So many requests of that kind are never answered, and not carried out either.
    pub(crate) unanswered: AtomicU32,
    /// Writes are never answered, but carried out after this many seconds.
    pub(crate) late: AtomicU32,
    pub(crate) is_down: AtomicBool,
    /// What requests of a kind are refused for.
    pub(crate) refusal: Mutex<Option<(&'static str, &'static str)>>,
    /// The lock has connections of its own to give.
    pub(crate) separates: AtomicBool,
    pub(crate) separated: AtomicU32,
    /// Updates that meet a conflict.
    pub(crate) conflicts: AtomicU32,
    /// So many milliseconds for each way.
    pub(crate) delay: AtomicU32,
    /// Updates block their thread for this many milliseconds.
    pub(crate) blocks: AtomicU32,
    /// At most so many milliseconds more for each way.
    pub(crate) slow: AtomicU32,
    pub(crate) random: Mutex<Option<fastrand::Rng>>,
    /// Of a hundred requests so many fail, half of them after they were done.
    pub(crate) faults: AtomicU32,
}

#[derive(Clone, Default)]
pub(crate) struct Lock(pub(crate) Arc<Server>);

impl Server {
    fn random(&self, below: u32) -> u32 {
        match &mut *self.random.lock() {
            Some(random) if below > 0 => random.u32(..below),
            _ => 0,
        }
    }

    async fn travel(&self) {
        let slow = self.random(self.slow.load(Ordering::SeqCst));
        let millis = self.delay.load(Ordering::SeqCst) + slow;
        sleep(Duration::from_millis(u64::from(millis))).await;
    }

    pub(crate) fn record(&self) -> Option<LeaseRecord> {
        let lease = self.lease.lock();
        lease
            .as_ref()
            .map(|(_, lease)| Lease::from_json(lease.clone()).record())
    }

    async fn serve<T>(
        &self,
        verb: &'static str,
        act: impl FnOnce(&Self) -> Result<T, LockError>,
    ) -> Result<T, LockError> {
        let failed = || LockError::Failed("the server is down".into());
        self.asked.lock().push(verb);
        if verb == "update" {
            let blocks = self.blocks.load(Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(u64::from(blocks)));
        }
        self.travel().await;
        if *self.hang.lock() == Some(verb) {
            return pending().await;
        }
        let one_less = |left: u32| left.checked_sub(1);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        if verb == "update" && self.unanswered.fetch_update(set, fetch, one_less).is_ok() {
            return pending().await;
        }
        let refusal = *self.refusal.lock();
        if let Some((_, reason)) =
            refusal.filter(|(refused, _)| *refused == verb || *refused == "all")
        {
            return Err(LockError::Failed(reason.into()));
        }
        let fault = self.random(200) < 2 * self.faults.load(Ordering::SeqCst);
        if self.is_down.load(Ordering::SeqCst) || fault && self.random(2) == 0 {
            return Err(failed());
        }
        let result = act(self);
        self.travel().await;
        if fault { Err(failed()) } else { result }
    }

    /// Carries a write out much later than anybody waits for it, if it is still current then.
    async fn be_late(self: &Arc<Self>, lease: &serde_json::Value) {
        let late = self.late.swap(0, Ordering::SeqCst);
        if late == 0 {
            return;
        }
        let (server, lease) = (Arc::clone(self), lease.clone());
        tokio::spawn(async move {
            sleep(seconds(u64::from(late))).await;
            let current = server
                .lease
                .lock()
                .as_ref()
                .map(|(version, _)| version.to_string());
            if current.as_deref() == lease["metadata"]["resourceVersion"].as_str() {
                server.store(lease);
            }
        });
        pending::<()>().await;
    }

    /// Somebody else writes a record.
    pub(crate) fn write(&self, record: &LeaseRecord) {
        let lease = self.lease.lock().as_ref().map(|(_, lease)| lease.clone());
        let mut lease = lease.map_or_else(|| Lease::new("lease", record), Lease::from_json);
        lease.set_record(record);
        self.store(lease.as_json().clone());
    }

    pub(crate) fn holder(&self) -> String {
        self.record()
            .map_or_else(String::new, |record| record.holder)
    }

    pub(crate) fn store(&self, mut lease: serde_json::Value) -> Lease {
        let mut stored = self.lease.lock();
        let version = stored.as_ref().map_or(1, |(version, _)| version + 1);
        lease["metadata"]["resourceVersion"] = version.to_string().into();
        *stored = Some((version, lease.clone()));
        Lease::from_json(lease)
    }
}

impl LeaseLock for Lock {
    async fn get(&self) -> Result<Option<Lease>, LockError> {
        let read = |server: &Server| {
            let lease = server.lease.lock();
            Ok(lease
                .as_ref()
                .map(|(_, lease)| Lease::from_json(lease.clone())))
        };
        self.0.serve("get", read).await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, LockError> {
        let lease = lease.as_json().clone();
        self.0.be_late(&lease).await;
        let create = |server: &Server| {
            if server.lease.lock().is_some() {
                return Err(LockError::Conflict);
            }
            Ok(server.store(lease))
        };
        self.0.serve("create", create).await
    }

    async fn update(&self, lease: &Lease) -> Result<Lease, LockError> {
        let version = lease.resource_version().map(str::to_owned);
        let lease = lease.as_json().clone();
        self.0.be_late(&lease).await;
        let update = |server: &Server| {
            let one_less = |left: u32| left.checked_sub(1);
            let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
            if server.conflicts.fetch_update(set, fetch, one_less).is_ok() {
                return Err(LockError::Conflict);
            }
            let current = server
                .lease
                .lock()
                .as_ref()
                .map(|(version, _)| version.to_string());
            if current != version {
                return Err(LockError::Conflict);
            }
            Ok(server.store(lease))
        };
        self.0.serve("update", update).await
    }

    fn name(&self) -> &str {
        "lease"
    }

    fn separate(&self) -> Option<Self> {
        self.0.separated.fetch_add(1, Ordering::SeqCst);
        self.0
            .separates
            .load(Ordering::SeqCst)
            .then(|| self.clone())
    }
}

pub(crate) fn elector(server: &Arc<Server>, identity: &str) -> LeaderElector<Lock> {
    LeaderElector::new(Lock(Arc::clone(server)), ElectionConfig::new(identity))
        .expect("good settings")
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A lease of 3 s.
pub(crate) fn short(identity: &str) -> ElectionConfig {
    ElectionConfig::new(identity)
        .lease_duration(seconds(3))
        .renew_deadline(seconds(2))
        .retry_period(Duration::from_millis(500))
}

/// The text of everything that is logged at info or above.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn lines(&self, part: &str) -> Vec<String> {
        let lines = self.0.lock();
        let lines = lines.iter().filter(|line| line.contains(part));
        lines.cloned().collect()
    }
}

struct Text(String);

impl tracing::field::Visit for Text {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::INFO
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text(format!("{} ", event.metadata().level()));
        event.record(&mut text);
        self.0.lock().push(text.0);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}
