//! What is wrong with a selector, and where.

/// A selector that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// The text breaks off or goes on where it should not.
    #[error("selector {text:?} is wrong at byte {at}: found {found}, expected {expected}")]
    Syntax {
        /// The whole text.
        text: String,
        /// Where the unexpected part starts, in bytes from 0.
        at: usize,
        /// What is there.
        found: String,
        /// What should be there.
        expected: &'static str,
    },
    /// A label key that no object can have.
    #[error("{key:?} is no label key: {reason}")]
    Key {
        /// The key.
        key: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A label value that no object can have.
    #[error("{value:?} is no value for label {key:?}: {reason}")]
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
        /// How many values it was given.
        count: usize,
        /// How many it takes.
        wanted: &'static str,
    },
    /// An operator that does not exist.
    #[error("{operator:?} is no operator for label {key:?}; use In, NotIn, Exists or DoesNotExist")]
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
