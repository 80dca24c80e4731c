//! Events about objects, as `kubectl describe` shows them.

mod error;
mod reference;
mod series;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use informer_client::Client;
use informer_wire::WallClock;
use tokio::sync::{mpsc, oneshot};

pub use error::RecorderError;
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
/// A background task sends the events. One that equals another of the last six minutes (the same objects, type, reason and
/// action) is counted in its series, which is written every ten seconds at most. A write that fails for a transient reason
/// is repeated for two minutes, and holds up no other. The client needs the right to create and patch `events` of
/// `events.k8s.io`, in the namespaces of the objects, and in `default` for those without one.
///
/// ```no_run
/// use informer_client::Client;
/// use informer_controller::{EventRecorder, EventType, ObjectReference};
/// use informer_wire::StaticResource;
/// use k8s_openapi::api::core::v1::PersistentVolumeClaim;
///
/// # use std::time::Duration;
/// async fn failed(client: Client, claim: &PersistentVolumeClaim) -> Result<(), Box<dyn std::error::Error>> {
///     let recorder = EventRecorder::new(client, "example.org/provisioner", "pod-7f9c")?;
///     let claim = ObjectReference::of(&PersistentVolumeClaim::resource(), claim);
///     recorder.record(&claim, EventType::Warning, "ProvisioningFailed", "Provision", "the disk is full");
///     // Before the program ends.
///     recorder.flush(Duration::from_secs(5)).await?;
///     Ok(())
/// }
/// ```
///
/// Clones share one task. Events that wait when the last clone is dropped are still sent while the runtime runs;
/// [`flush`](Self::flush) waits for them.
#[derive(Debug, Clone)]
#[doc(alias = "EventBroadcaster")]
pub struct EventRecorder {
    inner: Arc<Inner>,
    clock: WallClock,
}

#[derive(Debug)]
struct Inner {
    send: mpsc::Sender<Message>,
    dropped: AtomicU64,
    counts: Arc<Counts>,
}

/// What became of events.
#[derive(Debug, Default)]
struct Counts {
    failed: AtomicU64,
}

impl Counts {
    fn fail(&self, events: u64) {
        self.failed.fetch_add(events, Ordering::Relaxed);
    }
}

#[derive(Debug)]
enum Message {
    Event(Box<Notice>),
    Flush(oneshot::Sender<()>),
}

impl EventRecorder {
    /// Makes a recorder for this controller, as `example.org/provisioner`, and this replica of it.
    ///
    /// # Errors
    /// If API servers would refuse every event for the name of the controller or of the replica.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[doc(alias = "NewRecorder")]
    pub fn new(client: Client, controller: &str, instance: &str) -> Result<Self, RecorderError> {
        Self::with_series_period(client, controller, instance, SERIES_PERIOD)
    }

    /// Makes a recorder that writes repetitions once a period at most.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn with_series_period(
        client: Client,
        controller: &str,
        instance: &str,
        period: Duration,
    ) -> Result<Self, RecorderError> {
        error::check(controller, instance)?;
        let (send, receive) = mpsc::channel(WAITING);
        let counts = Arc::new(Counts::default());
        let task = Task::new(client, controller, instance, period, Arc::clone(&counts));
        // Ends by itself once the last clone is dropped and all events are sent.
        tokio::spawn(task.run(receive));
        Ok(Self {
            inner: Arc::new(Inner {
                send,
                dropped: AtomicU64::new(0),
                counts,
            }),
            clock: WallClock::system(),
        })
    }

    /// Returns this recorder with another wall clock, whose times are written into its events. The default is the system's.
    /// Clones that were made before keep theirs.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Into<WallClock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// Queues an event about an object, with a reason (`ProvisioningFailed`), an action (`Provision`) and a note for
    /// people. Returns at once. Reason and action are cut at 128 bytes, the note at 1 kB. Servers take no event without a
    /// reason and an action: it counts as [failed](Self::failed).
    #[doc(alias = "Eventf")]
    pub fn record(
        &self,
        regarding: &ObjectReference,
        event_type: EventType,
        reason: &str,
        action: &str,
        note: &str,
    ) {
        let key = Key::new(regarding, None, event_type, reason, action);
        self.queue(Notice::new(key, note, self.clock.now()));
    }

    /// Queues an event that is also about a second object, such as the volume that was made for a claim.
    pub fn record_related(
        &self,
        regarding: &ObjectReference,
        related: &ObjectReference,
        event_type: EventType,
        reason: &str,
        action: &str,
        note: &str,
    ) {
        let key = Key::new(regarding, Some(related), event_type, reason, action);
        self.queue(Notice::new(key, note, self.clock.now()));
    }

    fn queue(&self, notice: Notice) {
        let (reason, action) = (notice.key.reason.clone(), &notice.key.action);
        if reason.is_empty() || action.is_empty() {
            self.inner.counts.fail(1);
            tracing::warn!(reason, action, "event without a reason or an action");
            return;
        }
        let sent = self.inner.send.try_send(Message::Event(Box::new(notice)));
        if sent.is_err() {
            self.inner.dropped.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(reason, "event dropped: too many are queued");
        }
    }

    /// Waits until all events recorded before are sent or have failed, for so long at most.
    ///
    /// # Cancellation
    /// Dropping the future changes nothing: events are sent all the same.
    ///
    /// # Errors
    /// [`RecorderError::NotFlushed`] if that takes longer.
    pub async fn flush(&self, limit: Duration) -> Result<(), RecorderError> {
        let flushed = async {
            let (done, is_done) = oneshot::channel();
            if self.inner.send.send(Message::Flush(done)).await.is_ok() {
                // An error: the runtime of the task ends, and its events with it.
                let _ = is_done.await;
            }
        };
        let flushed = tokio::time::timeout(limit, flushed).await;
        flushed.map_err(|_| RecorderError::NotFlushed { limit })
    }

    /// Returns the number of events that were dropped because too many were queued.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.inner.dropped.load(Ordering::Relaxed)
    }

    /// Returns the number of events that were refused, or not written in time.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.inner.counts.failed.load(Ordering::Relaxed)
    }
}
