//! The slots that have one index value, in the order of insertion but for those that fill a gap.

use arrayvec::ArrayVec;
use triomphe::Arc;

use crate::pages::{Iter, PagedVec};

/// Slots that need no allocation.
const FEW: usize = 6;

/// Slots that are copied as one, after a clone.
const SOME: usize = 128;

/// A set of slots. Each has a position by which it is removed in constant time; the owner keeps it.
#[derive(Clone)]
pub(crate) enum Posting {
    Few(ArrayVec<u32, FEW>),
    Some(Arc<Vec<u32>>),
    Many(PagedVec<u32, 32>),
}

impl Default for Posting {
    fn default() -> Self {
        Self::Few(ArrayVec::new_const())
    }
}

impl Posting {
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::Few(slots) => slots.len() as u32,
            Self::Some(slots) => slots.len() as u32,
            Self::Many(slots) => slots.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a new slot and returns its position.
    pub(crate) fn push(&mut self, slot: u32) -> u32 {
        let position = self.len();
        match self {
            Self::Few(slots) => {
                if slots.try_push(slot).is_err() {
                    let mut more = Vec::with_capacity(2 * FEW);
                    more.extend(slots.iter().copied().chain([slot]));
                    *self = Self::Some(Arc::new(more));
                }
            }
            Self::Some(slots) if slots.len() < SOME => Arc::make_mut(slots).push(slot),
            Self::Some(slots) => {
                let mut many = PagedVec::default();
                for slot in slots.iter().copied().chain([slot]) {
                    many.push(slot);
                }
                *self = Self::Many(many);
            }
            Self::Many(slots) => drop(slots.push(slot)),
        }
        position
    }

    /// Removes the slot at a position. The last slot moves there, and is returned if it is another.
    pub(crate) fn swap_remove(&mut self, position: u32) -> Option<u32> {
        let at = position as usize;
        match self {
            Self::Few(slots) => {
                slots.swap_pop(at)?;
                slots.get(at).copied()
            }
            Self::Some(slots) => {
                let slots = Arc::make_mut(slots);
                if at >= slots.len() {
                    return None;
                }
                slots.swap_remove(at);
                let moved = slots.get(at).copied();
                if slots.len() <= FEW / 2 {
                    *self = Self::Few(slots.iter().copied().collect());
                } else if slots.len() * 4 < slots.capacity() {
                    slots.shrink_to(slots.len() * 2);
                }
                moved
            }
            Self::Many(many) => {
                many.swap_remove(position)?;
                let moved = many.get(position).copied();
                if many.len() as usize <= SOME / 2 {
                    *self = Self::Some(Arc::new(many.iter().copied().collect()));
                }
                moved
            }
        }
    }

    /// Replaces the slot at a position.
    pub(crate) fn set(&mut self, position: u32, slot: u32) {
        let element = match self {
            Self::Few(slots) => slots.get_mut(position as usize),
            Self::Some(slots) => Arc::make_mut(slots).get_mut(position as usize),
            Self::Many(slots) => slots.get_mut(position),
        };
        if let Some(element) = element {
            *element = slot;
        }
    }

    pub(crate) fn iter(&self) -> PostingIter<'_> {
        match self {
            Self::Few(slots) => PostingIter::Few(slots.iter()),
            Self::Some(slots) => PostingIter::Few(slots.iter()),
            Self::Many(slots) => PostingIter::Many(slots.iter()),
        }
    }
}

/// The slots of a [`Posting`].
#[derive(Clone)]
pub(crate) enum PostingIter<'a> {
    Few(std::slice::Iter<'a, u32>),
    Many(Iter<'a, u32, 32>),
}

impl Default for PostingIter<'_> {
    fn default() -> Self {
        Self::Few([].iter())
    }
}

impl Iterator for PostingIter<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        match self {
            Self::Few(slots) => slots.next().copied(),
            Self::Many(slots) => slots.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Few(slots) => slots.size_hint(),
            Self::Many(slots) => slots.size_hint(),
        }
    }
}

impl ExactSizeIterator for PostingIter<'_> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn posting_matches_vector(
            steps in prop::collection::vec((0u8..6, any::<usize>()), 0..900),
        ) {
            let mut model: Vec<u32> = Vec::new();
            let mut posting = Posting::default();
            for (at, (step, position)) in steps.into_iter().enumerate() {
                if step < 3 || model.is_empty() {
                    prop_assert_eq!(posting.push(at as u32) as usize, model.len());
                    model.push(at as u32);
                } else if step == 3 {
                    let position = position % model.len();
                    model.swap_remove(position);
                    let moved = posting.swap_remove(position as u32);
                    prop_assert_eq!(moved, model.get(position).copied());
                } else {
                    let position = position % model.len();
                    model[position] = 100_000 + at as u32;
                    posting.set(position as u32, 100_000 + at as u32);
                }
                prop_assert_eq!(posting.iter().collect::<Vec<_>>(), model.clone());
                prop_assert_eq!(posting.len() as usize, model.len());
            }
        }
    }
}
