//! A vector in small shared pages: cloned in constant time, changed by copying one page and the path to it.
//!
//! # Invariants
//! - Leaves are full but for the last; branches are full but for those on the right edge.
//! - All leaves lie at one depth; the root has more than one child, or is the only branch.
//! - A page is copied only while a clone of the vector shares it.

use std::hint::black_box;

use arrayvec::ArrayVec;
use triomphe::Arc;

/// Children of a branch. Small, because the first change after a clone counts up a reference for each of them.
const FANOUT: usize = 16;
const FANOUT_BITS: u32 = FANOUT.trailing_zeros();

/// What a [`PagedVec`] holds.
pub(crate) trait Element: Clone {
    /// Reads what a clone will write to (a reference count). A page's elements are warmed one after the other before
    /// they are cloned, so that the processor waits for all of their memory at once, and not for one after another.
    #[inline]
    fn warm(&self) {}
}

impl<T> Element for std::sync::Arc<T> {
    #[inline]
    fn warm(&self) {
        black_box(Self::strong_count(self));
    }
}

fn warm<T>(page: &Arc<T>) {
    black_box(Arc::strong_count(page));
}

/// Clones references in groups, each warmed first.
pub(crate) fn cloned<'a, T: Element + 'a>(
    mut elements: impl ExactSizeIterator<Item = &'a T>,
) -> Vec<T> {
    let mut all = Vec::with_capacity(elements.len());
    let mut group = ArrayVec::<&T, 16>::new();
    loop {
        group.extend(elements.by_ref().take(16));
        if group.is_empty() {
            return all;
        }
        group.iter().for_each(|element| element.warm());
        all.extend(group.drain(..).cloned());
    }
}

impl Element for u32 {}
impl Element for u64 {}
impl<T: Clone> Element for Option<T> {}

/// A persistent vector whose leaves hold `B` elements (a power of two).
pub(crate) struct PagedVec<T, const B: usize> {
    root: Option<Arc<Branch<T, B>>>,
    len: u32,
    /// How far a leaf's number is shifted to find the root's child.
    shift: u32,
}

enum Branch<T, const B: usize> {
    Branches(ArrayVec<Arc<Self>, FANOUT>),
    Leaves(ArrayVec<Arc<Leaf<T, B>>, FANOUT>),
}

struct Leaf<T, const B: usize>(ArrayVec<T, B>);

impl<T: Element, const B: usize> Clone for Leaf<T, B> {
    fn clone(&self) -> Self {
        self.0.iter().for_each(T::warm);
        Self(self.0.clone())
    }
}

impl<T, const B: usize> Clone for Branch<T, B> {
    fn clone(&self) -> Self {
        match self {
            Self::Branches(branches) => {
                branches.iter().for_each(warm);
                Self::Branches(branches.clone())
            }
            Self::Leaves(leaves) => {
                leaves.iter().for_each(warm);
                Self::Leaves(leaves.clone())
            }
        }
    }
}

impl<T, const B: usize> Clone for PagedVec<T, B> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
            len: self.len,
            shift: self.shift,
        }
    }
}

impl<T, const B: usize> Default for PagedVec<T, B> {
    fn default() -> Self {
        Self {
            root: None,
            len: 0,
            shift: 0,
        }
    }
}

impl<T, const B: usize> PagedVec<T, B> {
    const BITS: u32 = {
        assert!(B.is_power_of_two(), "elements are found by shifting");
        B.trailing_zeros()
    };

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.leaf(index >> Self::BITS)?
            .get(index as usize & (B - 1))
    }

    /// The elements of one leaf.
    #[inline]
    fn leaf(&self, number: u32) -> Option<&[T]> {
        let mut branch = &**self.root.as_ref()?;
        let mut shift = self.shift;
        // A number beyond the end may have bits above the root's.
        if (number >> shift) as usize >= FANOUT {
            return None;
        }
        loop {
            let child = (number >> shift) as usize & (FANOUT - 1);
            match branch {
                Branch::Branches(branches) => branch = branches.get(child)?,
                Branch::Leaves(leaves) => return leaves.get(child).map(|leaf| leaf.0.as_slice()),
            }
            shift = shift.saturating_sub(FANOUT_BITS);
        }
    }

    /// All elements in order.
    pub(crate) fn iter(&self) -> Iter<'_, T, B> {
        Iter {
            vector: self,
            next_leaf: 0,
            page: [].iter(),
            left: self.len,
        }
    }

    /// How many elements fit below the root.
    const fn capacity(&self) -> u64 {
        (B as u64) << (self.shift + FANOUT_BITS)
    }
}

impl<T: Element, const B: usize> PagedVec<T, B> {
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let number = index >> Self::BITS;
        let mut shift = self.shift;
        let mut branch = Arc::make_mut(self.root.as_mut()?);
        loop {
            let child = (number >> shift) as usize & (FANOUT - 1);
            match branch {
                Branch::Branches(branches) => branch = Arc::make_mut(branches.get_mut(child)?),
                Branch::Leaves(leaves) => {
                    let leaf = Arc::make_mut(leaves.get_mut(child)?);
                    return leaf.0.get_mut(index as usize & (B - 1));
                }
            }
            shift = shift.saturating_sub(FANOUT_BITS);
        }
    }

    /// Appends an element and returns its index.
    pub(crate) fn push(&mut self, element: T) -> u32 {
        let index = self.len;
        let root = match self.root.take() {
            None => Arc::new(Branch::Leaves(ArrayVec::new())),
            Some(root) if u64::from(index) == self.capacity() => {
                self.shift += FANOUT_BITS;
                Arc::new(Branch::Branches(ArrayVec::from_iter([root])))
            }
            Some(root) => root,
        };
        let mut branch = Arc::make_mut(self.root.insert(root));
        let number = index >> Self::BITS;
        let mut shift = self.shift;
        loop {
            let child = (number >> shift) as usize & (FANOUT - 1);
            match branch {
                Branch::Branches(branches) => {
                    shift -= FANOUT_BITS;
                    if child == branches.len() {
                        branches.push(Arc::new(Branch::empty(shift)));
                    }
                    branch = Arc::make_mut(&mut branches[child]);
                }
                Branch::Leaves(leaves) => {
                    if child == leaves.len() {
                        leaves.push(Arc::new(Leaf(ArrayVec::new())));
                    }
                    Arc::make_mut(&mut leaves[child]).0.push(element);
                    break;
                }
            }
        }
        self.len += 1;
        index
    }

    /// Takes the last element off.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let root = self.root.as_mut()?;
        let element = Arc::make_mut(root).pop();
        self.len -= 1;
        if self.len == 0 {
            *self = Self::default();
            return element;
        }
        if let Branch::Branches(branches) = &**root
            && let [only] = branches.as_slice()
        {
            *root = only.clone();
            self.shift -= FANOUT_BITS;
        }
        element
    }

    /// Takes one element out and puts the last one in its place.
    pub(crate) fn swap_remove(&mut self, index: u32) -> Option<T> {
        if index >= self.len {
            return None;
        }
        let last = self.pop()?;
        match self.get_mut(index) {
            Some(element) => Some(std::mem::replace(element, last)),
            None => Some(last),
        }
    }
}

impl<T: Element, const B: usize> Branch<T, B> {
    /// A branch whose children's numbers are shifted by `shift`.
    fn empty(shift: u32) -> Self {
        if shift == 0 {
            Self::Leaves(ArrayVec::new())
        } else {
            Self::Branches(ArrayVec::new())
        }
    }

    /// Takes the last element off and cuts off what became empty.
    fn pop(&mut self) -> Option<T> {
        match self {
            Self::Branches(branches) => {
                let last = Arc::make_mut(branches.last_mut()?);
                let element = last.pop();
                if last.is_empty() {
                    branches.pop();
                }
                element
            }
            Self::Leaves(leaves) => {
                let last = &mut Arc::make_mut(leaves.last_mut()?).0;
                let element = last.pop();
                if last.is_empty() {
                    leaves.pop();
                }
                element
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Branches(branches) => branches.is_empty(),
            Self::Leaves(leaves) => leaves.is_empty(),
        }
    }
}

/// The elements of a [`PagedVec`] in order.
pub(crate) struct Iter<'a, T, const B: usize> {
    vector: &'a PagedVec<T, B>,
    next_leaf: u32,
    page: std::slice::Iter<'a, T>,
    left: u32,
}

impl<'a, T, const B: usize> Iterator for Iter<'a, T, B> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(element) = self.page.next() {
                self.left -= 1;
                return Some(element);
            }
            self.page = self.vector.leaf(self.next_leaf)?.iter();
            self.next_leaf += 1;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<T, const B: usize> ExactSizeIterator for Iter<'_, T, B> {}

impl<T, const B: usize> Clone for Iter<'_, T, B> {
    fn clone(&self) -> Self {
        Self {
            vector: self.vector,
            next_leaf: self.next_leaf,
            page: self.page.clone(),
            left: self.left,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Small = PagedVec<u32, 2>;

    #[derive(Debug, Clone)]
    enum Step {
        Push(u32),
        Pop,
        Set(usize, u32),
        SwapRemove(usize),
        Snapshot,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => any::<u32>().prop_map(Step::Push),
            2 => Just(Step::Pop),
            2 => (any::<usize>(), any::<u32>()).prop_map(|(at, v)| Step::Set(at, v)),
            2 => any::<usize>().prop_map(Step::SwapRemove),
            1 => Just(Step::Snapshot),
        ]
    }

    fn contents(vector: &Small) -> Vec<u32> {
        vector.iter().copied().collect()
    }

    proptest! {
        #[test]
        fn behaves_as_a_vector_and_clones_stay_what_they_were(
            start in 0u32..1200,
            steps in prop::collection::vec(step(), 0..200),
        ) {
            let mut model: Vec<u32> = (0..start).collect();
            let mut paged = Small::default();
            for &element in &model {
                paged.push(element);
            }
            let mut clones = Vec::new();
            for step in steps {
                let len = model.len();
                match step {
                    Step::Push(v) => {
                        prop_assert_eq!(paged.push(v) as usize, len);
                        model.push(v);
                    }
                    Step::Pop => prop_assert_eq!(paged.pop(), model.pop()),
                    Step::Set(at, v) if len > 0 => {
                        *paged.get_mut((at % len) as u32).expect("within") = v;
                        model[at % len] = v;
                    }
                    Step::SwapRemove(at) if len > 0 => {
                        let removed = paged.swap_remove((at % len) as u32);
                        prop_assert_eq!(removed, Some(model.swap_remove(at % len)));
                    }
                    Step::Snapshot => clones.push((paged.clone(), model.clone())),
                    Step::Set(..) | Step::SwapRemove(_) => {}
                }
                prop_assert_eq!(paged.len() as usize, model.len());
            }
            clones.push((paged, model));
            for (paged, model) in clones {
                prop_assert_eq!(&contents(&paged), &model);
                for (at, value) in model.iter().enumerate() {
                    prop_assert_eq!(paged.get(at as u32), Some(value));
                }
                prop_assert_eq!(paged.get(model.len() as u32), None);
                prop_assert_eq!(paged.get(u32::MAX), None);
            }
        }
    }

    #[test]
    fn an_emptied_vector_holds_no_page() {
        let mut paged = Small::default();
        for element in 0..1000 {
            paged.push(element);
        }
        while paged.pop().is_some() {}
        assert!(paged.root.is_none());
        assert_eq!(paged.shift, 0);
    }
}
