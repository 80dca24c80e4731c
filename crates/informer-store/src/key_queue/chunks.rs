//! A double-ended vector in chunks: growing copies nothing, and popping frees memory.
//!
//! # Invariants
//! - All chunks but the first and the last hold [`CHUNK`] values; only the one of an empty vector is empty.
//! - The position of a value does not change. Positions wrap around.

use std::collections::VecDeque;

/// How many values a chunk holds. Few in the tests of this module, which then have many.
pub(super) const CHUNK: u32 = if cfg!(test) { 8 } else { 1024 };

pub(super) struct Chunks<T> {
    chunks: VecDeque<VecDeque<T>>,
    /// The position of the first value.
    first: u32,
    len: usize,
    /// The number of values it keeps room for when it is emptied.
    kept: usize,
}

impl<T> Chunks<T> {
    /// Makes an empty vector that keeps room for this many values when it is emptied.
    pub(super) const fn keeping(kept: usize) -> Self {
        Self {
            chunks: VecDeque::new(),
            first: 0,
            len: 0,
            kept,
        }
    }

    pub(super) const fn keep(&mut self, kept: usize) {
        self.kept = kept;
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Returns the position of the first value.
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    /// Returns the position after the last value.
    pub(super) const fn end(&self) -> u32 {
        self.first.wrapping_add(self.len as u32)
    }

    /// Returns the chunk of a position, and the place in it.
    #[inline]
    const fn locate(&self, position: u32) -> (usize, usize) {
        let skipped = self.first % CHUNK;
        let at = position.wrapping_sub(self.first.wrapping_sub(skipped));
        let (chunk, at) = ((at / CHUNK) as usize, (at % CHUNK) as usize);
        (
            chunk,
            if chunk == 0 {
                at.wrapping_sub(skipped as usize)
            } else {
                at
            },
        )
    }

    #[inline]
    pub(super) fn get(&self, position: u32) -> Option<&T> {
        let (chunk, at) = self.locate(position);
        self.chunks.get(chunk)?.get(at)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, position: u32) -> Option<&mut T> {
        let (chunk, at) = self.locate(position);
        self.chunks.get_mut(chunk)?.get_mut(at)
    }

    pub(super) fn front(&self) -> Option<&T> {
        self.chunks.front()?.front()
    }

    pub(super) fn back(&self) -> Option<&T> {
        self.chunks.back()?.back()
    }

    #[inline]
    pub(super) fn push_back(&mut self, value: T) {
        if self.chunks.is_empty() || (self.len > 0 && self.end().is_multiple_of(CHUNK)) {
            self.chunks.push_back(self.new_chunk());
        }
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.push_back(value);
            self.len += 1;
        }
    }

    #[inline]
    pub(super) fn push_front(&mut self, value: T) {
        if self.chunks.is_empty() || (self.len > 0 && self.first.is_multiple_of(CHUNK)) {
            self.chunks.push_front(self.new_chunk());
        }
        if let Some(chunk) = self.chunks.front_mut() {
            chunk.push_front(value);
            self.first = self.first.wrapping_sub(1);
            self.len += 1;
        }
    }

    /// Makes a chunk with room for as many values as there are: in a long vector it does not grow any more.
    #[cold]
    fn new_chunk(&self) -> VecDeque<T> {
        let most = (u32::MAX - 2 * CHUNK) as usize;
        assert!(self.len < most, "a queue holds fewer than 2^32 entries");
        VecDeque::with_capacity(self.len.min(CHUNK as usize))
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let chunk = self.chunks.front_mut()?;
        let value = chunk.pop_front()?;
        let is_empty = chunk.is_empty();
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        if is_empty {
            self.free_chunk(VecDeque::pop_front);
        }
        Some(value)
    }

    #[inline]
    pub(super) fn pop_back(&mut self) -> Option<T> {
        let chunk = self.chunks.back_mut()?;
        let value = chunk.pop_back()?;
        let is_empty = chunk.is_empty();
        self.len -= 1;
        if is_empty {
            self.free_chunk(VecDeque::pop_back);
        }
        Some(value)
    }

    /// Changes every value in its place.
    pub(super) fn map<U>(self, mut change: impl FnMut(T) -> U) -> Chunks<U> {
        let chunks = self.chunks.into_iter();
        Chunks {
            chunks: chunks
                .map(|chunk| chunk.into_iter().map(&mut change).collect())
                .collect(),
            first: self.first,
            len: self.len,
            kept: self.kept,
        }
    }

    /// Removes all values, and keeps the memory of a few. A drop that panics leaves an empty vector too.
    pub(super) fn clear(&mut self) {
        let mut chunks = std::mem::take(&mut self.chunks);
        (self.first, self.len) = (0, 0);
        chunks.truncate(1);
        chunks.iter_mut().for_each(VecDeque::clear);
        self.chunks = chunks;
        self.keep_few();
    }

    /// Frees an emptied chunk, but for a small one that is the last.
    fn free_chunk(&mut self, pop: fn(&mut VecDeque<VecDeque<T>>) -> Option<VecDeque<T>>) {
        if self.len > 0 {
            drop(pop(&mut self.chunks));
            return;
        }
        self.keep_few();
        self.first = 0;
    }

    /// Frees the memory of an empty vector, but for a few values.
    fn keep_few(&mut self) {
        let capacity = self.chunks.front().map_or(0, VecDeque::capacity);
        if capacity > self.kept || self.chunks.capacity() > CHUNK as usize / 16 {
            self.chunks = VecDeque::new();
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    pub(super) fn into_iter(self) -> impl DoubleEndedIterator<Item = T> {
        self.chunks.into_iter().flatten()
    }
}
