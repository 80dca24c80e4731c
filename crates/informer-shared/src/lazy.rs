//! A value that is worked out from a store when it is asked for, and again only after its contents have changed.

use std::fmt;
use std::sync::Arc;

use informer_store::{Object, Snapshot, Store};
use parking_lot::Mutex;

type Compute<K, T, E> = dyn Fn(&Snapshot<K>) -> Result<T, E> + Send + Sync;

/// A value derived from a store: worked out at the first [`get`](Self::get) after a change, kept until the next one.
///
/// Writers of the store never wait for it, and changes that nobody asks about cost nothing. A resource version that
/// moves alone, as with a bookmark, is no change: do not work a value out from the version. Of many who ask at once
/// one works it out and the others wait for that. Who asks after a change never gets what was worked out before it, and
/// does not wait for such work either.
///
/// ```
/// use std::convert::Infallible;
///
/// use informer_shared::Lazy;
/// use informer_store::Store;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let store = Store::<ConfigMap>::new();
/// let total = Lazy::new(store.clone(), |maps| {
///     let sizes = maps.objects().map(|map| map.data.as_ref().map_or(0, |data| data.len()));
///     Ok::<usize, Infallible>(sizes.sum())
/// });
/// assert_eq!(*total.get()?, 0);
///
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("settings".into());
/// map.data = Some([("color".into(), "red".into())].into());
/// store.add(map)?;
/// assert_eq!(*total.get()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "synctrack")]
pub struct Lazy<K: Object, T, E> {
    store: Store<K>,
    compute: Box<Compute<K, T, E>>,
    newest: Mutex<Option<Arc<Evaluation<K, T>>>>,
}

/// The value for one state of the store's contents.
struct Evaluation<K: Object, T> {
    contents: u64,
    /// Held while the value is worked out, so that those who want the same one wait for it.
    step: Mutex<Step<K, T>>,
}

enum Step<K: Object, T> {
    ToDo(Snapshot<K>),
    Done(Arc<T>),
}

impl<K: Object, T, E> Lazy<K, T, E> {
    /// A value that `compute` works out. It must not ask for this same value, which would wait for itself.
    pub fn new(
        store: Store<K>,
        compute: impl Fn(&Snapshot<K>) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        Self {
            store,
            compute: Box::new(compute),
            newest: Mutex::new(None),
        }
    }

    /// The value for the store as it is now, or as it was later during this call. Blocks the thread while it is
    /// worked out.
    ///
    /// # Errors
    /// Those of the function, which is tried again by the next who asks.
    ///
    /// # Panics
    /// When the function does; it is tried again by the next who asks.
    pub fn get(&self) -> Result<Arc<T>, E> {
        let evaluation = self.evaluation();
        let mut step = evaluation.step.lock();
        match &*step {
            Step::Done(value) => Ok(Arc::clone(value)),
            Step::ToDo(snapshot) => {
                let value = Arc::new((self.compute)(snapshot)?);
                *step = Step::Done(Arc::clone(&value));
                Ok(value)
            }
        }
    }

    /// That of the store's state, or of a newer one that someone else has seen.
    fn evaluation(&self) -> Arc<Evaluation<K, T>> {
        let snapshot = self.store.snapshot();
        let contents = snapshot.contents_revision();
        let mut newest = self.newest.lock();
        if let Some(known) = newest.as_ref().filter(|known| known.contents >= contents) {
            return Arc::clone(known);
        }
        let step = Mutex::new(Step::ToDo(snapshot));
        let evaluation = Arc::new(Evaluation { contents, step });
        let before = newest.replace(Arc::clone(&evaluation));
        drop(newest);
        // The value may be the user's to drop.
        drop(before);
        evaluation
    }
}

impl<K: Object, T, E> fmt::Debug for Lazy<K, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
