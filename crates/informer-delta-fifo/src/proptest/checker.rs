//! What must hold of the batches of a queue.

use std::collections::{BTreeMap, BTreeSet};

use informer_store::{Object, ObjectKey, ObjectVersion, Relation, ResourceVersion};

use super::Violation;
use crate::batch::Batch;
use crate::delta::Delta;

/// Watches the batches of one queue as they are applied: no key twice in a batch; no object goes back within its UID, but by a rewind; a new
/// UID only after the deletion of the old one; no version taken back, but by a rewind.
#[derive(Debug, Default)]
pub struct BatchChecker {
    held: BTreeMap<ObjectKey, ObjectVersion>,
    /// Keys of a rewind that could not be applied: they go back when they are.
    to_rewind: BTreeSet<ObjectKey>,
    up_to: Option<ResourceVersion>,
}

impl BatchChecker {
    /// Makes a checker of a queue from which nothing was applied yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks a batch that is applied and acknowledged next.
    ///
    /// # Errors
    /// If something does not hold.
    pub fn check<K: Object>(&mut self, batch: &Batch<K>) -> Result<(), Violation> {
        self.check_except(batch, &[])
    }

    /// Checks a batch that is acknowledged next but for these keys, which are not applied.
    ///
    /// # Errors
    /// If something does not hold.
    pub fn check_except<K: Object>(
        &mut self,
        batch: &Batch<K>,
        failed: &[ObjectKey],
    ) -> Result<(), Violation> {
        let is_rewind = batch.list_end().is_some_and(|end| end.rewind);
        let mut keys = BTreeSet::new();
        for (key, deltas) in batch.iter() {
            if !keys.insert(key.clone()) {
                return Err(Violation(format!("{key} is in one batch twice")));
            }
            if deltas.is_empty() {
                return Err(Violation(format!("{key} has no delta")));
            }
            if failed.contains(key) {
                self.to_rewind.extend(is_rewind.then(|| key.clone()));
                continue;
            }
            let may_go_back = self.to_rewind.remove(key) || is_rewind;
            for delta in deltas {
                self.check_delta(key, delta, may_go_back)?;
            }
        }
        let is_whole = !failed.iter().any(|key| keys.contains(key));
        if let Some(new) = batch.applied_up_to().filter(|_| is_whole) {
            if let Some(old) = &self.up_to
                && new.is_older_than(old)
                && !is_rewind
            {
                let text = format!("everything up to {new} is claimed after {old}");
                return Err(Violation(text));
            }
            self.up_to = Some(new.clone());
        } else if is_rewind {
            self.up_to = None;
        }
        Ok(())
    }

    fn check_delta<K: Object>(
        &mut self,
        key: &ObjectKey,
        delta: &Delta<K>,
        may_go_back: bool,
    ) -> Result<(), Violation> {
        let object = match delta {
            Delta::Undecodable(_) => return Ok(()),
            Delta::Deleted(_) => {
                self.held.remove(key);
                return Ok(());
            }
            // A resync brings nothing back.
            Delta::Sync(_) if !self.held.contains_key(key) => return Ok(()),
            Delta::Added(object)
            | Delta::Updated(object)
            | Delta::Replaced(object)
            | Delta::Sync(object) => object,
        };
        let version = ObjectVersion::of(&**object);
        match self.held.get(key).map(|held| version.relation_to(held)) {
            Some(Relation::Recreated) => {
                let text = format!("{key} has a new UID before the deletion of the old one");
                Err(Violation(text))
            }
            Some(Relation::Older) if !may_go_back => {
                let held = self.held.get(key);
                let text = format!("{key} goes back from {held:?} to {version:?}");
                Err(Violation(text))
            }
            _ => {
                self.held.insert(key.clone(), version);
                Ok(())
            }
        }
    }
}
