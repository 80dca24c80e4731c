//! The end of a seed: trouble ends, all must come to rest at what the objects say, and a stop must give the lease back.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::world::World;
use super::{NAMESPACE, work::FINALIZER};
use crate::trace::{holds, note};

/// How long it may take until all is as it should be: backoffs, hung reconciles and waits for writes run out.
const REST: Duration = Duration::from_secs(400);

impl World {
    pub(super) async fn settle(&mut self) {
        note!(self.trace, "SETTLE");
        self.kit.chaos.end();
        self.kit.server.release_replica(1);
        self.thaw_all();
        for slot in 0..self.plan.replicas {
            if self.processes[slot].is_none() {
                self.start(slot);
            }
        }
        // What is under way may still have its effect, up to 24 s late.
        self.pass(Duration::from_secs(30)).await;
        let begun = Instant::now();
        while let Some(why) = self.lacking() {
            if begun.elapsed() > REST {
                self.trace.broken(format_args!("no rest: {why}"));
                return;
            }
            self.pass(Duration::from_secs(1)).await;
            // Those that were asked to stop.
            for slot in 0..self.plan.replicas {
                if self.processes[slot].is_none() {
                    self.start(slot);
                }
            }
        }
        note!(self.trace, "AT REST");
        self.kit.ledger.quiet(true);
        self.pass(Duration::from_secs(90)).await;
        let why = self.lacking();
        holds!(self.trace, why.is_none(), "rest was left: {why:?}");
        self.stop_all().await;
    }

    /// Says what is not as the objects want it.
    fn lacking(&self) -> Option<String> {
        let all = |plural| self.kit.server.list(plural, NAMESPACE).unwrap_or_default();
        let (widgets, parts) = (all("widgets"), all("parts"));
        let name = |object: &Value| object["metadata"]["name"].to_string();
        for widget in &widgets {
            let meta = &widget["metadata"];
            if meta["deletionTimestamp"].is_string() {
                return Some(format!("{} is not cleaned up", name(widget)));
            }
            if meta["finalizers"] != serde_json::json!([FINALIZER]) {
                return Some(format!("{} has {}", name(widget), meta["finalizers"]));
            }
            let part = parts.iter().find(|part| name(part) == name(widget));
            if part.is_none_or(|part| part["data"] != widget["data"]) {
                return Some(format!(
                    "{} wants {}, has {part:?}",
                    name(widget),
                    widget["data"]
                ));
            }
            if part.is_some_and(|part| part["metadata"]["ownerReferences"][0]["uid"] != meta["uid"])
            {
                return Some(format!("{} has the part of another", name(widget)));
            }
        }
        if parts.len() != widgets.len() {
            return Some("a part without its widget".to_owned());
        }
        if !self
            .processes
            .iter()
            .flatten()
            .any(super::process::Process::is_leader)
        {
            return Some("nobody leads".to_owned());
        }
        let statuses = self
            .processes
            .iter()
            .flatten()
            .filter(|process| process.is_leader());
        for process in statuses {
            let window = process.window.lock();
            let status = window
                .controller
                .as_ref()
                .map(|status| status.borrow().clone());
            let is_done = status.is_some_and(|status| {
                status.failing.is_empty() && status.running.is_empty() && status.unseen_writes == 0
            });
            if !is_done {
                return Some(format!("{} is not done", process.name));
            }
            // One with another view may have more to do.
            let outdated = process.outdated(&self.kit.server);
            if outdated.is_some() {
                return outdated;
            }
        }
        None
    }

    /// Stops all, one after the other: each hands over, the last one gives the lease back.
    async fn stop_all(&mut self) {
        for slot in 0..self.plan.replicas {
            let Some(process) = self.processes[slot].take() else {
                continue;
            };
            note!(self.trace, "LAST STOP {}", process.name);
            process.stop.cancel();
            let limit = Duration::from_secs(2) + self.plan.renew;
            let (name, window) = (process.name.clone(), process.window.clone());
            let ended = timeout(limit, process.task).await;
            holds!(
                self.trace,
                matches!(ended, Ok(Ok(()))),
                "{name} does not end after a stop"
            );
            let elector = window.lock().elector.clone();
            let leads = elector.is_some_and(|elector| elector.status().is_leader());
            holds!(self.trace, !leads, "{name} has ended, and is said to lead");
            let holder = self.kit.ledger.holder();
            holds!(
                self.trace,
                holder != name,
                "{name} has ended, and keeps the lease"
            );
        }
    }
}
