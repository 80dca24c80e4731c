//! Limits on what a server can send.

/// Limits on what a server can send, so that a broken or hostile one can neither fill the memory nor keep a decoder
/// busy without end. What exceeds one gives [`DecodeError::TooLarge`](crate::DecodeError::TooLarge) or
/// [`TooDeep`](crate::DecodeError::TooDeep).
///
/// ```
/// use informer_wire::Limits;
///
/// let limits = Limits::default().object_bytes(4 << 20);
/// assert_eq!(limits.object_bytes, 4 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most bytes of one watch event, list item or single object. Default: 32 MiB; API servers store objects of
    /// about 1.5 MiB, some grow when they are converted.
    pub object_bytes: usize,
    /// The most bytes of one page of a list. Default: 16 GiB, since no page is ever held as a whole.
    pub page_bytes: u64,
    /// The most levels of nested objects and arrays. Default: 10,000, as API servers allow. An object that is nested
    /// more deeply than serde reads (127 levels) is undecodable.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            object_bytes: 32 << 20,
            page_bytes: 16 << 30,
            depth: 10_000,
        }
    }
}

impl Limits {
    /// Sets the most bytes of one watch event, list item or single object.
    #[must_use]
    pub const fn object_bytes(mut self, bytes: usize) -> Self {
        self.object_bytes = bytes;
        self
    }

    /// Sets the most bytes of one page of a list.
    #[must_use]
    pub const fn page_bytes(mut self, bytes: u64) -> Self {
        self.page_bytes = bytes;
        self
    }

    /// Sets the most levels of nested objects and arrays.
    #[must_use]
    pub const fn depth(mut self, levels: u32) -> Self {
        self.depth = levels;
        self
    }
}
