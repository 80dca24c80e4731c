//! What deltas say, and how long ones are shortened.

use std::sync::Arc;

use informer_store::Object;

use super::{Newest, identity, is_other_uid};
use crate::delta::{Deleted, Delta};

/// Returns what deltas say of the object, if anything.
pub(super) fn newest<K>(deltas: &[Delta<K>]) -> Option<Newest<K>> {
    let decodable = |delta: &&Delta<K>| delta.object().is_some();
    let last = deltas.iter().rfind(decodable)?;
    let object = Arc::clone(last.object()?);
    Some(match last.is_deleted() {
        true => Newest::Deleted(object),
        false => Newest::Present(object),
    })
}

/// Shortens deltas for a consumer that has `base`; `None` if that is unknown.
pub(super) fn shorten<K: Object>(
    deltas: &[Delta<K>],
    base: Option<Option<Arc<K>>>,
) -> Vec<Delta<K>> {
    let last = || deltas.last().cloned().into_iter().collect::<Vec<_>>();
    let deletions = deltas.iter().filter(|delta| delta.is_deleted());
    let is_of = |delta: &&&Delta<K>, base: &K| {
        let object = delta.object().map(|object| identity(&**object));
        object.is_some_and(|object| !is_other_uid(&object, &identity(base)))
    };
    let mut ended = match &base {
        None => deletions.into_iter().next().cloned(),
        Some(None) => None,
        Some(Some(base)) => deletions.rev().find(|delta| is_of(&delta, base)).cloned(),
    };
    let newest = match newest(deltas) {
        None => return last(),
        Some(Newest::Deleted(_) | Newest::Absent) => {
            return ended.map_or_else(last, |ended| vec![ended]);
        }
        Some(Newest::Present(newest)) => newest,
    };
    if let Some(Some(base)) = &base
        && ended.is_none()
        && is_other_uid(&identity(&**base), &identity(&*newest))
    {
        let tombstone = Deleted::FinalStateUnknown(Arc::clone(base));
        ended = Some(Delta::Deleted(tombstone));
    }
    let has = |name: &str| deltas.iter().any(|delta| delta.type_name() == name);
    let is_added = match &base {
        Some(None) => true,
        Some(Some(_)) => ended.is_some(),
        None => ended.is_some() || deltas[0].type_name() == "Added",
    };
    let state = if has("Added") || has("Updated") {
        let delta = if is_added {
            Delta::Added
        } else {
            Delta::Updated
        };
        delta(newest)
    } else if has("Replaced") {
        Delta::Replaced(newest)
    } else {
        Delta::Sync(newest)
    };
    let undecodable = deltas.last().filter(|delta| delta.object().is_none());
    let all = ended.into_iter().chain([state]);
    all.chain(undecodable.cloned()).collect()
}
