//! One informer at work for a command: its events, failures and state become lines of output.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::StreamExt;
use informer::reflector::Report;
use informer::shared::{EventStream, OnStop};
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
/// How long events that have arrived may take to be printed when the command ends.
const DRAIN: Duration = Duration::from_secs(1);

/// What to run, beside what is listed and watched.
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) reflector: ReflectorConfig,
    pub(crate) resync: Option<Duration>,
    /// Whether to end once synced, and how long to wait for that.
    pub(crate) once: Option<Duration>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It was told to end.
    Told,
    /// It is synced, which is all that was asked.
    Synced,
}

/// An informer and what prints its events.
pub(crate) struct Run<K: Object> {
    informer: SharedInformer<K>,
    events: EventStream<K>,
    troubles: mpsc::UnboundedReceiver<Trouble>,
    received: Arc<AtomicUsize>,
    started: Instant,
    once: Option<Duration>,
}

impl<K: Object> Run<K> {
    /// Starts an informer whose events are printed one by one, however many wait.
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
            .watch_error_handler(move |report: &Report<'_>| {
                let trouble = filter.lock().tell(Instant::now(), report);
                if let Some(trouble) = trouble {
                    // The receiver is gone only when the command ends.
                    let _ = send.send(trouble);
                }
            })
            .build()?;
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

    /// Prints until it is told to end, or until it is synced if that is all that was asked.
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
                () = &mut end => return Ok(Ended::Told),
                event = self.events.next() => match event {
                    Some(event) => print_event(printer, &event)?,
                    None => return Err(self.why_ended().await),
                },
                outcome = &mut synced, if !is_synced => {
                    outcome.context("the informer ended")?;
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
                    anyhow::bail!("not synced after {limit:?}: {}", self.obstacle());
                }
                _ = frames.tick() => printer.draw(self.received.load(Ordering::Relaxed), None, &[]),
            }
        }
    }

    /// Stops the informer, prints what had arrived and the last state.
    pub(crate) async fn finish(mut self, printer: &mut Printer) -> anyhow::Result<()> {
        let informer = self.informer.clone();
        // In a task of its own: however many events wait to be printed, it begins now.
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

    /// Why the informer ended by itself.
    async fn why_ended(&self) -> anyhow::Error {
        match self.informer.stopped().await {
            Err(error) => anyhow::Error::new(error).context("the informer ended"),
            Ok(()) => anyhow::anyhow!("the informer ended"),
        }
    }

    /// What stands in the way of being synced.
    fn obstacle(&self) -> String {
        self.informer.progress().to_string()
    }
}

/// The line that tells of the first state.
pub(crate) fn synced_line<K: Object>(cached: &Snapshot<K>, elapsed: Duration) -> Line<'static> {
    Line::Synced {
        count: cached.len(),
        resource_version: text_of(cached.resource_version()),
        seconds: json::seconds(elapsed),
    }
}

/// The line that tells of the last state.
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

/// A version as the lines give it: empty where there is none.
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
        _ => return Ok(()),
    };
    printer.print(&line).context("cannot write the output")
}
