//! The loop between machine, source, sink and clock. It decides nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use informer_store::{DeltaSink, Replace as _, ReplaceEnd, ResourceVersion, mutant};
use informer_wire::ListOptions;
use tokio::sync::watch;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::Reflector;
use super::consistency::{self, Check, Copies, Difference};
use super::hooks::{Hooks, panic_message};
use super::io::{Incoming, Io};
use super::metrics::Metrics;
use super::set_aside::SetAsideObjects;
use super::unknown::UnknownEvents;
use crate::config::ReflectorConfig;
use crate::error::ListWatchError;
use crate::lister_watcher::{KnownFn, ListRequest, ListerWatcher};
use crate::machine::{Action, Failure, Fault, Machine, Notice};
use crate::report::{Operation, Report};
use crate::status::{Phase, ReflectorStatus};

/// A list that takes longer than this is worth a line in the log.
const SLOW_LIST: Duration = Duration::from_secs(10);
/// Where no deadline is set: far away.
const FAR: Duration = Duration::from_secs(86_400);
/// The status of a reflector that has no quiet moment is not older than this.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// A reflector at work.
pub(super) struct Driver<L: ListerWatcher, S: DeltaSink<L::Object>> {
    pub(super) machine: Machine,
    pub(super) sink: Arc<S>,
    pub(super) replace: Option<S::Replace>,
    pub(super) hooks: Hooks<L::Object>,
    pub(super) config: ReflectorConfig,
    pub(super) aside: SetAsideObjects,
    pub(super) unknown: UnknownEvents,
    pub(super) last_event_at: Option<Instant>,
    lister_watcher: Arc<L>,
    io: Io<L>,
    /// Which copies the sink knows, by the keys that the source makes.
    pub(super) known: Arc<KnownFn>,
    status: watch::Sender<ReflectorStatus>,
    status_due: bool,
    status_at: Instant,
    list_times: ListTimes,
    metrics: Metrics,
    /// Which copies the list that is coming in holds, where lists are checked.
    pub(super) copies: Copies,
    check: Option<Check>,
}

/// When the steps of a list were taken.
#[derive(Debug, Default)]
struct ListTimes {
    begun: Option<Instant>,
    answered: Option<Instant>,
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Driver<L, S> {
    pub(super) fn new(reflector: Reflector<L, S>) -> Self {
        let Reflector {
            lister_watcher,
            sink,
            config,
            hooks,
            status,
            name,
        } = reflector;
        let rng = config.seed.map_or_else(Rng::new, Rng::with_seed);
        let supports = supports_watch_list(&*lister_watcher);
        let config = with_relists(config, &*lister_watcher);
        Self {
            machine: Machine::new(config.clone(), supports, rng),
            known: known_in(&sink, config.cluster.clone()),
            sink,
            replace: None,
            hooks,
            config,
            aside: SetAsideObjects::default(),
            unknown: UnknownEvents::default(),
            last_event_at: None,
            lister_watcher,
            io: Io::Idle,
            status,
            status_due: false,
            status_at: tokio::time::Instant::now().into_std(),
            list_times: ListTimes::default(),
            metrics: Metrics::new(&name),
            copies: Copies::new(),
            check: None,
        }
    }

    pub(super) async fn drive(mut self, stop: CancellationToken) {
        let mut stopped = pin!(stop.cancelled());
        let mut timer = pin!(sleep_until(tokio::time::Instant::now()));
        if stop.is_cancelled() {
            return;
        }
        self.machine.handle_start(self.now());
        loop {
            self.perform_actions();
            let deadline = self.machine.deadline().unwrap_or_else(|| self.now() + FAR);
            // An alarm that comes too early costs less than setting it anew for each event.
            if timer.is_elapsed() || timer.deadline().into_std() > deadline {
                timer.as_mut().reset(deadline.into());
            }
            tokio::select! {
                biased;
                () = &mut stopped => return,
                incoming = self.io.next() => self.handle_incoming(incoming),
                () = &mut timer => {}
                difference = consistency::found(&mut self.check) => self.report_difference(&difference),
                // Nothing else to do at the moment.
                () = std::future::ready(()), if self.status_due => self.publish_status(),
            }
            let now = self.now();
            self.machine.handle_timeout(now);
            if self.status_due && now.duration_since(self.status_at) >= STATUS_INTERVAL {
                self.publish_status();
            }
            // A source that is always ready must not keep others from running.
            tokio::task::consume_budget().await;
        }
    }

    #[expect(
        clippy::unused_self,
        reason = "the driver is where the time comes from"
    )]
    pub(super) fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn handle_incoming(&mut self, incoming: Incoming<L::Object>) {
        self.status_due = true;
        let now = self.now();
        match incoming {
            Incoming::Opened => {
                self.list_times.answered.get_or_insert(now);
                self.machine.handle_opened(now);
            }
            Incoming::List(event) => self.handle_list_event(event),
            Incoming::Watch(event) => {
                self.metrics.event();
                self.handle_watch_event(event);
            }
            Incoming::Failed(error) => self.handle_failure(&error),
            Incoming::Ended => self.machine.handle_end(now),
        }
    }

    pub(super) fn handle_failure(&mut self, error: &ListWatchError) {
        let during = self.machine.operation();
        let failure = Failure::from(error);
        let is_answer = self.machine.is_answer(&failure);
        self.machine.handle_error(self.now(), failure);
        if is_answer {
            // That the server has no streaming lists is what was to be found out, and is told as that.
            tracing::debug!(error = %error.chain(), "streaming lists are refused");
            return;
        }
        self.report_failure(during, error);
    }

    fn perform_actions(&mut self) {
        while let Some(action) = self.machine.poll_action() {
            self.status_due = true;
            match action {
                Action::List { options, use_known } => {
                    let request = self.list_request(options, use_known);
                    tracing::debug!(options = ?request.options, "listing");
                    self.io = Io::list(&self.lister_watcher, request);
                }
                Action::StreamingList { options, use_known } => {
                    let request = self.list_request(options, use_known);
                    tracing::debug!(options = ?request.options, "streaming a list");
                    self.io = Io::watch_list(&self.lister_watcher, request);
                }
                Action::Watch { options } => {
                    let options = self.modified(options);
                    tracing::debug!(?options, "watching");
                    self.io = Io::watch(&self.lister_watcher, options);
                }
                Action::Close => self.io = Io::Idle,
                Action::BeginReplace => {
                    self.list_times = ListTimes {
                        begun: Some(self.now()),
                        answered: None,
                    };
                    self.aside.begin_list();
                    self.copies.clear();
                    self.replace = Some(self.sink.begin_replace());
                }
                Action::FinishReplace(end) => self.finish_replace(end),
                Action::AbortReplace => self.replace = None,
                Action::Resync => {
                    if self.hooks.should_resync() {
                        self.sink.resync();
                    }
                }
                Action::Notice(notice) => self.handle_notice(notice),
            }
        }
    }

    fn finish_replace(&mut self, end: ReplaceEnd) {
        let Some(mut replace) = self.replace.take() else {
            return;
        };
        if end.rewind {
            self.drop_undone(&mut replace, &end.resource_version);
        }
        let (decoded, version) = (self.now(), end.resource_version.clone());
        replace.finish(end);
        self.aside.finish_list();
        self.log_list(decoded, &version.to_string());
        self.check_list(version);
    }

    /// The last good copy of an object that is set aside stays; but after a rewind it may be from a future that
    /// never came.
    fn drop_undone(&self, replace: &mut S::Replace, to: &ResourceVersion) {
        for key in self.aside.listed() {
            let known = self
                .sink
                .known(key)
                .and_then(|known| known.resource_version);
            if known.is_some_and(|known| to.is_older_than(&known))
                && !mutant!("reflector-keep-undone-copies")
            {
                replace.remove(key);
            }
        }
    }

    /// Starts to check the list that was handed over, if that is wanted and its version can be asked for.
    fn check_list(&mut self, version: ResourceVersion) {
        if !self.config.check_consistency || version.is_unset() {
            return;
        }
        let copies = std::mem::take(&mut self.copies);
        let options = self.modified(self.machine.base_options());
        let lister = Arc::clone(&self.lister_watcher);
        self.check = Some(consistency::check(lister, options, version, copies));
    }

    fn report_difference(&self, difference: &Difference) {
        let (resource_version, keys) = (&difference.resource_version, &difference.keys[..]);
        tracing::error!(%resource_version, ?keys, "a second list of the same version differs");
        self.hooks.report(&Report::Inconsistent {
            resource_version,
            keys,
        });
    }

    fn log_list(&self, decoded: Instant, resource_version: &str) {
        let applied = self.now();
        let begun = self.list_times.begun.unwrap_or(decoded);
        self.metrics.listed(applied.duration_since(begun));
        let answered = self.list_times.answered.unwrap_or(begun);
        let answered_ms = millis(answered.duration_since(begun));
        let decoded_ms = millis(decoded.duration_since(answered));
        let applied_ms = millis(applied.duration_since(decoded));
        if applied.duration_since(begun) > SLOW_LIST {
            tracing::warn!(
                resource_version,
                answered_ms,
                decoded_ms,
                applied_ms,
                "slow list"
            );
        } else {
            tracing::debug!(
                resource_version,
                answered_ms,
                decoded_ms,
                applied_ms,
                "listed"
            );
        }
    }

    fn list_request(&self, options: ListOptions, use_known: bool) -> ListRequest {
        let request = ListRequest::new(self.modified(options));
        if use_known {
            request.known(Arc::clone(&self.known))
        } else {
            request
        }
    }

    /// The user's changes to the options come last.
    fn modified(&self, mut options: ListOptions) -> ListOptions {
        for modify in &self.config.modifiers {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| modify(&mut options))) {
                let message = panic_message(&*panic);
                tracing::error!(error = message, "an options modifier panicked");
            }
        }
        options
    }

    fn handle_notice(&mut self, notice: Notice) {
        match notice {
            Notice::Failed { during, fault } => {
                let error = match fault {
                    Fault::Timeout { what, limit } => ListWatchError::Timeout { what, limit },
                    Fault::Protocol(what) => ListWatchError::Protocol(what),
                };
                self.report_failure(during, &error);
            }
            Notice::Rewound { from, to } => {
                tracing::warn!(%from, %to, "the API server went back in time");
                self.hooks.report(&Report::Rewound {
                    from: &from,
                    to: &to,
                });
            }
            Notice::FellBack { reason } => {
                tracing::info!(reason, "lists instead of streaming lists from now on");
                self.hooks.report(&Report::FellBack { reason });
            }
        }
    }

    fn report_failure(&mut self, during: Operation, error: &ListWatchError) {
        let now = self.now();
        let attempts = self.machine.attempts();
        let retry_in = self
            .machine
            .retry_at()
            .map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        let text = error.chain();
        let retry_in_ms = millis(retry_in);
        tracing::warn!(%during, error = %text, attempts, retry_in_ms, "list or watch failed");
        self.status.send_modify(|status| {
            status.last_error = Some(text.into());
            status.last_error_at = Some(now);
        });
        self.status_due = true;
        self.metrics.failed(during);
        self.hooks.report(&Report::Failed {
            during,
            error,
            attempts,
            retry_in,
        });
    }

    fn publish_status(&mut self) {
        self.status_due = false;
        self.status_at = self.now();
        let (machine, aside) = (&self.machine, &self.aside);
        let unknown_events = self.unknown.total();
        let counts = machine.counts();
        let last_event_at = self.last_event_at;
        self.status.send_modify(|status| {
            status.phase = machine.phase();
            status.synced = machine.is_synced();
            status.attempts = machine.attempts();
            status.retry_at = machine.retry_at();
            status.resource_version = machine.resource_version().cloned();
            status.last_event_at = last_event_at;
            status.lists = counts.lists;
            status.watches = counts.watches;
            status.rewinds = counts.rewinds;
            status.set_aside = aside.count();
            status.set_aside_total = aside.total();
            status.unknown_events = unknown_events;
        });
        self.metrics.publish(&self.status.borrow());
    }
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Drop for Driver<L, S> {
    fn drop(&mut self) {
        self.publish_status();
        self.metrics.stopped();
        self.status.send_modify(|status| {
            status.phase = Phase::Stopped;
            status.retry_at = None;
        });
    }
}

/// Which copies the sink knows, by the keys that the source makes.
fn known_in<K, S>(sink: &Arc<S>, cluster: Option<String>) -> Arc<KnownFn>
where
    K: informer_store::Object,
    S: DeltaSink<K>,
{
    let sink = Arc::clone(sink);
    match cluster {
        None => Arc::new(move |key| sink.known(key)),
        Some(cluster) => Arc::new(move |key| sink.known(&key.in_cluster(&cluster))),
    }
}

/// What the source wants holds where the user did not say otherwise.
fn with_relists<L: ListerWatcher>(
    mut config: ReflectorConfig,
    lister_watcher: &L,
) -> ReflectorConfig {
    if config.relist_period.is_none() {
        let wanted = catch_unwind(AssertUnwindSafe(|| lister_watcher.relist_period()));
        config.relist_period = wanted.ok().flatten();
    }
    config
}

/// The source's answer is the user's code too.
fn supports_watch_list<L: ListerWatcher>(lister_watcher: &L) -> bool {
    catch_unwind(AssertUnwindSafe(|| lister_watcher.supports_watch_list())).unwrap_or(false)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
