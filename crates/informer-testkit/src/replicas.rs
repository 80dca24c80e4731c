//! Several replicas of the API server behind one address.

use crate::model::ReplicaView;
use crate::server::{ApiServer, StreamEnd};

/// The replicas and where new requests go.
#[derive(Debug)]
pub(crate) struct Replicas {
    views: Vec<ReplicaView>,
    route: usize,
}

impl Default for Replicas {
    fn default() -> Self {
        Self {
            views: vec![ReplicaView::newest()],
            route: 0,
        }
    }
}

impl Replicas {
    /// Which replica answers the next request.
    pub(crate) fn route(&self) -> usize {
        self.route
    }

    pub(crate) fn view(&self, replica: usize) -> ReplicaView {
        self.views
            .get(replica)
            .copied()
            .unwrap_or_else(ReplicaView::newest)
    }

    fn change(&mut self, replica: usize, change: impl FnOnce(ReplicaView) -> ReplicaView) {
        if replica >= self.views.len() {
            self.views.resize(replica + 1, ReplicaView::newest());
        }
        self.views[replica] = change(self.views[replica]);
    }
}

/// Replicas: numbered from 0, of which the first is there always. They share one history, and each
/// may be behind. A watch stays with the replica that opened it.
impl ApiServer {
    /// Sends new requests to this replica.
    pub fn route_to(&self, replica: usize) {
        self.shared().replicas.lock().route = replica;
    }

    /// Lets a replica see nothing after a revision, until it is released.
    pub fn hold_replica(&self, replica: usize, revision: u64) {
        let shared = self.shared();
        let hold = |view: ReplicaView| view.up_to(revision);
        shared.replicas.lock().change(replica, hold);
        shared.wake();
    }

    /// Lets a replica see everything, at once and from now on. What it forgot stays forgotten.
    pub fn release_replica(&self, replica: usize) {
        let shared = self.shared();
        let release = |view: ReplicaView| ReplicaView::newest().since(view.floor());
        shared.replicas.lock().change(replica, release);
        shared.wake();
    }

    /// Starts a replica anew: its watches break, and it knows no history from before.
    pub fn restart_replica(&self, replica: usize) {
        let shared = self.shared();
        let newest = shared.cluster.lock().revision();
        let restart = |view: ReplicaView| view.since(view.revision(newest));
        shared.replicas.lock().change(replica, restart);
        shared.end_watches(Some(replica), StreamEnd::Cut);
    }

    /// Goes back in time, as after a backup of etcd was restored: see
    /// [`Cluster::rewind`](crate::model::Cluster::rewind). All watches break, and all replicas are
    /// up to date. Gives the revision that was reached.
    pub fn rewind(&self, revision: u64) -> u64 {
        let shared = self.shared();
        let reached = shared.cluster.lock().rewind(revision);
        for view in &mut shared.replicas.lock().views {
            *view = ReplicaView::newest();
        }
        shared.written.send_replace(reached);
        shared.end_watches(None, StreamEnd::Cut);
        reached
    }
}
