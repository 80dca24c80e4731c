//! Lists and resyncs, as the model queues them.

use std::cmp::Ordering;
use std::sync::Arc;

use informer_store::{ListEnd, Object, ObjectKey};

use super::{Item, Newest, State, Unit, identity, is_other_uid, is_same_uid, order};
use crate::delta::{Deleted, Delta};

/// What a list or resync queues of a key.
type Queued<K> = (ObjectKey, Vec<Delta<K>>);

impl<K: Object> State<K> {
    pub(super) fn replace(&mut self, list: &[(ObjectKey, Option<Arc<K>>)], end: &ListEnd) {
        let is_rewind = end.rewind || self.needs_list && self.rewound;
        let end = &end.clone().rewind(is_rewind);
        let is_listed = |key: &ObjectKey| list.iter().any(|(listed, _)| listed == key);
        let mut present: Vec<ObjectKey> = self.entries().map(|entry| entry.key.clone()).collect();
        present.extend(self.flying().map(|entry| entry.key.clone()));
        if let Some(known) = &self.config.known {
            known.for_each_known(&mut |key, _| present.push(key.clone()));
        }
        let mut unseen = Vec::new();
        let mut queued: Vec<Queued<K>> = Vec::new();
        for key in present {
            let is_new = !queued.iter().any(|(queued, _)| *queued == key);
            if !is_listed(&key) && is_new {
                self.compare_missing(&key, &mut queued, &mut unseen);
            }
        }
        let mut items = Vec::new();
        for (key, object) in list {
            match (object, self.newest(key)) {
                (None, Newest::Present(newest)) => {
                    let end_identity = (None, Some(end.resource_version.clone()));
                    let is_newer = order(&identity(&*newest), &end_identity);
                    if end.rewind && is_newer == Some(Ordering::Greater) {
                        self.compare_missing(key, &mut queued, &mut unseen);
                    } else {
                        items.push((key.clone(), vec![Delta::Undecodable(None)]));
                    }
                }
                (None, _) => {}
                (Some(object), newest) => {
                    items.push((key.clone(), self.compare(key, object, newest, end.rewind)));
                }
            }
        }
        unseen.iter().for_each(|key| self.forget(key));
        queued.extend(items);
        queued.retain(|(_, deltas)| !deltas.is_empty());
        let unit = Unit {
            list: Some(end.clone()),
            ..Unit::default()
        };
        self.push_unit(queued, unit);
        if end.rewind {
            self.applied = None;
            self.rewound = true;
        }
        let version = Some(end.resource_version.clone());
        self.set_received(version.filter(|version| !version.is_unset()));
        self.needs_list = false;
        if !self.is_populated {
            self.is_populated = true;
            self.is_synced = self.entries().next().is_none() && self.flight.is_none();
        }
    }

    fn compare_missing(
        &self,
        key: &ObjectKey,
        queued: &mut Vec<Queued<K>>,
        unseen: &mut Vec<ObjectKey>,
    ) {
        let Newest::Present(newest) = self.newest(key) else {
            return;
        };
        if self.is_unseen(key) {
            unseen.push(key.clone());
        } else {
            let tombstone = Deleted::FinalStateUnknown(newest);
            queued.push((key.clone(), vec![Delta::Deleted(tombstone)]));
        }
    }

    fn compare(
        &self,
        key: &ObjectKey,
        object: &Arc<K>,
        newest: Newest<K>,
        is_rewind: bool,
    ) -> Vec<Delta<K>> {
        let replaced = Delta::Replaced(Arc::clone(object));
        let Newest::Present(newest) = newest else {
            return vec![replaced];
        };
        let (own, other) = (identity(&**object), identity(&*newest));
        let age = order(&own, &other).filter(|_| is_same_uid(&own, &other));
        if is_other_uid(&own, &other) {
            let tombstone = Deleted::FinalStateUnknown(newest);
            return vec![Delta::Deleted(tombstone), replaced];
        }
        let is_same = age == Some(Ordering::Equal) || Arc::ptr_eq(object, &newest);
        match age {
            _ if is_rewind => vec![replaced],
            _ if is_same && self.is_queued(key) => vec![],
            _ if is_same => vec![Delta::Replaced(newest)],
            Some(Ordering::Less) => vec![],
            _ => vec![replaced],
        }
    }

    pub(super) fn resync(&mut self) {
        let Some(known) = self.config.known.clone().filter(|_| !self.needs_list) else {
            return;
        };
        let mut queued = Vec::new();
        known.for_each_known(&mut |key, object| {
            if !self.is_queued(key) && !self.is_flying(key) {
                queued.push((key.clone(), vec![Delta::Sync(Arc::clone(object))]));
            }
        });
        let unit = Unit {
            is_resync: true,
            ..Unit::default()
        };
        self.push_unit(queued, unit);
    }

    fn push_unit(&mut self, queued: Vec<Queued<K>>, mut unit: Unit) {
        self.tick += 1;
        unit.deltas = queued.iter().map(|(_, deltas)| deltas.len()).sum();
        if self.by_key() {
            // It becomes one with a unit that is queued.
            let mut rest = Vec::new();
            for item in self.queue.drain(..) {
                match item {
                    Item::End(older, _) => unit = merged(older, unit),
                    item => rest.push(item),
                }
            }
            self.queue = rest;
        } else {
            self.queue.push(Item::Start(self.tick));
        }
        for (key, deltas) in queued {
            self.push(&key, deltas);
        }
        self.queue.push(Item::End(unit, self.tick));
        self.bound_units();
    }
}

/// Makes one unit of two.
pub(super) fn merged(older: Unit, newer: Unit) -> Unit {
    let is_rewind = older.list.as_ref().is_some_and(|end| end.rewind);
    let list = match (newer.list, older.list) {
        (Some(end), _) => {
            let rewind = end.rewind || is_rewind;
            Some(end.rewind(rewind))
        }
        (None, older) => older,
    };
    Unit {
        list,
        is_resync: older.is_resync || newer.is_resync,
        deltas: older.deltas + newer.deltas,
    }
}
