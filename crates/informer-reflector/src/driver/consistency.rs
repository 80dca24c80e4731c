//! A check for those who look for faults in servers or in this library: after each list, is a list of just that
//! version the same?

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_core::Stream;
use informer_store::{Known, Object, ObjectKey, ResourceVersion};
use informer_wire::{Decoded, ListOptions, ResourceVersionMatch, SetAside};

use crate::error::ListWatchError;
use crate::lister_watcher::{KnownFn, ListEvent, ListRequest, ListerWatcher};

/// Which copy of each object a list held; `None` for one that cannot be decoded.
pub(super) type Copies = BTreeMap<ObjectKey, Option<Known>>;

/// A check under way.
pub(super) type Check = Pin<Box<dyn Future<Output = Option<Difference>> + Send>>;

/// How often a list that fails is tried again, a second later each time.
const TRIES: u32 = 10;

/// How a list of a version differs from what was handed over at that version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) resource_version: ResourceVersion,
    /// The keys that differ: missing on one side, or in another copy.
    pub(super) keys: Vec<ObjectKey>,
}

/// Lists exactly this version and compares.
pub(super) fn check<L: ListerWatcher>(
    lister_watcher: Arc<L>,
    mut options: ListOptions,
    version: ResourceVersion,
    handed_over: Copies,
) -> Check {
    options.resource_version = Some(version.clone());
    options.resource_version_match = Some(ResourceVersionMatch::Exact);
    Box::pin(async move {
        for _ in 0..TRIES {
            match list(&*lister_watcher, options.clone()).await {
                Ok(listed) => return difference(version, &handed_over, &listed),
                // That version cannot be had any more.
                Err(error)
                    if error
                        .status()
                        .is_some_and(informer_wire::Status::is_expired) =>
                {
                    break;
                }
                Err(error) => tracing::debug!(error = %error.chain(), "the check of a list failed"),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        None
    })
}

async fn list<L: ListerWatcher>(
    lister: &L,
    options: ListOptions,
) -> Result<Copies, ListWatchError> {
    let mut page = std::pin::pin!(lister.list(ListRequest::new(options)).await?);
    let mut copies = Copies::new();
    while let Some(event) = poll_fn(|context| -> Poll<_> { page.as_mut().poll_next(context) }).await
    {
        match event? {
            ListEvent::Item(item) => note(&mut copies, &item, &|_| None),
            ListEvent::End(_) => return Ok(copies),
        }
    }
    Err(ListWatchError::Protocol(
        "a page of a list broke off before its end",
    ))
}

/// Notes which copy a list holds; one that it does not tell of is the one that is known.
pub(super) fn note<K: Object>(copies: &mut Copies, item: &Decoded<K>, known: &KnownFn) {
    let (key, copy) = match item {
        Decoded::Object(object) if !object.name().is_empty() => {
            (ObjectKey::of(object), Some(Known::of(object)))
        }
        Decoded::Unchanged(key) => (key.clone(), known(key)),
        Decoded::SetAside(SetAside { key: Some(key), .. }) => (key.clone(), None),
        _ => return,
    };
    copies.insert(key, copy);
}

/// Notes that a list does not hold an object any more.
pub(super) fn forget<K: Object>(copies: &mut Copies, item: &Decoded<K>) {
    match item {
        Decoded::Object(object) => copies.remove(&ObjectKey::of(object)),
        Decoded::SetAside(SetAside { key: Some(key), .. }) | Decoded::Unchanged(key) => {
            copies.remove(key)
        }
        _ => None,
    };
}

fn difference(version: ResourceVersion, ours: &Copies, theirs: &Copies) -> Option<Difference> {
    let differs = |key: &&ObjectKey| match (ours.get(*key), theirs.get(*key)) {
        (Some(Some(ours)), Some(Some(theirs))) => ours != theirs,
        // One that cannot be decoded says nothing.
        (Some(None), Some(_)) | (Some(_), Some(None)) => false,
        (ours, theirs) => ours.is_some() != theirs.is_some(),
    };
    let missing = theirs.keys().filter(|key| !ours.contains_key(*key));
    let keys: Vec<_> = ours
        .keys()
        .chain(missing)
        .filter(differs)
        .cloned()
        .collect();
    (!keys.is_empty()).then_some(Difference {
        resource_version: version,
        keys,
    })
}

/// Resolves when the check has found a difference.
pub(super) async fn found(check: &mut Option<Check>) -> Difference {
    poll_fn(|context| {
        let Some(running) = check else {
            return Poll::Pending;
        };
        match running.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(outcome) => {
                *check = None;
                outcome.map_or(Poll::Pending, Poll::Ready)
            }
        }
    })
    .await
}
