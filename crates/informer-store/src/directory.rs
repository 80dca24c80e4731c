//! A hash directory from a hash to a small number (a slot, an index value), cloned in constant time.
//!
//! Linear hashing: buckets are added and taken away one at a time as entries come and go, so no write ever rehashes
//! the whole. Whoever asks compares the keys; the directory knows 32 bits of the hash and the number.

use smallvec::SmallVec;

use crate::pages::PagedVec;

/// Entries a bucket, on average.
const LOAD: u32 = 3;

/// Entries that fit a bucket without an allocation: twice the load, as buckets not yet split hold more.
const INLINE: usize = 6;

#[derive(Clone, Copy)]
struct Entry {
    hash: u32,
    number: u32,
}

type Bucket = SmallVec<[Entry; INLINE]>;

#[derive(Clone, Default)]
pub(crate) struct Directory {
    buckets: PagedVec<Bucket, 4>,
    len: u32,
}

/// The bucket of a hash among `buckets` (at least 1) of them.
#[inline]
fn bucket_of(hash: u32, buckets: u32) -> u32 {
    let mask = u32::MAX.checked_shr(buckets.leading_zeros()).unwrap_or(0);
    let bucket = hash & mask;
    if bucket < buckets {
        bucket
    } else {
        hash & (mask >> 1)
    }
}

impl Directory {
    /// The number entered with this hash for which `is_it` says yes.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let bucket = self.buckets.get(bucket_of(hash, self.buckets.len()))?;
        bucket
            .iter()
            .find(|entry| entry.hash == hash && is_it(entry.number))
            .map(|entry| entry.number)
    }

    /// Enters a number that is not yet here.
    pub(crate) fn insert(&mut self, hash: u32, number: u32) {
        if self.len >= self.buckets.len() * LOAD {
            self.grow();
        }
        if let Some(bucket) = self.bucket_mut(hash) {
            bucket.push(Entry { hash, number });
            self.len += 1;
        }
    }

    /// Takes a number out.
    pub(crate) fn remove(&mut self, hash: u32, number: u32) {
        let Some(bucket) = self.bucket_mut(hash) else {
            return;
        };
        let Some(at) = bucket.iter().position(|entry| entry.number == number) else {
            return;
        };
        bucket.swap_remove(at);
        self.len -= 1;
        if self.len == 0 {
            *self = Self::default();
        } else if self.buckets.len() > 1 && self.len * 2 < (self.buckets.len() - 1) * LOAD {
            self.shrink();
        }
    }

    /// Replaces a number by another under the same hash.
    pub(crate) fn renumber(&mut self, hash: u32, from: u32, to: u32) {
        let Some(bucket) = self.bucket_mut(hash) else {
            return;
        };
        if let Some(entry) = bucket.iter_mut().find(|entry| entry.number == from) {
            entry.number = to;
        }
    }

    fn bucket_mut(&mut self, hash: u32) -> Option<&mut Bucket> {
        if self.buckets.is_empty() {
            return None;
        }
        self.buckets.get_mut(bucket_of(hash, self.buckets.len()))
    }

    /// Adds a bucket and moves into it what belongs there.
    fn grow(&mut self) {
        let added = self.buckets.push(Bucket::new());
        if added == 0 {
            return;
        }
        let source = bucket_of(added, added);
        let mut moved = Bucket::new();
        if let Some(bucket) = self.buckets.get_mut(source) {
            bucket.retain(|entry| {
                let stays = bucket_of(entry.hash, added + 1) == source;
                if !stays {
                    moved.push(*entry);
                }
                stays
            });
            if bucket.spilled() && bucket.len() <= INLINE {
                bucket.shrink_to_fit();
            }
        }
        if let Some(bucket) = self.buckets.get_mut(added) {
            *bucket = moved;
        }
    }

    /// Takes the last bucket away and moves its entries to where they belong then.
    fn shrink(&mut self) {
        let Some(moved) = self.buckets.pop() else {
            return;
        };
        let target = bucket_of(self.buckets.len(), self.buckets.len());
        if let Some(bucket) = self.buckets.get_mut(target) {
            bucket.extend(moved);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    use super::*;

    impl Directory {
        fn entries(&self) -> BTreeSet<(u32, u32)> {
            self.buckets
                .iter()
                .flatten()
                .map(|entry| (entry.hash, entry.number))
                .collect()
        }
    }

    #[test]
    fn a_bucket_is_always_within_range() {
        for buckets in 1..200 {
            for hash in (0..5000).chain([u32::MAX, u32::MAX - 1]) {
                assert!(bucket_of(hash, buckets) < buckets);
            }
        }
    }

    proptest! {
        #[test]
        fn behaves_as_a_set_of_pairs_while_it_grows_and_shrinks(
            steps in prop::collection::vec((any::<bool>(), 0u32..64, 0u32..400), 0..1500),
        ) {
            let mut model = BTreeSet::new();
            let mut directory = Directory::default();
            let mut clone = None;
            for (at, (insert, hash, number)) in steps.into_iter().enumerate() {
                // Few hashes, so that many numbers share one.
                let hash = hash.wrapping_mul(0x9E37_79B9);
                if insert && model.insert((hash, number)) {
                    directory.insert(hash, number);
                } else if !insert && model.remove(&(hash, number)) {
                    directory.remove(hash, number);
                }
                let found = directory.find(hash, |n| n == number);
                prop_assert_eq!(found.is_some(), model.contains(&(hash, number)));
                if at == 300 {
                    clone = Some((directory.clone(), model.clone()));
                }
            }
            prop_assert_eq!(directory.entries(), model);
            if let Some((directory, model)) = clone {
                prop_assert_eq!(directory.entries(), model);
            }
        }
    }

    #[test]
    fn an_emptied_directory_holds_no_bucket() {
        let mut directory = Directory::default();
        for number in 0..1000u32 {
            directory.insert(number.wrapping_mul(0x9E37_79B9), number);
        }
        assert!(directory.buckets.len() > 300);
        for number in 0..1000u32 {
            directory.remove(number.wrapping_mul(0x9E37_79B9), number);
        }
        assert!(directory.buckets.is_empty());
    }
}
