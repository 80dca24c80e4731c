//! The clients in this process, by name, and the fences that cut them off.

use std::collections::HashMap;

use tokio_util::sync::CancellationToken;

use crate::server::ApiServer;

/// The fences of clients.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    fences: HashMap<String, CancellationToken>,
}

impl Clients {
    /// Returns the fence of those who take this name from now on.
    pub(crate) fn fence(&mut self, client: &str) -> CancellationToken {
        self.fences.entry(client.to_owned()).or_default().clone()
    }
}

/// Clients with names, which stand for the processes of a simulation.
impl ApiServer {
    /// Fences the clients of this name off, as if their process ended at this moment: none of their requests is received
    /// or goes on any more, none of their watches sends anything, and nothing that awaits one of them ends. What
    /// [`Fault::Late`](crate::Fault::Late) holds back was received before, and is still carried out.
    ///
    /// Those that are made later with the same name are other clients: the process after its restart.
    pub fn fence(&self, client: &str) {
        let fence = self.shared().clients.lock().fences.remove(client);
        if let Some(fence) = fence {
            fence.cancel();
        }
    }
}
