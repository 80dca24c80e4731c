//! A vector in small shared pages: cloned in constant time, changed by copying one page and the path to it.
//!
//! # Invariants
//! - The last page, the tail, hangs on the vector itself: what is appended or taken off touches it alone. It is empty
//!   only if the vector is.
//! - All other pages are full and are the leaves of a tree, all at one depth. Branches are full but for those on the
//!   right edge, and a root of branches has more than one.
//! - A page is copied only while a clone of the vector shares it.

use std::hint::black_box;

use arrayvec::ArrayVec;
use triomphe::Arc;

/// Children of a branch. Few, because the first change after a clone counts up a reference for each of them.
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

impl Element for u32 {}
impl Element for u64 {}
impl<T: Clone> Element for Option<T> {}

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

/// A persistent vector whose pages hold `B` elements (a power of two).
pub(crate) struct PagedVec<T, const B: usize> {
    /// All pages but the last.
    root: Option<Arc<Branch<T, B>>>,
    tail: Option<Arc<Page<T, B>>>,
    len: u32,
    /// How far a page's number is shifted to find the root's child.
    shift: u32,
}

struct Page<T, const B: usize>(ArrayVec<T, B>);

enum Branch<T, const B: usize> {
    Branches(ArrayVec<Arc<Self>, FANOUT>),
    Pages(ArrayVec<Arc<Page<T, B>>, FANOUT>),
}

impl<T: Element, const B: usize> Clone for Page<T, B> {
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
            Self::Pages(pages) => {
                pages.iter().for_each(warm);
                Self::Pages(pages.clone())
            }
        }
    }
}

fn warm<T>(page: &Arc<T>) {
    black_box(Arc::strong_count(page));
}

/// What is behind the pointer, alone: a copy of it if it is shared.
#[inline]
fn own<T: Clone>(shared: &mut Arc<T>) -> Option<&mut T> {
    if !shared.is_unique() {
        *shared = Arc::new(T::clone(shared));
    }
    Arc::get_mut(shared)
}

impl<T, const B: usize> Clone for PagedVec<T, B> {
    fn clone(&self) -> Self {
        let (root, tail) = (self.root.clone(), self.tail.clone());
        Self {
            root,
            tail,
            len: self.len,
            shift: self.shift,
        }
    }
}

impl<T, const B: usize> Default for PagedVec<T, B> {
    fn default() -> Self {
        Self {
            root: None,
            tail: None,
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

    /// The number of the last page.
    const fn tail_number(&self) -> u32 {
        self.len.saturating_sub(1) >> Self::BITS
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.page(index >> Self::BITS)?
            .get(index as usize & (B - 1))
    }

    /// The elements of one page.
    #[inline]
    fn page(&self, number: u32) -> Option<&[T]> {
        if number >= self.tail_number() {
            let tail = self.tail.as_ref().filter(|_| number == self.tail_number());
            return tail.map(|tail| tail.0.as_slice());
        }
        let mut branch = &**self.root.as_ref()?;
        let mut shift = self.shift;
        loop {
            let child = (number >> shift) as usize & (FANOUT - 1);
            match branch {
                Branch::Branches(branches) => branch = branches.get(child)?,
                Branch::Pages(pages) => return pages.get(child).map(|page| page.0.as_slice()),
            }
            shift = shift.saturating_sub(FANOUT_BITS);
        }
    }

    /// All elements in order.
    pub(crate) fn iter(&self) -> Iter<'_, T, B> {
        Iter {
            vector: self,
            next_page: 0,
            page: [].iter(),
            left: self.len,
        }
    }
}

impl<T: Element, const B: usize> PagedVec<T, B> {
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        if index >= self.len {
            return None;
        }
        let number = index >> Self::BITS;
        if number == self.tail_number() {
            return own(self.tail.as_mut()?)?
                .0
                .get_mut(index as usize & (B - 1));
        }
        let mut shift = self.shift;
        let mut branch = own(self.root.as_mut()?)?;
        loop {
            let child = (number >> shift) as usize & (FANOUT - 1);
            match branch {
                Branch::Branches(branches) => branch = own(branches.get_mut(child)?)?,
                Branch::Pages(pages) => {
                    let page = own(pages.get_mut(child)?)?;
                    return page.0.get_mut(index as usize & (B - 1));
                }
            }
            shift = shift.saturating_sub(FANOUT_BITS);
        }
    }

    /// Appends an element and returns its index.
    #[inline]
    pub(crate) fn push(&mut self, element: T) -> u32 {
        let index = self.len;
        self.len += 1;
        if let Some(tail) = self
            .tail
            .as_mut()
            .filter(|tail| !tail.0.is_full())
            .and_then(own)
        {
            tail.0.push(element);
            return index;
        }
        let full = self
            .tail
            .replace(Arc::new(Page(ArrayVec::from_iter([element]))));
        if let Some(full) = full {
            self.push_page(full, (index >> Self::BITS) - 1);
        }
        index
    }

    /// Hangs a full page into the tree, at its right edge.
    fn push_page(&mut self, page: Arc<Page<T, B>>, number: u32) {
        let root = match self.root.take() {
            None => Arc::new(Branch::Pages(ArrayVec::new())),
            Some(root) if u64::from(number) == 1 << (self.shift + FANOUT_BITS) => {
                self.shift += FANOUT_BITS;
                Arc::new(Branch::Branches(ArrayVec::from_iter([root])))
            }
            Some(root) => root,
        };
        let mut shift = self.shift;
        let mut branch = own(self.root.insert(root));
        while let Some(Branch::Branches(branches)) = branch {
            shift -= FANOUT_BITS;
            let child = (number >> (shift + FANOUT_BITS)) as usize & (FANOUT - 1);
            if child == branches.len() {
                branches.push(Arc::new(Branch::empty(shift)));
            }
            branch = own(&mut branches[child]);
        }
        if let Some(Branch::Pages(pages)) = branch {
            pages.push(page);
        }
    }

    /// Takes the last element off.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let tail = &mut own(self.tail.as_mut()?)?.0;
        let element = tail.pop();
        let is_empty = tail.is_empty();
        self.len -= 1;
        if is_empty {
            self.tail = self.pop_page();
        }
        element
    }

    /// Takes the last page out of the tree.
    fn pop_page(&mut self) -> Option<Arc<Page<T, B>>> {
        let root = self.root.as_mut()?;
        let page = own(root)?.pop_page();
        let only = match &**root {
            Branch::Branches(branches) if branches.len() == 1 => branches.first().cloned(),
            _ => None,
        };
        if let Some(only) = only {
            *root = only;
            self.shift -= FANOUT_BITS;
        }
        if root.is_empty() {
            (self.root, self.shift) = (None, 0);
        }
        page
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

impl<T, const B: usize> Branch<T, B> {
    /// A branch whose children's numbers are shifted by `shift`.
    fn empty(shift: u32) -> Self {
        if shift == 0 {
            Self::Pages(ArrayVec::new())
        } else {
            Self::Branches(ArrayVec::new())
        }
    }

    /// Takes the last page off and cuts off what became empty.
    fn pop_page(&mut self) -> Option<Arc<Page<T, B>>> {
        match self {
            Self::Pages(pages) => pages.pop(),
            Self::Branches(branches) => {
                let last = own(branches.last_mut()?)?;
                let page = last.pop_page();
                if last.is_empty() {
                    branches.pop();
                }
                page
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Branches(branches) => branches.is_empty(),
            Self::Pages(pages) => pages.is_empty(),
        }
    }
}

/// The elements of a [`PagedVec`] in order.
pub(crate) struct Iter<'a, T, const B: usize> {
    vector: &'a PagedVec<T, B>,
    next_page: u32,
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
            self.page = self.vector.page(self.next_page)?.iter();
            self.next_page += 1;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<T, const B: usize> ExactSizeIterator for Iter<'_, T, B> {}

impl<T, const B: usize> Clone for Iter<'_, T, B> {
    fn clone(&self) -> Self {
        let (next_page, page) = (self.next_page, self.page.clone());
        Self {
            vector: self.vector,
            next_page,
            page,
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
        assert!(paged.root.is_none() && paged.tail.is_none());
        assert_eq!(paged.shift, 0);
    }
}
