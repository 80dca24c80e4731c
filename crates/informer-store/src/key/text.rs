//! Canonical texts of keys: how they are put together, and their hash.

use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

use arrayvec::ArrayString;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_nano_inline};
use triomphe::Arc;

use super::{Header, KeyError, KeyLike, ObjectKey};
use crate::object::Object;

/// What stands between a cluster and the rest. No namespace and no name holds a `/`, so that a text is read in one way
/// only, whatever a cluster is called.
pub(super) const AFTER_CLUSTER: &str = "//";

/// The hash function of keys, one for a process and seeded at random, so that keys can carry their hash from map to
/// map and nobody can choose names that collide.
static SECRETS: LazyLock<RapidSecrets> =
    LazyLock::new(|| RapidSecrets::seed(std::hash::RandomState::new().hash_one(0)));

/// The hash that a key of this canonical text carries. Made for short texts, at the price of long ones.
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

/// The hash by which anything that is no key (an index value) is found in a directory.
pub(crate) fn hash_value<T: Hash + ?Sized>(value: &T) -> u32 {
    fold(HASHER.hash_one(value))
}

const fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
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
    pub(super) fn new(cluster: Option<&str>, namespace: &str, name: &str) -> Self {
        let before = cluster.map_or(0, |cluster| cluster.len() + AFTER_CLUSTER.len());
        let length = before + namespace.len() + 1 + name.len();
        let mut text = if length <= SHORT {
            TextBuffer::Short(ArrayString::new_const())
        } else {
            TextBuffer::Long(String::with_capacity(length))
        };
        let mut namespace_at = 0;
        if let Some(cluster) = cluster {
            text.push(cluster);
            namespace_at = text.push(AFTER_CLUSTER);
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
            return Err(KeyError::new(namespace));
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
