//! What of an object nobody wants: paths of fields that are taken out before anything is built of them.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Fields that are taken out, as a tree of keys. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dropped(Option<Arc<Keys>>);

/// What is taken out below one key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    /// The whole value is.
    whole: bool,
    keys: BTreeMap<String, Self>,
    /// What holds for every key and every element.
    every: Option<Box<Self>>,
}

/// What tells objects apart is never taken out.
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
    /// What is taken out of an object, if anything is.
    pub(crate) fn keys(&self) -> Option<Arc<Keys>> {
        self.0.clone()
    }

    /// Adds the path of these keys. One that would take out what tells objects apart is left alone.
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

/// What becomes of a value.
pub(crate) enum Fate<'a> {
    /// It stays as it is.
    Keep,
    /// It is taken out.
    Drop,
    /// Some of what is in it is taken out.
    Prune(Within<'a>),
}

/// What is taken out within a value: what is named, and what holds for every key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within<'a>([Option<&'a Keys>; 2]);

impl Keys {
    pub(crate) const fn within(&self) -> Within<'_> {
        Within([Some(self), None])
    }
}

impl<'a> Within<'a> {
    /// What becomes of the value of a key, or of the element of an index.
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
    fn what_tells_objects_apart_stays() {
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
    fn keys_and_every_key_are_found() {
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
