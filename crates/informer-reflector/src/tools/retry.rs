//! A plain watch that goes on where it broke off.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use informer_store::{Object, ObjectKey, ResourceVersion};
use informer_wire::{Decoded, WatchEvent};
use tokio::time::sleep_until;

use crate::config::ReflectorConfig;
use crate::driver::io::{Incoming, Io};
use crate::error::ListWatchError;
use crate::lister_watcher::ListerWatcher;
use crate::machine::{
    Action, EventKind, EventMeta, Failure, FailureKind, Fault, Machine, Notice, Verdict,
};

/// Without a deadline: far away.
const FAR: Duration = Duration::from_secs(86_400);

/// Watches from a resource version, and goes on where it was whenever the watch ends or breaks.
///
/// It waits after failures, notices silence and heeds the server as a [`Reflector`](crate::Reflector) does, but it
/// never lists. So it ends where only a list could help: when the version is too old. It ends, too, when the server
/// says that the user may not watch (401 and 403). Bookmarks and copies that were seen before are not passed on.
///
/// ```
/// # use futures_util::stream;
/// # use informer_reflector::{List, ListWatch, ListWatchError};
/// # use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};
/// # use k8s_openapi::api::core::v1::Pod;
/// use informer_reflector::tools::RetryWatcher;
///
/// # async fn list(_: ListOptions) -> Result<List<Pod>, ListWatchError> { Ok(List::new(vec![], ListMeta::at(7.into()))) }
/// # async fn watch(_: ListOptions) -> Result<stream::Iter<std::vec::IntoIter<Result<WatchEvent<Pod>, ListWatchError>>>, ListWatchError> {
/// #     let mut pod = Pod::default();
/// #     pod.metadata.name = Some("a".into());
/// #     pod.metadata.resource_version = Some("8".into());
/// #     Ok(stream::iter(vec![Ok(WatchEvent::Added(Decoded::Object(pod)))]))
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), ListWatchError> {
/// # let pods = ListWatch::new(list, watch);
/// let mut watcher = RetryWatcher::new(pods, 7.into())?;
/// let added = watcher.until(|event| matches!(event, WatchEvent::Added(_))).await?;
/// # let _ = added;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "NewRetryWatcher")]
pub struct RetryWatcher<L: ListerWatcher> {
    lister_watcher: Arc<L>,
    machine: Machine,
    io: Io<L>,
    config: ReflectorConfig,
    ended: bool,
    /// The newest version, and whose events of it were passed on: many deletions may share one version.
    newest: (Option<ResourceVersion>, HashSet<ObjectKey>),
}

impl<L: ListerWatcher> RetryWatcher<L> {
    /// Watches from behind this version.
    ///
    /// # Errors
    /// When the version is empty or `0`: from there a watch begins with the present state, which it could not tell
    /// from what was seen before when it goes on.
    pub fn new(lister_watcher: L, from: ResourceVersion) -> Result<Self, ListWatchError> {
        Self::with_config(lister_watcher, from, ReflectorConfig::default())
    }

    /// The same, with selectors, times and waits of a configuration. What it says of lists has no meaning here.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_config(
        lister_watcher: L,
        from: ResourceVersion,
        config: ReflectorConfig,
    ) -> Result<Self, ListWatchError> {
        if from.is_unset() {
            return Err(ListWatchError::Protocol(
                "a watch that goes on needs a resource version to begin with; take a list's",
            ));
        }
        let rng = config.seed.map_or_else(Rng::new, Rng::with_seed);
        Ok(Self {
            lister_watcher: Arc::new(lister_watcher),
            machine: Machine::watch_from(config.clone(), from, rng),
            io: Io::Idle,
            config,
            ended: false,
            newest: (None, HashSet::new()),
        })
    }

    /// Up to where everything was seen: another watcher can go on from there.
    #[must_use]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.machine.resource_version()
    }

    /// The next event; waits for as long as it takes. After an error it gives `None`.
    ///
    /// # Errors
    /// When the watch can never go on.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<WatchEvent<L::Object>, ListWatchError>> {
        if !self.ended {
            self.machine.handle_start(now());
        }
        while !self.ended {
            self.perform_actions();
            let deadline = self.machine.deadline().unwrap_or_else(|| now() + FAR);
            tokio::select! {
                biased;
                incoming = self.io.next() => {
                    if let Some(next) = self.handle(incoming) {
                        self.ended = next.is_err();
                        return Some(next);
                    }
                }
                () = sleep_until(deadline.into()) => self.machine.handle_timeout(now()),
            }
            tokio::task::consume_budget().await;
        }
        None
    }

    /// The first event that fits. Call it again to wait for what comes after it.
    ///
    /// # Errors
    /// When the watch can never go on.
    ///
    /// # Cancel safety
    /// Dropping the future loses the events that did not fit, and no other: a limit of time can be set around it.
    #[doc(alias = "Until")]
    pub async fn until(
        &mut self,
        mut fits: impl FnMut(&WatchEvent<L::Object>) -> bool,
    ) -> Result<WatchEvent<L::Object>, ListWatchError> {
        while let Some(event) = self.next().await {
            let event = event?;
            if fits(&event) {
                return Ok(event);
            }
        }
        Err(ListWatchError::Protocol("the watch has ended before"))
    }

    fn perform_actions(&mut self) {
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Watch { mut options } => {
                    self.config
                        .modifiers
                        .iter()
                        .for_each(|modify| modify(&mut options));
                    tracing::debug!(?options, "watching");
                    self.io = Io::watch(&self.lister_watcher, options);
                }
                Action::Close => self.io = Io::Idle,
                Action::Notice(Notice::Failed { fault, .. }) => log_fault(fault),
                // It never lists.
                _ => {}
            }
        }
    }

    fn handle(
        &mut self,
        incoming: Incoming<L::Object>,
    ) -> Option<Result<WatchEvent<L::Object>, ListWatchError>> {
        match incoming {
            Incoming::Opened => self.machine.handle_opened(now()),
            Incoming::Ended => self.machine.handle_end(now()),
            Incoming::Failed(error) => return self.fail(error).map(Err),
            Incoming::Watch(WatchEvent::Error(status)) => {
                return self.fail(ListWatchError::status_error(status)).map(Err);
            }
            Incoming::Watch(event) => return self.pass(event).map(Ok),
            Incoming::List(_) => {}
        }
        None
    }

    /// Gives the error back if nothing but a list, or a person, can help.
    fn fail(&mut self, error: ListWatchError) -> Option<ListWatchError> {
        let failure = Failure::from(&error);
        let forbidden = error
            .status()
            .is_some_and(|status| matches!(status.code, 401 | 403));
        if failure.kind == FailureKind::Expired || forbidden {
            self.io = Io::Idle;
            return Some(error);
        }
        self.machine.handle_error(now(), failure);
        tracing::warn!(error = %error.chain(), "watch failed");
        None
    }

    fn pass(&mut self, event: WatchEvent<L::Object>) -> Option<WatchEvent<L::Object>> {
        let meta = meta_of(&event);
        let verdict = self.machine.handle_event(now(), &meta);
        if verdict != Verdict::Apply {
            return None;
        }
        let seen = self.was_seen(&event, &meta);
        self.machine.handle_applied();
        let hidden = seen || matches!(meta.kind, EventKind::Bookmark { .. } | EventKind::Unknown);
        (!hidden).then_some(event)
    }

    /// Whether this very event was passed on: where a watch goes on, the events of its version may come again.
    fn was_seen(&mut self, event: &WatchEvent<L::Object>, meta: &EventMeta) -> bool {
        let key = match event {
            WatchEvent::Added(Decoded::Object(object))
            | WatchEvent::Modified(Decoded::Object(object))
            | WatchEvent::Deleted(Decoded::Object(object)) => ObjectKey::of(object),
            _ => return false,
        };
        if self.newest.0 != meta.resource_version {
            self.newest = (meta.resource_version.clone(), HashSet::new());
        }
        !self.newest.1.insert(key)
    }
}

fn meta_of<K: Object>(event: &WatchEvent<K>) -> EventMeta {
    let (kind, item) = match event {
        WatchEvent::Added(item) => (EventKind::Added, item),
        WatchEvent::Modified(item) => (EventKind::Modified, item),
        WatchEvent::Deleted(item) => (EventKind::Deleted, item),
        WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
        } => {
            let initial_events_end = *initial_events_end;
            let kind = EventKind::Bookmark { initial_events_end };
            return EventMeta::new(kind, Some(resource_version.clone()));
        }
        _ => return EventMeta::new(EventKind::Unknown, None),
    };
    match item {
        Decoded::Object(object) => {
            EventMeta::new(kind, object.resource_version()).named(!object.name().is_empty())
        }
        Decoded::SetAside(aside) => EventMeta::new(kind, aside.resource_version.clone()),
        _ => EventMeta::new(EventKind::Unknown, None),
    }
}

fn log_fault(fault: Fault) {
    match fault {
        Fault::Timeout { what, limit } => tracing::warn!(what, ?limit, "watch timed out"),
        Fault::Protocol(what) => tracing::warn!(what, "watch failed"),
    }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl<L: ListerWatcher> fmt::Debug for RetryWatcher<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryWatcher")
            .field("resource_version", &self.machine.resource_version())
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
