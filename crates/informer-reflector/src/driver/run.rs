//! The loop between machine, source, sink and clock. It decides nothing.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_store::{DeltaSink, ListEnd, ObjectList};
use informer_wire::{ListOptions, NewestFn};
use tokio::sync::watch;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::hooks::Hooks;
use super::io::{Incoming, Io};
use super::metrics::Metrics;
use super::observe::ListTimes;
use super::undecodable::{UndecodableObjects, UnknownEvents};
use super::{Reflector, Resync};
use crate::config::{ReflectorConfig, period};
use crate::lister_watcher::{ListRequest, ListerWatcher};
use crate::machine::{Action, Machine};
use crate::status::ReflectorStatus;
use crate::user_code::call_hook;

/// The longest sleep. What is further away is looked at again.
const FAR: Duration = Duration::from_secs(86_400);
/// The status of a reflector that is always busy is not older than this.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);

/// A running reflector.
pub(super) struct Driver<L: ListerWatcher, S: DeltaSink<L::Object>> {
    pub(super) machine: Machine,
    pub(super) sink: Arc<S>,
    /// The list that is being received.
    pub(super) list: ObjectList<L::Object>,
    pub(super) hooks: Hooks<L::Object>,
    pub(super) undecodable: UndecodableObjects,
    pub(super) unknown: UnknownEvents,
    /// It was reported that objects have no versions.
    pub(super) unversioned: bool,
    pub(super) last_event_at: Option<Instant>,
    config: ReflectorConfig,
    lister_watcher: Arc<L>,
    pub(super) io: Io<L>,
    newest: Arc<NewestFn<L::Object>>,
    resync_at: Option<watch::Receiver<Option<tokio::time::Instant>>>,
    pub(super) status: watch::Sender<ReflectorStatus>,
    pub(super) status_due: bool,
    pub(super) status_at: Instant,
    /// It was logged that the server does not have the resource, and not seen otherwise since.
    pub(super) not_found: bool,
    pub(super) list_times: ListTimes,
    pub(super) metrics: Metrics,
}

impl<L: ListerWatcher, S: DeltaSink<L::Object>> Driver<L, S> {
    pub(super) fn new(reflector: Reflector<L, S>) -> Self {
        let Reflector {
            lister_watcher,
            sink,
            config,
            hooks,
            resync,
            status,
            name,
        } = reflector;
        let supports = supports_watch_list(&*lister_watcher);
        let config = with_relists(config, &*lister_watcher);
        let (every, resync_at) = match resync {
            Resync::Every(every) => (every, None),
            Resync::At(mut at) => {
                at.mark_changed();
                (None, Some(at))
            }
        };
        let newest = Arc::clone(&sink);
        Self {
            machine: Machine::new(config.clone(), supports, config.rng()).resync_period(every),
            newest: Arc::new(move |key| newest.newest(key)),
            sink,
            list: ObjectList::new(),
            hooks,
            undecodable: UndecodableObjects::default(),
            unknown: UnknownEvents::default(),
            unversioned: false,
            last_event_at: None,
            config,
            lister_watcher,
            io: Io::Idle,
            resync_at,
            status,
            status_due: false,
            status_at: tokio::time::Instant::now().into_std(),
            not_found: false,
            list_times: ListTimes::default(),
            metrics: Metrics::new(&name),
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut stopped = pin!(stop.cancelled());
        let mut timer = pin!(sleep_until(tokio::time::Instant::now()));
        if stop.is_cancelled() {
            return;
        }
        self.machine.handle_start(self.now());
        loop {
            self.perform_actions();
            let far = self.now() + FAR;
            let deadline = self.machine.deadline().map_or(far, |at| at.min(far));
            // An alarm that is too early costs less than setting it again for each event.
            if timer.is_elapsed() || timer.deadline().into_std() > deadline {
                timer.as_mut().reset(deadline.into());
            }
            tokio::select! {
                biased;
                () = &mut stopped => return,
                incoming = self.io.next() => self.handle_incoming(incoming),
                () = &mut timer => {}
                () = resync_time(&mut self.resync_at) => {}
                // Nothing else to do at the moment.
                () = std::future::ready(()), if self.status_due => self.publish_status(),
            }
            self.schedule_resync();
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
                self.not_found = false;
                self.list_times.answered(now);
                self.machine.handle_opened(now);
            }
            Incoming::List(event) => self.handle_list_event(event),
            Incoming::Watch(event) => {
                self.metrics.event();
                self.handle_watch_event(event);
            }
            Incoming::Failed(error) => self.machine.handle_error(now, error),
            Incoming::Ended => self.machine.handle_end(now),
        }
    }

    fn perform_actions(&mut self) {
        while let Some(action) = self.machine.poll_action() {
            self.status_due = true;
            match action {
                Action::List { options, reuse } => {
                    if options.continue_token.is_none() {
                        self.start_list();
                    }
                    let request = self.list_request(options, reuse);
                    tracing::debug!(options = ?request.options, "listing");
                    self.io.open(Io::list(&self.lister_watcher, request));
                }
                Action::StreamingList { options, reuse } => {
                    self.start_list();
                    let request = self.list_request(options, reuse);
                    tracing::debug!(options = ?request.options, "streaming a list");
                    self.io.open(Io::watch_list(&self.lister_watcher, request));
                }
                Action::Watch { options } => {
                    let options = self.config.modified(options);
                    tracing::debug!(?options, "watching");
                    self.io.open(Io::watch(&self.lister_watcher, options));
                }
                Action::Close => self.io.close(),
                Action::FinishList(end) => self.finish_list(end),
                Action::DropList => self.list = ObjectList::new(),
                Action::Resync => {
                    self.sink.resync();
                    self.see_to_dropped_changes();
                }
                Action::Report(report) => self.report(&report),
            }
        }
    }

    /// Takes over the time of a resync that was sent, also while the source is always ready.
    fn schedule_resync(&mut self) {
        let Some(at) = &mut self.resync_at else {
            return;
        };
        match at.has_changed() {
            Ok(false) => {}
            Ok(true) => {
                let at = at.borrow_and_update().map(tokio::time::Instant::into_std);
                self.machine.schedule_resync(at);
            }
            // Nobody wants one any more.
            Err(_) => {
                self.resync_at = None;
                self.machine.schedule_resync(None);
            }
        }
    }

    fn start_list(&mut self) {
        self.list_times = ListTimes::begin(self.now());
        self.undecodable.start_list();
        self.list = ObjectList::new();
    }

    fn finish_list(&mut self, end: ListEnd) {
        let (decoded, version) = (self.now(), end.resource_version.clone());
        self.sink.replace(std::mem::take(&mut self.list), end);
        self.undecodable.finish_list();
        self.log_list(decoded, &version.to_string());
    }

    fn list_request(&self, options: ListOptions, reuse: bool) -> ListRequest<L::Object> {
        let request = ListRequest::new(self.config.modified(options));
        if reuse {
            request.newest(Arc::clone(&self.newest))
        } else {
            request
        }
    }
}

/// Waits until a time of a resync is sent; for ever if nobody sends one.
async fn resync_time(at: &mut Option<watch::Receiver<Option<tokio::time::Instant>>>) {
    let Some(at) = at else {
        return std::future::pending().await;
    };
    if at.changed().await.is_ok() {
        at.mark_changed();
    }
}

/// The source's own period holds where the user gave none.
fn with_relists<L: ListerWatcher>(
    mut config: ReflectorConfig,
    lister_watcher: &L,
) -> ReflectorConfig {
    if config.relist_period.is_none() {
        let asked = call_hook("relist period", || lister_watcher.relist_period());
        config.relist_period = asked.flatten().and_then(period);
    }
    config
}

/// The source is the user's code too.
fn supports_watch_list<L: ListerWatcher>(lister_watcher: &L) -> bool {
    call_hook("support of streaming lists", || {
        lister_watcher.supports_watch_list()
    })
    .unwrap_or(false)
}
