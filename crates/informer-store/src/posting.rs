//! The slots that have one index value, in the order of their arrival but for what fills a gap.

use arrayvec::ArrayVec;

use crate::pages::{Iter, PagedVec};

/// Slots that need no allocation.
const FEW: usize = 6;

/// A set of slots. Each element has a position by which it is taken out at once; the owner remembers it.
#[derive(Clone)]
pub(crate) enum Posting {
    Few(ArrayVec<u32, FEW>),
    Many(PagedVec<u32, 32>),
}

impl Default for Posting {
    fn default() -> Self {
        Self::Few(ArrayVec::new_const())
    }
}

impl Posting {
    pub(crate) const fn len(&self) -> u32 {
        match self {
            Self::Few(slots) => slots.len() as u32,
            Self::Many(slots) => slots.len(),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a slot that is not yet here and returns its position.
    pub(crate) fn push(&mut self, slot: u32) -> u32 {
        match self {
            Self::Few(slots) => {
                if slots.try_push(slot).is_ok() {
                    return slots.len() as u32 - 1;
                }
                let mut many = PagedVec::default();
                for &slot in slots.iter() {
                    many.push(slot);
                }
                let position = many.push(slot);
                *self = Self::Many(many);
                position
            }
            Self::Many(slots) => slots.push(slot),
        }
    }

    /// Takes out what lies at a position. The last slot moves there, and is returned if there was another.
    pub(crate) fn swap_remove(&mut self, position: u32) -> Option<u32> {
        match self {
            Self::Few(slots) => {
                slots.swap_pop(position as usize)?;
                slots.get(position as usize).copied()
            }
            Self::Many(many) => {
                many.swap_remove(position)?;
                let moved = many.get(position).copied();
                if many.len() as usize <= FEW / 2 {
                    *self = Self::Few(many.iter().copied().collect());
                }
                moved
            }
        }
    }

    /// Says that the object at a position lives in another slot now.
    pub(crate) fn set(&mut self, position: u32, slot: u32) {
        let element = match self {
            Self::Few(slots) => slots.get_mut(position as usize),
            Self::Many(slots) => slots.get_mut(position),
        };
        if let Some(element) = element {
            *element = slot;
        }
    }

    pub(crate) fn iter(&self) -> PostingIter<'_> {
        match self {
            Self::Few(slots) => PostingIter::Few(slots.iter()),
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
        fn behaves_as_a_vector_with_swap_remove(
            steps in prop::collection::vec((0u8..5, any::<usize>()), 0..300),
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
