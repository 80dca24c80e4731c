//! The objects of one resource: the live ones and the history behind them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::history::{Change, History};
use super::object::StoredObject;

/// A part of the key space: everything, or one namespace, from a key on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    prefix: String,
}

impl Scope {
    /// Makes the scope of one namespace; the empty one stands for all objects.
    pub(crate) fn new(namespace: &str) -> Self {
        let prefix = if namespace.is_empty() {
            String::new()
        } else {
            format!("{namespace}/")
        };
        Self { prefix }
    }

    pub(crate) fn contains(&self, key: &str) -> bool {
        key.starts_with(&self.prefix)
    }

    /// Returns the part of a key behind the scope's own, which a continue token has.
    pub(crate) fn relative<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(self.prefix.as_str()).unwrap_or(key)
    }

    pub(crate) fn absolute(&self, relative: &str) -> String {
        format!("{}{relative}", self.prefix)
    }
}

/// The live objects of one resource, sorted by key, and its history.
#[derive(Debug)]
pub(crate) struct Collection {
    live: BTreeMap<String, Arc<StoredObject>>,
    history: History,
}

impl Collection {
    pub(crate) fn new(floor: u64, history_limit: usize) -> Self {
        Self {
            live: BTreeMap::new(),
            history: History::new(floor, history_limit),
        }
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn history_mut(&mut self) -> &mut History {
        &mut self.history
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<StoredObject>> {
        self.live.get(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    /// Stores an object's new version, or removes it, and keeps the change.
    pub(crate) fn apply(&mut self, key: &str, revision: u64, new: Option<Arc<StoredObject>>) {
        let old = match &new {
            Some(object) => self.live.insert(key.to_owned(), object.clone()),
            None => self.live.remove(key),
        };
        self.history.push(Change { revision, old, new });
    }

    /// Replaces the live objects, without a change in the history.
    pub(super) fn set_live(&mut self, objects: Vec<Arc<StoredObject>>) {
        let keyed = objects.into_iter();
        self.live = keyed
            .map(|object| (object.key().to_owned(), object))
            .collect();
    }

    /// Returns the live objects of a scope, from a key on (inclusive), in the order of their keys.
    pub(crate) fn live<'a>(
        &'a self,
        scope: &'a Scope,
        from: &str,
    ) -> impl Iterator<Item = &'a Arc<StoredObject>> {
        let start = if from > scope.prefix.as_str() {
            from
        } else {
            scope.prefix.as_str()
        };
        self.live
            .range::<str, _>((Bound::Included(start), Bound::Unbounded))
            .take_while(|(key, _)| scope.contains(key))
            .map(|(_, object)| object)
    }

    /// Returns the objects of a scope as they were at a revision inside the history window.
    pub(crate) fn at(&self, revision: u64, scope: &Scope, from: &str) -> Vec<Arc<StoredObject>> {
        let undo = self.history.undo_to(revision);
        if undo.is_empty() {
            return self.live(scope, from).cloned().collect();
        }
        let mut then: BTreeMap<&str, &Arc<StoredObject>> = self
            .live(scope, from)
            .map(|object| (object.key(), object))
            .collect();
        for (key, old) in undo {
            if !scope.contains(key) || key < from {
                continue;
            }
            match old {
                Some(object) => then.insert(key, object),
                None => then.remove(key),
            };
        }
        then.into_values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::ResourceType;

    fn object(key: &str, revision: u64) -> Arc<StoredObject> {
        let resource = ResourceType::new("g", "v1", "K", "ks");
        let (namespace, name) = key.split_once('/').unwrap();
        let value = json!({"metadata": {"name": name, "namespace": namespace}});
        Arc::new(StoredObject::encode(&resource, &value, revision))
    }

    fn keys(objects: &[Arc<StoredObject>]) -> Vec<&str> {
        objects.iter().map(|object| object.key()).collect()
    }

    #[test]
    fn scope_excludes_namespaces_with_the_same_prefix() {
        let mut collection = Collection::new(0, 100);
        for (at, key) in ["a/x", "a-b/y", "ab/z", "a/y"].into_iter().enumerate() {
            let revision = at as u64 + 1;
            collection.apply(key, revision, Some(object(key, revision)));
        }
        let scope = Scope::new("a");
        assert_eq!(keys(&collection.at(4, &scope, "")), ["a/x", "a/y"]);
        assert_eq!(keys(&collection.at(4, &scope, "a/xa")), ["a/y"]);
        assert_eq!(keys(&collection.at(3, &scope, "")), ["a/x"]);
        assert_eq!(
            keys(&collection.at(4, &Scope::new(""), "")),
            ["a-b/y", "a/x", "a/y", "ab/z"]
        );
    }

    #[test]
    fn collection_at_a_revision_has_the_objects_of_then() {
        let mut collection = Collection::new(0, 100);
        collection.apply("n/a", 1, Some(object("n/a", 1)));
        collection.apply("n/b", 2, Some(object("n/b", 2)));
        collection.apply("n/a", 3, None);
        collection.apply("n/a", 4, Some(object("n/a", 4)));
        let at = |revision| {
            let then = collection.at(revision, &Scope::new(""), "");
            then.iter()
                .map(|o| (o.key().to_owned(), o.revision()))
                .collect::<Vec<_>>()
        };
        assert_eq!(at(0), []);
        assert_eq!(at(2), [("n/a".to_owned(), 1), ("n/b".to_owned(), 2)]);
        assert_eq!(at(3), [("n/b".to_owned(), 2)]);
        assert_eq!(at(4), [("n/a".to_owned(), 4), ("n/b".to_owned(), 2)]);
    }
}
