//! Coalescing: the deltas of one key are shortened to what a consumer needs.
//!
//! A consumer needs the end of the object that it has, and the newest state. The states between them it may miss.

use std::sync::Arc;

use informer_store::{Object, ObjectVersion, Relation};

use crate::delta::{Deleted, Delta, Deltas};

/// What deltas say of the object in the end.
#[derive(Debug)]
pub(crate) enum End<'a, K> {
    Present(&'a Arc<K>),
    Deleted(&'a Deleted<K>),
}

/// What a consumer has of a key before it applies the deltas.
#[derive(Debug)]
pub(crate) enum Base<K> {
    Present(Arc<K>),
    Absent,
    /// There are no known objects to tell it.
    Unknown,
}

/// Returns what deltas say of the object in the end, or `None` if it is only undecodable.
pub(crate) fn end<K>(deltas: &[Delta<K>]) -> Option<End<'_, K>> {
    deltas.iter().rev().find_map(|delta| match delta {
        Delta::Added(object)
        | Delta::Updated(object)
        | Delta::Replaced(object)
        | Delta::Sync(object) => Some(End::Present(object)),
        Delta::Deleted(deleted) => Some(End::Deleted(deleted)),
        Delta::Undecodable(_) => None,
    })
}

/// Shortens deltas to three at most, for a consumer that has `base`.
pub(crate) fn coalesce<K: Object>(deltas: &Deltas<K>, base: &Base<K>) -> Deltas<K> {
    let newest = match end(deltas) {
        Some(End::Present(newest)) => newest,
        Some(End::Deleted(last)) => {
            return Delta::Deleted(deletion(deltas, base).unwrap_or_else(|| last.clone())).into();
        }
        None => return deltas.newest().clone().into(),
    };
    let ended = deletion(deltas, base).or_else(|| tombstone_of_other(base, newest));
    let is_addition = match base {
        Base::Absent => true,
        Base::Present(_) => ended.is_some(),
        Base::Unknown => ended.is_some() || matches!(deltas.oldest(), Delta::Added(_)),
    };
    let state = state(deltas, newest, is_addition);
    let mut short: Deltas<K> = match ended {
        Some(ended) => [Delta::Deleted(ended), state].into(),
        None => state.into(),
    };
    if let undecodable @ Delta::Undecodable(_) = deltas.newest() {
        short.push(undecodable.clone());
    }
    short
}

/// The deletion in the deltas that ends what the consumer has.
fn deletion<K: Object>(deltas: &[Delta<K>], base: &Base<K>) -> Option<Deleted<K>> {
    let mut deletions = deltas.iter().filter_map(|delta| match delta {
        Delta::Deleted(deleted) => Some(deleted),
        _ => None,
    });
    match base {
        Base::Absent => None,
        Base::Unknown => deletions.next().cloned(),
        Base::Present(base) => {
            let ends_it = |deleted: &&Deleted<K>| !is_recreated(&**deleted.object(), base);
            deletions.rev().find(ends_it).cloned()
        }
    }
}

/// A tombstone for what the consumer has, if the newest state is that of another object.
fn tombstone_of_other<K: Object>(base: &Base<K>, newest: &K) -> Option<Deleted<K>> {
    match base {
        Base::Present(base) if is_recreated(newest, base) => {
            Some(Deleted::FinalStateUnknown(Arc::clone(base)))
        }
        _ => None,
    }
}

fn is_recreated<K: Object>(object: &K, other: &K) -> bool {
    ObjectVersion::of(object).relation_to(&ObjectVersion::of(other)) == Relation::Recreated
}

/// The newest state: an event's if an event is among the deltas, else a list's or resync's.
fn state<K>(deltas: &[Delta<K>], newest: &Arc<K>, is_addition: bool) -> Delta<K> {
    let newest = Arc::clone(newest);
    let is_event = |delta: &Delta<K>| matches!(delta, Delta::Added(_) | Delta::Updated(_));
    let is_list = |delta: &Delta<K>| matches!(delta, Delta::Replaced(_));
    if deltas.iter().any(is_event) {
        return if is_addition {
            Delta::Added(newest)
        } else {
            Delta::Updated(newest)
        };
    }
    if deltas.iter().any(is_list) {
        return Delta::Replaced(newest);
    }
    Delta::Sync(newest)
}
