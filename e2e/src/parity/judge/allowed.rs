//! What may differ between the test kit and a real server: the one table, and the page made of it.

use super::compare::Difference;

/// A difference that is not mended, and why a user may live with it.
#[derive(Debug)]
pub(crate) struct Allowed {
    /// The operation's label; `*` at its end stands for any rest, alone for all.
    pub(crate) operation: &'static str,
    /// The place in the answer; `*` at its end stands for any rest.
    pub(crate) path: &'static str,
    /// What the kit does not do, as a sentence for users.
    pub(crate) reason: &'static str,
}

/// The table. An entry that a long run never needs is an error.
pub(crate) const ALLOWED: &[Allowed] = &[];

impl Allowed {
    /// Whether it covers this difference.
    pub(crate) fn covers(&self, difference: &Difference) -> bool {
        matches(self.operation, &difference.label) && matches(self.path, &difference.path)
    }
}

/// The place in the table of the entry that covers a difference.
pub(crate) fn allowed(difference: &Difference) -> Option<usize> {
    ALLOWED.iter().position(|entry| entry.covers(difference))
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}
