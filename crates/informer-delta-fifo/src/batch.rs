//! A batch: what was taken out of the queue, until it is acknowledged.

use std::collections::HashSet;
use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use informer_store::{Object, ObjectKey, ReplaceEnd, ResourceVersion};

use crate::delta::Delta;
use crate::shared::Shared;
use crate::state::{Flight, Told};

/// Keys and their deltas, taken out of the queue to be applied.
///
/// Apply it, then [`ack`](Self::ack) it. Dropped without that (a panic, a cancelled task), its deltas return to the
/// front of the queue, older than newer deltas of the same keys. One batch is out at a time.
///
/// A batch may hold no key: then it only tells how far things have come.
#[must_use = "a batch that is dropped returns to the queue"]
pub struct Batch<K: Object> {
    shared: Arc<Shared<K>>,
    /// `None` once settled.
    flight: Option<Arc<Flight<K>>>,
}

impl<K: Object> Batch<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>, flight: Arc<Flight<K>>) -> Self {
        Self {
            shared,
            flight: Some(flight),
        }
    }

    /// The keys with their deltas, in the order of the first delta of each. The keys of a list follow those that
    /// were queued before it, in the order of the list.
    pub fn iter(&self) -> impl Iterator<Item = KeyDeltas<'_, K>> {
        self.flight.iter().flat_map(|flight| {
            let emit_replaced = flight.emit_replaced;
            flight.iter().map(move |(key, told)| KeyDeltas {
                key,
                told,
                emit_replaced,
            })
        })
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flight.as_ref().map_or(0, |flight| flight.keys())
    }

    /// True if there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the queue was not synced when this was taken out: additions belong to the initial list.
    #[must_use]
    #[doc(alias = "isInInitialList")]
    pub fn is_initial(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| flight.is_initial)
    }

    /// The end of the list that this batch holds whole, and all that was queued before it. Write it to the store in
    /// one step. Of several lists that waited, this is the last; it is a rewind if any of them was.
    #[must_use]
    pub fn replace(&self) -> Option<&ReplaceEnd> {
        Some(&self.flight.as_ref()?.replace.as_ref()?.end)
    }

    /// Up to which resource version everything is applied once this batch is: nothing older is queued or in flight.
    /// Only this may become the store's resource version. `None` if it cannot be told.
    #[must_use]
    pub fn applied_up_to(&self) -> Option<&ResourceVersion> {
        self.flight.as_ref()?.applied_up_to.as_ref()
    }

    /// Says that the batch was applied.
    pub fn ack(mut self) {
        self.flight = None;
        let applied = self.shared.change(|state| state.ack());
        self.shared.drop_applied(applied);
    }

    /// Says that the batch was applied, but for these keys: their deltas return to the front of the queue, older than
    /// newer deltas of the same keys. Do not take over [`applied_up_to`](Self::applied_up_to) then.
    #[doc(alias = "AddIfNotPresent")]
    #[doc(alias = "RetryOnError")]
    pub fn ack_except<'a>(mut self, keys: impl IntoIterator<Item = &'a ObjectKey>) {
        let keys: HashSet<&ObjectKey> = keys.into_iter().collect();
        self.flight = None;
        let applied = self.shared.change(|state| state.ack_except(&keys));
        self.shared.drop_applied(applied);
    }
}

impl<K: Object> Drop for Batch<K> {
    fn drop(&mut self) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        self.shared.change(|state| {
            state.recall();
            // The queue's own reference is gone, so this is the last one.
            if let Some(flight) = Arc::into_inner(flight) {
                state.give_back(flight);
            }
        });
    }
}

impl<K: Object> fmt::Debug for Batch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("keys", &self.len())
            .field("is_initial", &self.is_initial())
            .field("replace", &self.replace())
            .field("applied_up_to", &self.applied_up_to())
            .finish_non_exhaustive()
    }
}

/// One key of a batch and what happened to it.
#[derive(Debug)]
#[doc(alias = "Deltas")]
pub struct KeyDeltas<'a, K> {
    key: &'a ObjectKey,
    told: Told<'a, K>,
    emit_replaced: bool,
}

impl<'a, K> KeyDeltas<'a, K> {
    /// The key.
    #[must_use]
    pub const fn key(&self) -> &'a ObjectKey {
        self.key
    }

    /// The deltas, oldest first; there is at least one.
    #[must_use]
    pub fn deltas(&self) -> Deltas<'a, K> {
        let (chain, listed) = match self.told {
            Told::Chain(chain) => (chain, None),
            Told::Listed(object) if self.emit_replaced => {
                (&[][..], Some(Delta::Replaced(Arc::clone(object))))
            }
            Told::Listed(object) => (&[][..], Some(Delta::Sync(Arc::clone(object)))),
            Told::SetAside => (&[][..], Some(Delta::SetAside(None))),
        };
        Deltas {
            listed,
            chain: chain.iter(),
        }
    }

    /// The newest of the deltas.
    #[must_use]
    #[doc(alias = "Newest")]
    pub fn newest(&self) -> Option<Delta<K>> {
        self.deltas().next_back()
    }
}

impl<'a, K> IntoIterator for KeyDeltas<'a, K> {
    type Item = Delta<K>;
    type IntoIter = Deltas<'a, K>;

    fn into_iter(self) -> Deltas<'a, K> {
        self.deltas()
    }
}

/// The deltas of one key, oldest first.
#[derive(Debug)]
pub struct Deltas<'a, K> {
    listed: Option<Delta<K>>,
    chain: std::slice::Iter<'a, Delta<K>>,
}

impl<K> Iterator for Deltas<'_, K> {
    type Item = Delta<K>;

    fn next(&mut self) -> Option<Delta<K>> {
        self.listed.take().or_else(|| self.chain.next().cloned())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.chain.len() + usize::from(self.listed.is_some());
        (left, Some(left))
    }
}

impl<K> DoubleEndedIterator for Deltas<'_, K> {
    fn next_back(&mut self) -> Option<Delta<K>> {
        self.chain
            .next_back()
            .cloned()
            .or_else(|| self.listed.take())
    }
}

impl<K> ExactSizeIterator for Deltas<'_, K> {}
impl<K> FusedIterator for Deltas<'_, K> {}
