//! A whole list on its way into the queue.

use std::fmt;
use std::sync::Arc;

use informer_store::{Object, ObjectKey, Replace, ReplaceEnd, mutant};

use crate::shared::Shared;
use crate::state::{ListTable, Listed, Opened};

/// A whole list on its way into a [`DeltaFifo`](crate::DeltaFifo), made by
/// [`begin_replace`](informer_store::DeltaSink::begin_replace).
///
/// Nothing of it is seen before [`finish`](Replace::finish), which takes all of it in at once. Dropped before that,
/// it leaves nothing. Changes that arrive while it is under way count as later than the list where resource versions
/// do not tell.
pub struct FifoReplace<K: Object> {
    shared: Arc<Shared<K>>,
    list: ListTable<K>,
    opened: Opened,
    is_open: bool,
}

impl<K: Object> FifoReplace<K> {
    pub(crate) fn begin(shared: Arc<Shared<K>>) -> Self {
        let opened = shared.change(|state| state.open_list());
        Self {
            shared,
            list: ListTable::new(),
            opened,
            is_open: true,
        }
    }
}

impl<K: Object> Replace<K> for FifoReplace<K> {
    fn insert(&mut self, key: ObjectKey, object: Arc<K>) {
        self.list.insert(key, Listed::Object(object));
    }

    fn keep(&mut self, key: ObjectKey) {
        let key = self.shared.stored_key(&key).unwrap_or(key);
        self.list.insert(key, Listed::Keep);
    }

    fn set_aside(&mut self, key: ObjectKey) {
        if !mutant!("fifo-set-aside-is-absent") {
            self.list.insert(key, Listed::SetAside);
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.list.remove(key);
    }

    fn finish(mut self, end: ReplaceEnd) {
        self.is_open = false;
        let list = std::mem::replace(&mut self.list, ListTable::new());
        let (opened, now) = (self.opened, self.shared.now());
        self.shared
            .change(|state| state.finish_list(list, end, opened, now));
    }
}

impl<K: Object> Drop for FifoReplace<K> {
    fn drop(&mut self) {
        if self.is_open {
            self.shared.change(|state| state.abandon_list());
        }
    }
}

impl<K: Object> fmt::Debug for FifoReplace<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FifoReplace")
            .field("keys", &self.list.live())
            .finish_non_exhaustive()
    }
}
