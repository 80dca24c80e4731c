//! Events about objects, as `kubectl describe` shows them.

mod reference;
mod series;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer_client::Client;
use tokio::sync::{mpsc, oneshot};

pub use reference::ObjectReference;
use series::{Key, Notice};
use task::Task;

/// How many events may wait to be sent. More are dropped and counted, so that recording never waits.
const WAITING: usize = 1000;

/// How often repetitions are written.
const SERIES_PERIOD: Duration = Duration::from_secs(10);

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventType {
    /// Something happened as expected.
    Normal,
    /// Something needs attention.
    Warning,
}

impl EventType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Writes events (`events.k8s.io/v1`) about objects.
///
/// A background task sends the events, one after the other. One that equals another of the last six minutes (the same
/// object, type, reason and action) is counted in its series, which is written every ten seconds at most. The client
/// needs the right to create and patch `events` of `events.k8s.io`.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_controller::{EventRecorder, EventType, ObjectReference};
/// use informer_wire::StaticResource;
/// use k8s_openapi::api::core::v1::PersistentVolumeClaim;
///
/// async fn failed(client: Client, claim: &PersistentVolumeClaim) {
///     let recorder = EventRecorder::new(client, "example.org/provisioner", "pod-7f9c");
///     let claim = ObjectReference::of(&PersistentVolumeClaim::resource(), claim);
///     recorder.record(&claim, EventType::Warning, "ProvisioningFailed", "Provision", "the disk is full");
///     recorder.flush().await;
/// }
/// ```
///
/// Clones share one task. Events that wait when the last clone is dropped are still sent while the runtime runs;
/// [`flush`](Self::flush) waits for them.
#[derive(Debug, Clone)]
#[doc(alias = "EventBroadcaster")]
pub struct EventRecorder {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    send: mpsc::Sender<Message>,
    dropped: AtomicU64,
}

#[derive(Debug)]
enum Message {
    Event(Box<Notice>),
    Flush(oneshot::Sender<()>),
}

impl EventRecorder {
    /// Makes a recorder for this controller, as `example.org/provisioner`, and this replica of it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    #[doc(alias = "NewRecorder")]
    pub fn new(client: Client, controller: &str, instance: &str) -> Self {
        Self::with_series_period(client, controller, instance, SERIES_PERIOD)
    }

    /// Makes a recorder that writes repetitions once a period at most.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn with_series_period(
        client: Client,
        controller: &str,
        instance: &str,
        period: Duration,
    ) -> Self {
        let (send, receive) = mpsc::channel(WAITING);
        let task = Task::new(client, controller, instance, period);
        // Ends by itself once the last clone is dropped and all events are sent.
        tokio::spawn(task.run(receive));
        Self {
            inner: Arc::new(Inner {
                send,
                dropped: AtomicU64::new(0),
            }),
        }
    }

    /// Queues an event about an object, with a reason (`ProvisioningFailed`), an action (`Provision`) and a note for
    /// people. Returns at once. Reason and action are cut at 128 bytes, the note at 1 kB.
    #[doc(alias = "Eventf")]
    pub fn record(
        &self,
        regarding: &ObjectReference,
        event_type: EventType,
        reason: &str,
        action: &str,
        note: &str,
    ) {
        let key = Key::new(regarding, event_type, reason, action);
        let notice = Notice::new(key, note);
        if self
            .inner
            .send
            .try_send(Message::Event(Box::new(notice)))
            .is_err()
        {
            self.inner.dropped.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(reason, "event dropped: too many are queued");
        }
    }

    /// Waits until all events recorded before are sent, or have failed.
    pub async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        if self.inner.send.send(Message::Flush(done)).await.is_ok() {
            let _ = is_done.await;
        }
    }

    /// Returns the number of events that were dropped because too many were queued.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.inner.dropped.load(Ordering::Relaxed)
    }
}
