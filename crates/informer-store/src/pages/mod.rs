//! A vector in small shared pages: cloned in constant time, changed by copying one page and the path to it.
//!
//! The path is always three steps long, so that finding an element takes a few instructions: a list of groups, a group
//! of pages, a page of elements. After a clone the first change copies the list of groups, which is one pointer for
//! some hundred elements, and each change copies one group and one page.
//!
//! # Invariants
//! - Pages and groups are full but for the last; none is empty. The last page ends at the vector's length: a length in
//!   each page would be in another cache line than most of its elements.
//! - A page, a group or the list is copied only while a clone of the vector shares it.

#[cfg(test)]
mod tests;

use triomphe::Arc;

/// Pages a group. Few, because the first change of a group counts up a reference for each of them.
const GROUP: usize = 32;
const GROUP_BITS: u32 = GROUP.trailing_zeros();

/// An element of a [`PagedVec`].
pub(crate) trait Element: Clone + Default {}

impl Element for u32 {}
impl Element for u64 {}
impl<T: Clone> Element for Option<T> {}

/// Clones objects into a vector.
pub(crate) fn cloned<'a, K: 'a>(
    objects: impl ExactSizeIterator<Item = &'a std::sync::Arc<K>>,
) -> Vec<std::sync::Arc<K>> {
    let mut all = Vec::with_capacity(objects.len());
    objects.for_each(|object| all.push(std::sync::Arc::clone(object)));
    all
}

/// A persistent vector whose pages hold `B` elements (a power of two).
pub(crate) struct PagedVec<T, const B: usize> {
    /// `None` if there is no element.
    groups: Option<Arc<Groups<T, B>>>,
    len: u32,
}

struct Groups<T, const B: usize>(Vec<Arc<Group<T, B>>>);

struct Group<T, const B: usize>([Option<Arc<Page<T, B>>>; GROUP]);

/// Elements beyond the vector's length are empty ones.
struct Page<T, const B: usize>([T; B]);

impl<T, const B: usize> Clone for Groups<T, B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T, const B: usize> Clone for Group<T, B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Element, const B: usize> Clone for Page<T, B> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T, const B: usize> Default for Group<T, B> {
    fn default() -> Self {
        Self([const { None }; GROUP])
    }
}

impl<T: Element, const B: usize> Default for Page<T, B> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

impl<T, const B: usize> Clone for PagedVec<T, B> {
    fn clone(&self) -> Self {
        Self {
            groups: self.groups.clone(),
            len: self.len,
        }
    }
}

impl<T, const B: usize> Default for PagedVec<T, B> {
    fn default() -> Self {
        Self {
            groups: None,
            len: 0,
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

    /// Returns the path to an element: its group, the page in the group, the place in the page.
    #[inline]
    const fn path(index: u32) -> (usize, usize, usize) {
        let index = index as usize;
        let page = index >> Self::BITS;
        (page >> GROUP_BITS, page & (GROUP - 1), index & (B - 1))
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        if index < self.len {
            self.peek(index)
        } else {
            None
        }
    }

    /// Returns the element, or an empty one just beyond the end, which the caller can distinguish.
    #[inline]
    pub(crate) fn peek(&self, index: u32) -> Option<&T> {
        let (group, page, place) = Self::path(index);
        let page = self.groups.as_ref()?.0.get(group)?.0[page].as_ref()?;
        Some(&page.0[place])
    }

    /// Returns all elements in order.
    pub(crate) fn iter(&self) -> Iter<'_, T, B> {
        let groups = self.groups.as_ref().map_or(&[][..], |groups| &groups.0);
        Iter {
            groups: groups.iter(),
            pages: [].iter(),
            page: [].iter(),
            left: self.len,
        }
    }
}

impl<T: Element, const B: usize> PagedVec<T, B> {
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        // Nothing is copied for an element that does not exist.
        if index >= self.len {
            return None;
        }
        let (group, page, place) = Self::path(index);
        // What is shared is copied.
        let group = Arc::make_mut(self.groups.as_mut()?).0.get_mut(group)?;
        let page = Arc::make_mut(group).0[page].as_mut()?;
        Some(&mut Arc::make_mut(page).0[place])
    }

    /// Appends an element and returns its index.
    #[inline]
    pub(crate) fn push(&mut self, element: T) -> u32 {
        let index = self.len;
        if index as usize & (B - 1) == 0 {
            self.push_page(index);
        }
        self.len += 1;
        if let Some(place) = self.get_mut(index) {
            *place = element;
        }
        index
    }

    /// Adds an empty page for the element of this index.
    fn push_page(&mut self, index: u32) {
        let (group, page, _) = Self::path(index);
        let groups = self
            .groups
            .get_or_insert_with(|| Arc::new(Groups(Vec::new())));
        let Groups(groups) = Arc::make_mut(groups);
        if group == groups.len() {
            groups.push(Arc::new(Group::default()));
        }
        Arc::make_mut(&mut groups[group]).0[page] = Some(Arc::new(Page::default()));
    }

    /// Removes the last element.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.len.checked_sub(1)?;
        let element = self.get_mut(last).map(std::mem::take);
        self.len = last;
        if last as usize & (B - 1) == 0 {
            self.pop_page(last);
        }
        element
    }

    /// Removes the last page, which began with this index.
    fn pop_page(&mut self, index: u32) {
        let (group, page, _) = Self::path(index);
        if index == 0 {
            self.groups = None;
            return;
        }
        let Some(Groups(groups)) = self.groups.as_mut().map(Arc::make_mut) else {
            return;
        };
        if page == 0 {
            groups.pop();
            if groups.len() * 4 < groups.capacity() {
                groups.shrink_to(groups.len() * 2);
            }
        } else {
            Arc::make_mut(&mut groups[group]).0[page] = None;
        }
    }

    /// Removes an element and moves the last one to its place.
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

/// The elements of a [`PagedVec`] in order.
pub(crate) struct Iter<'a, T, const B: usize> {
    groups: std::slice::Iter<'a, Arc<Group<T, B>>>,
    pages: std::slice::Iter<'a, Option<Arc<Page<T, B>>>>,
    page: std::slice::Iter<'a, T>,
    left: u32,
}

impl<'a, T, const B: usize> Iterator for Iter<'a, T, B> {
    type Item = &'a T;

    #[inline]
    fn next(&mut self) -> Option<&'a T> {
        self.left = self.left.checked_sub(1)?;
        loop {
            if let Some(element) = self.page.next() {
                return Some(element);
            }
            match self.pages.next() {
                Some(page) => self.page = page.as_ref()?.0.iter(),
                None => self.pages = self.groups.next()?.0.iter(),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }

    /// Page by page: what is done for each element has no other branch.
    fn fold<A, F: FnMut(A, &'a T) -> A>(self, mut value: A, mut add: F) -> A {
        let mut left = self.left as usize;
        let mut add_page = |value: A, page: std::slice::Iter<'a, T>| {
            let count = page.len().min(left);
            left -= count;
            page.take(count).fold(value, &mut add)
        };
        value = add_page(value, self.page);
        let groups = self.groups.flat_map(|group| &group.0);
        for page in self.pages.chain(groups).map_while(Option::as_ref) {
            value = add_page(value, page.0.iter());
        }
        value
    }
}

impl<T, const B: usize> ExactSizeIterator for Iter<'_, T, B> {}

impl<T, const B: usize> Clone for Iter<'_, T, B> {
    fn clone(&self) -> Self {
        Self {
            groups: self.groups.clone(),
            pages: self.pages.clone(),
            page: self.page.clone(),
            left: self.left,
        }
    }
}
