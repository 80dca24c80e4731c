//! What was taken out of the queue and is not yet acknowledged. It does not change while it is out.

use std::sync::Arc;
use std::time::Instant;

use hashbrown::HashTable;
use informer_store::{ObjectKey, ReplaceEnd, ResourceVersion};
use smallvec::SmallVec;

use crate::delta::Delta;
use crate::state::list::{ListTable, Listed};
use crate::state::queue::{Entry, KeyQueue};
use crate::state::rules::{ChainEnd, Newest, chain_end};

/// Up to this many entries are searched one by one.
const SEARCH_LINEARLY: usize = 8;

/// The content of a batch.
#[derive(Debug)]
pub(crate) struct Flight<K> {
    /// The entries in order; from `lead` on those that stand at their place in the list.
    pub(crate) entries: SmallVec<[Entry<K>; 1]>,
    pub(crate) lead: usize,
    index: HashTable<u32>,
    /// Boxed because most batches have none.
    pub(crate) replace: Option<Box<FlightReplace<K>>>,
    /// Popped before the queue was synced.
    pub(crate) is_initial: bool,
    pub(crate) applied_up_to: Option<ResourceVersion>,
    pub(crate) since: Option<Instant>,
    pub(crate) emit_replaced: bool,
}

/// The whole list in a batch.
#[derive(Debug)]
pub(crate) struct FlightReplace<K> {
    pub(crate) list: ListTable<K>,
    pub(crate) end: ReplaceEnd,
    /// Up to where everything had arrived before it, if it stands in a line.
    pub(crate) before: Option<ResourceVersion>,
    /// It holds the list whose acknowledgement makes the queue synced.
    pub(crate) completes_sync: bool,
}

impl<K> Flight<K> {
    pub(crate) fn empty() -> Self {
        Self {
            entries: SmallVec::new(),
            lead: 0,
            index: HashTable::new(),
            replace: None,
            is_initial: false,
            applied_up_to: None,
            since: None,
            emit_replaced: true,
        }
    }

    pub(crate) fn new(entries: Vec<Entry<K>>, lead: usize) -> Self {
        let mut flight = Self::empty();
        flight.entries = SmallVec::from_vec(entries);
        flight.lead = lead;
        flight.build_index();
        flight
    }

    /// Fills an empty one with what stands first.
    pub(crate) fn fill(&mut self, queue: &mut KeyQueue<K>, max: usize) {
        let count = max.min(queue.len());
        if count > 1 {
            self.entries.reserve_exact(count);
        }
        while self.entries.len() < max
            && let Some(entry) = queue.pop_front()
        {
            self.entries.push(entry);
        }
        self.lead = self.entries.len();
        self.since = self.entries.first().map(|entry| entry.since);
        self.build_index();
    }

    fn build_index(&mut self) {
        if self.entries.len() <= SEARCH_LINEARLY {
            return;
        }
        let entries = &self.entries;
        self.index.reserve(entries.len(), |_| 0);
        for (at, entry) in (0..).zip(entries) {
            let hash = |&i: &u32| entries[i as usize].key.cached_hash();
            self.index.insert_unique(entry.key.cached_hash(), at, hash);
        }
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> usize {
        self.entries.len()
            + self
                .replace
                .as_ref()
                .map_or(0, |replace| replace.list.live())
    }

    /// How many deltas there are.
    pub(crate) fn deltas(&self) -> usize {
        let listed = self
            .replace
            .as_ref()
            .map_or(0, |replace| replace.list.live());
        self.entries
            .iter()
            .map(|entry| entry.chain.len())
            .sum::<usize>()
            + listed
    }

    pub(crate) fn entry_mut(&mut self, key: &ObjectKey) -> Option<&mut Entry<K>> {
        let at = self.position(key)?;
        self.entries.get_mut(at)
    }

    fn position(&self, key: &ObjectKey) -> Option<usize> {
        if self.index.is_empty() {
            return self.entries.iter().position(|entry| entry.key == *key);
        }
        let same = |&at: &u32| self.entries[at as usize].key == *key;
        self.index
            .find(key.cached_hash(), same)
            .map(|&at| at as usize)
    }

    /// True if the batch tells anything of this key.
    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.position(key).is_some()
            || self
                .replace
                .as_ref()
                .is_some_and(|replace| replace.list.find(key).is_some())
    }

    /// What the batch says of a key, or `None` if it says nothing of its object.
    pub(crate) fn newest(&self, key: &ObjectKey) -> Option<Newest<K>> {
        if let Some(at) = self.position(key) {
            return self.entries[at].newest();
        }
        let list = &self.replace.as_ref()?.list;
        match &list.item(list.find(key)?).what {
            Listed::Object(object) => Some(Newest::Present(Arc::clone(object))),
            _ => None,
        }
    }

    /// All keys and what is said of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, Told<'_, K>)> {
        let lead = self.entries[..self.lead].iter();
        let list = self.replace.iter().flat_map(|replace| replace.list.iter());
        let listed = list.filter_map(|item| match &item.what {
            Listed::Object(object) => Some((&item.key, Told::Listed(object))),
            Listed::SetAside => Some((&item.key, Told::SetAside)),
            Listed::Keep | Listed::Removed => None,
            Listed::Told => self.told_elsewhere(&item.key),
        });
        lead.map(|entry| (&entry.key, Told::Chain(&entry.chain)))
            .chain(listed)
    }

    /// An entry that stands at its place in the list. Others of the list come earlier, at their own place.
    fn told_elsewhere(&self, key: &ObjectKey) -> Option<(&ObjectKey, Told<'_, K>)> {
        if self.lead == self.entries.len() {
            return None;
        }
        let at = self.position(key).filter(|&at| at >= self.lead)?;
        Some((&self.entries[at].key, Told::Chain(&self.entries[at].chain)))
    }
}

impl<K> Entry<K> {
    /// What the chain says of the object.
    pub(crate) fn newest(&self) -> Option<Newest<K>> {
        chain_end(&self.chain).map(|end| match end {
            ChainEnd::Present(object) => Newest::Present(Arc::clone(object)),
            ChainEnd::Gone(_) => Newest::Gone(self.deleted_at.as_deref().cloned()),
        })
    }
}

/// What a batch says of one key.
#[derive(Debug)]
pub(crate) enum Told<'a, K> {
    Chain(&'a [Delta<K>]),
    /// A list holds the object.
    Listed(&'a Arc<K>),
    /// A list holds the object, undecodable.
    SetAside,
}
