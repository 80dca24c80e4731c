//! A cluster in memory behind the `ListerWatcher` seam, and a handler that checks and records its events.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod running;
pub(crate) mod script;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher};
use informer_shared::{
    BlockingEventHandler, BoxError, Cause, Event, EventHandler, QueueOrder, SharedInformer,
};
use informer_store::{Object, ObjectKey, StoreReader};
use informer_wire::{Decoded, ListMeta, ListOptions, Status, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use tokio::sync::mpsc;

pub(crate) const SECONDS: Duration = Duration::from_secs(1);

pub(crate) type Item = Result<WatchEvent<ConfigMap>, ListWatchError>;

/// A collection of config maps that can be listed and watched, and that fails on demand.
#[derive(Clone, Default)]
pub(crate) struct Cluster(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    version: u64,
    uids: u64,
    objects: BTreeMap<String, ConfigMap>,
    log: Vec<(u64, Kind, ConfigMap)>,
    watches: Vec<mpsc::UnboundedSender<Item>>,
    forget_before: u64,
    lists: usize,
    opened: usize,
    list_error: Option<u16>,
    hang: bool,
    last_options: Option<ListOptions>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Modified,
    Deleted,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A cluster that holds `count` objects, named `0`, `1` and so on.
    pub(crate) fn with(count: usize) -> Self {
        let cluster = Self::new();
        for n in 0..count {
            cluster.put(&n.to_string(), "first");
        }
        cluster
    }

    /// Creates or changes an object. Returns its version.
    pub(crate) fn put(&self, name: &str, value: &str) -> u64 {
        let mut state = self.0.lock();
        let version = state.next_version();
        let known = state.objects.get(name).and_then(|o| o.metadata.uid.clone());
        let kind = if known.is_some() {
            Kind::Modified
        } else {
            Kind::Added
        };
        let uid = known.unwrap_or_else(|| {
            state.uids += 1;
            format!("uid-{}", state.uids)
        });
        let object = config_map(name, &uid, version, value);
        state.objects.insert(name.to_owned(), object.clone());
        state.send(version, kind, object);
        version
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, name: &str) -> u64 {
        let mut state = self.0.lock();
        let version = state.next_version();
        let mut object = state.objects.remove(name).expect("the object is there");
        object.metadata.resource_version = Some(version.to_string());
        state.send(version, Kind::Deleted, object);
        version
    }

    /// Ends all watches cleanly.
    pub(crate) fn close_watches(&self) {
        self.0.lock().watches.clear();
    }

    /// Ends all watches and forgets the history, so that the next watch at an old version is refused with 410.
    pub(crate) fn forget_history(&self) {
        let mut state = self.0.lock();
        state.forget_before = state.version + 1;
        state.log.clear();
        state.watches.clear();
    }

    /// Changes the objects while nobody watches: all of `change` is seen by a list alone.
    pub(crate) fn while_away(&self, change: impl FnOnce(&Self)) {
        self.0.lock().watches.clear();
        change(self);
        self.forget_history();
    }

    /// Sends a bookmark at the present version.
    pub(crate) fn bookmark(&self) -> u64 {
        let mut state = self.0.lock();
        let version = state.next_version();
        let at = informer_store::ResourceVersion::from(version);
        state.watches.retain(|watch| {
            let bookmark = WatchEvent::Bookmark {
                resource_version: at.clone(),
                initial_events_end: false,
            };
            watch.send(Ok(bookmark)).is_ok()
        });
        version
    }

    /// Lets every list fail with this code from now on, or succeed.
    pub(crate) fn fail_lists(&self, code: Option<u16>) {
        self.0.lock().list_error = code;
    }

    /// Lets lists never answer.
    pub(crate) fn hang(&self) {
        self.0.lock().hang = true;
    }

    pub(crate) fn lists(&self) -> usize {
        self.0.lock().lists
    }

    pub(crate) fn watches_opened(&self) -> usize {
        self.0.lock().opened
    }

    pub(crate) fn open_watches(&self) -> usize {
        let mut state = self.0.lock();
        state.watches.retain(|watch| !watch.is_closed());
        state.watches.len()
    }

    pub(crate) fn last_options(&self) -> Option<ListOptions> {
        self.0.lock().last_options.clone()
    }

    /// The objects: names and values.
    pub(crate) fn contents(&self) -> BTreeMap<String, String> {
        let state = self.0.lock();
        state
            .objects
            .iter()
            .map(|(name, object)| (name.clone(), value_of(object)))
            .collect()
    }
}

impl State {
    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn send(&mut self, version: u64, kind: Kind, object: ConfigMap) {
        self.log.push((version, kind, object.clone()));
        self.watches
            .retain(|watch| watch.send(Ok(event(kind, object.clone()))).is_ok());
    }
}

fn event(kind: Kind, object: ConfigMap) -> WatchEvent<ConfigMap> {
    let object = Decoded::Object(object);
    match kind {
        Kind::Added => WatchEvent::Added(object),
        Kind::Modified => WatchEvent::Modified(object),
        Kind::Deleted => WatchEvent::Deleted(object),
    }
}

fn failure(code: u16) -> ListWatchError {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        410 => "Expired",
        _ => "InternalError",
    };
    ListWatchError::status_error(Status::failure(
        code,
        reason,
        format!("refused with {code}"),
    ))
}

impl ListerWatcher for Cluster {
    type Object = ConfigMap;
    type List = BoxStream<'static, Result<ListEvent<ConfigMap>, ListWatchError>>;
    type Watch = BoxStream<'static, Item>;

    async fn list(&self, request: ListRequest<ConfigMap>) -> Result<Self::List, ListWatchError> {
        let (hang, page) = {
            let mut state = self.0.lock();
            state.lists += 1;
            state.last_options = Some(request.options);
            if let Some(code) = state.list_error {
                return Err(failure(code));
            }
            let items = state
                .objects
                .values()
                .cloned()
                .map(Decoded::Object)
                .map(ListEvent::Item);
            // A list is at some version, never at none.
            let end = ListEvent::End(ListMeta::at(state.version.max(1).into()));
            (state.hang, items.chain([end]).map(Ok).collect::<Vec<_>>())
        };
        if hang {
            std::future::pending::<()>().await;
        }
        Ok(futures_util::stream::iter(page).boxed())
    }

    async fn watch(&self, options: ListOptions) -> Result<Self::Watch, ListWatchError> {
        let mut state = self.0.lock();
        state.opened += 1;
        let from = options
            .resource_version
            .as_ref()
            .and_then(|v| v.as_u64())
            .unwrap_or(0);
        state.last_options = Some(options);
        if from + 1 < state.forget_before {
            return Err(failure(410));
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        for (_, kind, object) in state.log.iter().filter(|(version, ..)| *version > from) {
            let _ = sender.send(Ok(event(*kind, object.clone())));
        }
        state.watches.push(sender);
        let next = |mut receiver: mpsc::UnboundedReceiver<Item>| async move {
            Some((receiver.recv().await?, receiver))
        };
        Ok(futures_util::stream::unfold(receiver, next).boxed())
    }

    fn supports_watch_list(&self) -> bool {
        false
    }
}

pub(crate) fn config_map(name: &str, uid: &str, version: u64, value: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some("ns".to_owned());
    object.metadata.uid = Some(uid.to_owned());
    object.metadata.resource_version = Some(version.to_string());
    object.data = Some([("value".to_owned(), value.to_owned())].into());
    object
}

pub(crate) fn value_of(object: &ConfigMap) -> String {
    object
        .data
        .as_ref()
        .and_then(|data| data.get("value"))
        .cloned()
        .unwrap_or_default()
}

/// What is stored: names and values.
pub(crate) fn values(store: &StoreReader<ConfigMap>) -> BTreeMap<String, String> {
    let objects = store.list();
    let named = objects.iter().map(|o| (o.name().to_owned(), value_of(o)));
    named.collect()
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("ns", name)
}

/// One change, so that a watch cannot resume from before it.
pub(crate) fn another(cluster: &Cluster) {
    cluster.put("another", "1");
}

/// Changes of two objects, one after the other in turn.
pub(crate) fn change_two(cluster: &Cluster) {
    cluster.put("a", "1");
    cluster.put("b", "1");
    cluster.put("a", "2");
    cluster.delete("b");
    cluster.put("a", "3");
}

/// What a handler that coalesces nothing receives of those changes, if all are queued before one is cached: by key, not
/// what was added and deleted before it was cached.
pub(crate) fn received_in_each_order() -> [(QueueOrder, Vec<&'static str>); 2] {
    let changes = ["~a=1>2 watch", "~a=2>3 watch"];
    let in_order = ["+a=1", "+b=1", changes[0], "-b", changes[1]];
    [
        (QueueOrder::ByKey, vec!["+a=1", changes[0], changes[1]]),
        (QueueOrder::InOrder, in_order.into()),
    ]
}

/// What a handler received, checked for a legal history.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Received>>);

#[derive(Default)]
struct Received {
    lines: Vec<String>,
    objects: BTreeMap<ObjectKey, Arc<ConfigMap>>,
    faults: Vec<String>,
}

impl Seen {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn note(&self, event: &Event<ConfigMap>) {
        let mut received = self.0.lock();
        let key = event.key();
        received.lines.push(line(event));
        let fault = match event {
            Event::Added { object, .. } => received
                .objects
                .insert(key.clone(), Arc::clone(object))
                .map(|_| "added twice"),
            Event::Updated { old, new, .. } => {
                let before = received.objects.insert(key.clone(), Arc::clone(new));
                let fits = before.is_some_and(|before| Arc::ptr_eq(&before, old));
                (!fits).then_some("updated from what was not received")
            }
            Event::Deleted { .. } => received
                .objects
                .remove(&key)
                .is_none()
                .then_some("deleted unknown"),
        };
        received
            .faults
            .extend(fault.map(|fault| format!("{key}: {fault}")));
    }

    /// All that was received, one line each. Panics if the history was not legal.
    pub(crate) fn lines(&self) -> Vec<String> {
        let received = self.0.lock();
        assert_eq!(received.faults, Vec::<String>::new());
        received.lines.clone()
    }

    /// What was received since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let lines = self.lines();
        self.0.lock().lines.clear();
        lines
    }

    /// What the handler has: names and values.
    pub(crate) fn contents(&self) -> BTreeMap<String, String> {
        let received = self.0.lock();
        assert_eq!(received.faults, Vec::<String>::new());
        let named = |o: &Arc<ConfigMap>| (o.name().to_owned(), value_of(o));
        received.objects.values().map(named).collect()
    }
}

/// `+name=value`, `~name=old>new cause`, `-name`; initial and final-state-unknown are marked.
pub(crate) fn line(event: &Event<ConfigMap>) -> String {
    let name = event.object().name().to_owned();
    match event {
        Event::Added { object, initial } => {
            let mark = if *initial { " initial" } else { "" };
            format!("+{name}={}{mark}", value_of(object))
        }
        Event::Updated {
            old,
            new,
            cause: cause @ (Cause::Resync | Cause::Relist),
        } if Arc::ptr_eq(old, new) => {
            format!("={name} {cause}")
        }
        Event::Updated { old, new, cause } => {
            format!("~{name}={}>{} {cause}", value_of(old), value_of(new))
        }
        Event::Deleted {
            final_state_unknown,
            ..
        } => {
            format!(
                "-{name}{}",
                if *final_state_unknown { " unknown" } else { "" }
            )
        }
    }
}

impl EventHandler<ConfigMap> for Seen {
    async fn handle(&mut self, event: Event<ConfigMap>) -> Result<(), BoxError> {
        self.note(&event);
        Ok(())
    }
}

impl BlockingEventHandler<ConfigMap> for Seen {
    fn handle(&mut self, event: Event<ConfigMap>) -> Result<(), BoxError> {
        self.note(&event);
        Ok(())
    }
}

/// An informer of the cluster with the default settings.
pub(crate) fn informer(cluster: &Cluster) -> SharedInformer<ConfigMap> {
    SharedInformer::builder(cluster.clone())
        .build()
        .expect("no indexes clash")
}

/// Starts the informer and waits until its cache is synced.
pub(crate) async fn started(informer: &SharedInformer<ConfigMap>) {
    informer.start().expect("it was not started before");
    informer
        .synced()
        .deadline(30 * SECONDS)
        .await
        .expect("it syncs");
}

/// The outcome of this, which must come soon.
pub(crate) async fn soon<F: IntoFuture>(future: F) -> F::Output {
    let outcome = tokio::time::timeout(60 * SECONDS, future).await;
    outcome.expect("it came to no end")
}

/// Waits until this holds. The clock of the test may stand still: then this only yields.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let limit = Duration::from_secs(30);
    assert!(
        tokio::time::timeout(limit, wait).await.is_ok(),
        "never came true: {what}"
    );
}

/// Lets everything that is ready run, without moving a paused clock noticeably.
pub(crate) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}
