//! The errors of selectors.

/// A selector is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// The text ends early, or has something unexpected.
    #[error("selector {text:?} is invalid at byte {at}: found {found}, expected {expected}")]
    Syntax {
        /// The whole text.
        text: String,
        /// Where the unexpected part starts, in bytes from 0.
        at: usize,
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A label key that no object can have.
    #[error("invalid label key {key:?}: {reason}")]
    Key {
        /// The key.
        key: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A label value that no object can have.
    #[error("invalid value {value:?} of label {key:?}: {reason}")]
    Value {
        /// The label's key.
        key: String,
        /// The value.
        value: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// An operator with too many or too few values.
    #[error("operator {operator:?} on label {key:?} has {count} values; give it {wanted}")]
    Count {
        /// The label's key.
        key: String,
        /// The operator as it is written.
        operator: String,
        /// The number of values it was given.
        count: usize,
        /// The number it takes.
        wanted: &'static str,
    },
    /// An operator that does not exist.
    #[error(
        "unknown operator {operator:?} on label {key:?}; use In, NotIn, Exists or DoesNotExist"
    )]
    Operator {
        /// The label's key.
        key: String,
        /// The operator that was given.
        operator: String,
    },
    /// A field that a cache cannot select by.
    #[error(
        "a cache cannot select by field {field:?}; use metadata.name or metadata.namespace, or let the server select"
    )]
    Field {
        /// The field.
        field: String,
    },
}
