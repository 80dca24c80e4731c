//! Which of two things said of one key is newer. Pure decisions, no state.

use std::cmp::Ordering;
use std::sync::Arc;

use informer_store::{Deletion, Known, Object, ReplaceEnd, ResourceVersion, mutant};

use crate::delta::{Deleted, Delta};

/// The newest that is known of a key: in the queue, else in flight, else in the store.
#[derive(Debug)]
pub(crate) enum Newest<K> {
    /// It is there.
    Present(Arc<K>),
    /// It is there, in a copy of a time that the server went back from: its version says nothing.
    Undone(Arc<K>),
    /// Its deletion waits to be applied; since when it is gone, if that is known.
    Gone(Option<ResourceVersion>),
    /// Nothing is known of it.
    Absent,
}

/// What to do with a copy of an object.
#[derive(Debug)]
pub(crate) enum Verdict<K> {
    /// It is the copy that is known.
    Unchanged(Arc<K>),
    /// Something newer is known.
    Stale,
    /// It is news.
    Take,
    /// It is the first of a new object under the name of this one.
    NewLife(Arc<K>),
}

/// What to do with a deletion.
#[derive(Debug)]
pub(crate) enum DeleteVerdict<K> {
    /// Nothing is known of the object.
    Unknown,
    /// Something newer is known.
    Stale,
    /// The deletion waits already; if this one knows the last state, that is the better one.
    Again(Option<Arc<K>>),
    /// It is news.
    Take(Deleted<K>),
}

/// How a list compares with what is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListOrder {
    /// The server went back in time: versions say nothing.
    pub(crate) rewind: bool,
    /// Where versions say nothing: does what is known come after the list?
    pub(crate) arrived_meanwhile: bool,
}

/// What a chain says of the object in the end.
#[derive(Debug)]
pub(crate) enum ChainEnd<'a, K> {
    Present(&'a Arc<K>),
    Gone(&'a Deleted<K>),
}

/// What a chain says of the object in the end, or `None` if it says nothing.
pub(crate) fn chain_end<K>(chain: &[Delta<K>]) -> Option<ChainEnd<'_, K>> {
    chain.iter().rev().find_map(|delta| match delta {
        Delta::Added(object)
        | Delta::Updated(object)
        | Delta::Replaced(object)
        | Delta::Sync(object) => Some(ChainEnd::Present(object)),
        Delta::Deleted(deleted) => Some(ChainEnd::Gone(deleted)),
        Delta::SetAside(_) => None,
    })
}

/// True if both are known and differ.
pub(crate) fn is_other_life<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a != b)
}

fn compare(a: Option<&ResourceVersion>, b: Option<&ResourceVersion>) -> Option<Ordering> {
    a?.compare(b?)
}

/// Judges a copy that a watch brought.
pub(crate) fn judge_event<K: Object>(newest: Newest<K>, object: &K) -> Verdict<K> {
    let version = || object.resource_version();
    match newest {
        Newest::Absent => Verdict::Take,
        Newest::Undone(known) => take_or_new_life(&Known::of(object), known),
        // The history of a name is one line: whatever is not newer than its deletion came before it.
        Newest::Gone(at) => match compare(version().as_ref(), at.as_ref()) {
            Some(Ordering::Less | Ordering::Equal) => Verdict::Stale,
            _ => Verdict::Take,
        },
        Newest::Present(known) => {
            let (mark, known_mark) = (Known::of(object), Known::of(&*known));
            if mark.is_same_copy(&known_mark) {
                return Verdict::Unchanged(known);
            }
            if compare(
                mark.resource_version.as_ref(),
                known_mark.resource_version.as_ref(),
            ) == Some(Ordering::Less)
                && !mutant!("fifo-take-older-copy")
            {
                return Verdict::Stale;
            }
            take_or_new_life(&mark, known)
        }
    }
}

fn take_or_new_life<K: Object>(mark: &Known, known: Arc<K>) -> Verdict<K> {
    let known_mark = Known::of(&*known);
    if is_other_life(mark.uid.as_ref(), known_mark.uid.as_ref()) && !mutant!("fifo-miss-new-uid") {
        Verdict::NewLife(known)
    } else {
        Verdict::Take
    }
}

/// Judges a copy that a list holds.
pub(crate) fn judge_listed<K: Object>(
    newest: Newest<K>,
    object: &K,
    order: ListOrder,
) -> Verdict<K> {
    if !order.rewind && !order.arrived_meanwhile {
        return judge_event(newest, object);
    }
    let version = object.resource_version();
    let is_newer = |other: Option<&ResourceVersion>| {
        if order.rewind {
            !order.arrived_meanwhile
        } else {
            compare(version.as_ref(), other) == Some(Ordering::Greater)
        }
    };
    match newest {
        Newest::Absent => Verdict::Take,
        Newest::Undone(known) => take_or_new_life(&Known::of(object), known),
        Newest::Gone(at) if is_newer(at.as_ref()) => Verdict::Take,
        Newest::Gone(_) => Verdict::Stale,
        Newest::Present(known) => {
            let (mark, known_mark) = (Known::of(object), Known::of(&*known));
            if is_newer(known_mark.resource_version.as_ref()) {
                return take_or_new_life(&mark, known);
            }
            if mark.is_same_copy(&known_mark) {
                return Verdict::Unchanged(known);
            }
            Verdict::Stale
        }
    }
}

/// Whether an object that a list lacks stays nevertheless, being newer than the list.
pub(crate) fn outlives_list<K: Object>(object: &K, end: &ReplaceEnd, meanwhile: bool) -> bool {
    if end.rewind {
        return meanwhile;
    }
    let version = object.resource_version();
    match compare(version.as_ref(), Some(&end.resource_version)) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Less | Ordering::Equal) => false,
        None => meanwhile,
    }
}

/// Judges a deletion that a watch brought.
pub(crate) fn judge_deletion<K: Object>(
    newest: Newest<K>,
    deletion: Deletion<K>,
) -> DeleteVerdict<K> {
    let known = match newest {
        Newest::Absent => return DeleteVerdict::Unknown,
        Newest::Gone(_) => return DeleteVerdict::Again(deletion.object),
        Newest::Undone(known) => {
            let uid = known.uid();
            let other_life = is_other_life(deletion.uid.as_ref(), uid.as_ref());
            let last = deletion.object.filter(|_| !other_life);
            return DeleteVerdict::Take(match last {
                Some(object) => Deleted::LastState(object),
                None => Deleted::FinalStateUnknown(known),
            });
        }
        Newest::Present(known) => known,
    };
    let known_mark = Known::of(&*known);
    let order = compare(
        deletion.resource_version.as_ref(),
        known_mark.resource_version.as_ref(),
    );
    let other_life = is_other_life(deletion.uid.as_ref(), known_mark.uid.as_ref());
    match (other_life, order) {
        (_, Some(Ordering::Less)) => DeleteVerdict::Stale,
        // A later life of the name was missed and has ended: so has the one that is known.
        (true, Some(Ordering::Greater)) => DeleteVerdict::Take(Deleted::FinalStateUnknown(known)),
        (true, _) => DeleteVerdict::Stale,
        (false, _) => DeleteVerdict::Take(match deletion.object {
            Some(object) => Deleted::LastState(object),
            None => Deleted::FinalStateUnknown(known),
        }),
    }
}
