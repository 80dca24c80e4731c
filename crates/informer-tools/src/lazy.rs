//! A value that is computed from a store when it is read, and again only after the contents changed.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use informer_store::{Object, Snapshot, StoreReader};
use parking_lot::ReentrantMutex;

use crate::sync::Mutex;

type Compute<K, T, E> = dyn Fn(&Snapshot<K>) -> Result<T, E> + Send + Sync;

/// A value derived from a store: computed at the first [`get`](Self::get) after a change, kept until the next one.
///
/// Writers of the store never wait for it, and changes that nobody reads cost nothing. A resource version that moves
/// alone, as with a bookmark, is no change: do not compute a value from the version. Of many readers at once one
/// computes the value, and the others wait for it. A reader never gets a value that was computed before a change that
/// preceded the read, and does not wait for such a computation either.
///
/// ```
/// use std::convert::Infallible;
///
/// use informer_store::Store;
/// use informer_tools::Lazy;
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
    store: StoreReader<K>,
    compute: Box<Compute<K, T, E>>,
    newest: Mutex<Option<Arc<Evaluation<K, T>>>>,
}

/// The value for one state of the store's contents.
struct Evaluation<K: Object, T> {
    contents: u64,
    /// Held while the value is computed, so that other readers of the same state wait for it. The same thread gets in
    /// again and finds it borrowed.
    step: ReentrantMutex<RefCell<Step<K, T>>>,
}

enum Step<K: Object, T> {
    Pending(Snapshot<K>),
    Done(Arc<T>),
}

impl<K: Object, T, E> Lazy<K, T, E> {
    /// Makes a value that `compute` computes. It must not read this same value.
    pub fn new(
        store: impl Into<StoreReader<K>>,
        compute: impl Fn(&Snapshot<K>) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self {
        Self {
            store: store.into(),
            compute: Box::new(compute),
            newest: Mutex::new(None),
        }
    }

    /// Returns the value for the store's present contents, or for those of a later moment during this call. Blocks the
    /// thread while it is computed.
    ///
    /// # Errors
    /// Those of the function, which is called again by the next reader.
    ///
    /// # Panics
    /// If the function panics, or reads this same value; it is called again by the next reader.
    pub fn get(&self) -> Result<Arc<T>, E> {
        let evaluation = self.evaluation();
        let step = evaluation.step.lock();
        let Ok(mut step) = step.try_borrow_mut() else {
            panic!("a Lazy value is read by its own function");
        };
        match &*step {
            Step::Done(value) => Ok(Arc::clone(value)),
            Step::Pending(snapshot) => {
                let value = Arc::new((self.compute)(snapshot)?);
                let snapshot = std::mem::replace(&mut *step, Step::Done(Arc::clone(&value)));
                // Dropping objects runs the user's code.
                drop(step);
                drop(snapshot);
                Ok(value)
            }
        }
    }

    /// Returns that of the store's contents, or of newer ones that another reader has seen.
    fn evaluation(&self) -> Arc<Evaluation<K, T>> {
        let snapshot = self.store.snapshot();
        let contents = snapshot.contents_revision();
        let mut newest = self.newest.lock();
        if let Some(known) = newest.as_ref().filter(|known| known.contents >= contents) {
            return Arc::clone(known);
        }
        let step = ReentrantMutex::new(RefCell::new(Step::Pending(snapshot)));
        let evaluation = Arc::new(Evaluation { contents, step });
        let before = newest.replace(Arc::clone(&evaluation));
        drop(newest);
        // Dropping a value runs the user's code.
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
