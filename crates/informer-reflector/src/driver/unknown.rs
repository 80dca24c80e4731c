//! Watch events of types that nobody here knows: all are counted, each type is told of once.

/// So many types are remembered; what a server makes up beyond them is only counted.
const MAX_TYPES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct UnknownEvents {
    types: Vec<Box<str>>,
    total: u64,
}

impl UnknownEvents {
    /// One has come. True if its type is new.
    pub(super) fn note(&mut self, event_type: &str) -> bool {
        self.total += 1;
        let known = self.types.iter().any(|known| **known == *event_type);
        if known || self.types.len() >= MAX_TYPES {
            return false;
        }
        self.types.push(event_type.into());
        true
    }

    /// How many have come.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }
}
