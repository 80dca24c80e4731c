//! A source in memory: some objects, and as many updates of them, in turn, as it is told to send.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use futures_util::task::AtomicWaker;
use informer::reflector::{ListEvent, ListRequest, ListWatchError};
use informer::store::OwnerReference;
use informer::wire::{Decoded, ListMeta, WatchEvent};
use informer::{
    ListOptions, ListerWatcher, ObjectMetadata, ResourceVersion, SharedInformer, Uid, object,
};

use crate::measure::heap;

/// A small object.
#[derive(Debug, Clone)]
pub(crate) struct Thing {
    metadata: Metadata,
    /// As much as a user's struct with a few fields.
    _fields: [u64; 16],
}

#[derive(Debug, Clone)]
pub(crate) struct Metadata {
    name: Box<str>,
    version: u64,
}

object!(Thing, metadata: Metadata);

impl Thing {
    fn new(number: u64, version: u64) -> Self {
        let name = format!("thing-{number:06}").into_boxed_str();
        Self {
            metadata: Metadata { name, version },
            _fields: [version; 16],
        }
    }

    pub(crate) const fn version(&self) -> u64 {
        self.metadata.version
    }

    /// Which of the objects it is.
    pub(crate) fn number(&self) -> usize {
        let number = self.metadata.name.rsplit('-').next();
        number.and_then(|n| n.parse().ok()).expect("a number")
    }
}

impl ObjectMetadata for Metadata {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn namespace(&self) -> Option<&str> {
        Some("bench")
    }

    fn uid(&self) -> Option<Uid> {
        None
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        Some(self.version.into())
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
        std::iter::empty()
    }

    fn generation(&self) -> Option<i64> {
        None
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    fn is_being_deleted(&self) -> bool {
        false
    }
}

/// The source. Clones are of one state.
#[derive(Clone)]
pub(crate) struct Feed(Arc<State>);

struct State {
    objects: u64,
    /// The updates that may be sent so far.
    allowed: AtomicU64,
    /// Those that were.
    sent: AtomicU64,
    waker: AtomicWaker,
    peak: AtomicI64,
}

impl Feed {
    /// A source of so many objects.
    pub(crate) fn of(objects: u64) -> Self {
        Self(Arc::new(State {
            objects,
            allowed: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            waker: AtomicWaker::new(),
            peak: AtomicI64::new(0),
        }))
    }

    /// An informer of it, started and synced.
    pub(crate) async fn informer(&self) -> SharedInformer<Thing> {
        let informer = SharedInformer::builder(self.clone()).build();
        let informer = informer.expect("no indexes clash");
        informer.start().expect("it was not started before");
        informer.synced().await.expect("it syncs");
        informer
    }

    /// Sends so many updates more. Returns the version of the last one.
    pub(crate) fn send(&self, updates: u64) -> u64 {
        let allowed = self.0.allowed.fetch_add(updates, Ordering::AcqRel) + updates;
        self.0.waker.wake();
        self.version_of(allowed)
    }

    /// The version of the objects at the beginning is their number.
    fn version_of(&self, sent: u64) -> u64 {
        self.0.objects + sent
    }

    /// The most bytes that were on the heap, seen from time to time while updates were sent.
    pub(crate) fn peak(&self) -> i64 {
        self.0.peak.load(Ordering::Acquire)
    }
}

/// How many updates lie between two looks at the heap.
const LOOKS: u64 = 64;

impl Stream for Feed {
    type Item = Result<WatchEvent<Thing>, ListWatchError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let state = &*self.0;
        let sent = state.sent.load(Ordering::Relaxed);
        if sent == state.allowed.load(Ordering::Acquire) {
            state.waker.register(cx.waker());
            if sent == state.allowed.load(Ordering::Acquire) {
                return Poll::Pending;
            }
        }
        if sent.is_multiple_of(LOOKS) {
            state.peak.fetch_max(heap(), Ordering::AcqRel);
        }
        state.sent.store(sent + 1, Ordering::Relaxed);
        let object = Thing::new(sent % state.objects, self.version_of(sent + 1));
        Poll::Ready(Some(Ok(WatchEvent::Modified(Decoded::Object(object)))))
    }
}

impl ListerWatcher for Feed {
    type Object = Thing;
    type List = BoxStream<'static, Result<ListEvent<Thing>, ListWatchError>>;
    type Watch = Self;

    async fn list(&self, _: ListRequest<Thing>) -> Result<Self::List, ListWatchError> {
        let objects = self.0.objects;
        let things = (0..objects).map(|n| Thing::new(n, n + 1));
        let items = things.map(Decoded::Object).map(ListEvent::Item);
        // A list is at some version, never at none.
        let end = ListEvent::End(ListMeta::at(objects.max(1).into()));
        Ok(stream::iter(items.chain([end]).map(Ok)).boxed())
    }

    async fn watch(&self, _: ListOptions) -> Result<Self::Watch, ListWatchError> {
        Ok(self.clone())
    }

    fn supports_watch_list(&self) -> bool {
        false
    }
}
