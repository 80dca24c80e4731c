//! Received bytes that are not used up yet.

/// More than this is not kept for the next bytes: one huge object must not cost its size for ever.
const KEEP: usize = 256 * 1024;

/// A buffer that is filled at its end and used up from its start.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    /// The number of bytes used up since the beginning.
    used: u64,
}

impl Buffer {
    /// Adds bytes, and frees those used up.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.push_behind(bytes, self.used);
    }

    /// Adds bytes, and frees those used up before this byte.
    pub(crate) fn push_behind(&mut self, bytes: &[u8], from: u64) {
        let held = usize::try_from(self.used.saturating_sub(from)).unwrap_or(usize::MAX);
        let held = held.min(self.start);
        self.bytes.drain(..self.start - held);
        self.start = held;
        let length = held + bytes.len();
        if self.rest().is_empty() && self.bytes.capacity() > KEEP.max(length) {
            self.bytes.shrink_to(length);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the bytes not used up yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Returns the bytes not used up yet, and those used up from this byte on, as far as they are still held.
    pub(crate) fn since(&self, at: u64) -> &[u8] {
        let before = usize::try_from(self.used.saturating_sub(at)).unwrap_or(usize::MAX);
        &self.bytes[self.start.saturating_sub(before)..]
    }

    /// The first of what is not used up yet.
    pub(crate) fn first(&self) -> Option<u8> {
        self.bytes.get(self.start).copied()
    }

    /// Uses up and returns the next bytes.
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let from = self.start;
        self.start += count;
        self.used += count as u64;
        &self.bytes[from..self.start]
    }

    /// Uses up white space.
    pub(crate) fn skip_space(&mut self) {
        let rest = self.rest();
        let count = rest.iter().position(|&byte| !super::scan::is_space(byte));
        let count = count.unwrap_or(rest.len());
        self.take(count);
    }

    /// Returns the number of bytes used up since the beginning.
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    /// Returns the size of the buffer's memory.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}

impl std::fmt::Debug for Buffer {
    /// Without the contents, which may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer")
            .field("waiting", &self.rest().len())
            .field("used", &self.used)
            .finish()
    }
}
