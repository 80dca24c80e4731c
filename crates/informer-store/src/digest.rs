//! A few bits that say which labels an object may have, so that a selector seldom looks at the object itself.

use crate::key::hash_value;
use crate::object::ObjectMetadata;

/// A Bloom filter of 64 bits over the labels of one object.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LabelDigest(u64);

impl LabelDigest {
    pub(crate) fn of<M: ObjectMetadata>(metadata: &M) -> Self {
        let mut bits = 0;
        for (key, value) in metadata.labels() {
            let key = hash_value(key);
            bits |= key_bit(key) | pair_bits(key, hash_value(value));
        }
        Self(bits)
    }

    /// False if the object surely lacks a label whose bits these are.
    #[inline]
    pub(crate) const fn may_have(self, bits: u64) -> bool {
        self.0 & bits == bits
    }

    /// The bits of a label of any value.
    pub(crate) fn key_bits(key: &str) -> u64 {
        key_bit(hash_value(key))
    }

    /// The bits of a label of this value.
    pub(crate) fn label_bits(key: &str, value: &str) -> u64 {
        let key = hash_value(key);
        key_bit(key) | pair_bits(key, hash_value(value))
    }
}

const fn key_bit(key: u32) -> u64 {
    1 << (key & 63)
}

/// Two bits, from the top of a product that mixes both hashes.
const fn pair_bits(key: u32, value: u32) -> u64 {
    let mixed =
        (key as u64 ^ ((value as u64) << 32 | value as u64)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    1 << (mixed >> 58) | 1 << (mixed >> 52 & 63)
}
