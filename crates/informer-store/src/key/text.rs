//! Canonical texts of keys: how they are put together, and their hash.

use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

use arrayvec::ArrayString;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_nano_inline};
use triomphe::Arc;

use super::{Header, KeyError, KeyLike, ObjectKey};
use crate::object::Object;

/// What is between a cluster and the rest. No namespace and no name has a `/`, so that a text is read in one way only,
/// whatever the name of a cluster.
pub(super) const AFTER_CLUSTER: &str = "//";

/// The hash function of keys, one for a process and seeded at random, so that keys take their hash from map to map
/// and nobody can choose names that collide.
static SECRETS: LazyLock<RapidSecrets> =
    LazyLock::new(|| RapidSecrets::seed(std::hash::RandomState::new().hash_one(0)));

/// Returns the hash of a key of this canonical text. For short texts, at the price of long ones.
#[inline]
pub(super) fn hash_text(text: &str) -> u32 {
    fold(rapidhash_v3_nano_inline::<false, false>(
        text.as_bytes(),
        &SECRETS,
    ))
}

/// The hash function of everything else.
static HASHER: LazyLock<rapidhash::fast::RandomState> =
    LazyLock::new(rapidhash::fast::RandomState::new);

/// Returns the hash by which anything but a key (an index value) is found in a directory.
pub(crate) fn hash_value<T: Hash + ?Sized>(value: &T) -> u32 {
    fold(HASHER.hash_one(value))
}

const fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

/// The text of a key, enough to look an object up and to make the key of it.
pub(crate) struct KeyText<'a> {
    text: &'a str,
    header: Header,
}

/// Texts up to this length need no allocation; few are longer.
const SHORT: usize = 192;

/// Where a text is put together: on the stack, mostly. A text is not moved, as copying it takes as long as making it.
pub(crate) struct KeyBuffer {
    short: ArrayString<SHORT>,
    long: String,
}

impl KeyBuffer {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self {
            short: ArrayString::new_const(),
            long: String::new(),
        }
    }

    /// The parts one after the other.
    #[inline]
    fn join(&mut self, cluster: Option<&str>, namespace: &str, name: &str) -> &str {
        let before = cluster.map_or(0, |cluster| cluster.len() + AFTER_CLUSTER.len());
        if before + namespace.len() + 1 + name.len() > SHORT {
            return self.join_long(cluster, namespace, name);
        }
        let text = &mut self.short;
        text.clear();
        if let Some(cluster) = cluster {
            text.push_str(cluster);
            text.push_str(AFTER_CLUSTER);
        }
        if !namespace.is_empty() {
            text.push_str(namespace);
            text.push_str("/");
        }
        text.push_str(name);
        text
    }

    #[cold]
    fn join_long(&mut self, cluster: Option<&str>, namespace: &str, name: &str) -> &str {
        let after_cluster = cluster.map_or("", |_| AFTER_CLUSTER);
        let after_namespace = if namespace.is_empty() { "" } else { "/" };
        let cluster = cluster.unwrap_or_default();
        self.long = [cluster, after_cluster, namespace, after_namespace, name].concat();
        &self.long
    }
}

impl<'a> KeyText<'a> {
    #[inline]
    pub(super) fn new(
        cluster: Option<&str>,
        namespace: &str,
        name: &str,
        buffer: &'a mut KeyBuffer,
    ) -> Self {
        let namespace_at = cluster.map_or(0, |cluster| cluster.len() + AFTER_CLUSTER.len());
        let after_namespace = usize::from(!namespace.is_empty());
        let name_at = namespace_at + namespace.len() + after_namespace;
        let text = buffer.join(cluster, namespace, name);
        // No server allows parts this long; such a text is all name.
        let offsets = u16::try_from(namespace_at)
            .ok()
            .zip(u16::try_from(name_at).ok());
        let (namespace_at, name_at) = offsets.unwrap_or_default();
        Self {
            text,
            header: Header {
                hash: hash_text(text),
                namespace_at,
                name_at,
            },
        }
    }

    /// The text of an object's key.
    #[inline]
    pub(crate) fn try_of<K: Object>(
        object: &K,
        buffer: &'a mut KeyBuffer,
    ) -> Result<Self, KeyError> {
        let (namespace, name) = (object.namespace(), object.name());
        if name.is_empty() {
            return Err(KeyError::new(namespace));
        }
        Ok(Self::new(None, namespace.unwrap_or_default(), name, buffer))
    }

    pub(crate) fn to_key(&self) -> ObjectKey {
        ObjectKey(Arc::from_header_and_str(self.header, self.text))
    }
}

impl KeyLike for KeyText<'_> {
    fn as_text(&self) -> &str {
        self.text
    }

    fn text_hash(&self) -> u32 {
        self.header.hash
    }
}
