//! UIDs: the identity of an object over its whole life.

use std::fmt;
use std::sync::Arc;

/// A Kubernetes `metadata.uid`.
///
/// API servers write version 4 UUIDs; those are held in 16 bytes and written back exactly as they were read. Any
/// other text is kept as it is.
///
/// ```
/// use informer_store::Uid;
///
/// let uid = Uid::new("cd3cdf97-5367-4e01-a4f6-76b8fc75a236");
/// assert_eq!(uid, Uid::new("cd3cdf97-5367-4e01-a4f6-76b8fc75a236"));
/// assert_eq!(uid.to_string(), "cd3cdf97-5367-4e01-a4f6-76b8fc75a236");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Uid(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Uuid([u8; 16]),
    Text(Arc<str>),
}

/// Where the hyphens of a UUID stand.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl Uid {
    /// Reads what the server wrote.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match parse_uuid(text.as_bytes()) {
            Some(bytes) => Self(Repr::Uuid(bytes)),
            None => Self(Repr::Text(Arc::from(text))),
        }
    }
}

/// Reads a UUID in its canonical form only (36 characters, lower case), so that writing it gives the same text.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    if text.len() != 36 {
        return None;
    }
    let mut bytes = [0; 16];
    let mut digits = 0;
    for (at, &c) in text.iter().enumerate() {
        if HYPHENS.contains(&at) {
            if c != b'-' {
                return None;
            }
            continue;
        }
        let value = match c {
            b'0'..=b'9' => c - b'0',
            b'a'..=b'f' => c - b'a' + 10,
            _ => return None,
        };
        bytes[digits / 2] = bytes[digits / 2] << 4 | value;
        digits += 1;
    }
    Some(bytes)
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match &self.0 {
            Repr::Uuid(bytes) => bytes,
            Repr::Text(text) => return f.write_str(text),
        };
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uid({self})")
    }
}

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_uuid_takes_no_allocation_and_anything_else_is_kept() {
        assert!(matches!(
            Uid::new("cd3cdf97-5367-4e01-a4f6-76b8fc75a236").0,
            Repr::Uuid(_)
        ));
        for text in [
            "",
            "x",
            "CD3CDF97-5367-4E01-A4F6-76B8FC75A236",
            "cd3cdf9705367-4e01-a4f6-76b8fc75a236",
            "cd3cdf97-5367-4e01-a4f6-76b8fc75a23g",
            "cd3cdf97-5367-4e01-a4f6-76b8fc75a23-",
        ] {
            assert!(matches!(Uid::new(text).0, Repr::Text(_)), "{text}");
            assert_eq!(Uid::new(text).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn a_uid_is_written_as_it_was_read(
            text in prop_oneof![
                "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
                "[0-9a-fA-F-]{36}",
                ".{0,40}",
            ],
            other in "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        ) {
            prop_assert_eq!(Uid::new(&text).to_string(), text.clone());
            prop_assert_eq!(Uid::new(&text) == Uid::new(&other), text == other);
        }
    }
}
