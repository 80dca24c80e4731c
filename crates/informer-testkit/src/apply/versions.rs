//! Owners that were recorded in another version of a custom resource: what a write changed is looked up in theirs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::conflict::Conflict;
use super::owners::Owners;
use super::value::problems;
use crate::fields::{self, TypeRef};
use crate::schema::Family;

/// Why a write cannot tell who owns what.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    Conflicts(Vec<Conflict>),
    /// An object does not fit another version's schema, in which an owner was recorded.
    Unconvertible(String),
}

/// The types of the other versions in which there are owners; none for a version that the definition does not have.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherVersions(BTreeMap<String, Option<TypeRef>>);

impl OtherVersions {
    /// Finds the versions of the owners.
    pub(super) fn of(owners: &Owners, api_version: &str, family: Option<&Arc<Family>>) -> Self {
        let Some((family, (group, _))) = family.zip(api_version.split_once('/')) else {
            return Self::default();
        };
        let versions = owners.0.values().map(|owned| owned.api_version.as_str());
        let others = versions.filter(|version| *version != api_version);
        let types = others.map(|version| {
            let named = version.split_once('/').filter(|(of, _)| *of == group);
            let schema = named.and_then(|(_, name)| family.schema(name));
            (version.to_owned(), schema.map(fields::custom))
        });
        Self(types.collect())
    }

    pub(super) fn get(&self, api_version: &str) -> Option<&TypeRef> {
        self.0.get(api_version)?.as_ref()
    }

    /// Checks that an object fits each of the versions: a real server changes nothing but its `apiVersion`, and then
    /// refuses fields that the other version does not declare.
    pub(super) fn check(&self, object: &Value, what: &str) -> Result<(), Refusal> {
        let mut problems = self.0.iter().filter_map(|(version, of)| match of {
            Some(of) => problems(object, of),
            None => Some(format!(
                "request to convert CR to an invalid group/version: {version}"
            )),
        });
        match problems.next() {
            Some(problem) => Err(Refusal::Unconvertible(format!("{what}{problem}"))),
            None => Ok(()),
        }
    }
}
