//! Who owns what after a write: the algorithm of Kubernetes' structured merge.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::compare::Comparison;
use super::conflict::Conflict;
use super::merge::merge;
use super::owners::{Manager, Operation, Owned, Owners};
use super::set::FieldSet;
use super::value::{field_set, remove};
use super::versions::{OtherVersions, Refusal};
use crate::fields::TypeRef;
use crate::schema::Family;

/// Fields that nobody owns.
static NOT_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// What is the same for all managers in a write.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) of: TypeRef,
    pub(super) api_version: String,
    pub(super) subresource: &'static str,
    /// The fields that such a write cannot change.
    pub(super) ignored: FieldSet,
    pub(super) now: String,
    /// The versions of a custom resource.
    pub(super) family: Option<Arc<Family>>,
}

impl Write {
    fn manager(&self, name: &str, operation: Operation) -> Manager {
        Manager::new(name, operation, &self.api_version, self.subresource)
    }

    /// Takes changed fields from their owners, but not from the one who writes.
    fn take(
        &self,
        owners: &mut Owners,
        live: &Value,
        new: &Value,
        writer: Option<&Manager>,
        force: bool,
    ) -> Result<Comparison, Refusal> {
        let comparison = Comparison::of(live, new, &self.of).without(&self.ignored);
        let versions = OtherVersions::of(owners, &self.api_version, self.family.as_ref());
        versions.check(live, "")?;
        versions.check(new, "failed to convert new object: ")?;
        let in_version = |owned: &Owned| match versions.get(&owned.api_version) {
            Some(of) => Comparison::of(live, new, of).without(&self.ignored),
            None => comparison.clone(),
        };
        let others = || owners.0.iter().filter(|(one, _)| Some(*one) != writer);
        let conflicts: Vec<Conflict> = others()
            .flat_map(|(manager, owned)| {
                let set = in_version(owned).set();
                let paths = owned.fields.intersection(&set).paths().into_iter();
                paths.map(|path| Conflict::new(manager, path))
            })
            .collect();
        if !force && !conflicts.is_empty() {
            return Err(Refusal::Conflicts(conflicts));
        }
        for (manager, owned) in &mut owners.0 {
            if Some(manager) != writer {
                let comparison = in_version(owned);
                let lost = comparison.set().union(&comparison.removed);
                owned.fields = owned.fields.difference(&lost);
            }
        }
        owners.drop_empty();
        Ok(comparison)
    }

    /// Makes a manager the owner of what a write changed.
    pub(super) fn update(
        &self,
        owners: &mut Owners,
        live: &Value,
        new: &Value,
        name: &str,
    ) -> Result<(), Refusal> {
        let comparison = self.take(owners, live, new, None, true)?;
        let fields = comparison.set().difference(&NOT_OWNED);
        if !fields.is_empty() {
            let entry = owners.0.entry(self.manager(name, Operation::Update));
            let owned = entry.or_insert_with(|| Owned {
                fields: FieldSet::default(),
                api_version: self.api_version.clone(),
                time: None,
            });
            owned.fields.extend(&fields);
            // A real server loses the time of writes to a scale.
            owned.time = (self.subresource != "scale").then(|| self.now.clone());
        }
        owners.cap();
        Ok(())
    }

    /// Merges an applied object into the live one, without what its manager applied before and does no longer; makes
    /// it the owner of what it applies.
    pub(super) fn apply(
        &self,
        owners: &mut Owners,
        live: &Value,
        applied: &Value,
        name: &str,
        force: bool,
    ) -> Result<Value, Refusal> {
        let manager = self.manager(name, Operation::Apply);
        OtherVersions::of(owners, &self.api_version, self.family.as_ref()).check(live, "")?;
        let merged = merge(live, applied, &self.of);
        let owned = Owned {
            fields: field_set(applied, &self.of).without(&self.ignored),
            api_version: self.api_version.clone(),
            time: None,
        };
        let last = owners.0.insert(manager.clone(), owned);
        let new = match &last {
            Some(last) if !last.fields.is_empty() => self.prune(merged, owners, &last.fields),
            _ => merged,
        };
        self.take(owners, live, &new, Some(&manager), force)?;
        if let Some(owned) = owners.0.get_mut(&manager) {
            owned.fields = owned.fields.difference(&NOT_OWNED);
            owned.time = match new == *live {
                true => last.and_then(|last| last.time),
                false => Some(self.now.clone()),
            };
        }
        owners.drop_empty();
        Ok(new)
    }

    /// Removes what the manager applied last and nobody owns now.
    fn prune(&self, merged: Value, owners: &Owners, last: &FieldSet) -> Value {
        let all = |value: &Value| field_set(value, &self.of).with_declared(&self.of);
        let last = last.with_declared(&self.of);
        let mut pruned = remove(&merged, &self.of, &last);
        let mut owned = FieldSet::default();
        for one in owners.0.values() {
            owned.extend(&one.fields);
        }
        // Adds back what somebody owns, with what holds it.
        let kept = all(&pruned).union(&owned.with_declared(&self.of));
        let merged_set = all(&merged);
        pruned = remove(&merged, &self.of, &merged_set.difference(&kept));
        // And what lies below something removed, but was never this manager's.
        let gone = merged_set.difference(&all(&pruned)).intersection(&last);
        remove(&merged, &self.of, &gone)
    }
}
