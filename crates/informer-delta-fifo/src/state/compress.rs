//! Compression of a long chain to what a consumer must see.
//!
//! A consumer must see the end of the life that it knows of, and the newest state. What lies between, it may miss.

use std::sync::Arc;

use informer_store::Object;

use crate::delta::{Chain, Deleted, Delta};
use crate::state::rules::{chain_end, is_other_life};

/// Compresses a chain for a consumer that has applied `base` before it. The result may be empty.
pub(crate) fn compress<K: Object>(chain: &[Delta<K>], base: Option<&Arc<K>>) -> Chain<K> {
    let mut short = Chain::new();
    let newest = match chain_end(chain) {
        Some(Ok(object)) => Some(object),
        Some(Err(_)) => None,
        None => return chain.last().cloned().into_iter().collect(),
    };
    let Some(base) = base else {
        if let Some(newest) = newest {
            short.push(present(chain, newest, Delta::Added));
            short.extend(trailing_set_aside(chain));
        }
        return short;
    };
    let ended = ending(chain, base);
    let Some(newest) = newest else {
        short.push(Delta::Deleted(ended.unwrap_or_else(|| unknown(base))));
        return short;
    };
    if is_other_life(newest.uid().as_ref(), base.uid().as_ref()) || ended.is_some() {
        short.push(Delta::Deleted(ended.unwrap_or_else(|| unknown(base))));
        short.push(present(chain, newest, Delta::Added));
    } else {
        short.push(present(chain, newest, Delta::Updated));
    }
    short.extend(trailing_set_aside(chain));
    short
}

/// The newest state: as news if a watch brought any of the chain, else as what it was.
fn present<K>(
    chain: &[Delta<K>],
    newest: &Arc<K>,
    news: impl FnOnce(Arc<K>) -> Delta<K>,
) -> Delta<K> {
    let object = Arc::clone(newest);
    if chain
        .iter()
        .any(|delta| matches!(delta, Delta::Added(_) | Delta::Updated(_)))
    {
        return news(object);
    }
    if chain
        .iter()
        .any(|delta| matches!(delta, Delta::Replaced(_)))
    {
        return Delta::Replaced(object);
    }
    Delta::Sync(object)
}

/// The last deletion in the chain that ends the life of `base`.
fn ending<K: Object>(chain: &[Delta<K>], base: &K) -> Option<Deleted<K>> {
    let uid = base.uid();
    chain.iter().rev().find_map(|delta| match delta {
        Delta::Deleted(deleted)
            if !is_other_life(deleted.object().uid().as_ref(), uid.as_ref()) =>
        {
            Some(deleted.clone())
        }
        _ => None,
    })
}

fn unknown<K>(base: &Arc<K>) -> Deleted<K> {
    Deleted::FinalStateUnknown(Arc::clone(base))
}

fn trailing_set_aside<K>(chain: &[Delta<K>]) -> Option<Delta<K>> {
    chain
        .last()
        .filter(|delta| matches!(delta, Delta::SetAside(_)))
        .cloned()
}
