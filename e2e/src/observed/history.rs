//! What a handler saw: its events are checked one by one and added up.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use informer::{Cause, Event, Object, ObjectKey, StoreReader, Uid};

/// How many breaches are kept; the first ones say most.
const MAX_BREACHES: usize = 10;

/// The events of one handler.
pub(crate) struct History<K> {
    store: StoreReader<K>,
    present: HashMap<ObjectKey, Arc<K>>,
    deletions: Vec<Deletion>,
    relisted: Vec<ObjectKey>,
    counts: Counts,
    breaches: Vec<String>,
}

/// A deletion that a handler was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) key: String,
    pub(crate) uid: Option<Uid>,
    pub(crate) final_state_unknown: bool,
}

/// How many events of each sort there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) added: usize,
    pub(crate) updated: usize,
    pub(crate) deleted: usize,
}

impl Counts {
    pub(crate) fn events(self) -> usize {
        self.added + self.updated + self.deleted
    }
}

impl<K: Object> History<K> {
    /// A history of events of the informer with this cache.
    pub(crate) fn new(store: StoreReader<K>) -> Self {
        Self {
            store,
            present: HashMap::new(),
            deletions: Vec::new(),
            relisted: Vec::new(),
            counts: Counts::default(),
            breaches: Vec::new(),
        }
    }

    /// Takes an event in and checks that it may follow the ones before.
    pub(crate) fn take(&mut self, event: Event<K>) {
        let key = event.key();
        self.check_cache(&key, &event);
        match event {
            Event::Added { object, .. } => {
                self.counts.added += 1;
                if self.present.insert(key.clone(), object).is_some() {
                    self.breach(&key, "was added twice");
                }
            }
            Event::Updated { old, new, cause } => {
                self.counts.updated += 1;
                if cause == Cause::Relist {
                    self.relisted.push(key.clone());
                }
                self.check_update(&key, &old, &new);
                self.present.insert(key, new);
            }
            Event::Deleted {
                object,
                final_state_unknown,
            } => {
                self.counts.deleted += 1;
                match self.present.remove(&key) {
                    None => self.breach(&key, "was deleted and is not there"),
                    Some(last) if last.uid() != object.uid() => {
                        self.breach(&key, "was deleted as another object");
                    }
                    Some(_) => {}
                }
                self.deletions.push(Deletion {
                    key: key.to_string(),
                    uid: object.uid(),
                    final_state_unknown,
                });
            }
        }
    }

    fn check_update(&mut self, key: &ObjectKey, old: &Arc<K>, new: &Arc<K>) {
        match self.present.get(key) {
            None => self.breach(key, "was updated and is not there"),
            Some(last) if !Arc::ptr_eq(last, old) => {
                self.breach(
                    key,
                    "was updated from an object that the handler did not have",
                );
            }
            Some(_) => {}
        }
        if old.uid() != new.uid() {
            self.breach(key, "was updated to another object of the same name");
        }
        if !is_older(old, new) {
            self.breach(key, "was updated to a version that is not newer");
        }
    }

    /// The cache must be as new as the event, or newer.
    fn check_cache(&mut self, key: &ObjectKey, event: &Event<K>) {
        let object = event.object();
        let Some(cached) = self.store.get(key) else {
            return;
        };
        if cached.uid() != object.uid() {
            return;
        }
        if matches!(event, Event::Deleted { .. }) {
            self.breach(key, "was deleted and is cached still");
        } else if is_older(&cached, object) {
            self.breach(key, "is older in the cache than in the event");
        }
    }

    fn breach(&mut self, key: &ObjectKey, what: &str) {
        if self.breaches.len() < MAX_BREACHES {
            self.breaches.push(format!("{key} {what}"));
        }
    }

    /// What is wrong: illegal events, and where they do not add up to the cache.
    pub(crate) fn differences(&self) -> Vec<String> {
        let mut differences = self.breaches.clone();
        let snapshot = self.store.snapshot();
        let cached: BTreeMap<_, _> = snapshot
            .iter()
            .map(|(key, k)| (key, identity(&**k)))
            .collect();
        let seen: BTreeMap<_, _> = self
            .present
            .iter()
            .map(|(key, k)| (key, identity(&**k)))
            .collect();
        for (key, is) in &cached {
            match seen.get(key) {
                None => differences.push(format!("{key} is cached and was not told of")),
                Some(told) if told != is => {
                    differences.push(format!(
                        "{key} is cached as {is:?} and was told of as {told:?}"
                    ));
                }
                Some(_) => {}
            }
        }
        let gone = seen.keys().filter(|key| !cached.contains_key(**key));
        differences.extend(gone.map(|key| format!("{key} was told of and is not cached")));
        differences
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn deletions(&self) -> &[Deletion] {
        &self.deletions
    }

    /// The keys of updates that a list brought.
    pub(crate) fn relisted(&self) -> &[ObjectKey] {
        &self.relisted
    }
}

fn is_older<K: Object>(a: &Arc<K>, b: &Arc<K>) -> bool {
    match (a.resource_version(), b.resource_version()) {
        (Some(a), Some(b)) => a.is_older_than(&b),
        _ => false,
    }
}

/// Which version of which object it is.
fn identity<K: Object>(object: &K) -> (String, String) {
    let uid = object.uid().map(|uid| uid.to_string());
    let version = object.resource_version().map(|version| version.to_string());
    (uid.unwrap_or_default(), version.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn pod(uid: &str, version: &str) -> Arc<Pod> {
        let metadata =
            json!({ "name": "a", "namespace": "ns", "uid": uid, "resourceVersion": version });
        let pod = serde_json::from_value(json!({ "metadata": metadata }));
        Arc::new(pod.expect("a pod"))
    }

    fn added(object: &Arc<Pod>) -> Event<Pod> {
        let object = Arc::clone(object);
        Event::Added {
            object,
            initial: false,
        }
    }

    fn updated(old: &Arc<Pod>, new: &Arc<Pod>) -> Event<Pod> {
        let (old, new) = (Arc::clone(old), Arc::clone(new));
        Event::Updated {
            old,
            new,
            cause: Cause::Watch,
        }
    }

    fn deleted(object: &Arc<Pod>) -> Event<Pod> {
        let object = Arc::clone(object);
        Event::Deleted {
            object,
            final_state_unknown: false,
        }
    }

    /// What is said of these events if the cache holds this in the end.
    fn judged(cached: Option<&Arc<Pod>>, events: impl IntoIterator<Item = Event<Pod>>) -> String {
        let store = informer::Store::new();
        if let Some(object) = cached {
            store.add(Arc::clone(object)).expect("it has a name");
        }
        let mut history = History::new(store.reader());
        events.into_iter().for_each(|event| history.take(event));
        history.differences().join("; ")
    }

    #[test]
    fn a_legal_history_that_adds_up_to_the_cache_has_no_differences() {
        let (a, b, c) = (pod("u", "1"), pod("u", "2"), pod("v", "4"));
        assert_eq!(judged(Some(&b), [added(&a), updated(&a, &b)]), "");
        assert_eq!(judged(None, [added(&a), updated(&a, &b), deleted(&b)]), "");
        assert_eq!(judged(Some(&c), [added(&a), deleted(&a), added(&c)]), "");
    }

    #[test]
    fn each_breach_is_told() {
        let (a, b, other) = (pod("u", "1"), pod("u", "2"), pod("v", "4"));
        let cases = [
            (Some(&a), vec![added(&a), added(&a)], "added twice"),
            (Some(&b), vec![updated(&a, &b)], "updated and is not there"),
            (
                Some(&b),
                vec![added(&pod("u", "1")), updated(&a, &b)],
                "did not have",
            ),
            (
                Some(&other),
                vec![added(&a), updated(&a, &other)],
                "another object of the same name",
            ),
            (
                Some(&b),
                vec![added(&b), updated(&b, &a), updated(&a, &b)],
                "not newer",
            ),
            (None, vec![deleted(&a)], "deleted and is not there"),
            (
                None,
                vec![added(&a), deleted(&other)],
                "deleted as another object",
            ),
            (Some(&a), vec![added(&a), deleted(&a)], "cached still"),
            (Some(&a), vec![added(&b)], "older in the cache"),
            (Some(&b), vec![added(&a)], "was told of as"),
            (Some(&a), vec![], "was not told of"),
            (None, vec![added(&a)], "is not cached"),
        ];
        for (cached, events, told) in cases {
            let judged = judged(cached, events);
            assert!(judged.contains(told), "{judged:?} does not say {told:?}");
        }
    }
}
