//! Index values in order: a persistent B+ tree from value to the number of its entry.

mod node;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use arrayvec::ArrayVec;

use self::node::{Child, Node, child_of};
use crate::index::user_code::drop_values;

/// The order of an index's values.
pub(super) trait Order<V>: Send + Sync {
    fn insert(&mut self, value: Arc<V>, id: u32);
    /// Removes the value of an entry. Returns `false` if it is not found by comparisons.
    fn remove(&mut self, value: &V, id: u32) -> bool;
    /// Removes the value of an entry without comparing it, in time in proportion to the number of values.
    fn remove_id(&mut self, id: u32);
    /// Compares the value with others, so that a comparison that panics does so before anything is changed.
    fn rehearse(&self, value: &V);
    fn boxed_clone(&self) -> Box<dyn Order<V>>;
    fn emptied(&self) -> Box<dyn Order<V>>;
    fn as_any(&self) -> &dyn Any;
}

/// A map in the order of its values, cloned in constant time.
pub(super) struct OrderedValues<V> {
    root: triomphe::Arc<Node<V>>,
}

impl<V> Clone for OrderedValues<V> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
        }
    }
}

impl<V> Default for OrderedValues<V> {
    fn default() -> Self {
        Self {
            root: triomphe::Arc::new(Node::Leaf(ArrayVec::new())),
        }
    }
}

impl<V: Ord + Send + Sync + 'static> Order<V> for OrderedValues<V> {
    fn insert(&mut self, value: Arc<V>, id: u32) {
        let Some(right) = triomphe::Arc::make_mut(&mut self.root).insert(value, id) else {
            return;
        };
        let (Some(first), Some(second)) = (self.root.least(), right.least()) else {
            return;
        };
        let children = [
            (first, self.root.clone()),
            (second, triomphe::Arc::new(right)),
        ];
        self.root = triomphe::Arc::new(Node::Branch(children.into_iter().collect()));
    }

    fn remove(&mut self, value: &V, id: u32) -> bool {
        let is_found = triomphe::Arc::make_mut(&mut self.root).remove(value, id);
        self.lower();
        is_found
    }

    fn remove_id(&mut self, id: u32) {
        if self.root.has_id(id) {
            triomphe::Arc::make_mut(&mut self.root).remove_id(id);
        }
        self.lower();
    }

    fn rehearse(&self, value: &V) {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(values) => {
                    let _ = values.binary_search_by(|(other, _)| (**other).cmp(value));
                    return;
                }
                Node::Branch(children) => node = &children[child_of(children, value)].1,
            }
        }
    }

    fn boxed_clone(&self) -> Box<dyn Order<V>> {
        Box::new(self.clone())
    }

    fn emptied(&self) -> Box<dyn Order<V>> {
        Box::new(Self::default())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<V> OrderedValues<V> {
    /// Replaces a root of one child by the child.
    fn lower(&mut self) {
        while let Node::Branch(children) = &*self.root {
            let lower = match children.as_slice() {
                [] => Self::default().root,
                [(_, only)] => only.clone(),
                _ => return,
            };
            drop_values(std::mem::replace(&mut self.root, lower));
        }
    }
}

impl<V: Ord> OrderedValues<V> {
    /// Returns the values within bounds and the numbers of their entries, in order.
    pub(super) fn range<'a, Q, R>(
        &'a self,
        range: R,
    ) -> impl Iterator<Item = (&'a V, u32)> + use<'a, V, Q, R>
    where
        V: Borrow<Q>,
        Q: Ord + ?Sized,
        R: RangeBounds<Q>,
    {
        let mut walk = Walk {
            path: Vec::new(),
            values: [].iter(),
        };
        walk.descend(&self.root, &range.start_bound());
        let is_within = move |value: &V| match range.end_bound() {
            Bound::Included(end) => value.borrow() <= end,
            Bound::Excluded(end) => value.borrow() < end,
            Bound::Unbounded => true,
        };
        walk.take_while(move |(value, _)| is_within(value))
    }
}

/// A walk over the values from left to right.
struct Walk<'a, V> {
    /// What is left of each branch above.
    path: Vec<std::slice::Iter<'a, Child<V>>>,
    values: std::slice::Iter<'a, (Arc<V>, u32)>,
}

impl<'a, V: Ord> Walk<'a, V> {
    /// Descends to the first value within the bound.
    fn descend<Q>(&mut self, mut node: &'a Node<V>, start: &Bound<&Q>)
    where
        V: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        loop {
            match node {
                Node::Branch(children) => {
                    let at = match start {
                        Bound::Included(value) | Bound::Excluded(value) => {
                            child_of(children, *value)
                        }
                        Bound::Unbounded => 0,
                    };
                    self.path
                        .push(children[(at + 1).min(children.len())..].iter());
                    let Some((_, child)) = children.get(at) else {
                        return;
                    };
                    node = child;
                }
                Node::Leaf(values) => {
                    let at = match start {
                        Bound::Included(start) => {
                            values.partition_point(|(value, _)| (**value).borrow() < *start)
                        }
                        Bound::Excluded(start) => {
                            values.partition_point(|(value, _)| (**value).borrow() <= *start)
                        }
                        Bound::Unbounded => 0,
                    };
                    self.values = values[at..].iter();
                    return;
                }
            }
        }
    }
}

impl<'a, V: Ord> Iterator for Walk<'a, V> {
    type Item = (&'a V, u32);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((value, id)) = self.values.next() {
                return Some((value, *id));
            }
            let (_, node) = loop {
                match self.path.last_mut()?.next() {
                    Some(child) => break child,
                    None => drop(self.path.pop()),
                }
            };
            self.descend::<V>(node, &Bound::Unbounded);
        }
    }
}
