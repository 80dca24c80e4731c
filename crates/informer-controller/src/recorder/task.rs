//! The task that writes events, one after the other.

use std::time::Duration;

use informer_client::{Api, Client, Error, Patch};
use informer_wire::{Resource, Scope};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use super::Message;
use super::series::{AllSeries, Key, Notice, Series};

/// How often a write is tried that the network or the server's load made fail.
const ATTEMPTS: u32 = 4;

/// The pause after the first failure; it doubles.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) struct Task {
    events: Api<Value>,
    controller: String,
    instance: String,
    period: Duration,
    series: AllSeries,
}

impl Task {
    pub(super) fn new(client: Client, controller: &str, instance: &str, period: Duration) -> Self {
        let events = Resource::new("events.k8s.io", "v1", "Event", "events", Scope::Namespaced);
        Self {
            events: Api::new(client, events),
            controller: controller.to_owned(),
            instance: instance.to_owned(),
            period,
            series: AllSeries::default(),
        }
    }

    /// Writes what comes, until nobody can send any more.
    pub(super) async fn run(mut self, mut receive: mpsc::Receiver<Message>) {
        let mut tick = tokio::time::interval(self.period.max(Duration::from_millis(1)));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = receive.recv() => match message {
                    None => return self.write_series().await,
                    Some(Message::Event(notice)) => self.tell(*notice).await,
                    Some(Message::Flush(done)) => {
                        self.write_series().await;
                        // Whoever asked may have gone.
                        let _ = done.send(());
                    }
                },
                _ = tick.tick() => self.write_series().await,
            }
        }
    }

    async fn tell(&mut self, notice: Notice) {
        if self.series.repeat(&notice, Instant::now()) {
            return;
        }
        let name = format!("{}.{:016x}", notice.key.regarding.name, fastrand::u64(..));
        let event = self.event(&name, &notice);
        let api = self.api(&notice.key);
        match persist(|| api.create(&event)).await {
            Ok(_) => self.series.begin(&notice, name, Instant::now()),
            Err(error) => warn(&error),
        }
    }

    async fn write_series(&mut self) {
        for (key, series) in self.series.take_changed(Instant::now()) {
            let patch = repetition(&series);
            let api = self.api(&key);
            match persist(|| api.patch(&series.name, &patch)).await {
                Ok(_) => {}
                Err(error) if error.is_not_found() => self.series.forget(&key),
                Err(error) => warn(&error),
            }
        }
    }

    fn api(&self, key: &Key) -> Api<Value> {
        let namespace = key.regarding.event_namespace();
        self.events.clone().in_namespace(namespace)
    }

    fn event(&self, name: &str, notice: &Notice) -> Value {
        json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": notice.key.regarding.event_namespace()},
            "eventTime": micro_time(notice.at),
            "reportingController": self.controller,
            "reportingInstance": self.instance,
            "action": notice.key.action,
            "reason": notice.key.reason,
            "regarding": notice.key.regarding.to_json(),
            "note": notice.note,
            "type": notice.key.event_type.as_str(),
        })
    }
}

fn repetition(series: &Series) -> Patch<Value> {
    Patch::Merge(json!({"series": {
        "count": series.count, "lastObservedTime": micro_time(series.last),
    }}))
}

/// Tries a write again that failed for a reason which may pass.
async fn persist<T, R>(mut write: impl FnMut() -> R) -> Result<T, Error>
where
    R: Future<Output = Result<T, Error>>,
{
    let mut pause = PAUSE;
    for _ in 1..ATTEMPTS {
        match write().await {
            Err(error) if may_pass(&error) => {
                tokio::time::sleep(error.retry_after().unwrap_or(pause)).await;
                pause *= 2;
            }
            result => return result,
        }
    }
    write().await
}

fn may_pass(error: &Error) -> bool {
    error.is_too_many_requests()
        || matches!(error, Error::Transport { .. } | Error::Timeout { .. })
        || error.status().is_some_and(|status| status.code >= 500)
}

fn warn(error: &Error) {
    let error: &dyn std::error::Error = error;
    tracing::warn!(error, "an event was not written");
}

/// A time as `MicroTime` is written.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}
