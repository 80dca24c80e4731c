//! What the in-process interface and every connection share.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::builder::Settings;
use crate::fault::{Fault, FaultQueue};
use crate::model::Cluster;
use crate::request::{RequestLog, RequestRecord};
use crate::server::StreamEnd;

/// What every connection works on.
///
/// # Lock order
/// Each lock is held for a moment and never together with another one.
pub(crate) struct Shared {
    pub(crate) cluster: Mutex<Cluster>,
    pub(crate) settings: Settings,
    /// The revision of the last write.
    pub(crate) written: watch::Sender<u64>,
    /// How often all watches were ended, and how the last time.
    pub(crate) end_watches: watch::Sender<(u64, StreamEnd)>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) faults: Mutex<FaultQueue>,
    pub(crate) requests: Mutex<RequestLog>,
}

impl Shared {
    pub(crate) fn new(cluster: Cluster, settings: Settings) -> Self {
        Self {
            written: watch::Sender::new(cluster.revision()),
            cluster: Mutex::new(cluster),
            settings,
            end_watches: watch::Sender::default(),
            shutdown: CancellationToken::new(),
            faults: Mutex::default(),
            requests: Mutex::default(),
        }
    }

    /// Changes the cluster and wakes the watches.
    pub(crate) fn write<R>(&self, change: impl FnOnce(&mut Cluster) -> R) -> R {
        let mut cluster = self.cluster.lock();
        let result = change(&mut cluster);
        let revision = cluster.revision();
        drop(cluster);
        self.written.send_if_modified(|known| {
            let newer = revision > *known;
            *known = revision.max(*known);
            newer
        });
        result
    }

    pub(crate) fn log(&self, record: &RequestRecord) {
        self.requests.lock().push(record.clone());
    }

    pub(crate) fn take_fault(&self, record: &RequestRecord) -> Option<Fault> {
        self.faults.lock().take(record)
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

    /// As a real server: random between 30 and 60 minutes.
    pub(crate) fn default_watch_timeout(&self) -> Duration {
        Duration::from_secs(fastrand::u64(1800..3600))
    }
}
