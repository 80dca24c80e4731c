//! Patches: changes of an object without sending all of it.

/// A change of an object, in one of the forms that a `PATCH` request can have.
///
/// Source: [patching objects](https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Patch<T> {
    /// Replaces the fields that are named; `null` removes one (RFC 7396). Lists are replaced whole.
    Merge(T),
    /// A list of operations (RFC 6902).
    Json(T),
    /// As `Merge`, but lists are merged by the keys that Kubernetes knows. Not for custom resources.
    Strategic(T),
    /// Server-side apply: the fields that a manager wants to own. Creates the object if it does not exist.
    Apply {
        /// The field manager.
        manager: String,
        /// Whether to take fields from other managers instead of failing with a conflict.
        force: bool,
        /// The object, with the fields to own.
        object: T,
    },
}

impl<T> Patch<T> {
    /// Returns the media type of the request's body.
    #[must_use]
    pub const fn content_type(&self) -> &'static str {
        match self {
            Self::Merge(_) => "application/merge-patch+json",
            Self::Json(_) => "application/json-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
            // JSON is YAML, and older servers know only this name.
            Self::Apply { .. } => "application/apply-patch+yaml",
        }
    }

    /// Returns the request's body.
    #[must_use]
    pub const fn body(&self) -> &T {
        match self {
            Self::Merge(body) | Self::Json(body) | Self::Strategic(body) => body,
            Self::Apply { object, .. } => object,
        }
    }

    /// Returns the request's query parameters, not encoded: of an apply its manager and whether it is forced.
    #[must_use]
    pub fn query_pairs(&self) -> Vec<(&'static str, String)> {
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
