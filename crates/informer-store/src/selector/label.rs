//! Label selectors.

use std::fmt;
use std::str::FromStr;

use crate::digest::LabelDigest;
use crate::object::ObjectMetadata;
use crate::selector::Selector;
use crate::selector::error::SelectorError;
use crate::selector::parse;
use crate::selector::requirement::{Operator, Requirement};

/// Chooses objects by their labels: all of its requirements must be met. The empty one chooses everything.
///
/// | text | chooses objects whose label |
/// |---|---|
/// | `app=web`, `app==web` | `app` is `web` |
/// | `app!=web` | `app` is not `web`, or is absent |
/// | `app in (web,api)` | `app` is one of them |
/// | `app notin (web,api)` | `app` is none of them, or is absent |
/// | `app`, `!app` | `app` is present, is absent |
/// | `replicas>3`, `replicas<3` | `replicas` is a whole number and greater, or less |
///
/// ```
/// use informer_store::LabelSelector;
///
/// let parsed: LabelSelector = "tier in (web, api), app=shop, !canary".parse()?;
/// let built = LabelSelector::everything()
///     .with_in("tier", ["web", "api"])?
///     .with_equals("app", "shop")?
///     .with_absent("canary")?;
/// assert_eq!(parsed, built);
/// assert_eq!(parsed.to_string(), "app=shop,!canary,tier in (api,web)");
/// # Ok::<(), informer_store::SelectorError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    /// In the order of their keys, so that equal selectors have equal texts.
    requirements: Vec<Requirement>,
}

impl LabelSelector {
    /// Chooses every object.
    #[must_use]
    #[doc(alias = "Everything")]
    pub fn everything() -> Self {
        Self::default()
    }

    /// Chooses no object: a label would have to be present and absent. A server understands it too.
    ///
    /// # Panics
    /// Never: the label's key is valid.
    #[must_use]
    #[doc(alias = "Nothing")]
    pub fn nothing() -> Self {
        let on_label =
            |operator| Requirement::new::<&str>("nothing", operator, []).expect("the key is valid");
        Self::from_iter([on_label(Operator::Exists), on_label(Operator::DoesNotExist)])
    }

    /// Chooses the objects that have all these labels.
    ///
    /// # Errors
    /// If a key or a value is one that no object can have.
    #[doc(alias = "SelectorFromSet")]
    pub fn from_labels<'a>(
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, SelectorError> {
        let equals = |(key, value)| Requirement::new(key, Operator::Equals, [value]);
        labels.into_iter().map(equals).collect()
    }

    /// Adds a requirement.
    #[must_use]
    pub fn with(mut self, requirement: Requirement) -> Self {
        let at = self
            .requirements
            .partition_point(|other| other.key() <= requirement.key());
        self.requirements.insert(at, requirement);
        self
    }

    /// Requires that the label has this value.
    ///
    /// # Errors
    /// If the key or the value is one that no object can have.
    pub fn with_equals(self, key: &str, value: &str) -> Result<Self, SelectorError> {
        Ok(self.with(Requirement::new(key, Operator::Equals, [value])?))
    }

    /// Requires that the label has one of these values.
    ///
    /// # Errors
    /// If the key or a value is one that no object can have, or there is no value.
    pub fn with_in<V: AsRef<str>>(
        self,
        key: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, SelectorError> {
        Ok(self.with(Requirement::new(key, Operator::In, values)?))
    }

    /// Requires that the label is present.
    ///
    /// # Errors
    /// If the key is one that no object can have.
    pub fn with_present(self, key: &str) -> Result<Self, SelectorError> {
        Ok(self.with(Requirement::new::<&str>(key, Operator::Exists, [])?))
    }

    /// Requires that the label is absent.
    ///
    /// # Errors
    /// If the key is one that no object can have.
    pub fn with_absent(self, key: &str) -> Result<Self, SelectorError> {
        Ok(self.with(Requirement::new::<&str>(key, Operator::DoesNotExist, [])?))
    }

    /// Adds a requirement in the words of a `matchExpressions` entry of the API: `In`, `NotIn`, `Exists` or
    /// `DoesNotExist`.
    ///
    /// # Errors
    /// If the operator is none of these, its number of values is wrong, or a key or value is one that no object can
    /// have.
    pub fn with_expression<V: AsRef<str>>(
        self,
        key: &str,
        operator: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, SelectorError> {
        let operator = match operator {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                let (key, operator) = (key.to_owned(), other.to_owned());
                return Err(SelectorError::Operator { key, operator });
            }
        };
        Ok(self.with(Requirement::new(key, operator, values)?))
    }

    /// Returns the requirements, in the order of their keys.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Returns `true` if an object with this metadata is chosen.
    #[must_use]
    #[inline]
    pub fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(metadata))
    }

    /// Returns `true` if every object is chosen.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns `true` if a label would have to be present and absent.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let absent = |requirement: &&Requirement| requirement.operator() == Operator::DoesNotExist;
        self.requirements.iter().filter(absent).any(|absent| {
            let needs = |other: &Requirement| {
                other.key() == absent.key()
                    && !matches!(
                        other.operator(),
                        Operator::DoesNotExist | Operator::NotIn | Operator::NotEquals
                    )
            };
            self.requirements.iter().any(needs)
        })
    }
}

impl Selector for LabelSelector {
    fn matches<M: ObjectMetadata>(&self, metadata: &M) -> bool {
        Self::matches(self, metadata)
    }

    fn is_everything(&self) -> bool {
        Self::is_everything(self)
    }

    fn is_nothing(&self) -> bool {
        Self::is_nothing(self)
    }

    fn reads_labels(&self) -> bool {
        true
    }

    #[inline]
    fn decide(&self, digest: LabelDigest) -> Option<bool> {
        let mut decided = Some(true);
        for requirement in &self.requirements {
            match requirement.decide(digest) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => decided = None,
            }
        }
        decided
    }
}

impl FromIterator<Requirement> for LabelSelector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        let mut requirements = Vec::from_iter(requirements);
        requirements.sort_by(|a, b| a.key().cmp(b.key()));
        Self { requirements }
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Ok(parse::requirements(text)?.into_iter().collect())
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

#[cfg(feature = "k8s-openapi")]
mod api {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

    use super::{LabelSelector, SelectorError};

    impl TryFrom<&meta::LabelSelector> for LabelSelector {
        type Error = SelectorError;

        /// As API servers read it: an empty one chooses everything. A field that is not set chooses nothing; use
        /// [`LabelSelector::nothing`] for it.
        fn try_from(selector: &meta::LabelSelector) -> Result<Self, SelectorError> {
            let labels = selector.match_labels.iter().flatten();
            let mut all = Self::from_labels(labels.map(|(k, v)| (k.as_str(), v.as_str())))?;
            for expression in selector.match_expressions.iter().flatten() {
                let values = expression.values.iter().flatten();
                all = all.with_expression(&expression.key, &expression.operator, values)?;
            }
            Ok(all)
        }
    }
}
