//! UIDs: one for each object, and another one if it is created again.

use std::fmt;
use std::sync::Arc;

/// A Kubernetes `metadata.uid`.
///
/// API servers write version 4 UUIDs; those are held in 16 bytes and written exactly as they were read. Any other text
/// is kept as it is.
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

/// The places of the hyphens in a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
/// The places of the two digits of each byte.
const PAIRS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// The value of each digit; [`NO_DIGIT`] for all else.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};
const NO_DIGIT: u8 = 0xff;

impl Uid {
    /// Makes the UID of this text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match parse_uuid(text.as_bytes()) {
            Some(bytes) => Self(Repr::Uuid(bytes)),
            None => Self(Repr::Text(Arc::from(text))),
        }
    }
}

/// Reads a UUID in its canonical form only (36 characters, lower case), so that writing it gives the same text. Without
/// a branch for each digit, which could not be predicted.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.try_into().ok()?;
    if HYPHENS.iter().any(|&at| text[at] != b'-') {
        return None;
    }
    let mut bytes = [0; 16];
    let mut seen = 0;
    for (byte, at) in bytes.iter_mut().zip(PAIRS) {
        let [high, low] = [text[at], text[at + 1]].map(|digit| DIGITS[usize::from(digit)]);
        seen |= high | low;
        *byte = high << 4 | low;
    }
    (seen < 16).then_some(bytes)
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
    fn uuid_is_held_in_bytes_and_other_text_as_it_is() {
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
        fn uid_text_survives_parsing(
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
