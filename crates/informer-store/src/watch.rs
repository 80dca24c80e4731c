//! Watches: of a store, of one key, of one index value.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::effects::Touched;
use crate::key::{KeyLike, short_hash};
use crate::object::Object;
use crate::signal::Signal;
use crate::store::StoreReader;
use crate::sync::{AtomicU64, AtomicUsize, Mutex};
use crate::wait::WaitError;

/// What a watch is of, as a hash: watches of two things of one tag are woken by both, and no worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tag(u64);

impl Tag {
    pub(crate) fn key<Q: KeyLike + ?Sized>(key: &Q) -> Self {
        Self(u64::from(short_hash(key)))
    }

    /// A value of an index; the index is identified by the hash of its name.
    pub(crate) const fn value(index: u32, value: u32) -> Self {
        Self((index as u64 | 1) << 32 | value as u64)
    }
}

/// The watches of keys and index values of a store.
#[derive(Default)]
pub(crate) struct Watches {
    count: AtomicUsize,
    by_tag: Mutex<HashMap<Tag, Vec<Arc<Interest>>>>,
}

#[derive(Default)]
struct Interest {
    touched: Signal,
    times: AtomicU64,
}

impl Interest {
    fn touch(&self) {
        self.times.fetch_add(1, Ordering::Release);
        self.touched.notify();
    }
}

impl Watches {
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Wakes the watches of what a published write touched.
    pub(crate) fn wake(&self, touched: Touched) {
        // A watch may have been made while the write was, so that its touches were not gathered.
        if self.is_empty() {
            return;
        }
        let by_tag = self.by_tag.lock();
        let touched: Vec<_> = match touched {
            Touched::These(tags) => {
                let interests = tags.iter().filter_map(|tag| by_tag.get(tag));
                interests.flatten().cloned().collect()
            }
            Touched::Unknown | Touched::Everything => by_tag.values().flatten().cloned().collect(),
        };
        drop(by_tag);
        // Under no lock: a waker is the executor's code.
        touched.iter().for_each(|interest| interest.touch());
    }

    fn add(&self, tag: Tag) -> Arc<Interest> {
        let interest = Arc::new(Interest::default());
        let mut by_tag = self.by_tag.lock();
        self.count.fetch_add(1, Ordering::SeqCst);
        by_tag.entry(tag).or_default().push(Arc::clone(&interest));
        interest
    }

    fn remove(&self, tag: Tag, interest: &Arc<Interest>) {
        let mut by_tag = self.by_tag.lock();
        let Some(interests) = by_tag.get_mut(&tag) else {
            return;
        };
        interests.retain(|other| !Arc::ptr_eq(other, interest));
        if interests.is_empty() {
            by_tag.remove(&tag);
        }
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for changes of a store, of one key or of one index value. Made by [`StoreReader::watch`],
/// [`StoreReader::watch_key`] and [`StoreReader::watch_index`]; works on any async runtime.
///
/// It returns that something changed, not what: read the store for that. Changes between two calls are one. Rarely it
/// returns without a change.
///
/// ```
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::Pod;
///
/// # async fn follow(store: Store<Pod>) -> Result<(), informer_store::WaitError> {
/// let mut watch = store.watch_key("shop/cart-1");
/// loop {
///     match store.get("shop/cart-1") {
///         Some(pod) => println!("cart-1 is at {:?}", pod.metadata.resource_version),
///         None => println!("cart-1 is deleted"),
///     }
///     watch.changed().await?;
/// }
/// # }
/// ```
pub struct StoreWatch<K: Object> {
    store: StoreReader<K>,
    of: WatchOf,
    seen: u64,
}

enum WatchOf {
    Store,
    Tag(Tag, Arc<Interest>),
}

impl<K: Object> fmt::Debug for StoreWatch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWatch")
            .field("has_changed", &self.has_changed())
            .finish_non_exhaustive()
    }
}

impl<K: Object> Drop for StoreWatch<K> {
    fn drop(&mut self) {
        if let WatchOf::Tag(tag, interest) = &self.of {
            self.store.shared.watches.remove(*tag, interest);
        }
    }
}

impl<K: Object> StoreWatch<K> {
    pub(crate) fn of_store(store: &StoreReader<K>) -> Self {
        Self {
            store: store.clone(),
            of: WatchOf::Store,
            seen: store.revision(),
        }
    }

    pub(crate) fn of_tag(store: &StoreReader<K>, tag: Tag) -> Self {
        let interest = store.shared.watches.add(tag);
        Self {
            store: store.clone(),
            of: WatchOf::Tag(tag, interest),
            seen: 0,
        }
    }

    /// Waits for a change since the last call, or since the watch was made.
    ///
    /// # Cancellation safety
    /// Dropping the future loses no change: the next call returns it.
    ///
    /// # Errors
    /// If the store is closed and there was no change before that.
    pub async fn changed(&mut self) -> Result<(), WaitError> {
        loop {
            let touched = match &self.of {
                WatchOf::Store => self.store.shared.published.listen(),
                WatchOf::Tag(_, interest) => interest.touched.listen(),
            };
            // The close of the store ends a watch of a tag by this.
            let closed = self.store.shared.ended.listen();
            let times = self.times();
            if times != self.seen {
                self.seen = times;
                return Ok(());
            }
            if self.store.shared.is_closed() {
                return Err(WaitError::Closed);
            }
            either(touched, closed).await;
        }
    }

    /// Returns `true` if there was a change since [`changed`](Self::changed) last returned.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.times() != self.seen
    }

    fn times(&self) -> u64 {
        match &self.of {
            WatchOf::Store => self.store.revision(),
            WatchOf::Tag(_, interest) => interest.times.load(Ordering::Acquire),
        }
    }
}

/// Waits for one of two futures.
async fn either<A, B>(a: A, b: B)
where
    A: Future<Output = ()>,
    B: Future<Output = ()>,
{
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    std::future::poll_fn(|context| {
        if a.as_mut().poll(context).is_ready() {
            return std::task::Poll::Ready(());
        }
        b.as_mut().poll(context)
    })
    .await;
}
