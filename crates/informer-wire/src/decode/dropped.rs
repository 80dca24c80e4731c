//! Fields that are dropped from objects before anything is built of them.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Fields that are taken out, as a tree of keys. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dropped(Option<Arc<Keys>>);

/// The keys that are dropped below one key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    /// The whole value is.
    whole: bool,
    keys: BTreeMap<String, Self>,
    /// The keys that are dropped below every key and element.
    every: Option<Box<Self>>,
}

/// What identifies an object is never dropped.
const KEPT: [&str; 7] = [
    "apiVersion",
    "kind",
    "metadata",
    "metadata/name",
    "metadata/namespace",
    "metadata/uid",
    "metadata/resourceVersion",
];

impl Dropped {
    /// Returns the fields that are dropped, if any.
    pub(crate) fn keys(&self) -> Option<Arc<Keys>> {
        self.0.clone()
    }

    /// Adds the path of these keys. A path that would drop what identifies an object is ignored.
    pub(crate) fn add(&mut self, path: &[String]) {
        if path.is_empty() || path[0] == "*" || KEPT.contains(&&*path.join("/")) {
            return;
        }
        if path[0] == "metadata" && path[1] == "*" && path.len() == 2 {
            return;
        }
        let mut keys = Arc::make_mut(self.0.get_or_insert_default());
        for key in path {
            keys = if key == "*" {
                keys.every.get_or_insert_default()
            } else {
                keys.keys.entry(key.clone()).or_default()
            };
        }
        keys.whole = true;
    }
}

/// What happens to a value.
pub(crate) enum Fate<'a> {
    /// It stays.
    Keep,
    /// It is dropped.
    Drop,
    /// A part of it is dropped.
    Prune(Within<'a>),
}

/// The keys that are dropped within a value: below its own key, and below every key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within<'a>([Option<&'a Keys>; 2]);

impl Keys {
    pub(crate) const fn within(&self) -> Within<'_> {
        Within([Some(self), None])
    }
}

impl<'a> Within<'a> {
    /// Returns what happens to the value of a key, or to the element of an index.
    pub(crate) fn fate(self, key: &str) -> Fate<'a> {
        let named = |keys: &'a Keys| keys.keys.get(key);
        let every = |keys: &'a Keys| keys.every.as_deref();
        let [a, b] = self.0;
        let found = [
            a.and_then(named),
            a.and_then(every),
            b.and_then(named),
            b.and_then(every),
        ];
        let mut found = found.into_iter().flatten();
        match (found.next(), found.next()) {
            (None, _) => Fate::Keep,
            (Some(one), other) if one.whole || other.is_some_and(|other| other.whole) => Fate::Drop,
            (one, other) => Fate::Prune(Within([one, other])),
        }
    }
}

/// The keys of a JSON pointer.
pub(crate) fn keys_of(path: &str) -> Vec<String> {
    path.split('/')
        .skip(1)
        .map(|key| key.replace("~1", "/").replace("~0", "~"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_of_objects_is_never_dropped() {
        let mut dropped = Dropped::default();
        for path in [
            "",
            "/",
            "/metadata",
            "/metadata/name",
            "/*",
            "/metadata/*",
            "/kind",
            "spec",
        ] {
            dropped.add(&keys_of(path));
        }
        let keys = dropped.keys();
        // The empty key is a key like others.
        assert!(keys.is_none_or(|keys| matches!(keys.within().fate("metadata"), Fate::Keep)));
    }

    #[test]
    fn dropped_keys_and_wildcards_are_found() {
        let mut dropped = Dropped::default();
        for path in ["/a/b", "/a/*/c", "/a/x~1y"] {
            dropped.add(&keys_of(path));
        }
        let keys = dropped.keys().expect("there are paths");
        let Fate::Prune(a) = keys.within().fate("a") else {
            panic!("a is looked into")
        };
        assert!(matches!(a.fate("b"), Fate::Drop));
        assert!(matches!(a.fate("x/y"), Fate::Drop));
        let Fate::Prune(other) = a.fate("0") else {
            panic!("elements are looked into")
        };
        assert!(matches!(other.fate("c"), Fate::Drop));
        assert!(matches!(other.fate("d"), Fate::Keep));
        assert!(matches!(keys.within().fate("z"), Fate::Keep));
    }
}
