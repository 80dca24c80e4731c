//! How a queue is set up.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use informer_store::Object;

use crate::clock::ReadClock;
use crate::known::KnownObjects;

/// What compression can need: a deletion, an addition, and the newest state.
pub(crate) const LEAST_DELTAS: usize = 3;

/// In which order a queue hands out what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Order {
    /// Key by key, in the order of each key's first delta, all its deltas together. Long chains are compressed, so
    /// that memory is bounded by the number of objects. A list, with all that was queued before it, is one batch.
    #[default]
    ByKey,
    /// In the order of arrival over all keys, each change by itself and none left out. A list is a batch of its own
    /// and keeps its place between the changes before and after it. A batch holds a key at most once: the next change
    /// of the same key begins the next batch. Nothing is compressed; memory is not bounded.
    #[doc(alias = "RealFIFO")]
    #[doc(alias = "InOrderInformers")]
    InOrder,
}

/// The settings of a [`DeltaFifo`](crate::DeltaFifo).
///
/// ```
/// use informer_delta_fifo::Config;
/// # use informer_store::{Object, ObjectMetadata, OwnerReference, ResourceVersion, Uid};
/// # struct Pod;
/// # impl ObjectMetadata for Pod {
/// #     fn name(&self) -> Option<&str> { None }
/// #     fn namespace(&self) -> Option<&str> { None }
/// #     fn uid(&self) -> Option<Uid> { None }
/// #     fn resource_version(&self) -> Option<ResourceVersion> { None }
/// #     fn labels(&self) -> impl Iterator<Item = (&str, &str)> { std::iter::empty() }
/// #     fn annotations(&self) -> impl Iterator<Item = (&str, &str)> { std::iter::empty() }
/// #     fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> { std::iter::empty() }
/// # }
/// # impl Object for Pod { type Metadata = Self; fn metadata(&self) -> &Self { self } }
///
/// // Keep every delta, as client-go does, and say `Sync` for what a list holds.
/// let config = Config::<Pod>::new().max_deltas(None).emit_replaced(false);
/// ```
#[non_exhaustive]
#[doc(alias = "DeltaFIFOOptions")]
pub struct Config<K> {
    pub(crate) known: Option<Arc<dyn KnownObjects<K>>>,
    pub(crate) emit_replaced: bool,
    pub(crate) max_deltas: Option<usize>,
    pub(crate) order: Order,
    pub(crate) clock: Option<Arc<ReadClock>>,
}

impl<K: Object> Config<K> {
    /// No known objects, [`Replaced`](crate::Delta::Replaced) told apart from [`Sync`](crate::Delta::Sync), and at
    /// most 8 deltas a key.
    #[must_use]
    pub fn new() -> Self {
        Self {
            known: None,
            emit_replaced: true,
            max_deltas: Some(8),
            order: Order::ByKey,
            clock: None,
        }
    }

    /// The store that the consumer writes. Without it the queue knows nothing of what was acknowledged.
    #[must_use]
    pub fn known_objects(mut self, known: impl KnownObjects<K>) -> Self {
        self.known = Some(Arc::new(known));
        self
    }

    /// Whether an object of a list is delivered as [`Replaced`](crate::Delta::Replaced) (the default) or, as in
    /// client-go of old, as [`Sync`](crate::Delta::Sync).
    ///
    /// With `false`, a `Sync` can tell of an object that the store lacks; then it must be taken as an addition.
    #[must_use]
    #[doc(alias = "EmitDeltaTypeReplaced")]
    pub fn emit_replaced(mut self, emit: bool) -> Self {
        self.emit_replaced = emit;
        self
    }

    /// How many deltas a key may hold before they are compressed to what a consumer must see; at least 3. `None`
    /// keeps every delta, which is unbounded while no consumer runs. Of no effect [in order](Order::InOrder).
    #[must_use]
    pub fn max_deltas(mut self, max: Option<usize>) -> Self {
        self.max_deltas = max.map(|max| max.max(LEAST_DELTAS));
        self
    }

    /// In which order the queue hands out what it holds; by key if nothing is said.
    #[must_use]
    pub const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Reads the time from this function, for tests and simulations, with every change. If nothing is said it is the
    /// system's coarse clock, so that ages are exact to some milliseconds.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }
}

impl<K: Object> Default for Config<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Clone for Config<K> {
    fn clone(&self) -> Self {
        Self {
            known: self.known.clone(),
            emit_replaced: self.emit_replaced,
            max_deltas: self.max_deltas,
            order: self.order,
            clock: self.clock.clone(),
        }
    }
}

impl<K> fmt::Debug for Config<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("known_objects", &self.known.is_some())
            .field("emit_replaced", &self.emit_replaced)
            .field("max_deltas", &self.max_deltas)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}
