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

/// How often a write is tried that failed by the network or by the server's load.
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

    /// Writes what is received, until all senders are dropped.
    pub(super) async fn run(mut self, mut receive: mpsc::Receiver<Message>) {
        let mut tick = tokio::time::interval(self.period.max(Duration::from_millis(1)));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = receive.recv() => match message {
                    None => return self.write_series().await,
                    Some(Message::Event(notice)) => self.write(*notice).await,
                    Some(Message::Flush(done)) => {
                        self.write_series().await;
                        // The one who asked may have stopped waiting.
                        let _ = done.send(());
                    }
                },
                _ = tick.tick() => self.write_series().await,
            }
        }
    }

    async fn write(&mut self, notice: Notice) {
        if self.series.repeat(&notice, Instant::now()) {
            return;
        }
        let name = format!("{}.{:016x}", notice.key.regarding.name, fastrand::u64(..));
        let event = self.event(&name, &notice);
        let api = self.api(&notice.key);
        match retry(|| api.create(&event)).await {
            Ok(_) => self.series.begin(&notice, name, Instant::now()),
            Err(error) => warn(&error),
        }
    }

    async fn write_series(&mut self) {
        for (key, series) in self.series.take_changed(Instant::now()) {
            let patch = repetition(&series);
            let api = self.api(&key);
            match retry(|| api.patch(&series.name, &patch)).await {
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

/// Retries a write that failed for a transient reason.
async fn retry<T, R>(mut write: impl FnMut() -> R) -> Result<T, Error>
where
    R: Future<Output = Result<T, Error>>,
{
    let mut pause = PAUSE;
    for _ in 1..ATTEMPTS {
        match write().await {
            Err(error) if is_transient(&error) => {
                tokio::time::sleep(error.retry_after().unwrap_or(pause)).await;
                pause *= 2;
            }
            result => return result,
        }
    }
    write().await
}

fn is_transient(error: &Error) -> bool {
    error.is_too_many_requests()
        || matches!(error, Error::Transport { .. } | Error::Timeout { .. })
        || error.status().is_some_and(|status| status.code >= 500)
}

fn warn(error: &Error) {
    let error: &dyn std::error::Error = error;
    tracing::warn!(error, "cannot write event");
}

/// Formats a time as `MicroTime`.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}
