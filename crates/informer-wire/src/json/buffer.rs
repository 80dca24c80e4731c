//! Bytes that have arrived and are not used up yet.

/// More than this is not kept for the next bytes: one huge object must not cost its size for ever.
const KEEP: usize = 256 * 1024;

/// A buffer that is filled at its end and used up from its start.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    /// How many bytes were used up since the beginning.
    used: u64,
}

impl Buffer {
    /// Adds bytes. What was used up is given free first.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEEP.max(bytes.len()) {
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// What is not used up yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// What is not used up yet, and of what was used up before it all from this byte on that is still held.
    pub(crate) fn since(&self, at: u64) -> &[u8] {
        let before = usize::try_from(self.used.saturating_sub(at)).unwrap_or(usize::MAX);
        &self.bytes[self.start.saturating_sub(before)..]
    }

    /// The first of what is not used up yet.
    pub(crate) fn first(&self) -> Option<u8> {
        self.bytes.get(self.start).copied()
    }

    /// Uses up the next bytes and gives them out.
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

    /// How many bytes were used up since the beginning.
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    /// How much memory the buffer holds.
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
