//! What was taken out of the queue and is not yet acknowledged. It does not change while it is out.

use std::sync::Arc;

use informer_store::{ObjectKey, ReplaceEnd, ResourceVersion};

use crate::clock::Moment;
use crate::delta::Delta;
use crate::state::list::{ListTable, Listed};
use crate::state::queue::{Entry, KeyQueue, Place};
use crate::state::rules::{ChainEnd, Newest, chain_end};

/// The content of a batch.
#[derive(Debug)]
pub(crate) struct Flight<K> {
    /// The entries in order, and those that stand at their place in the list.
    pub(crate) entries: KeyQueue<K>,
    /// Boxed because most batches have none.
    pub(crate) replace: Option<Box<FlightReplace<K>>>,
    /// Popped before the queue was synced.
    pub(crate) is_initial: bool,
    pub(crate) applied_up_to: Option<ResourceVersion>,
    pub(crate) since: Option<Moment>,
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
            entries: KeyQueue::new(),
            replace: None,
            is_initial: false,
            applied_up_to: None,
            since: None,
            emit_replaced: true,
        }
    }

    /// Fills an empty one with what stands first. A whole queue changes hands as it is.
    pub(crate) fn fill(&mut self, queue: &mut KeyQueue<K>, max: usize) {
        self.since = queue.head().map(|head| head.since);
        if queue.len() <= max {
            std::mem::swap(&mut self.entries, queue);
            return;
        }
        while self.entries.len() < max
            && let Some(entry) = queue.pop_front()
        {
            self.entries.push_back(entry, Place::Single);
        }
    }

    /// Drops what it holds. The memory stays, unless it is much.
    pub(crate) fn clear(&mut self) {
        let mut entries = std::mem::replace(&mut self.entries, KeyQueue::new());
        entries.clear();
        *self = Self::empty();
        self.entries = entries;
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
        self.entries.deltas() + listed
    }

    /// True if the batch tells anything of this key.
    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.entries.find(key).is_some()
            || self
                .replace
                .as_ref()
                .is_some_and(|replace| replace.list.find(key).is_some())
    }

    /// What the batch says of a key, or `None` if it says nothing of its object.
    pub(crate) fn newest(&self, key: &ObjectKey) -> Option<Newest<K>> {
        if let Some(id) = self.entries.find(key) {
            return self.entries.entry(id)?.newest();
        }
        let list = &self.replace.as_ref()?.list;
        match &list.item(list.find(key)?).what {
            Listed::Object(object) => Some(Newest::Present(Arc::clone(object))),
            _ => None,
        }
    }

    /// All keys and what is said of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, Told<'_, K>)> {
        let list = self.replace.iter().flat_map(|replace| replace.list.iter());
        let listed = list.filter_map(|item| match &item.what {
            Listed::Object(object) => Some((&item.key, Told::Listed(object))),
            Listed::SetAside => Some((&item.key, Told::SetAside)),
            Listed::Keep | Listed::Removed => None,
            Listed::Told => self.told_elsewhere(&item.key),
        });
        self.entries.iter().map(told).chain(listed)
    }

    /// An entry that stands at its place in the list. Others of the list come earlier, at their own place.
    fn told_elsewhere(&self, key: &ObjectKey) -> Option<(&ObjectKey, Told<'_, K>)> {
        let id = self.entries.find_listed(key)?;
        self.entries.entry(id).map(told)
    }
}

fn told<K>(entry: &Entry<K>) -> (&ObjectKey, Told<'_, K>) {
    (&entry.key, Told::Chain(&entry.chain))
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
