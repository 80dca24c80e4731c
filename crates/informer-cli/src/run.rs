//! Runs an informer for a command: prints its events, failures and state as lines of output.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::StreamExt;
use informer::reflector::Report;
use informer::shared::{BuildError, EventStream, NotSynced, OnStop};
use informer::store::Snapshot;
use informer::{
    Event, ListerWatcher, Object, QueuePolicy, ReflectorConfig, ResourceVersion, SharedInformer,
};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::failure::Usage;
use crate::output::{Line, Printer, json};
use crate::trouble::{Trouble, Troubles};

/// How often a live table is drawn.
const FRAME: Duration = Duration::from_millis(200);
/// How long queued events may take to be printed when the command ends.
const DRAIN: Duration = Duration::from_secs(1);

/// The settings of a run, beside the lister-watcher.
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) reflector: ReflectorConfig,
    pub(crate) resync: Option<Duration>,
    /// Whether to end once synced, and the time limit for that.
    pub(crate) once: Option<Duration>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The user or the time limit ended it.
    Stopped,
    /// It is synced, and nothing else was requested.
    Synced,
}

/// An informer whose events are printed.
pub(crate) struct Run<K: Object> {
    informer: SharedInformer<K>,
    events: EventStream<K>,
    troubles: mpsc::UnboundedReceiver<Trouble>,
    received: Arc<AtomicUsize>,
    started: Instant,
    once: Option<Duration>,
}

impl<K: Object> Run<K> {
    /// Starts an informer whose events are printed one by one, however many are queued.
    pub(crate) fn start<L>(lister_watcher: L, plan: Plan) -> anyhow::Result<Self>
    where
        L: ListerWatcher<Object = K>,
    {
        let (send, troubles) = mpsc::unbounded_channel();
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        let filter = parking_lot::Mutex::new(Troubles::default());
        let informer = SharedInformer::builder(lister_watcher)
            .name(plan.name)
            .reflector_config(plan.reflector)
            .resync_period(plan.resync.unwrap_or_default())
            .max_deltas(None)
            .on_stop(OnStop::Drain { timeout: DRAIN })
            .transform(move |_: &mut K| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok::<(), std::convert::Infallible>(())
            })
            .watch_error_handler(move |report: &Report| {
                let trouble = filter.lock().filter(Instant::now(), report);
                if let Some(trouble) = trouble {
                    // The receiver is dropped only when the command ends.
                    let _ = send.send(trouble);
                }
            })
            .build()
            .map_err(build_failed)?;
        let events = informer
            .handler()
            .name("output")
            .queue(QueuePolicy::Unbounded)
            .stream()?;
        informer.start()?;
        Ok(Self {
            informer,
            events,
            troubles,
            received,
            started: Instant::now(),
            once: plan.once,
        })
    }

    /// Prints until `end`, or until it is synced if nothing else was requested.
    pub(crate) async fn print(
        &mut self,
        printer: &mut Printer,
        end: impl Future<Output = ()>,
    ) -> anyhow::Result<Ended> {
        let mut end = std::pin::pin!(end);
        let mut synced = std::pin::pin!(self.events.synced().into_future());
        let mut is_synced = false;
        let limit = self.once.unwrap_or(Duration::MAX);
        let mut late = std::pin::pin!(tokio::time::sleep(limit));
        let mut frames = tokio::time::interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                // Events last: there may always be more of them, and the rest is rare.
                biased;
                () = &mut end => return Ok(Ended::Stopped),
                outcome = &mut synced, if !is_synced => {
                    outcome.context("informer ended")?;
                    is_synced = true;
                    let cached = self.informer.store().snapshot();
                    printer.print(&synced_line(&cached, self.started.elapsed()))?;
                    if self.once.is_some() {
                        return Ok(Ended::Synced);
                    }
                }
                Some(trouble) = self.troubles.recv() => match trouble {
                    Trouble::Reason(message) => printer.print(&Line::Error { message: &message })?,
                    Trouble::Hopeless(message) => return Err(Usage::error(message)),
                },
                () = &mut late, if self.once.is_some() && !is_synced => {
                    anyhow::bail!("not synced within {limit:?}: {}", self.obstacle());
                }
                _ = frames.tick() => printer.draw(self.received.load(Ordering::Relaxed), None, &[]),
                event = self.events.next() => match event {
                    Some(event) => print_event(printer, &event)?,
                    None => return Err(self.why_ended().await),
                },
            }
        }
    }

    /// Stops the informer, and prints the queued events and the last state.
    pub(crate) async fn finish(mut self, printer: &mut Printer) -> anyhow::Result<()> {
        let informer = self.informer.clone();
        // In a separate task: it starts now, however many events are queued.
        let mut stop = tokio::spawn(async move { informer.stop().await });
        let mut late = std::pin::pin!(tokio::time::sleep(DRAIN));
        let mut stopped = false;
        loop {
            tokio::select! {
                biased;
                () = &mut late => break,
                event = self.events.next() => match event {
                    Some(event) => print_event(printer, &event)?,
                    None => break,
                },
                _ = &mut stop, if !stopped => stopped = true,
            }
        }
        printer.print(&final_line(&self.informer.store().snapshot()))?;
        printer.finish()?;
        Ok(())
    }

    /// Returns why the informer ended by itself.
    async fn why_ended(&self) -> anyhow::Error {
        match self.informer.stopped().await {
            Err(error) => anyhow::Error::new(error).context("informer ended"),
            Ok(()) => anyhow::anyhow!("informer ended"),
        }
    }

    /// Returns why the informer is not synced.
    fn obstacle(&self) -> String {
        let reason = self
            .informer
            .not_synced()
            .as_ref()
            .map(NotSynced::to_string);
        reason.unwrap_or_else(|| "the output has not printed the first list".to_owned())
    }
}

/// A selector that does not parse is the caller's to mend.
pub(crate) fn build_failed(error: BuildError) -> anyhow::Error {
    match error {
        BuildError::Selector(error) => Usage::error(format!("invalid selector: {error}")),
        error => error.into(),
    }
}

/// Returns the line for the first list.
pub(crate) fn synced_line<K: Object>(cached: &Snapshot<K>, elapsed: Duration) -> Line<'static> {
    Line::Synced {
        count: cached.len(),
        resource_version: text_of(cached.resource_version()),
        seconds: json::seconds(elapsed),
    }
}

/// Returns the line for the last state.
pub(crate) fn final_line<K: Object>(cached: &Snapshot<K>) -> Line<'static> {
    let versions = cached.iter().map(|(key, object)| {
        let version = text_of(object.resource_version().as_ref());
        (key.to_string(), version)
    });
    Line::Final {
        count: cached.len(),
        resource_version: text_of(cached.resource_version()),
        keys: versions.collect(),
    }
}

/// Returns a resource version as the lines have it: empty if there is none.
fn text_of(version: Option<&ResourceVersion>) -> String {
    version.map(ToString::to_string).unwrap_or_default()
}

pub(crate) fn print_event<K: Object>(
    printer: &mut Printer,
    event: &Event<K>,
) -> anyhow::Result<()> {
    let object = event.object();
    let key = event.key();
    let key = key.as_str();
    let resource_version = text_of(object.resource_version().as_ref());
    let uid = object.uid().map(|uid| uid.to_string()).unwrap_or_default();
    let line = match event {
        Event::Added { initial, .. } => Line::Added {
            key,
            resource_version,
            uid,
            initial: *initial,
        },
        Event::Updated { cause, .. } => Line::Updated {
            key,
            resource_version,
            uid,
            cause: cause.as_str(),
        },
        Event::Deleted {
            final_state_unknown,
            ..
        } => {
            let final_state_unknown = *final_state_unknown;
            Line::Deleted {
                key,
                resource_version,
                uid,
                final_state_unknown,
            }
        }
    };
    printer.print(&line).context("cannot write the output")
}
