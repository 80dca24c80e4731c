//! Object keys: cluster, namespace and name of an object in one small shared value.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::hint::black_box;
use std::str::FromStr;
use std::sync::LazyLock;

use arrayvec::ArrayString;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_nano_inline};
use triomphe::{Arc, HeaderSlice};

use crate::object::Object;
use crate::pages::Warm;

/// Where an object lives: its namespace and name, and the cluster for caches that span several.
///
/// The canonical text is `namespace/name`, or `name` for a cluster-scoped object, after `cluster|` if there is a
/// cluster. A key is one shared allocation: cloning it copies a pointer. It carries the hash of its text, and the
/// store finds an object by key or by text without allocating.
///
/// ```
/// use informer_store::ObjectKey;
///
/// let key = ObjectKey::namespaced("shop", "cart-1");
/// assert_eq!(key.as_str(), "shop/cart-1");
/// assert_eq!(key.namespace(), Some("shop"));
/// assert_eq!(key.name(), "cart-1");
/// assert_eq!("shop/cart-1".parse::<ObjectKey>()?, key);
/// assert_eq!(ObjectKey::cluster_scoped("node-a").namespace(), None);
/// # Ok::<(), informer_store::ParseKeyError>(())
/// ```
#[derive(Clone)]
#[doc(alias = "ObjectName")]
#[doc(alias = "NamespacedName")]
#[doc(alias = "ObjectRef")]
pub struct ObjectKey(Arc<HeaderSlice<Header, str>>);

#[derive(Clone, Copy)]
struct Header {
    hash: u32,
    /// Where the namespace starts, after `cluster|`.
    namespace_at: u16,
    /// Where the name starts, after `namespace/`.
    name_at: u16,
}

/// The hash function of keys, one for a process and seeded at random, so that keys can carry their hash from map to
/// map and nobody can choose names that collide.
static SECRETS: LazyLock<RapidSecrets> =
    LazyLock::new(|| RapidSecrets::seed(std::hash::RandomState::new().hash_one(0)));

/// The hash that a key of this canonical text carries. Made for short texts, at the price of long ones.
#[inline]
fn hash_text(text: &str) -> u32 {
    fold(rapidhash_v3_nano_inline::<false, false>(
        text.as_bytes(),
        &SECRETS,
    ))
}

/// The hash function of everything else.
static HASHER: LazyLock<rapidhash::fast::RandomState> =
    LazyLock::new(rapidhash::fast::RandomState::new);

/// The hash by which anything that is no key (an index value) is found in a directory.
pub(crate) fn hash_value<T: Hash + ?Sized>(value: &T) -> u32 {
    fold(HASHER.hash_one(value))
}

const fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

/// What an object can be asked for by: its [`ObjectKey`], or the key's canonical text.
///
/// A key brings its hash along; a text is hashed, and neither allocates.
pub trait KeyLike: sealed::Sealed {
    /// The canonical text.
    fn as_text(&self) -> &str;

    /// The hash that the key of this text carries.
    #[doc(hidden)]
    fn text_hash(&self) -> u32 {
        hash_text(self.as_text())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::ObjectKey {}
    impl Sealed for super::KeyText {}
    impl Sealed for str {}
    impl Sealed for String {}
    impl<T: Sealed + ?Sized> Sealed for &T {}
}

impl KeyLike for ObjectKey {
    fn as_text(&self) -> &str {
        self.as_str()
    }

    fn text_hash(&self) -> u32 {
        self.0.header.hash
    }
}

impl KeyLike for str {
    fn as_text(&self) -> &str {
        self
    }
}

impl KeyLike for String {
    fn as_text(&self) -> &str {
        self
    }
}

impl<T: KeyLike + ?Sized> KeyLike for &T {
    fn as_text(&self) -> &str {
        (**self).as_text()
    }

    fn text_hash(&self) -> u32 {
        (**self).text_hash()
    }
}

/// What directories keep of the hash of a key.
pub(crate) fn short_hash<Q: KeyLike + ?Sized>(key: &Q) -> u32 {
    key.text_hash()
}

impl ObjectKey {
    /// The key of an object in a namespace. An empty namespace gives the key of a cluster-scoped object.
    #[must_use]
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        Self::build(None, namespace, name)
    }

    /// The key of an object outside namespaces.
    #[must_use]
    pub fn cluster_scoped(name: &str) -> Self {
        Self::build(None, "", name)
    }

    /// The key of an object. Of an object without a name it is a key that no object of a server has; where such
    /// objects come in, use [`try_of`](Self::try_of).
    #[must_use]
    #[doc(alias = "MetaNamespaceKeyFunc")]
    pub fn of<K: Object>(object: &K) -> Self {
        Self::build(None, object.namespace().unwrap_or_default(), object.name())
    }

    /// The key of an object that may lack a name (one made by hand, or with only a `generateName`).
    ///
    /// # Errors
    /// When the object has no name.
    pub fn try_of<K: Object>(object: &K) -> Result<Self, KeyError> {
        Ok(KeyText::try_of(object)?.to_key())
    }

    /// The same key in a named cluster.
    #[must_use]
    pub fn in_cluster(&self, cluster: &str) -> Self {
        Self::build(
            Some(cluster),
            self.namespace().unwrap_or_default(),
            self.name(),
        )
    }

    fn build(cluster: Option<&str>, namespace: &str, name: &str) -> Self {
        KeyText::new(cluster, namespace, name).to_key()
    }

    /// The canonical text: `namespace/name`, `name`, or either after `cluster|`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.slice
    }

    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.as_str()[self.0.header.name_at as usize..]
    }

    /// The object's namespace, or `None` if it is cluster-scoped.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        let (from, to) = (
            self.0.header.namespace_at as usize,
            self.0.header.name_at as usize,
        );
        (from < to).then(|| &self.as_str()[from..to - 1])
    }

    /// The cluster, if the key names one.
    #[must_use]
    pub fn cluster(&self) -> Option<&str> {
        let to = self.0.header.namespace_at as usize;
        (to > 0).then(|| &self.as_str()[..to - 1])
    }

    /// The hash of the canonical text, computed once. It differs between processes.
    #[must_use]
    pub fn cached_hash(&self) -> u64 {
        // Spread, so that maps that look at the upper bits find something there.
        u64::from(self.0.header.hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

/// The text of a key on the stack: enough to look an object up, and to make the key of it.
pub(crate) struct KeyText {
    text: TextBuffer,
    header: Header,
}

/// Texts up to this length need no allocation; few are longer.
const SHORT: usize = 192;

enum TextBuffer {
    Short(ArrayString<SHORT>),
    Long(String),
}

impl TextBuffer {
    fn as_str(&self) -> &str {
        match self {
            Self::Short(text) => text,
            Self::Long(text) => text,
        }
    }

    /// Returns the length after it.
    fn push(&mut self, part: &str) -> usize {
        match self {
            // It was chosen because all parts fit.
            Self::Short(text) => text.push_str(part),
            Self::Long(text) => text.push_str(part),
        }
        self.as_str().len()
    }
}

impl KeyText {
    fn new(cluster: Option<&str>, namespace: &str, name: &str) -> Self {
        let length = cluster.map_or(0, |c| c.len() + 1) + namespace.len() + 1 + name.len();
        let mut text = if length <= SHORT {
            TextBuffer::Short(ArrayString::new_const())
        } else {
            TextBuffer::Long(String::with_capacity(length))
        };
        let mut namespace_at = 0;
        if let Some(cluster) = cluster {
            text.push(cluster);
            namespace_at = text.push("|");
        }
        let mut name_at = namespace_at;
        if !namespace.is_empty() {
            text.push(namespace);
            name_at = text.push("/");
        }
        text.push(name);
        let hash = hash_text(text.as_str());
        // No server allows parts this long; such a text is all name.
        let offsets = u16::try_from(namespace_at)
            .ok()
            .zip(u16::try_from(name_at).ok());
        let (namespace_at, name_at) = offsets.unwrap_or_default();
        Self {
            text,
            header: Header {
                hash,
                namespace_at,
                name_at,
            },
        }
    }

    /// The text of an object's key.
    pub(crate) fn try_of<K: Object>(object: &K) -> Result<Self, KeyError> {
        let namespace = object.namespace();
        if object.name().is_empty() {
            return Err(KeyError {
                namespace: namespace.map(str::to_owned),
            });
        }
        Ok(Self::new(
            None,
            namespace.unwrap_or_default(),
            object.name(),
        ))
    }

    pub(crate) fn to_key(&self) -> ObjectKey {
        ObjectKey(Arc::from_header_and_str(self.header, self.text.as_str()))
    }
}

impl KeyLike for KeyText {
    fn as_text(&self) -> &str {
        self.text.as_str()
    }

    fn text_hash(&self) -> u32 {
        self.header.hash
    }
}

/// An object that has no key, since it has no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an object{} has no name and so no key; set metadata.name before it is stored",
    .namespace.as_ref().map(|n| format!(" in namespace {n:?}")).unwrap_or_default())]
pub struct KeyError {
    namespace: Option<String>,
}

impl KeyError {
    /// The namespace of the object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}

/// A text that is no object key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an object key; write \"namespace/name\", or \"name\" for a cluster-scoped object"
)]
pub struct ParseKeyError {
    text: String,
}

impl ParseKeyError {
    /// The text that was refused.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    /// Reads a canonical text: one or two parts around a `/`, with a non-empty name, after an optional `cluster|`.
    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let refuse = || ParseKeyError {
            text: text.to_owned(),
        };
        let (cluster, rest) = match text.split_once('|') {
            Some(("", _)) => return Err(refuse()),
            Some((cluster, rest)) => (Some(cluster), rest),
            None => (None, text),
        };
        let (namespace, name) = match rest.split_once('/') {
            Some(("", _)) => return Err(refuse()),
            Some(parts) => parts,
            None => ("", rest),
        };
        if name.is_empty() || name.contains('/') {
            return Err(refuse());
        }
        Ok(Self::build(cluster, namespace, name))
    }
}

impl Warm for ObjectKey {
    #[inline]
    fn warm(&self) {
        black_box(Arc::strong_count(&self.0));
    }
}

impl PartialEq for ObjectKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.header.hash == other.0.header.hash && self.as_str() == other.as_str())
    }
}

impl Eq for ObjectKey {}

impl Hash for ObjectKey {
    /// Hashes as its canonical text does, so that maps can be asked with a `&str`.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectKey({self})")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_and_text_say_the_same() {
        for (text, cluster, namespace, name) in [
            ("node-a", None, None, "node-a"),
            ("shop/cart-1", None, Some("shop"), "cart-1"),
            ("west|shop/cart-1", Some("west"), Some("shop"), "cart-1"),
            ("west|node-a", Some("west"), None, "node-a"),
        ] {
            let key: ObjectKey = text.parse().expect(text);
            assert_eq!(
                (key.cluster(), key.namespace(), key.name()),
                (cluster, namespace, name)
            );
            assert_eq!(key.to_string(), text);
            assert_eq!(format!("{key:?}"), format!("ObjectKey({text})"));
        }
    }

    // ST17
    #[test]
    fn a_text_that_is_no_key_is_refused_and_quoted() {
        for text in ["", "/", "a/", "/a", "a/b/c", "|a", "c|", "c|/a", "c|a/"] {
            let error = text.parse::<ObjectKey>().expect_err(text);
            assert_eq!(error.text(), text);
            assert!(error.to_string().contains("namespace/name"));
        }
    }

    #[test]
    fn a_text_too_long_for_any_server_is_taken_as_a_name() {
        let namespace = "ä".repeat(40_000);
        let key = ObjectKey::namespaced(&namespace, "name");
        assert_eq!(key.name(), key.as_str());
        assert_eq!((key.namespace(), key.cluster()), (None, None));
        let fits = "x".repeat(60_000);
        assert_eq!(
            ObjectKey::namespaced(&fits, "name").namespace(),
            Some(&*fits)
        );
    }

    #[test]
    fn names_of_one_pattern_are_spread_evenly() {
        let mut buckets = [0u32; 1024];
        let mut tags = [0u32; 256];
        for i in 0..102_400 {
            let hash = hash_text(&format!("ns-{:02}/app-{i:05}", i % 20));
            buckets[hash as usize % 1024] += 1;
            tags[(hash >> 24) as usize] += 1;
        }
        // 100 a bucket and 400 a tag on average; ten standard deviations are room enough for any seed.
        assert!(buckets.iter().all(|n| (1..200).contains(n)), "{buckets:?}");
        assert!(tags.iter().all(|n| (200..600).contains(n)), "{tags:?}");
    }

    proptest! {
        #[test]
        fn a_key_is_equal_to_and_hashes_as_its_text(
            cluster in prop::option::of("[a-z0-9.-]{1,8}"),
            namespace in "([a-z0-9-]{1,250})?",
            name in "[a-zA-Z0-9:|._ä-]{1,12}",
        ) {
            let mut key = ObjectKey::namespaced(&namespace, &name);
            if let Some(cluster) = &cluster {
                key = key.in_cluster(cluster);
            }
            let text = key.as_str().to_owned();
            prop_assert_eq!(key.name(), &name);
            prop_assert_eq!(key.namespace(), Some(&*namespace).filter(|n| !n.is_empty()));
            prop_assert_eq!(key.cluster(), cluster.as_deref());
            prop_assert_eq!(short_hash(&key), short_hash(&text));
            let built = KeyText::new(cluster.as_deref(), &namespace, &name);
            prop_assert_eq!(short_hash(&built), short_hash(&key));
            prop_assert_eq!(built.to_key(), key.clone());
            // A name with the mark of a cluster in it is read as one; no server that is alone hands out clusters.
            if cluster.is_some() || !text.contains('|') {
                prop_assert_eq!(text.parse::<ObjectKey>(), Ok(key.clone()));
            }
            let set = std::collections::HashSet::from([key]);
            prop_assert!(set.contains(text.as_str()));
        }

        #[test]
        fn keys_are_ordered_as_their_texts(a in "[a-c/|]{0,4}", b in "[a-c/|]{0,4}") {
            let (one, two) = (ObjectKey::cluster_scoped(&a), ObjectKey::cluster_scoped(&b));
            prop_assert_eq!(one.cmp(&two), a.cmp(&b));
            prop_assert_eq!(one == two, a == b);
        }
    }
}
