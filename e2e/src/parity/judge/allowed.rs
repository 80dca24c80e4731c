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
    /// Whether the servers hold different objects after it, so that the rest of the sequence says nothing.
    pub(crate) diverges: bool,
}

/// The table. An entry that a long run never needs is an error.
pub(crate) const ALLOWED: &[Allowed] = &[
    Allowed {
        operation: "watch *",
        path: "/bookmark/object/spec*",
        reason: "A bookmark has metadata alone; a real server's also has the empty fields of its Go types.",
        diverges: false,
    },
    Allowed {
        operation: "watch *",
        path: "/bookmark/object/status*",
        reason: "A bookmark has metadata alone; a real server's also has the empty fields of its Go types.",
        diverges: false,
    },
    Allowed {
        operation: "watch clusterroles",
        path: "/bookmark/object/rules",
        reason: "A bookmark has metadata alone; a real server's also has the empty fields of its Go types.",
        diverges: false,
    },
    Allowed {
        operation: "list cached *",
        path: "/metadata/resourceVersion",
        reason: "A list from the cache has the version of the whole cluster; a real server's cache of a kind may not have heard of it.",
        diverges: false,
    },
    Allowed {
        operation: "define *",
        path: "/status*",
        reason: "A definition is established by the request that makes it; in a real server a controller does it a moment later.",
        diverges: false,
    },
];

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

/// The first difference that the table does not allow, up to one after which the servers hold different objects. Later
/// ones may be consequences of the first.
pub(crate) fn first_unlisted(differences: &[Difference]) -> Option<&Difference> {
    for difference in differences {
        match ALLOWED.iter().find(|entry| entry.covers(difference)) {
            None => return Some(difference),
            Some(entry) if entry.diverges => return None,
            Some(_) => {}
        }
    }
    None
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => text.starts_with(start),
        None => pattern == text,
    }
}
