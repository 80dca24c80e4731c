//! Several replicas of the API server behind one address.

use std::collections::BTreeMap;

use crate::model::ReplicaView;
use crate::server::{ApiServer, StreamEnd};

/// The replicas, and the one that new requests go to.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    /// The views of replicas that have not seen everything.
    views: BTreeMap<usize, ReplicaView>,
    route: usize,
    /// Those of single clients, by their names.
    routes: BTreeMap<String, usize>,
}

impl Replicas {
    /// Returns the replica for the next request of a client.
    pub(crate) fn route(&self, client: &str) -> usize {
        self.routes.get(client).copied().unwrap_or(self.route)
    }

    pub(crate) fn view(&self, replica: usize) -> ReplicaView {
        let view = self.views.get(&replica).copied();
        view.unwrap_or_else(ReplicaView::newest)
    }

    fn change(&mut self, replica: usize, change: impl FnOnce(ReplicaView) -> ReplicaView) {
        self.views.insert(replica, change(self.view(replica)));
    }
}

/// Replicas, of any numbers; requests go to replica 0 at first. They share one history, and each may be behind. A watch
/// stays with the replica that opened it.
impl ApiServer {
    /// Sends new requests to this replica, but those of clients with [one of their own](Self::route_client).
    pub fn route_to(&self, replica: usize) {
        self.shared().replicas.lock().route = replica;
    }

    /// Sends new requests of the client of this name to this replica; with `None` to that of all others again.
    pub fn route_client(&self, client: &str, replica: impl Into<Option<usize>>) {
        let shared = self.shared();
        let mut replicas = shared.replicas.lock();
        match replica.into() {
            Some(replica) => replicas.routes.insert(client.to_owned(), replica),
            None => replicas.routes.remove(client),
        };
    }

    /// Hides everything after a revision from a replica, until it is released.
    pub fn hold_replica(&self, replica: usize, revision: u64) {
        let shared = self.shared();
        let hold = |view: ReplicaView| view.up_to(revision);
        shared.replicas.lock().change(replica, hold);
        shared.wake();
    }

    /// Shows everything to a replica, at once and from now on. History that it does not have stays lost.
    pub fn release_replica(&self, replica: usize) {
        let shared = self.shared();
        let release = |view: ReplicaView| ReplicaView::newest().since(view.floor());
        shared.replicas.lock().change(replica, release);
        shared.wake();
    }

    /// Restarts a replica: its watches break, and it has no history from before.
    pub fn restart_replica(&self, replica: usize) {
        let shared = self.shared();
        let newest = shared.cluster.lock().revision();
        let restart = |view: ReplicaView| view.since(view.revision(newest));
        shared.replicas.lock().change(replica, restart);
        shared.end_watches(Some(replica), StreamEnd::Cut);
    }

    /// Rewinds the history, as after a restored backup of etcd: see [`Cluster::rewind`](crate::model::Cluster::rewind).
    /// All watches break, and all replicas are up to date. Returns the revision that was reached.
    pub fn rewind(&self, revision: u64) -> u64 {
        let shared = self.shared();
        let reached = shared.cluster.lock().rewind(revision);
        shared.replicas.lock().views.clear();
        shared.written.change(|known| {
            *known = reached;
            true
        });
        shared.end_watches(None, StreamEnd::Cut);
        reached
    }
}
