//! The nodes of the tree of ordered values.

use std::borrow::Borrow;
use std::sync::Arc;

use arrayvec::ArrayVec;

use crate::index::user_code::drop_values;

/// Values a leaf, and children a branch.
const WIDTH: usize = 32;

pub(super) enum Node<V> {
    Leaf(ArrayVec<(Arc<V>, u32), WIDTH>),
    /// Each child with a bound: no value below it is smaller, none in the children before is greater.
    Branch(ArrayVec<(Arc<V>, triomphe::Arc<Self>), WIDTH>),
}

/// A child of a branch, with its bound.
pub(super) type Child<V> = (Arc<V>, triomphe::Arc<Node<V>>);

impl<V> Clone for Node<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Leaf(values) => Self::Leaf(values.clone()),
            Self::Branch(children) => Self::Branch(children.clone()),
        }
    }
}

/// Returns the child that a value belongs to.
pub(super) fn child_of<V: Borrow<Q>, Q: Ord + ?Sized>(children: &[Child<V>], value: &Q) -> usize {
    children
        .partition_point(|(least, _)| (**least).borrow() <= value)
        .saturating_sub(1)
}

impl<V> Node<V> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Leaf(values) => values.len(),
            Self::Branch(children) => children.len(),
        }
    }

    pub(super) fn least(&self) -> Option<Arc<V>> {
        match self {
            Self::Leaf(values) => values.first().map(|(value, _)| Arc::clone(value)),
            Self::Branch(children) => children.first().map(|(value, _)| Arc::clone(value)),
        }
    }

    /// Takes over all of the node to the right.
    pub(super) fn append(&mut self, right: &Self) {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => left.extend(right.iter().cloned()),
            (Self::Branch(left), Self::Branch(right)) => left.extend(right.iter().cloned()),
            // All leaves are at one depth.
            _ => {}
        }
    }

    pub(super) fn has_id(&self, id: u32) -> bool {
        match self {
            Self::Leaf(values) => values.iter().any(|(_, other)| *other == id),
            Self::Branch(children) => children.iter().any(|(_, child)| child.has_id(id)),
        }
    }

    pub(super) fn remove_id(&mut self, id: u32) {
        match self {
            Self::Leaf(values) => values.retain(|(_, other)| *other != id),
            Self::Branch(children) => {
                let Some(at) = children.iter().position(|(_, child)| child.has_id(id)) else {
                    return;
                };
                triomphe::Arc::make_mut(&mut children[at].1).remove_id(id);
                tidy(children, at);
            }
        }
    }
}

impl<V: Ord> Node<V> {
    /// Inserts a new value. Returns the right half if the node had to be split.
    pub(super) fn insert(&mut self, value: Arc<V>, id: u32) -> Option<Self> {
        match self {
            Self::Leaf(values) => {
                let at = values.partition_point(|(other, _)| *other < value);
                insert_or_split(values, at, (value, id)).map(Self::Leaf)
            }
            Self::Branch(children) => {
                let at = child_of(children, &*value);
                let (least, child) = children.get_mut(at)?;
                if value < *least {
                    drop_values(std::mem::replace(least, Arc::clone(&value)));
                }
                let split = triomphe::Arc::make_mut(child).insert(value, id)?;
                let entry = (split.least()?, triomphe::Arc::new(split));
                insert_or_split(children, at + 1, entry).map(Self::Branch)
            }
        }
    }

    /// Removes the value of an entry. Returns `false` if it is not found by comparisons.
    pub(super) fn remove(&mut self, value: &V, id: u32) -> bool {
        match self {
            Self::Leaf(values) => {
                let found = values.binary_search_by(|(other, _)| (**other).cmp(value));
                let found = found.ok().filter(|&at| values[at].1 == id);
                if let Some(at) = found {
                    values.remove(at);
                }
                found.is_some()
            }
            Self::Branch(children) => {
                let at = child_of(children, value);
                let Some((_, child)) = children.get_mut(at) else {
                    return false;
                };
                let is_found = triomphe::Arc::make_mut(child).remove(value, id);
                tidy(children, at);
                is_found
            }
        }
    }
}

/// Removes a child that lost its last value, or joins a small one with its neighbour.
fn tidy<V>(children: &mut ArrayVec<Child<V>, WIDTH>, at: usize) {
    if children.get(at).is_some_and(|(_, child)| child.len() == 0) {
        drop_values(children.remove(at));
        return;
    }
    for left in [at.wrapping_sub(1), at] {
        if merge(children, left) {
            return;
        }
    }
}

/// Joins a child with the next if together they fill half a node at most.
fn merge<V>(children: &mut ArrayVec<Child<V>, WIDTH>, left: usize) -> bool {
    let [Some((_, a)), Some((_, b))] = [children.get(left), children.get(left.wrapping_add(1))]
    else {
        return false;
    };
    if a.len() + b.len() > WIDTH / 2 {
        return false;
    }
    let (bound, right) = children.remove(left + 1);
    drop_values(bound);
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
    // Values are often inserted in order: then the left node stays full.
    let half = if at == WIDTH { WIDTH } else { WIDTH / 2 };
    let mut right: ArrayVec<T, WIDTH> = elements.drain(half..).collect();
    if at > half || half == WIDTH {
        right.insert(at - half, element);
    } else {
        elements.insert(at, element);
    }
    Some(right)
}
