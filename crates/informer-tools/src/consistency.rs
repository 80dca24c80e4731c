//! A check for those who look for faults in servers or in this library: is a list of the store's resource version what
//! the store has?

use std::collections::HashSet;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use futures_core::Stream as _;
use informer_reflector::{ListEvent, ListRequest, ListWatchError, ListerWatcher};
use informer_store::{Object, ObjectKey, ObjectVersion, ResourceVersion, Snapshot};
use informer_wire::{Decoded, ListMeta, ListOptions, NewestFn, ResourceVersionMatch, Status};

/// Lists a collection at exactly the resource version of a snapshot, page by page, and compares UIDs and resource
/// versions of all objects.
///
/// The options are those by which the store is filled: selectors, and a limit if pages are wanted. Resource versions and
/// continue tokens in them are overwritten. Of the list only keys are kept; objects that the store has in the same
/// version need not be decoded again.
///
/// What a store cannot know is no difference: objects that [cannot be decoded](Snapshot::is_stale), and versions newer
/// than the snapshot's, which an informer may have applied already. A *deletion* that is applied ahead of the version
/// shows as [`missing`](Consistency::missing); check again with a later snapshot: a fault remains, this does not. Objects
/// whose transform removes UID or resource version always differ.
///
/// ```
/// # use futures_util::stream;
/// # use informer_reflector::{ListWatch, ListWatchError};
/// # use informer_wire::{ListMeta, WatchEvent};
/// use informer_store::Store;
/// use informer_tools::check_consistency;
/// use informer_wire::ListOptions;
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// # fn map(name: &str, version: &str) -> ConfigMap {
/// #     let mut map = ConfigMap::default();
/// #     map.metadata.name = Some(name.into());
/// #     map.metadata.resource_version = Some(version.into());
/// #     map
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let maps = ListWatch::new(
/// #     |_: ListOptions| async { Ok::<_, ListWatchError>((vec![map("a", "5"), map("b", "6")], ListMeta::at(7.into()))) },
/// #     |_: ListOptions| async { Ok::<_, ListWatchError>(stream::pending::<Result<WatchEvent<ConfigMap>, ListWatchError>>()) },
/// # );
/// let store: Store<ConfigMap> = Store::new();
/// store.replace([map("a", "5"), map("b", "4")], 7.into())?;
///
/// let found = check_consistency(&maps, &store.snapshot(), ListOptions::default()).await?;
/// assert!(!found.is_consistent());
/// assert_eq!(found.different[0].key.name(), "b");
/// println!("{found}");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the snapshot has no resource version yet, or that version cannot be listed.
///
/// # Cancel safety
/// Dropping the future ends the request. It has no time limit of its own.
#[doc(alias = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR")]
pub async fn check_consistency<L: ListerWatcher>(
    lister_watcher: &L,
    snapshot: &Snapshot<L::Object>,
    mut options: ListOptions,
) -> Result<Consistency, ConsistencyError> {
    let version = snapshot.resource_version();
    let version = version.filter(|version| !version.is_unset());
    let version = version.ok_or(ConsistencyError::NotSynced)?.clone();
    options.continue_token = None;
    options.resource_version = Some(version.clone());
    options.resource_version_match = Some(ResourceVersionMatch::Exact);
    let mut comparison = Comparison::new(snapshot, version.clone());
    let mut tokens = HashSet::new();
    let newest = newest_in(snapshot);
    loop {
        let request = ListRequest::new(options.clone()).newest(Arc::clone(&newest));
        let meta = read_page(lister_watcher, request, &mut comparison).await;
        let meta = meta.map_err(|error| ConsistencyError::of(error, &version))?;
        if meta.resource_version.as_ref() != Some(&version) {
            return Err(ConsistencyError::OtherVersion {
                requested: version,
                listed: meta.resource_version,
            });
        }
        let Some(token) = meta.continue_token.filter(|token| !token.is_empty()) else {
            return Ok(comparison.finish());
        };
        if !tokens.insert(token.clone()) {
            let repeated = ListWatchError::Protocol("continue token repeated");
            return Err(ConsistencyError::List(repeated));
        }
        // A token stands for a version, and servers refuse both at once.
        options.resource_version = None;
        options.resource_version_match = None;
        options.continue_token = Some(token);
    }
}

/// Returns what the store has from the server, not what is laid over it locally.
fn newest_in<K: Object>(snapshot: &Snapshot<K>) -> Arc<NewestFn<K>> {
    let snapshot = snapshot.clone();
    Arc::new(move |key| {
        Some((
            snapshot.key(key)?.clone(),
            Arc::clone(snapshot.observed(key)?),
        ))
    })
}

async fn read_page<L: ListerWatcher>(
    lister_watcher: &L,
    request: ListRequest<L::Object>,
    comparison: &mut Comparison<'_, L::Object>,
) -> Result<ListMeta, ListWatchError> {
    let page = lister_watcher.list(request).await?;
    let mut page = pin!(page);
    while let Some(event) = poll_fn(|context| page.as_mut().poll_next(context)).await {
        match event? {
            ListEvent::Item(item) => comparison.compare(&item),
            ListEvent::End(meta) => return Ok(meta),
            _ => {}
        }
    }
    Err(ListWatchError::Protocol("page of a list ended early"))
}

/// How a list compares with a store of the same resource version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consistency {
    /// The resource version of both.
    pub resource_version: ResourceVersion,
    /// The number of listed objects.
    pub listed: usize,
    /// The listed objects that the store does not have, in the order of the list.
    pub missing: Vec<ObjectKey>,
    /// The stored objects that the list does not have, in the order of the store.
    pub unlisted: Vec<ObjectKey>,
    /// The objects that both have, with other UIDs or resource versions, in the order of the list.
    pub different: Vec<Difference>,
}

/// An object that a store has with another UID or resource version than a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The object's key.
    pub key: ObjectKey,
    /// UID and resource version in the store.
    pub stored: ObjectVersion,
    /// UID and resource version in the list.
    pub listed: ObjectVersion,
}

impl Consistency {
    /// Returns `true` if the list and the store agree.
    #[must_use]
    pub const fn is_consistent(&self) -> bool {
        self.missing.is_empty() && self.unlisted.is_empty() && self.different.is_empty()
    }
}

/// The number of keys of a kind that are displayed.
const SHOWN: usize = 5;

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.resource_version;
        if self.is_consistent() {
            return write!(
                f,
                "{} objects agree at resource version {version}",
                self.listed
            );
        }
        let different = self.different.iter().map(|difference| &difference.key);
        write!(f, "store differs from a list of resource version {version}")?;
        write_keys(f, "missing", self.missing.iter())?;
        write_keys(f, "not listed", self.unlisted.iter())?;
        write_keys(f, "in another version", different)
    }
}

fn write_keys<'a>(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    keys: impl ExactSizeIterator<Item = &'a ObjectKey>,
) -> fmt::Result {
    let more = keys.len().saturating_sub(SHOWN);
    for (index, key) in keys.take(SHOWN).enumerate() {
        match index {
            0 => write!(f, "; {what}: {key}")?,
            _ => write!(f, ", {key}")?,
        }
    }
    match more {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

/// Why a store could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsistencyError {
    /// The snapshot has no resource version.
    #[error("store has no resource version yet; check it once its first list is applied")]
    NotSynced,
    /// The server has compacted the snapshot's resource version, or a page's token has expired.
    #[error("resource version {resource_version} is too old to list; check a newer snapshot")]
    Expired {
        /// The version of the snapshot.
        resource_version: ResourceVersion,
        /// The server's error.
        source: ListWatchError,
    },
    /// The server listed another resource version than the one that was asked for, so nothing can be compared.
    #[error("server did not list resource version {requested}, which was requested")]
    OtherVersion {
        /// The version of the snapshot.
        requested: ResourceVersion,
        /// The version of the list, if it has one.
        listed: Option<ResourceVersion>,
    },
    /// The list failed otherwise.
    #[error("cannot list")]
    List(#[source] ListWatchError),
}

impl ConsistencyError {
    fn of(error: ListWatchError, version: &ResourceVersion) -> Self {
        if error.status().is_some_and(Status::is_expired) {
            return Self::Expired {
                resource_version: version.clone(),
                source: error,
            };
        }
        Self::List(error)
    }
}

/// A comparison under way.
struct Comparison<'a, K: Object> {
    snapshot: &'a Snapshot<K>,
    found: Consistency,
    listed: HashSet<ObjectKey>,
}

impl<'a, K: Object> Comparison<'a, K> {
    fn new(snapshot: &'a Snapshot<K>, resource_version: ResourceVersion) -> Self {
        let found = Consistency {
            resource_version,
            listed: 0,
            missing: Vec::new(),
            unlisted: Vec::new(),
            different: Vec::new(),
        };
        let listed = HashSet::with_capacity(snapshot.len());
        Self {
            snapshot,
            found,
            listed,
        }
    }

    fn compare(&mut self, item: &Decoded<K>) {
        match item {
            Decoded::Object(object) if !object.name().is_empty() => {
                let key = ObjectKey::of(object);
                self.compare_versions(&key, &ObjectVersion::of(object));
                self.listed.insert(key);
            }
            Decoded::Unchanged(key, _) => drop(self.listed.insert(key.clone())),
            // It exists. Which version of it the store should have cannot be told.
            Decoded::Undecodable(undecodable) => self.listed.extend(undecodable.key.clone()),
            _ => {}
        }
    }

    fn compare_versions(&mut self, key: &ObjectKey, listed: &ObjectVersion) {
        let Some(stored) = self.observed(key) else {
            self.found.missing.push(key.clone());
            return;
        };
        if stored == *listed || self.snapshot.is_stale(key) || self.is_ahead(&stored) {
            return;
        }
        self.found.different.push(Difference {
            key: key.clone(),
            stored,
            listed: listed.clone(),
        });
    }

    /// Returns what the store has from the server, not what is laid over it locally.
    fn observed(&self, key: &ObjectKey) -> Option<ObjectVersion> {
        self.snapshot
            .observed(key)
            .map(|object| ObjectVersion::of(&**object))
    }

    /// Returns `true` if an object is newer than the snapshot's version says.
    fn is_ahead(&self, stored: &ObjectVersion) -> bool {
        let version = stored.resource_version.as_ref();
        version.is_some_and(|version| self.found.resource_version.is_older_than(version))
    }

    fn finish(mut self) -> Consistency {
        self.found.listed = self.listed.len();
        let unlisted = self.snapshot.keys().filter(|key| {
            let stored = self.observed(key);
            !self.listed.contains(*key) && stored.is_some_and(|stored| !self.is_ahead(&stored))
        });
        self.found.unlisted = unlisted.cloned().collect();
        self.found
    }
}
