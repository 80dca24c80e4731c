//! A hash directory from a hash to a small number (a slot, an index value), cloned in constant time.
//!
//! Linear hashing: buckets are added and taken away one at a time as entries come and go, so no write ever rehashes
//! the whole. An entry is five bytes: the number, and eight bits of the hash, which exclude most others. The owner
//! compares the keys, and has the whole hash of each number.

use crate::pages::{Element, PagedVec};

/// Entries a bucket, on average. Buckets that are not yet split hold up to twice as many.
const LOAD: u32 = 4;

/// Entries that fit a bucket. With them it fills one cache line.
const WIDTH: usize = 11;

/// A number that no entry has. It fills the free places, so that a look-up need not read how many are taken.
const NOBODY: u32 = u32::MAX;

/// In this order: wherever a bucket starts, the tags lie in one cache line, mostly with the first numbers.
#[derive(Clone)]
#[repr(C)]
struct Bucket {
    tags: [u8; WIDTH],
    len: u8,
    numbers: [u32; WIDTH],
    /// What does not fit. Rare, so that the pointer to it is kept small.
    #[allow(
        clippy::box_collection,
        reason = "a vector is three times as large as a box"
    )]
    more: Option<Box<Vec<(u8, u32)>>>,
}

impl Default for Bucket {
    fn default() -> Self {
        Self {
            tags: [0; WIDTH],
            len: 0,
            numbers: [NOBODY; WIDTH],
            more: None,
        }
    }
}

/// Pages are larger than elsewhere: only insertions and removals copy one, and a bucket is mere bytes.
#[derive(Clone, Default)]
pub(crate) struct Directory {
    buckets: PagedVec<Bucket, 32>,
    len: u32,
}

/// The bucket of a hash among `buckets` (at least 1) of them.
#[inline]
fn bucket_of(hash: u32, buckets: u32) -> u32 {
    let mask = u32::MAX >> (buckets | 1).leading_zeros();
    let bucket = hash & mask;
    if bucket < buckets {
        bucket
    } else {
        bucket & (mask >> 1)
    }
}

/// The bits of a hash that choose a bucket last.
const fn tag_of(hash: u32) -> u8 {
    (hash >> 24) as u8
}

/// A bit in each byte of the eight that equals `byte`; a bit set wrongly stands only above one that is right.
#[inline]
const fn equal_bytes(bytes: &[u8; 8], byte: u8) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // Zero where they are equal.
    let difference = u64::from_le_bytes(*bytes) ^ (ONES * byte as u64);
    difference.wrapping_sub(ONES) & !difference & HIGHS
}

impl Element for Bucket {}

impl Bucket {
    #[inline]
    fn find_map<T>(&self, tag: u8, mut look: impl FnMut(u32) -> Option<T>) -> Option<T> {
        let mut candidates = equal_bytes(self.tags.first_chunk()?, tag);
        while candidates != 0 {
            let number = self.numbers[candidates.trailing_zeros() as usize / 8];
            if let Some(found) = look(number) {
                return Some(found);
            }
            candidates &= candidates - 1;
        }
        if self.len <= 8 {
            return None;
        }
        self.find_beyond(8, tag, look)
    }

    /// Looks at the entries beyond the first eight tags.
    fn find_beyond<T>(
        &self,
        from: usize,
        tag: u8,
        mut look: impl FnMut(u32) -> Option<T>,
    ) -> Option<T> {
        let inside = self.tags.iter().copied().zip(self.numbers.iter().copied());
        let inside = inside.take(self.len as usize).skip(from);
        let outside = self.more.iter().flat_map(|more| more.iter().copied());
        let mut entries = inside.chain(outside);
        entries.find_map(|(own, number)| if own == tag { look(number) } else { None })
    }

    fn push(&mut self, tag: u8, number: u32) {
        let len = self.len as usize;
        if len == WIDTH {
            return self.more.get_or_insert_default().push((tag, number));
        }
        self.tags[len] = tag;
        self.numbers[len] = number;
        self.len += 1;
    }

    /// Removes the last entry.
    fn pop(&mut self) -> Option<(u8, u32)> {
        if let Some(more) = &mut self.more {
            let last = more.pop();
            if more.is_empty() {
                self.more = None;
            }
            return last;
        }
        self.len = self.len.checked_sub(1)?;
        let last = self.len as usize;
        Some((
            self.tags[last],
            std::mem::replace(&mut self.numbers[last], NOBODY),
        ))
    }

    fn number_mut(&mut self, number: u32) -> Option<(&mut u8, &mut u32)> {
        let len = self.len as usize;
        if let Some(at) = self.numbers[..len].iter().position(|own| *own == number) {
            return Some((&mut self.tags[at], &mut self.numbers[at]));
        }
        let more = self.more.as_mut()?;
        more.iter_mut()
            .find(|(_, own)| *own == number)
            .map(|(tag, own)| (tag, own))
    }

    /// Removes a number. Returns `false` if there is none.
    fn remove(&mut self, number: u32) -> bool {
        if self.number_mut(number).is_none() {
            return false;
        }
        if let Some((last_tag, last)) = self.pop()
            && let Some((tag, own)) = self.number_mut(number)
        {
            *tag = last_tag;
            *own = last;
        }
        true
    }
}

impl Directory {
    /// Returns the number of this hash for which `is_it` is true. It may be called for others, and for `u32::MAX`.
    #[inline]
    pub(crate) fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        self.find_map(hash, |number| is_it(number).then_some(number))
    }

    /// Returns what `look` finds for a number of this hash.
    #[inline]
    pub(crate) fn find_map<T>(&self, hash: u32, look: impl FnMut(u32) -> Option<T>) -> Option<T> {
        // The first bucket is there as soon as any is.
        let bucket = self.buckets.peek(bucket_of(hash, self.buckets.len()))?;
        bucket.find_map(tag_of(hash), look)
    }

    /// Inserts a new number. `hash_of` returns the hashes of the others.
    pub(crate) fn insert(&mut self, hash: u32, number: u32, hash_of: impl Fn(u32) -> u32) {
        if self.len >= self.buckets.len() * LOAD {
            self.grow(hash_of);
        }
        if let Some(bucket) = self.bucket_mut(hash) {
            bucket.push(tag_of(hash), number);
            self.len += 1;
        }
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, hash: u32, number: u32) {
        let Some(bucket) = self.bucket_mut(hash) else {
            return;
        };
        if !bucket.remove(number) {
            return;
        }
        self.len -= 1;
        if self.len == 0 {
            *self = Self::default();
        } else if self.buckets.len() > 1 && self.len * 2 < (self.buckets.len() - 1) * LOAD {
            self.shrink();
        }
    }

    /// Replaces a number by another under the same hash.
    pub(crate) fn renumber(&mut self, hash: u32, from: u32, to: u32) {
        if let Some((_, number)) = self
            .bucket_mut(hash)
            .and_then(|bucket| bucket.number_mut(from))
        {
            *number = to;
        }
    }

    fn bucket_mut(&mut self, hash: u32) -> Option<&mut Bucket> {
        if self.buckets.is_empty() {
            return None;
        }
        self.buckets.get_mut(bucket_of(hash, self.buckets.len()))
    }

    /// Adds a bucket and moves into it what belongs there.
    fn grow(&mut self, hash_of: impl Fn(u32) -> u32) {
        let added = self.buckets.push(Bucket::default());
        if added == 0 {
            return;
        }
        let source = bucket_of(added, added);
        let (mut stays, mut moves) = (Bucket::default(), Bucket::default());
        let Some(bucket) = self.buckets.get_mut(source) else {
            return;
        };
        while let Some((tag, number)) = bucket.pop() {
            let is_source = bucket_of(hash_of(number), added + 1) == source;
            if is_source { &mut stays } else { &mut moves }.push(tag, number);
        }
        *bucket = stays;
        if let Some(bucket) = self.buckets.get_mut(added) {
            *bucket = moves;
        }
    }

    /// Removes the last bucket and moves its entries to where they belong then.
    fn shrink(&mut self) {
        let Some(mut moves) = self.buckets.pop() else {
            return;
        };
        let target = bucket_of(self.buckets.len(), self.buckets.len());
        let Some(bucket) = self.buckets.get_mut(target) else {
            return;
        };
        while let Some((tag, number)) = moves.pop() {
            bucket.push(tag, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    use super::*;

    impl Directory {
        fn numbers(&self) -> BTreeSet<u32> {
            let popped = |bucket: &Bucket| {
                let mut bucket = bucket.clone();
                std::iter::from_fn(move || bucket.pop()).map(|(_, number)| number)
            };
            self.buckets.iter().flat_map(popped).collect()
        }
    }

    #[test]
    fn bucket_is_always_within_range() {
        for buckets in 1..200 {
            for hash in (0..5000).chain([u32::MAX, u32::MAX - 1]) {
                assert!(bucket_of(hash, buckets) < buckets);
            }
        }
    }

    /// Few hashes, so that many numbers share one.
    fn hash_of(number: u32) -> u32 {
        (number % 97).wrapping_mul(0x9E37_79B9)
    }

    proptest! {
        #[test]
        fn directory_matches_set(
            steps in prop::collection::vec((any::<bool>(), 0u32..1500), 0..3000),
        ) {
            let mut model = BTreeSet::new();
            let mut directory = Directory::default();
            let mut clone = None;
            for (at, (insert, number)) in steps.into_iter().enumerate() {
                if insert && model.insert(number) {
                    directory.insert(hash_of(number), number, hash_of);
                } else if !insert && model.remove(&number) {
                    directory.remove(hash_of(number), number);
                }
                let found = directory.find(hash_of(number), |other| other == number);
                prop_assert_eq!(found.is_some(), model.contains(&number));
                if at == 300 {
                    clone = Some((directory.clone(), model.clone()));
                }
            }
            for (directory, model) in [(directory, model)].into_iter().chain(clone) {
                for &number in &model {
                    let found = directory.find(hash_of(number), |other| other == number);
                    prop_assert_eq!(found, Some(number));
                }
                prop_assert_eq!(directory.numbers(), model);
            }
        }
    }

    #[test]
    fn emptied_directory_has_no_bucket() {
        let hash_of = |number: u32| number.wrapping_mul(0x9E37_79B9);
        let mut directory = Directory::default();
        for number in 0..1000u32 {
            directory.insert(hash_of(number), number, hash_of);
        }
        assert!(directory.buckets.len() >= 200);
        for number in 0..1000u32 {
            directory.remove(hash_of(number), number);
        }
        assert!(directory.buckets.is_empty());
    }

    #[test]
    fn bucket_fills_a_cache_line() {
        assert_eq!(size_of::<Bucket>(), 64);
    }
}
