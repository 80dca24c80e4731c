//! The task that writes events: each series by itself, so that one that is throttled holds up no other.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use informer_client::{Api, Client, Error, Patch};
use informer_wire::{Resource, Scope};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, sleep, timeout};

use super::series::{AllSeries, Ended, Key, Notice, Repetitions, Step};
use super::{Counts, Message};

/// How long one write may take with all its attempts and the pauses between them, but not its waits for a permit: those are
/// others' doing.
const WRITE_LIMIT: Duration = Duration::from_secs(120);

/// The pause after the first failure; it doubles.
const PAUSE: Duration = Duration::from_millis(250);

/// The longest pause, also if the server asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How many requests are made at once.
const REQUESTS: usize = 8;

pub(super) struct Task {
    writer: Arc<Writer>,
    period: Duration,
    series: AllSeries,
    writes: JoinSet<(Key, Ended)>,
    counts: Arc<Counts>,
    waiting: Vec<Waiting>,
}

/// Someone who waits until what was recorded before is written.
struct Waiting {
    /// How many writes are awaited of each key.
    keys: HashMap<Key, u8>,
    done: oneshot::Sender<()>,
}

/// What a write needs.
struct Writer {
    events: Api<Value>,
    controller: String,
    instance: String,
    permits: Semaphore,
}

impl Task {
    pub(super) fn new(
        client: Client,
        controller: &str,
        instance: &str,
        period: Duration,
        counts: Arc<Counts>,
    ) -> Self {
        let events = Resource::new("events.k8s.io", "v1", "Event", "events", Scope::Namespaced);
        let writer = Writer {
            events: Api::new(client, events),
            controller: controller.to_owned(),
            instance: instance.to_owned(),
            permits: Semaphore::new(REQUESTS),
        };
        Self {
            writer: Arc::new(writer),
            period,
            series: AllSeries::default(),
            writes: JoinSet::new(),
            counts,
            waiting: Vec::new(),
        }
    }

    /// Writes what is received, until all senders are dropped and all is written.
    pub(super) async fn run(mut self, mut receive: mpsc::Receiver<Message>) {
        let mut tick = tokio::time::interval(self.period.max(Duration::from_millis(1)));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                Some(written) = self.writes.join_next(), if !self.writes.is_empty() => {
                    if let Ok((key, ended)) = written {
                        self.written(&key, ended);
                    }
                }
                message = receive.recv() => match message {
                    Some(Message::Event(notice)) => self.create(*notice),
                    Some(Message::Flush(done)) => self.flush(done),
                    None => break,
                },
                _ = tick.tick() => self.repeat_all(),
            }
        }
        self.repeat_all();
        while let Some(written) = self.writes.join_next().await {
            if let Ok((key, ended)) = written {
                self.written(&key, ended);
                if ended != Ended::Unanswered {
                    self.repeat_all();
                }
            }
        }
    }

    fn create(&mut self, notice: Notice) {
        match self.series.note(&notice, Instant::now()) {
            Step::Counted => {}
            Step::Full => self.counts.fail(1),
            Step::Create(name) => {
                let writer = Arc::clone(&self.writer);
                self.writes.spawn(async move {
                    let ended = writer.create(&name, &notice).await;
                    (notice.key, ended)
                });
            }
        }
    }

    fn repeat_all(&mut self) {
        for repetitions in self.series.begin_writes(Instant::now()) {
            self.repeat(repetitions);
        }
    }

    fn repeat(&mut self, repetitions: Repetitions) {
        let writer = Arc::clone(&self.writer);
        self.writes.spawn(async move {
            let ended = writer.repeat(&repetitions).await;
            (repetitions.key, ended)
        });
    }

    fn flush(&mut self, done: oneshot::Sender<()>) {
        let keys = self.series.unwritten();
        self.repeat_all();
        self.waiting.push(Waiting { keys, done });
        self.wake();
    }

    fn written(&mut self, key: &Key, ended: Ended) {
        let lost = self.series.end_write(key, ended);
        self.counts.fail(lost.into());
        let mut is_awaited = false;
        for waiting in &mut self.waiting {
            if let Some(writes) = waiting.keys.get_mut(key) {
                *writes -= 1;
                if *writes == 0 {
                    waiting.keys.remove(key);
                } else {
                    is_awaited = true;
                }
            }
        }
        let repetitions = is_awaited.then(|| self.series.begin_write(key)).flatten();
        match repetitions {
            Some(repetitions) => self.repeat(repetitions),
            None => {
                for waiting in &mut self.waiting {
                    waiting.keys.remove(key);
                }
            }
        }
        self.wake();
    }

    /// Wakes those who have all that they waited for.
    fn wake(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            if waiting.keys.is_empty() {
                // Who asked may have stopped waiting.
                let _ = waiting.done.send(());
            } else {
                self.waiting.push(waiting);
            }
        }
    }
}

impl Writer {
    async fn create(&self, name: &str, notice: &Notice) -> Ended {
        let event = self.event(name, notice);
        let api = self.api(&notice.key);
        let written = self.retry(|| async {
            match api.create(&event).await {
                // The answer to an earlier attempt was lost: no other event has this name.
                Err(error) if error.is_already_exists() => Ok(()),
                result => result.map(drop),
            }
        });
        written
            .await
            .map_or_else(|ended| ended, |()| Ended::Written(1))
    }

    async fn repeat(&self, repetitions: &Repetitions) -> Ended {
        let patch = Patch::Merge(json!({"series": {
            "count": repetitions.count, "lastObservedTime": micro_time(repetitions.last),
        }}));
        let api = self.api(&repetitions.key);
        let written = self.retry(|| async { api.patch(&repetitions.name, &patch).await.map(drop) });
        let count = Ended::Written(repetitions.count);
        written.await.map_or_else(|ended| ended, |()| count)
    }

    /// Repeats a write that failed for a transient reason, within its limit.
    async fn retry<R>(&self, write: impl Fn() -> R) -> Result<(), Ended>
    where
        R: Future<Output = Result<(), Error>>,
    {
        let (mut pause, mut left) = (PAUSE, WRITE_LIMIT);
        loop {
            // None is held during a pause. They are never closed.
            let permit = self.permits.acquire().await;
            let began = Instant::now();
            let result = timeout(left, write()).await;
            drop(permit);
            let wait = match result {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) if is_transient(&error) => error.retry_after().unwrap_or(pause),
                Ok(Err(error)) if error.is_not_found() => return Err(Ended::Gone),
                Ok(Err(error)) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, "cannot write event");
                    return Err(Ended::Refused);
                }
                Err(_) => LONGEST_PAUSE,
            };
            left = left.saturating_sub(began.elapsed());
            let wait = wait.min(LONGEST_PAUSE);
            if left <= wait {
                sleep(left).await;
                tracing::warn!(limit = ?WRITE_LIMIT, "event not written in time");
                return Err(Ended::Unanswered);
            }
            sleep(wait).await;
            left -= wait;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn api(&self, key: &Key) -> Api<Value> {
        let namespace = key.regarding.event_namespace();
        self.events.clone().in_namespace(namespace)
    }

    fn event(&self, name: &str, notice: &Notice) -> Value {
        let key = &notice.key;
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": key.regarding.event_namespace()},
            "eventTime": micro_time(notice.at),
            "reportingController": self.controller,
            "reportingInstance": self.instance,
            "action": key.action,
            "reason": key.reason,
            "regarding": key.regarding.to_json(),
            "note": notice.note,
            "type": key.event_type.as_str(),
        });
        if let Some(related) = &key.related {
            event["related"] = related.to_json();
        }
        event
    }
}

fn is_transient(error: &Error) -> bool {
    error.is_too_many_requests()
        || matches!(error, Error::Transport { .. } | Error::Timeout { .. })
        || error.status().is_some_and(|status| status.code >= 500)
}

/// Formats a time as `MicroTime`.
fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}
