//! The deltas of one key, oldest first.

use std::ops::{Deref, DerefMut};

use crate::delta::Delta;

/// The deltas of one key, oldest first. Most keys hold one, and these are moved often: they must be small.
#[derive(Debug)]
pub(crate) struct Chain<K>(Links<K>);

#[derive(Debug, Default)]
enum Links<K> {
    #[default]
    Empty,
    One(Delta<K>),
    #[expect(
        clippy::box_collection,
        reason = "it is rare, and without the box it would make all chains larger"
    )]
    Many(Box<Vec<Delta<K>>>),
}

impl<K> Chain<K> {
    pub(crate) const fn new() -> Self {
        Self(Links::Empty)
    }

    pub(crate) fn push(&mut self, delta: Delta<K>) {
        self.0 = match std::mem::take(&mut self.0) {
            Links::Empty => Links::One(delta),
            Links::One(first) => Links::Many(Box::new(vec![first, delta])),
            Links::Many(mut all) => {
                all.push(delta);
                Links::Many(all)
            }
        };
    }
}

impl<K> From<Delta<K>> for Chain<K> {
    fn from(delta: Delta<K>) -> Self {
        Self(Links::One(delta))
    }
}

impl<K> Extend<Delta<K>> for Chain<K> {
    fn extend<T: IntoIterator<Item = Delta<K>>>(&mut self, deltas: T) {
        deltas.into_iter().for_each(|delta| self.push(delta));
    }
}

impl<K> FromIterator<Delta<K>> for Chain<K> {
    fn from_iter<T: IntoIterator<Item = Delta<K>>>(deltas: T) -> Self {
        let mut chain = Self::new();
        chain.extend(deltas);
        chain
    }
}

impl<K> IntoIterator for Chain<K> {
    type Item = Delta<K>;
    type IntoIter = std::iter::Chain<std::option::IntoIter<Delta<K>>, std::vec::IntoIter<Delta<K>>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self.0 {
            Links::Empty => (None, Vec::new()),
            Links::One(delta) => (Some(delta), Vec::new()),
            Links::Many(all) => (None, *all),
        };
        one.into_iter().chain(many)
    }
}

impl<K> Deref for Chain<K> {
    type Target = [Delta<K>];

    fn deref(&self) -> &[Delta<K>] {
        match &self.0 {
            Links::Empty => &[],
            Links::One(delta) => std::slice::from_ref(delta),
            Links::Many(all) => all,
        }
    }
}

impl<K> DerefMut for Chain<K> {
    fn deref_mut(&mut self) -> &mut [Delta<K>] {
        match &mut self.0 {
            Links::Empty => &mut [],
            Links::One(delta) => std::slice::from_mut(delta),
            Links::Many(all) => all,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_chain_keeps_the_order_however_it_grows() {
        for length in 0..5 {
            let deltas = || (0..length).map(|n| Delta::Added(Arc::new(n)));
            let mut chain: Chain<u32> = deltas().collect();
            chain.extend(Chain::from(Delta::Updated(Arc::new(length))));
            let told: Vec<u32> = chain.iter().map(value).collect();
            assert_eq!(told, (0..=length).collect::<Vec<_>>());
            assert!(matches!(chain.last_mut(), Some(Delta::Updated(_))));
            let taken: Vec<u32> = chain.into_iter().map(|delta| value(&delta)).collect();
            assert_eq!(taken, told);
        }
    }

    fn value(delta: &Delta<u32>) -> u32 {
        delta.object().map_or(u32::MAX, |value| **value)
    }

    // Each of 100,000 keys that wait has one.
    #[test]
    fn a_chain_is_no_larger_than_its_one_delta() {
        assert_eq!(size_of::<Chain<String>>(), size_of::<Delta<String>>());
    }
}
