//! Object keys: cluster, namespace and name of an object in one small shared value.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};

use triomphe::{Arc, HeaderSlice};

use self::text::{AFTER_CLUSTER, hash_text};
use crate::object::Object;

mod parse;
mod text;

pub use self::parse::{KeyError, ParseKeyError};
pub(crate) use self::text::{KeyBuffer, KeyText, hash_value};

/// The namespace and name of an object, and its cluster in a cache of several.
///
/// The canonical text is `namespace/name`, or `name` for a cluster-scoped object, after `cluster//` if there is a
/// cluster. As no server allows a `/` in a namespace or a name, a text is that of one key only, whatever the name of
/// the cluster. A key is one shared allocation: cloning it copies a pointer. It carries the hash of its text, and the
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
/// assert_eq!(key.in_cluster("west").as_str(), "west//shop/cart-1");
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
    /// The start of the namespace, after `cluster//`.
    namespace_at: u16,
    /// The start of the name, after `namespace/`.
    name_at: u16,
}

/// What an object is looked up by: its [`ObjectKey`], or the key's canonical text.
///
/// A key has its hash; a text is hashed. Neither allocates.
pub trait KeyLike: sealed::Sealed {
    /// Returns the canonical text.
    fn as_text(&self) -> &str;

    /// Returns the hash that the key of this text has.
    #[doc(hidden)]
    fn text_hash(&self) -> u32 {
        hash_text(self.as_text())
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::ObjectKey {}
    impl Sealed for super::KeyText<'_> {}
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

/// Returns the hash of a key that directories use.
pub(crate) fn short_hash<Q: KeyLike + ?Sized>(key: &Q) -> u32 {
    key.text_hash()
}

impl ObjectKey {
    /// Makes the key of an object in a namespace, or of a cluster-scoped object if the namespace is empty.
    #[must_use]
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        Self::build(None, namespace, name)
    }

    /// Makes the key of a cluster-scoped object.
    #[must_use]
    pub fn cluster_scoped(name: &str) -> Self {
        Self::build(None, "", name)
    }

    /// Returns the key of an object. For an object without a name it is a key that no object of a server has; use
    /// [`try_of`](Self::try_of) where there are such objects.
    #[must_use]
    #[doc(alias = "MetaNamespaceKeyFunc")]
    pub fn of<K: Object>(object: &K) -> Self {
        Self::build(None, object.namespace().unwrap_or_default(), object.name())
    }

    /// Returns the key of an object that may lack a name (one with only a `generateName`).
    ///
    /// # Errors
    /// If the object has no name.
    pub fn try_of<K: Object>(object: &K) -> Result<Self, KeyError> {
        Ok(KeyText::try_of(object, &mut KeyBuffer::new())?.to_key())
    }

    /// Returns this key in a cluster; in none, if the cluster's name is empty.
    #[must_use]
    pub fn in_cluster(&self, cluster: &str) -> Self {
        Self::build(
            Some(cluster).filter(|cluster| !cluster.is_empty()),
            self.namespace().unwrap_or_default(),
            self.name(),
        )
    }

    fn build(cluster: Option<&str>, namespace: &str, name: &str) -> Self {
        KeyText::new(cluster, namespace, name, &mut KeyBuffer::new()).to_key()
    }

    /// Returns the canonical text: `namespace/name`, `name`, or either after `cluster//`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.slice
    }

    /// Returns the object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.as_str()[self.0.header.name_at as usize..]
    }

    /// Returns the object's namespace; `None` if it is cluster-scoped.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        let (from, to) = (
            self.0.header.namespace_at as usize,
            self.0.header.name_at as usize,
        );
        (from < to).then(|| &self.as_str()[from..to - 1])
    }

    /// Returns the cluster, if the key has one.
    #[must_use]
    pub fn cluster(&self) -> Option<&str> {
        let to = self.0.header.namespace_at as usize;
        (to > 0).then(|| &self.as_str()[..to - AFTER_CLUSTER.len()])
    }

    /// Returns the hash of the canonical text, which was computed once. It differs between processes.
    #[must_use]
    pub fn cached_hash(&self) -> u64 {
        // Spread, for maps that look at the upper bits.
        u64::from(self.0.header.hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
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
mod tests;
