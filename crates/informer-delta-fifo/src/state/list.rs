//! A whole list in compact form: one key and at most one object an item, in list order.
//!
//! Items lie in chunks, so that a long list never needs twice its memory to grow.

use std::sync::Arc;

use hashbrown::HashTable;
use informer_store::ObjectKey;

/// Items a chunk.
const CHUNK: usize = 1024;

/// What a list says of a key.
#[derive(Debug)]
pub(crate) enum Listed<K> {
    /// The object is there, in this state.
    Object(Arc<K>),
    /// The object is there, in the state that is known.
    Keep,
    /// The object is there, in a state that cannot be decoded.
    SetAside,
    /// Listed, but there is nothing to tell here: it is known, or told by an entry of the queue.
    Told,
    /// No longer listed. The key may be listed again at a later position.
    Removed,
}

impl<K> Listed<K> {
    /// True if there is something to tell here.
    fn is_live(&self) -> bool {
        !matches!(self, Self::Told | Self::Removed)
    }
}

#[derive(Debug)]
pub(crate) struct Item<K> {
    pub(crate) key: ObjectKey,
    pub(crate) what: Listed<K>,
}

/// A list, found by position and by key.
#[derive(Debug)]
pub(crate) struct ListTable<K> {
    chunks: Vec<Vec<Item<K>>>,
    index: HashTable<u32>,
    len: usize,
    /// Items that there is something to tell of.
    live: usize,
}

impl<K> ListTable<K> {
    pub(crate) fn new() -> Self {
        Self {
            chunks: Vec::new(),
            index: HashTable::new(),
            len: 0,
            live: 0,
        }
    }

    /// How many items there is something to tell of.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// How many positions there are.
    pub(crate) fn positions(&self) -> usize {
        self.len
    }

    /// The items that there is something to tell of.
    pub(crate) fn live_items(&self) -> impl Iterator<Item = &Item<K>> {
        self.iter().filter(|item| item.what.is_live())
    }

    /// True if some item may be told elsewhere.
    pub(crate) fn has_told(&self) -> bool {
        self.live < self.len
    }

    /// True if the key is listed, told or not.
    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.position(key).is_some()
    }

    /// Where the key stands, if there is something to tell of it here.
    pub(crate) fn find(&self, key: &ObjectKey) -> Option<usize> {
        self.position(key)
            .filter(|&at| self.item(at).what.is_live())
    }

    pub(crate) fn item(&self, at: usize) -> &Item<K> {
        &self.chunks[at / CHUNK][at % CHUNK]
    }

    /// All positions, told or not.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Item<K>> {
        self.chunks.iter().flatten()
    }

    pub(crate) fn into_items(self) -> impl DoubleEndedIterator<Item = Item<K>> {
        self.chunks.into_iter().flatten()
    }

    /// Puts a key at the end, or changes what is said of it in its old place. Returns what was said.
    pub(crate) fn insert(&mut self, key: ObjectKey, what: Listed<K>) -> Option<Listed<K>> {
        if let Some(at) = self.position(&key) {
            return Some(self.set(at, what));
        }
        let at = u32::try_from(self.len).expect("fewer than 2^32 keys fit in memory");
        let hash = key.cached_hash();
        self.live += usize::from(what.is_live());
        self.push(Item { key, what });
        let chunks = &self.chunks;
        let rehash = |&i: &u32| {
            let i = i as usize;
            chunks[i / CHUNK][i % CHUNK].key.cached_hash()
        };
        self.index.insert_unique(hash, at, rehash);
        None
    }

    /// Changes what is said of the key at a position. Returns what was said.
    pub(crate) fn set(&mut self, at: usize, what: Listed<K>) -> Listed<K> {
        self.live += usize::from(what.is_live());
        let old = std::mem::replace(&mut self.chunks[at / CHUNK][at % CHUNK].what, what);
        self.live -= usize::from(old.is_live());
        old
    }

    /// Takes a key out of the list. Returns what was said.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Listed<K>> {
        let at = self.position(key)?;
        let found = self
            .index
            .find_entry(key.cached_hash(), |&i| i as usize == at)
            .ok()?;
        found.remove();
        Some(self.set(at, Listed::Removed))
    }

    fn position(&self, key: &ObjectKey) -> Option<usize> {
        if self.index.is_empty() {
            return None;
        }
        let same = |&at: &u32| self.item(at as usize).key == *key;
        self.index
            .find(key.cached_hash(), same)
            .map(|&at| at as usize)
    }

    fn push(&mut self, item: Item<K>) {
        if self.len.is_multiple_of(CHUNK) {
            // Short lists are many: the first chunk grows as needed.
            let room = if self.len == 0 { 4 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(room));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(item);
            self.len += 1;
        }
    }
}
