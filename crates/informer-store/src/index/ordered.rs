//! Index values in order: a persistent B+ tree from value to the number of its entry.

use std::any::Any;
use std::borrow::Borrow;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use arrayvec::ArrayVec;

/// Values a leaf, and children a branch.
const WIDTH: usize = 32;

/// What an index knows of the order of its values, whether or not they have one.
pub(super) trait Order<V>: Send + Sync {
    fn insert(&mut self, value: Arc<V>, id: u32);
    fn remove(&mut self, value: &V);
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

enum Node<V> {
    Leaf(ArrayVec<(Arc<V>, u32), WIDTH>),
    /// Each child with a bound: no value below it is smaller, none in the children before is greater.
    Branch(ArrayVec<(Arc<V>, triomphe::Arc<Self>), WIDTH>),
}

/// A child of a branch, with its bound.
type Child<V> = (Arc<V>, triomphe::Arc<Node<V>>);

impl<V> Clone for Node<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(values) => Self::Leaf(values.clone()),
            Self::Branch(children) => Self::Branch(children.clone()),
        }
    }
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

/// Which child a value belongs to.
fn child_of<V: Borrow<Q>, Q: Ord + ?Sized>(children: &[Child<V>], value: &Q) -> usize {
    children
        .partition_point(|(least, _)| (**least).borrow() <= value)
        .saturating_sub(1)
}

impl<V: Ord> Node<V> {
    fn len(&self) -> usize {
        match self {
            Self::Leaf(values) => values.len(),
            Self::Branch(children) => children.len(),
        }
    }

    fn least(&self) -> Option<Arc<V>> {
        match self {
            Self::Leaf(values) => values.first().map(|(value, _)| Arc::clone(value)),
            Self::Branch(children) => children.first().map(|(value, _)| Arc::clone(value)),
        }
    }

    /// Enters a value that is not yet here. Returns the right half if the node had to be split.
    fn insert(&mut self, value: Arc<V>, id: u32) -> Option<Self> {
        match self {
            Self::Leaf(values) => {
                let at = values.partition_point(|(other, _)| *other < value);
                insert_or_split(values, at, (value, id)).map(Self::Leaf)
            }
            Self::Branch(children) => {
                let at = child_of(children, &*value);
                let (least, child) = children.get_mut(at)?;
                if value < *least {
                    *least = Arc::clone(&value);
                }
                let split = triomphe::Arc::make_mut(child).insert(value, id)?;
                let entry = (split.least()?, triomphe::Arc::new(split));
                insert_or_split(children, at + 1, entry).map(Self::Branch)
            }
        }
    }

    fn remove(&mut self, value: &V) {
        match self {
            Self::Leaf(values) => {
                if let Ok(at) = values.binary_search_by(|(other, _)| (**other).cmp(value)) {
                    values.remove(at);
                }
            }
            Self::Branch(children) => {
                let at = child_of(children, value);
                let Some((_, child)) = children.get_mut(at) else {
                    return;
                };
                triomphe::Arc::make_mut(child).remove(value);
                if child.len() == 0 {
                    children.remove(at);
                    return;
                }
                for left in [at.wrapping_sub(1), at] {
                    if merge(children, left) {
                        return;
                    }
                }
            }
        }
    }

    /// Takes over all of the node to the right.
    fn append(&mut self, right: &Self) {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => left.extend(right.iter().cloned()),
            (Self::Branch(left), Self::Branch(right)) => left.extend(right.iter().cloned()),
            // All leaves lie at one depth.
            _ => {}
        }
    }
}

/// Joins a child with the next if together they fill half a node at most.
fn merge<V: Ord>(children: &mut ArrayVec<Child<V>, WIDTH>, left: usize) -> bool {
    let [Some((_, a)), Some((_, b))] = [children.get(left), children.get(left.wrapping_add(1))]
    else {
        return false;
    };
    if a.len() + b.len() > WIDTH / 2 {
        return false;
    }
    let (_, right) = children.remove(left + 1);
    triomphe::Arc::make_mut(&mut children[left].1).append(&right);
    true
}

/// Inserts an element; a full node is split and its right part returned.
fn insert_or_split<T>(
    elements: &mut ArrayVec<T, WIDTH>,
    at: usize,
    element: T,
) -> Option<ArrayVec<T, WIDTH>> {
    if !elements.is_full() {
        elements.insert(at, element);
        return None;
    }
    // Values often come in order: then the left node stays full.
    let half = if at == WIDTH { WIDTH } else { WIDTH / 2 };
    let mut right: ArrayVec<T, WIDTH> = elements.drain(half..).collect();
    if at > half || half == WIDTH {
        right.insert(at - half, element);
    } else {
        elements.insert(at, element);
    }
    Some(right)
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

    fn remove(&mut self, value: &V) {
        triomphe::Arc::make_mut(&mut self.root).remove(value);
        while let Node::Branch(children) = &*self.root {
            match children.as_slice() {
                [] => *self = Self::default(),
                [(_, only)] => self.root = only.clone(),
                _ => return,
            }
        }
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

impl<V: Ord> OrderedValues<V> {
    /// The values within bounds and the numbers of their entries, in order.
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
    /// Goes down to the first value within the bound.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;

    use proptest::prelude::*;

    use super::*;

    type Bounds = (Bound<u16>, Bound<u16>);

    fn bound() -> impl Strategy<Value = Bound<u16>> {
        prop_oneof![
            (0u16..600).prop_map(Bound::Included),
            (0u16..600).prop_map(Bound::Excluded),
            Just(Bound::Unbounded),
        ]
    }

    fn range(tree: &OrderedValues<u16>, bounds: Bounds) -> Vec<(u16, u32)> {
        tree.range(bounds).map(|(value, id)| (*value, id)).collect()
    }

    /// What the naive map says; its own `range` panics where the bounds cross.
    fn naive(model: &BTreeMap<u16, u32>, bounds: Bounds) -> Vec<(u16, u32)> {
        model
            .iter()
            .filter(|(value, _)| bounds.contains(*value))
            .map(|(v, i)| (*v, *i))
            .collect()
    }

    proptest! {
        #[test]
        fn ranges_are_those_of_a_naive_map_and_clones_stay_what_they_were(
            in_order in 0u16..300,
            steps in prop::collection::vec((0u8..5, 0u16..600), 0..900),
            ranges in prop::collection::vec((bound(), bound()), 1..8),
        ) {
            let mut model = BTreeMap::new();
            let mut tree = OrderedValues::default();
            for value in 0..in_order {
                tree.insert(Arc::new(value), u32::from(value));
                model.insert(value, u32::from(value));
            }
            let mut clones = Vec::new();
            for (at, (step, value)) in steps.into_iter().enumerate() {
                let inserts = if at % 500 < 250 { 4 } else { 1 };
                if step < inserts {
                    if let Entry::Vacant(entry) = model.entry(value) {
                        tree.rehearse(&value);
                        tree.insert(Arc::new(value), at as u32);
                        entry.insert(at as u32);
                    }
                } else {
                    tree.remove(&value);
                    model.remove(&value);
                }
                if at % 200 == 0 {
                    clones.push((tree.clone(), model.clone()));
                }
            }
            clones.push((tree, model));
            for (tree, model) in clones {
                for &bounds in &ranges {
                    prop_assert_eq!(range(&tree, bounds), naive(&model, bounds));
                }
            }
        }
    }

    #[test]
    fn an_emptied_tree_is_one_empty_leaf() {
        let mut tree = OrderedValues::default();
        for value in 0..10_000u32 {
            tree.insert(Arc::new(value), value);
        }
        assert!(matches!(&*tree.root, Node::Branch(_)));
        for value in 0..10_000u32 {
            tree.remove(&value);
        }
        assert!(matches!(&*tree.root, Node::Leaf(values) if values.is_empty()));
    }
}
