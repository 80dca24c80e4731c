//! Patches: changes to an object without sending all of it.

use serde::Serialize;

/// A change to an object.
///
/// Source: [patching objects](https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Patch<T> {
    /// Replaces the fields that are named; `null` removes one (RFC 7396). Lists are replaced whole.
    Merge(T),
    /// A list of operations (RFC 6902).
    Json(T),
    /// As `Merge`, but lists are merged by the keys that Kubernetes knows. Not for custom resources.
    Strategic(T),
    /// Server-side apply: the fields that this manager wants to own.
    Apply {
        /// Who owns the fields.
        manager: String,
        /// Takes fields from other owners instead of failing with a conflict.
        force: bool,
        /// The object, with the fields to own.
        object: T,
    },
}

impl<T: Serialize> Patch<T> {
    pub(crate) const fn content_type(&self) -> &'static str {
        match self {
            Self::Merge(_) => "application/merge-patch+json",
            Self::Json(_) => "application/json-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
            // JSON is YAML, and older servers know only this name.
            Self::Apply { .. } => "application/apply-patch+yaml",
        }
    }

    pub(crate) const fn body(&self) -> &T {
        match self {
            Self::Merge(body) | Self::Json(body) | Self::Strategic(body) => body,
            Self::Apply { object, .. } => object,
        }
    }

    /// The query parameters that belong to it.
    pub(crate) fn query(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Apply { manager, force, .. } => {
                vec![
                    ("fieldManager", manager.clone()),
                    ("force", force.to_string()),
                ]
            }
            _ => Vec::new(),
        }
    }
}
