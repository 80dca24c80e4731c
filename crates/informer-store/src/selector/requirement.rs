//! One condition on one label.

use std::fmt;

use crate::digest::LabelDigest;
use crate::object::ObjectMetadata;
use crate::selector::error::SelectorError;

/// How a requirement compares a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// `key=value`: the label has this value.
    Equals,
    /// `key!=value`: the label has another value, or is absent.
    NotEquals,
    /// `key in (a,b)`: the label has one of the values.
    In,
    /// `key notin (a,b)`: the label has none of the values, or is absent.
    NotIn,
    /// `key`: the label is present.
    Exists,
    /// `!key`: the label is absent.
    DoesNotExist,
    /// `key>5`: the label is a whole number greater than this one.
    GreaterThan,
    /// `key<5`: the label is a whole number less than this one.
    LessThan,
}

impl Operator {
    /// Returns the operator as a selector's text has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::NotEquals => "!=",
            Self::In => "in",
            Self::NotIn => "notin",
            Self::Exists => "exists",
            Self::DoesNotExist => "!",
            Self::GreaterThan => ">",
            Self::LessThan => "<",
        }
    }
}

/// One condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: Box<str>,
    operator: Operator,
    /// Sorted, each once.
    values: Box<[Box<str>]>,
    /// The operand of `>` and `<`.
    number: i64,
    /// The bits that an object with the label has in its digest: one entry for each value, or one for any value.
    bits: Box<[u64]>,
}

impl Requirement {
    /// Makes a condition on the label `key`.
    ///
    /// # Errors
    /// If the key or a value is one that no object can have, or the number of values does not suit the operator:
    /// one for `=`, `!=`, `>` and `<`, at least one for `in` and `notin`, none for the others.
    pub fn new<V: AsRef<str>>(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, SelectorError> {
        check_key(key)?;
        let mut values: Vec<Box<str>> = values
            .into_iter()
            .map(|value| Box::from(value.as_ref()))
            .collect();
        check_count(key, operator, values.len())?;
        for value in &values {
            check_value(key, value)?;
        }
        values.sort_unstable();
        values.dedup();
        let number = match operator {
            Operator::GreaterThan | Operator::LessThan => number_of(key, &values[0])?,
            _ => 0,
        };
        let bits = match operator {
            Operator::Equals | Operator::NotEquals | Operator::In | Operator::NotIn => values
                .iter()
                .map(|value| LabelDigest::label_bits(key, value))
                .collect(),
            _ => Box::from([LabelDigest::key_bits(key)]),
        };
        let key = Box::from(key);
        Ok(Self {
            key,
            operator,
            values: values.into_boxed_slice(),
            number,
            bits,
        })
    }

    /// Decides the condition by the digest of an object's labels, if it can.
    #[inline]
    pub(super) fn decide(&self, digest: LabelDigest) -> Option<bool> {
        if self.bits.iter().any(|&bits| digest.may_have(bits)) {
            return None;
        }
        let is_negative = matches!(
            self.operator,
            Operator::NotEquals | Operator::NotIn | Operator::DoesNotExist
        );
        Some(is_negative)
    }

    /// Returns the label's key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns how the label is compared.
    #[must_use]
    pub const fn operator(&self) -> Operator {
        self.operator
    }

    /// Returns the values it is compared with, sorted.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    /// Returns `true` if an object with this metadata meets the condition.
    #[must_use]
    #[inline]
    pub fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool {
        self.matches_value(metadata.label(&self.key))
    }

    fn matches_value(&self, label: Option<&str>) -> bool {
        match (self.operator, label) {
            (Operator::Equals, Some(label)) => *self.values[0] == *label,
            (Operator::NotEquals, Some(label)) => *self.values[0] != *label,
            (Operator::In, Some(label)) => self.has_value(label),
            (Operator::NotIn, Some(label)) => !self.has_value(label),
            (Operator::GreaterThan, Some(label)) => {
                label.parse().is_ok_and(|n: i64| n > self.number)
            }
            (Operator::LessThan, Some(label)) => label.parse().is_ok_and(|n: i64| n < self.number),
            (Operator::Exists, label) => label.is_some(),
            (Operator::DoesNotExist, label) => label.is_none(),
            (Operator::NotEquals | Operator::NotIn, None) => true,
            (
                Operator::Equals | Operator::In | Operator::GreaterThan | Operator::LessThan,
                None,
            ) => false,
        }
    }

    fn has_value(&self, label: &str) -> bool {
        self.values
            .binary_search_by(|value| (**value).cmp(label))
            .is_ok()
    }
}

impl fmt::Display for Requirement {
    /// Writes what parses to the same requirement.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operator {
            Operator::Exists => f.write_str(&self.key),
            Operator::DoesNotExist => write!(f, "!{}", self.key),
            Operator::In | Operator::NotIn => {
                let values = match &*self.values {
                    // Nothing between the brackets is no value; a comma makes it the empty one.
                    [only] if only.is_empty() => ",".to_owned(),
                    values => values.join(","),
                };
                write!(f, "{} {} ({values})", self.key, self.operator.as_str())
            }
            operator => write!(f, "{}{}{}", self.key, operator.as_str(), self.values[0]),
        }
    }
}

fn check_count(key: &str, operator: Operator, count: usize) -> Result<(), SelectorError> {
    let (suits, wanted) = match operator {
        Operator::In | Operator::NotIn => (count > 0, "at least one"),
        Operator::Exists | Operator::DoesNotExist => (count == 0, "none"),
        _ => (count == 1, "exactly one"),
    };
    if suits {
        return Ok(());
    }
    let operator = operator.as_str().to_owned();
    Err(SelectorError::Count {
        key: key.to_owned(),
        operator,
        count,
        wanted,
    })
}

fn number_of(key: &str, value: &str) -> Result<i64, SelectorError> {
    value.parse().map_err(|_| SelectorError::Value {
        key: key.to_owned(),
        value: value.to_owned(),
        reason: "this operator compares whole numbers of 64 bits",
    })
}

fn check_key(key: &str) -> Result<(), SelectorError> {
    let refuse = |reason| {
        Err(SelectorError::Key {
            key: key.to_owned(),
            reason,
        })
    };
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix
        && !is_subdomain(prefix)
    {
        return refuse(
            "before the slash stands a DNS name of lower-case letters, at most 253 bytes",
        );
    }
    if name.is_empty() {
        return refuse("it has no name");
    }
    if let Some(reason) = name_fault(name) {
        return refuse(reason);
    }
    Ok(())
}

fn check_value(key: &str, value: &str) -> Result<(), SelectorError> {
    match name_fault(value) {
        Some(reason) if !value.is_empty() => Err(SelectorError::Value {
            key: key.to_owned(),
            value: value.to_owned(),
            reason,
        }),
        _ => Ok(()),
    }
}

/// Returns the rule that a text breaks as the name of a label, or its value.
fn name_fault(text: &str) -> Option<&'static str> {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    if bytes.len() > 63 {
        return Some("at most 63 bytes are allowed");
    }
    if !bytes
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    {
        return Some("only letters, digits, '-', '_' and '.' are allowed");
    }
    if !is_end(bytes.first()) || !is_end(bytes.last()) {
        return Some("it must begin and end with a letter or digit");
    }
    None
}

fn is_subdomain(text: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.iter().all(|b| is_end(b) || *b == b'-')
            && bytes.first().is_some_and(is_end)
            && bytes.last().is_some_and(is_end)
    };
    text.len() <= 253 && text.split('.').all(is_part)
}
