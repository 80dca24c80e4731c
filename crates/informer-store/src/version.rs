//! Resource versions: opaque texts, comparable where Kubernetes defines it.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A Kubernetes `resourceVersion`.
///
/// Current API servers write it as a decimal number; two such numbers of one resource type of one cluster may be
/// compared ([KEP-5504]). Anything else is opaque, and equal or not. A number takes 16 bytes and no allocation,
/// and is written exactly as it was read.
///
/// | text | what it is | compares with |
/// |---|---|---|
/// | `1`, `99`, a longer number | a point in the server's history | every other such number |
/// | empty, `0` | no point: "the newest", "any" | itself |
/// | `007`, `-1`, `v1-a` | opaque | itself |
///
/// ```
/// use informer_store::ResourceVersion;
/// use std::cmp::Ordering;
///
/// let old = ResourceVersion::new("99");
/// let new = ResourceVersion::new("100");
/// assert_eq!(old.compare(&new), Some(Ordering::Less));
/// assert_eq!(new.to_string(), "100");
/// // An opaque one equals itself and compares with nothing else.
/// assert_eq!(ResourceVersion::new("v1-a").compare(&new), None);
/// ```
///
/// [KEP-5504]: https://github.com/kubernetes/enhancements/issues/5504
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Number(u64),
    Text(Arc<str>),
}

impl ResourceVersion {
    /// Makes the resource version of this text. Never fails: what is no comparable number is kept as opaque text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match parse_number(text) {
            Some(number) => Self(Repr::Number(number)),
            None => Self(Repr::Text(Arc::from(text))),
        }
    }

    /// Compares two versions of the same resource type; `None` if they cannot be compared.
    ///
    /// `""` and `"0"` are no versions and only compare with themselves.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        if self == other {
            return Some(Ordering::Equal);
        }
        match (&self.0, &other.0) {
            (Repr::Number(a), Repr::Number(b)) => Some(a.cmp(b)),
            (a, b) => compare_long(a, b),
        }
    }

    /// Returns `true` if this version is known to be older than `other`; `false` also if they cannot be compared.
    #[must_use]
    pub fn is_older_than(&self, other: &Self) -> bool {
        self.compare(other) == Some(Ordering::Less)
    }

    /// Returns `true` if the text can be compared with others (a decimal number without sign or leading zero).
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        match &self.0 {
            Repr::Number(_) => true,
            Repr::Text(text) => is_decimal(text),
        }
    }

    /// Returns `true` for `""` and `"0"`, which ask for "the newest" and "any", and are no point in history.
    #[must_use]
    pub fn is_unset(&self) -> bool {
        matches!(&self.0, Repr::Text(text) if text.is_empty() || &**text == "0")
    }

    /// Returns the number, if the version is one that fits 64 bits.
    #[must_use]
    pub const fn as_u64(&self) -> Option<u64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::Text(_) => None,
        }
    }
}

/// Compares where at least one side is text: numbers of more than 64 bits by length, then by digits.
fn compare_long(a: &Repr, b: &Repr) -> Option<Ordering> {
    let text = |repr: &Repr| match repr {
        Repr::Number(number) => number.to_string(),
        Repr::Text(text) => text.to_string(),
    };
    let (a, b) = (text(a), text(b));
    if !is_decimal(&a) || !is_decimal(&b) {
        return None;
    }
    Some(a.len().cmp(&b.len()).then_with(|| a.cmp(&b)))
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit())
}

fn parse_number(text: &str) -> Option<u64> {
    if !is_decimal(text) {
        return None;
    }
    text.parse().ok()
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => fmt::Display::fmt(number, f),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceVersion({self})")
    }
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<u64> for ResourceVersion {
    fn from(number: u64) -> Self {
        if number == 0 {
            Self::new("0")
        } else {
            Self(Repr::Number(number))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The number of a text, without the code under test; `None` for what is none.
    fn naive(text: &str) -> Option<u128> {
        let is_number = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
        if is_number { text.parse().ok() } else { None }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => any::<u64>().prop_map(|n| n.to_string()),
            2 => (0u64..20).prop_map(|n| n.to_string()),
            2 => any::<u128>().prop_map(|n| (n >> 40).to_string()),
            2 => "[0-9av-]{0,4}",
        ]
    }

    proptest! {
        #[test]
        fn resource_versions_compare_if_both_are_numbers(a in text(), b in text()) {
            let (one, two) = (ResourceVersion::new(&a), ResourceVersion::new(&b));
            let expected = match (naive(&a), naive(&b)) {
                _ if a == b => Some(Ordering::Equal),
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => None,
            };
            prop_assert_eq!(one.compare(&two), expected);
            prop_assert_eq!(one.is_older_than(&two), expected == Some(Ordering::Less));
            prop_assert_eq!(one == two, a == b);
            prop_assert_eq!(one.is_comparable(), naive(&a).is_some());
            prop_assert_eq!(one.is_unset(), a.is_empty() || a == "0");
            prop_assert_eq!(one.as_u64(), naive(&a).and_then(|n| u64::try_from(n).ok()));
            prop_assert_eq!(one.to_string(), a);
        }
    }

    #[test]
    fn resource_version_converts_from_number() {
        assert_eq!(ResourceVersion::from(7), ResourceVersion::new("7"));
        assert!(ResourceVersion::from(0).is_unset());
    }
}
