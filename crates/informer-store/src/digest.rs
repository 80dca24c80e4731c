//! A few bits by the labels of an object, so that a selector rarely reads the object itself.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::hash_value;
use crate::object::ObjectMetadata;

/// A Bloom filter of 63 bits over the labels of one object.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelDigest(u64);

/// Set in every digest, so that none is zero.
const KNOWN: u64 = 1 << 63;

/// Keeps the digest of one object once it was needed. Writers never read labels.
#[derive(Default)]
pub(crate) struct DigestCell(AtomicU64);

impl Clone for DigestCell {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

impl DigestCell {
    /// Returns the digest of the object that this cell is of. Two readers may both compute it, with one result.
    #[inline]
    pub(crate) fn of<M: ObjectMetadata>(&self, metadata: &M) -> LabelDigest {
        match self.0.load(Ordering::Relaxed) {
            0 => {
                let digest = LabelDigest::of(metadata);
                self.0.store(digest.0, Ordering::Relaxed);
                digest
            }
            known => LabelDigest(known),
        }
    }
}

impl LabelDigest {
    pub(crate) fn of<M: ObjectMetadata>(metadata: &M) -> Self {
        let mut bits = KNOWN;
        for (key, value) in metadata.labels() {
            let key = hash_value(key);
            bits |= key_bit(key) | pair_bits(key, hash_value(value));
        }
        Self(bits)
    }

    /// Returns `false` if the object lacks a label whose bits these are.
    #[inline]
    pub(crate) const fn may_have(self, bits: u64) -> bool {
        self.0 & bits == bits
    }

    /// Returns the bits of a label of any value.
    pub(crate) fn key_bits(key: &str) -> u64 {
        key_bit(hash_value(key))
    }

    /// Returns the bits of a label of this value.
    pub(crate) fn label_bits(key: &str, value: &str) -> u64 {
        let key = hash_value(key);
        key_bit(key) | pair_bits(key, hash_value(value))
    }
}

const fn key_bit(key: u32) -> u64 {
    1 << (key % 63)
}

/// Two bits, from the top of a product that mixes both hashes.
const fn pair_bits(key: u32, value: u32) -> u64 {
    let both = key as u64 ^ ((value as u64) << 32 | value as u64);
    let mixed = both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    1 << ((mixed >> 16) % 63) | 1 << ((mixed & 0xFFFF) % 63)
}
