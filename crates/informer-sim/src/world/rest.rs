//! After the trouble: all must come to rest at the truth, and stay there quietly.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::World;
use super::client::Client;
use crate::chaos::Weather;
use crate::handlers::Handler;
use crate::trace::{holds, note};
use crate::versions::VersionKind;

const MINUTE: Duration = Duration::from_secs(60);
/// How long a quiet time is watched.
const QUIET: Duration = Duration::from_secs(60 * 60);

impl World {
    /// Protocol 3.3: 16 to 20.
    pub(super) async fn come_to_rest(&mut self) {
        self.chaos.set(Weather::Calm);
        self.around.calm.store(true, Ordering::Relaxed);
        for replica in 0..self.plan.replicas {
            self.server.release_replica(replica);
        }
        self.server.route_to(0);
        self.server.set_history_limit(10_000);
        self.workload.finish();
        // A wait that the server asked for, a watch that is cut off silently, an overlong watch.
        let limit = if self.has_bookmarks() {
            12 * MINUTE
        } else {
            20 * MINUTE
        };
        let start = Instant::now();
        loop {
            self.look();
            if self.trace.verdict().is_err() {
                return;
            }
            let truth = self.oracle.lock().equals(&self.client.snapshot());
            match truth {
                Ok(()) if self.is_at_rest() => break,
                truth if start.elapsed() > limit => {
                    let status = self.client.reflector_status();
                    holds!(
                        self.trace,
                        false,
                        "does not come to rest: {truth:?}, {status:?}"
                    );
                    return;
                }
                _ => sleep(Duration::from_secs(1)).await,
            }
        }
        note!(self.trace, "at rest after {:?}", start.elapsed());
        self.judge_handlers();
        self.judge_quiet().await;
        let rate = self.checked.highest_rate();
        self.chaos.tally(|tally| {
            tally.add_event("relist", self.checked.counts().0);
            tally.add_event(rate_class(rate), 1);
        });
        self.stop().await;
        // Protocol 3.3: 14: nothing is sent after a stop.
        let hash = self.trace.hash();
        sleep(MINUTE).await;
        holds!(
            self.trace,
            hash == self.trace.hash(),
            "something happens after the stop"
        );
    }

    pub(super) fn has_bookmarks(&self) -> bool {
        self.plan.cached && self.plan.bookmark_period < 10 * MINUTE
    }

    fn is_at_rest(&self) -> bool {
        let Client::Shared {
            informer, handlers, ..
        } = &self.client
        else {
            return self.client.is_drained();
        };
        informer.has_synced() && self.client.is_drained() && handlers.iter().all(Handler::is_done)
    }

    fn judge_handlers(&mut self) {
        let Client::Shared {
            informer,
            handlers,
            reference,
        } = &mut self.client
        else {
            return;
        };
        reference.read();
        let snapshot = informer.store().snapshot();
        for handler in handlers {
            handler.judge_history(reference, true);
            handler.judge_end(&snapshot, true);
        }
    }

    /// In quiet times there are no lists, and watches are opened only when they end.
    async fn judge_quiet(&mut self) {
        let (lists, watches) = self.checked.counts();
        sleep(QUIET).await;
        let (lists, watches) = (
            self.checked.counts().0 - lists,
            self.checked.counts().1 - watches,
        );
        let pages = u64::from(self.plan.names) + 2;
        let may = match (self.plan.versions, self.has_bookmarks()) {
            // Without a version, each watch begins with a list.
            (VersionKind::Absent, _) => 14 * pages,
            (_, true) => 1,
            // A silence is checked by a list of one object.
            (_, false) => 8,
        };
        // The version to resume from may expire, where events do not move it.
        let may = match self.plan.versions.repeats_events() {
            true => may + pages,
            false => may,
        };
        holds!(
            self.trace,
            lists <= may,
            "{lists} lists in an hour of quiet"
        );
        let guesses = match self.has_bookmarks() {
            // Each may begin with a streaming list that is refused; or with events that are sent again, after which a
            // silence tells nothing.
            _ if !self.plan.versions.is_history() => 41,
            true => 0,
            // A silence is accepted only after a few tries.
            false => 3,
        };
        holds!(
            self.trace,
            watches <= 14 + guesses,
            "{watches} watches in an hour of quiet"
        );
        let truth = self.oracle.lock().equals(&self.client.snapshot());
        holds!(
            self.trace,
            truth.is_ok(),
            "after an hour of quiet: {truth:?}"
        );
        self.look();
    }
}

/// The most requests in a minute of a run, in classes.
fn rate_class(rate: usize) -> &'static str {
    match rate {
        0..10 => "at most 9 requests a minute",
        10..20 => "at most 19 requests a minute",
        20..30 => "at most 29 requests a minute",
        _ => "30 or more requests a minute",
    }
}
