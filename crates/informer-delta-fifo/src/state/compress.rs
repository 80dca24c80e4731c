//! Compression of a long chain to what a consumer must see.
//!
//! A consumer must see the end of the life that it knows of, and the newest state. What lies between, it may miss.

use std::sync::Arc;

use informer_store::{Object, mutant};

use crate::chain::Chain;
use crate::delta::{Deleted, Delta};
use crate::state::rules::{ChainEnd, chain_end, is_other_life};

/// Compresses a chain that is not empty, for a consumer that has applied `base` before it.
///
/// A deletion at the end stays even if the consumer never knew the object: what arrives later is compared with it.
pub(crate) fn compress<K: Object>(chain: &[Delta<K>], base: Option<&Arc<K>>) -> Chain<K> {
    let mut short = Chain::new();
    let newest = match chain_end(chain) {
        Some(ChainEnd::Present(newest)) => newest,
        Some(ChainEnd::Gone(last)) => {
            let ended = base.map(|base| ending(chain, base).unwrap_or_else(|| unknown(base)));
            short.push(Delta::Deleted(ended.unwrap_or_else(|| last.clone())));
            return short;
        }
        None => return chain.last().cloned().into_iter().collect(),
    };
    let ended = base.and_then(|base| {
        let is_other = is_other_life(newest.uid().as_ref(), base.uid().as_ref());
        ending(chain, base).or_else(|| is_other.then(|| unknown(base)))
    });
    let is_addition = base.is_none() || ended.is_some();
    if !mutant!("fifo-compress-away-the-end") {
        short.extend(ended.map(Delta::Deleted));
    }
    short.push(present(
        chain,
        newest,
        if is_addition {
            Delta::Added
        } else {
            Delta::Updated
        },
    ));
    short.extend(trailing_set_aside(chain));
    short
}

/// The newest state: as news if a watch brought any of the chain, else as what it was.
fn present<K>(chain: &[Delta<K>], newest: &Arc<K>, news: fn(Arc<K>) -> Delta<K>) -> Delta<K> {
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
