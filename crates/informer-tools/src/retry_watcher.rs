//! A plain watch that resumes after it ended or broke.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_reflector::__private::{
    Action, ErrorClass, EventMeta, EventType, Incoming, Io, Machine, Route,
};
use informer_reflector::{ListWatchError, ListerWatcher, ReflectorConfig};
use informer_store::{Object, ObjectKey, ResourceVersion, Uid};
use informer_wire::{Decoded, WatchEvent};
use tokio::time::sleep_until;

/// Without a deadline: far away.
const FAR: Duration = Duration::from_secs(86_400);

/// Watches from a resource version on, and resumes whenever the watch ends or breaks.
///
/// It waits after failures, notices silence and follows what the server asks for, as a
/// [`Reflector`](informer_reflector::Reflector) does, but it never lists. So it ends with an error where only a list
/// could help: when the resource version is too old, or when an object without a resource version is received, after
/// which no watch could resume. It also ends when the server refuses the user (401, 403). Bookmarks are not passed on,
/// nor are events that a server repeats after a resumption.
///
/// ```
/// # use futures_util::stream;
/// # use informer_reflector::{ListWatch, ListWatchError};
/// # use informer_wire::{Decoded, ListMeta, ListOptions, WatchEvent};
/// # use k8s_openapi::api::core::v1::Pod;
/// use informer_tools::RetryWatcher;
///
/// # async fn list(_: ListOptions) -> Result<(Vec<Pod>, ListMeta), ListWatchError> { Ok((vec![], ListMeta::at(7.into()))) }
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
    request: Io<L>,
    config: ReflectorConfig,
    ended: bool,
    seen: Seen,
}

impl<L: ListerWatcher> RetryWatcher<L> {
    /// Makes a watcher of what changed after this resource version.
    ///
    /// # Errors
    /// If the version is empty or `0`: such a watch begins with all existing objects, which it could not tell from
    /// repeated ones when it resumes.
    pub fn new(lister_watcher: L, from: ResourceVersion) -> Result<Self, ListWatchError> {
        Self::with_config(lister_watcher, from, ReflectorConfig::default())
    }

    /// Makes a watcher with the selectors, the timeouts and the backoff of a configuration. Its settings for lists have
    /// no effect.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if a selector does not parse.
    pub fn with_config(
        lister_watcher: L,
        from: ResourceVersion,
        config: ReflectorConfig,
    ) -> Result<Self, ListWatchError> {
        if from.is_unset() {
            return Err(ListWatchError::Protocol(
                "a watch that resumes needs a resource version to start from; take that of a list",
            ));
        }
        config.check().map_err(ListWatchError::other)?;
        Ok(Self {
            lister_watcher: Arc::new(lister_watcher),
            machine: Machine::watch_from(config.clone(), from, config.rng()),
            request: Io::Idle,
            config,
            ended: false,
            seen: Seen::default(),
        })
    }

    /// Returns the resource version up to which every event was returned: another watcher can start from it.
    #[must_use]
    pub fn resource_version(&self) -> Option<&ResourceVersion> {
        self.machine.resource_version()
    }

    /// Waits for the next event, without a limit. Returns `None` after an error.
    ///
    /// # Errors
    /// If the watch cannot resume.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Result<WatchEvent<L::Object>, ListWatchError>> {
        if !self.ended {
            self.machine.handle_start(now());
        }
        while !self.ended {
            self.perform_actions();
            let deadline = self.machine.deadline().unwrap_or_else(|| now() + FAR);
            tokio::select! {
                biased;
                received = self.request.next() => {
                    if let Some(next) = self.handle(received) {
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

    /// Waits for the first event that meets a condition. A further call waits for what follows it.
    ///
    /// # Errors
    /// If the watch cannot resume, or has ended before.
    ///
    /// # Cancel safety
    /// Dropping the future loses only events that do not meet the condition, so a time limit can be set around it.
    #[doc(alias = "Until")]
    pub async fn until(
        &mut self,
        mut condition: impl FnMut(&WatchEvent<L::Object>) -> bool,
    ) -> Result<WatchEvent<L::Object>, ListWatchError> {
        while let Some(event) = self.next().await {
            let event = event?;
            if condition(&event) {
                return Ok(event);
            }
        }
        Err(ListWatchError::Protocol(
            "the watch has ended with an error before",
        ))
    }

    fn perform_actions(&mut self) {
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Watch { options } => {
                    let options = self.config.modified(options);
                    tracing::debug!(?options, "watching");
                    self.request.open(Io::watch(&self.lister_watcher, options));
                }
                Action::Close => self.request.close(),
                Action::Report(report) => tracing::warn!("{report}"),
                // It never lists.
                _ => {}
            }
        }
    }

    fn handle(
        &mut self,
        received: Incoming<L::Object>,
    ) -> Option<Result<WatchEvent<L::Object>, ListWatchError>> {
        match received {
            Incoming::Opened => self.machine.handle_opened(now()),
            Incoming::Ended => self.machine.handle_end(now()),
            Incoming::Failed(error) => return self.fail(error).map(Err),
            Incoming::Watch(WatchEvent::Error(status)) => {
                return self.fail(ListWatchError::status_error(status)).map(Err);
            }
            Incoming::Watch(event) => return self.pass(event),
            // It never lists.
            Incoming::List(_) => {}
        }
        None
    }

    /// Returns the error if no new watch can help.
    fn fail(&mut self, error: ListWatchError) -> Option<ListWatchError> {
        let refused = error
            .status()
            .is_some_and(|status| matches!(status.code, 401 | 403));
        if refused || ErrorClass::from(&error) == ErrorClass::Expired {
            self.request.close();
            return Some(error);
        }
        self.machine.handle_error(now(), error);
        None
    }

    fn pass(
        &mut self,
        event: WatchEvent<L::Object>,
    ) -> Option<Result<WatchEvent<L::Object>, ListWatchError>> {
        if object_of(&event).is_some_and(has_no_version) {
            // Where to resume would be a guess. client-go's ends there, too.
            self.request.close();
            return Some(Err(ListWatchError::Protocol(
                "a watch whose objects have no resource version cannot resume; list and watch instead",
            )));
        }
        let meta = meta_of(&event);
        if self.machine.handle_event(now(), &meta) != Route::Apply {
            return None;
        }
        let is_change = !matches!(meta.event_type, EventType::Bookmark { .. });
        (is_change && self.seen.insert(&event, &meta)).then_some(Ok(event))
    }
}

/// The events of the newest resource version: where a watch resumes, a server may repeat them. Many objects can share
/// one version, as those of a mass deletion do.
#[derive(Debug, Default)]
struct Seen {
    resource_version: Option<ResourceVersion>,
    events: HashSet<(ObjectKey, Option<Uid>, &'static str)>,
}

impl Seen {
    /// Returns `false` if this very event was inserted before.
    fn insert<K: Object>(&mut self, event: &WatchEvent<K>, meta: &EventMeta) -> bool {
        let Some(object) = object_of(event) else {
            return true;
        };
        if self.resource_version != meta.resource_version {
            self.resource_version.clone_from(&meta.resource_version);
            self.events.clear();
        }
        let event_type = match meta.event_type {
            EventType::Added => "ADDED",
            EventType::Modified => "MODIFIED",
            _ => "DELETED",
        };
        self.events
            .insert((ObjectKey::of(object), object.uid(), event_type))
    }
}

fn has_no_version<K: Object>(object: &K) -> bool {
    object
        .resource_version()
        .is_none_or(|version| version.is_unset())
}

fn object_of<K>(event: &WatchEvent<K>) -> Option<&K> {
    match event {
        WatchEvent::Added(Decoded::Object(object))
        | WatchEvent::Modified(Decoded::Object(object))
        | WatchEvent::Deleted(Decoded::Object(object)) => Some(object),
        _ => None,
    }
}

fn meta_of<K: Object>(event: &WatchEvent<K>) -> EventMeta {
    let (event_type, item) = match event {
        WatchEvent::Added(item) => (EventType::Added, item),
        WatchEvent::Modified(item) => (EventType::Modified, item),
        WatchEvent::Deleted(item) => (EventType::Deleted, item),
        WatchEvent::Bookmark {
            resource_version,
            initial_events_end,
        } => {
            let initial_events_end = *initial_events_end;
            let event_type = EventType::Bookmark { initial_events_end };
            return EventMeta::new(event_type, Some(resource_version.clone()));
        }
        _ => return EventMeta::new(EventType::Unknown, None),
    };
    // An object without a key is passed on as well: what it means is up to the caller.
    let resource_version = match item {
        Decoded::Object(object) => object.resource_version(),
        Decoded::Undecodable(undecodable) => undecodable.version.resource_version.clone(),
        _ => None,
    };
    EventMeta::new(event_type, resource_version)
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
