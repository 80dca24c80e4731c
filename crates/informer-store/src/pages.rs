//! A vector in small shared pages: cloned in constant time, changed by copying one page and the way to it.
//!
//! The way is always three steps long, so that finding an element takes a few instructions: a list of groups, a group
//! of pages, a page of elements. After a clone the first change copies the list of groups, which is one pointer for
//! some hundred elements, and each change copies one group and one page.
//!
//! # Invariants
//! - Pages and groups are full but for the last; none is empty. Only the vector's length says where the last page ends:
//!   the length of a page would lie in another cache line than most of its elements.
//! - A page, a group or the list is copied only while a clone of the vector shares it.

use std::hint::black_box;

use arrayvec::ArrayVec;
use triomphe::Arc;

/// Pages a group. Few, because the first change of a group counts up a reference for each of them.
const GROUP: usize = 32;
const GROUP_BITS: u32 = GROUP.trailing_zeros();

/// What a [`PagedVec`] holds.
pub(crate) trait Element: Clone + Default {
    /// Reads what a clone will write to (a reference count). A page's elements are warmed one after the other before
    /// they are cloned, so that the processor waits for all of their memory at once, and not for one after another.
    #[inline]
    fn warm(&self) {}
}

/// Reads what a clone of it will write to.
#[inline]
pub(crate) fn warm_object<K>(object: &std::sync::Arc<K>) {
    black_box(std::sync::Arc::strong_count(object));
}

impl Element for u32 {}
impl Element for u64 {}

impl<T: Warm + Clone> Element for Option<T> {
    #[inline]
    fn warm(&self) {
        self.iter().for_each(T::warm);
    }
}

/// The part of [`Element`] that an optional one needs of what is in it.
pub(crate) trait Warm {
    /// See [`Element::warm`].
    #[inline]
    fn warm(&self) {}
}

/// Clones objects in groups, each warmed first.
pub(crate) fn cloned<'a, K: 'a>(
    mut objects: impl ExactSizeIterator<Item = &'a std::sync::Arc<K>>,
) -> Vec<std::sync::Arc<K>> {
    let mut all = Vec::with_capacity(objects.len());
    let mut group = ArrayVec::<_, 16>::new();
    loop {
        group.extend(objects.by_ref().take(16));
        if group.is_empty() {
            return all;
        }
        group.iter().copied().for_each(warm_object);
        all.extend(group.drain(..).cloned());
    }
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
        self.0.iter().for_each(warm);
        Self(self.0.clone())
    }
}

impl<T, const B: usize> Clone for Group<T, B> {
    fn clone(&self) -> Self {
        self.0.iter().flatten().for_each(warm);
        Self(self.0.clone())
    }
}

impl<T: Element, const B: usize> Clone for Page<T, B> {
    fn clone(&self) -> Self {
        self.0.iter().for_each(T::warm);
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

fn warm<T>(page: &Arc<T>) {
    black_box(Arc::strong_count(page));
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

    /// Where an element lies: its group, the page in the group, the place in the page.
    #[inline]
    const fn way(index: u32) -> (usize, usize, usize) {
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

    /// The same for whoever can tell an empty element from the others: it may be handed out beyond the end.
    #[inline]
    pub(crate) fn peek(&self, index: u32) -> Option<&T> {
        let (group, page, place) = Self::way(index);
        let page = self.groups.as_ref()?.0.get(group)?.0[page].as_ref()?;
        Some(&page.0[place])
    }

    /// All elements in order.
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
        // Nothing is copied for an element that is not here.
        if index >= self.len {
            return None;
        }
        let (group, page, place) = Self::way(index);
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
        let (group, page, _) = Self::way(index);
        let groups = self
            .groups
            .get_or_insert_with(|| Arc::new(Groups(Vec::new())));
        let Groups(groups) = Arc::make_mut(groups);
        if group == groups.len() {
            groups.push(Arc::new(Group::default()));
        }
        Arc::make_mut(&mut groups[group]).0[page] = Some(Arc::new(Page::default()));
    }

    /// Takes the last element off.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.len.checked_sub(1)?;
        let element = self.get_mut(last).map(std::mem::take);
        self.len = last;
        if last as usize & (B - 1) == 0 {
            self.pop_page(last);
        }
        element
    }

    /// Takes off the last page, which began with this index.
    fn pop_page(&mut self, index: u32) {
        let (group, page, _) = Self::way(index);
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
                let beyond = paged.peek(model.len() as u32);
                prop_assert!(beyond.is_none_or(|element| *element == 0));
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
        assert!(paged.groups.is_none());
    }
}
