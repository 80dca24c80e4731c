//! Reads keys; the errors of objects and texts that have none.

use std::str::FromStr;

use super::ObjectKey;
use super::text::AFTER_CLUSTER;

/// An object that has no key, since it has no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an object{} has no name and so no key; set metadata.name before it is stored",
    .namespace.as_ref().map(|n| format!(" in namespace {n:?}")).unwrap_or_default())]
pub struct KeyError {
    namespace: Option<String>,
}

impl KeyError {
    pub(super) fn new(namespace: Option<&str>) -> Self {
        let namespace = namespace.map(str::to_owned);
        Self { namespace }
    }

    /// Returns the namespace of the object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
}

/// A text that is no object key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an object key; write \"namespace/name\", or \"name\" for a cluster-scoped object"
)]
pub struct ParseKeyError {
    text: String,
}

impl ParseKeyError {
    /// Returns the text that was refused.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    /// Reads a canonical text: one or two parts around a `/`, with a non-empty name, after an optional `cluster//`.
    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let refuse = || ParseKeyError {
            text: text.to_owned(),
        };
        // The last one: the name of a cluster can have it too.
        let (cluster, rest) = match text.rsplit_once(AFTER_CLUSTER) {
            Some(("", _)) => return Err(refuse()),
            Some((cluster, rest)) => (Some(cluster), rest),
            None => (None, text),
        };
        let (namespace, name) = match rest.split_once('/') {
            Some(("", _)) => return Err(refuse()),
            Some(parts) => parts,
            None => ("", rest),
        };
        if name.is_empty() || name.contains('/') {
            return Err(refuse());
        }
        Ok(Self::build(cluster, namespace, name))
    }
}
