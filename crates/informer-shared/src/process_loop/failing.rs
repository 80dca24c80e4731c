//! Which keys could not be applied, and how often they are tried again. Plain data.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use informer_store::ObjectKey;

/// How long the loop pauses after a batch with keys that are tried again; doubled with each such batch in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The keys that failed when they were last tried, with the number of tries.
///
/// # Invariants
/// - After a batch with room each key is in the queue: the memory is bounded by the queue's.
/// - No key is tried more than `retries + 1` times in a row.
pub(super) struct Failing {
    tries: HashMap<ObjectKey, u32>,
    retries: u32,
    /// Batches in a row with keys that are tried again.
    batches: u32,
}

/// What became of the keys of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Keys to requeue.
    pub(super) requeued: Vec<ObjectKey>,
    /// Keys that failed before and are applied now.
    pub(super) repaired: u64,
    /// Keys that failed too often and are given up.
    pub(super) given_up: u64,
    /// How long to pause before the next batch.
    pub(super) pause: Option<Duration>,
}

impl Failing {
    pub(super) fn new(retries: u32) -> Self {
        Self {
            tries: HashMap::new(),
            retries,
            batches: 0,
        }
    }

    pub(super) fn set_retries(&mut self, retries: u32) {
        self.retries = retries;
    }

    pub(super) fn len(&self) -> usize {
        self.tries.len()
    }

    /// Notes a batch of these keys, of which some failed. One that `has_room` holds all requeued keys, for they come first:
    /// what it lacks was dropped by a queue beyond its limit.
    pub(super) fn note<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a ObjectKey>,
        failed: &HashSet<&ObjectKey>,
        has_room: bool,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if self.tries.is_empty() && failed.is_empty() {
            self.batches = 0;
            return outcome;
        }
        let mut before = std::mem::take(&mut self.tries);
        for key in keys {
            let tries = before.remove(key);
            if !failed.contains(key) {
                outcome.repaired += u64::from(tries.is_some());
                continue;
            }
            let tries = tries.unwrap_or(0).saturating_add(1);
            if tries > self.retries {
                outcome.given_up += 1;
            } else {
                self.tries.insert(key.clone(), tries);
                outcome.requeued.push(key.clone());
            }
        }
        if !has_room {
            self.tries.extend(before);
        }
        if outcome.requeued.is_empty() {
            self.batches = 0;
        } else {
            self.batches = self.batches.saturating_add(1);
            let doubled = 1_u32.checked_shl(self.batches - 1).unwrap_or(u32::MAX);
            outcome.pause = Some(FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE));
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(failing: &mut Failing, keys: &[&ObjectKey], failed: &[&ObjectKey]) -> Outcome {
        failing.note(
            keys.iter().copied(),
            &failed.iter().copied().collect(),
            true,
        )
    }

    // INV-CTRL-2
    #[test]
    fn key_is_requeued_with_backoff_until_it_is_applied_or_given_up() {
        let (a, b) = (
            ObjectKey::cluster_scoped("a"),
            ObjectKey::cluster_scoped("b"),
        );
        let mut failing = Failing::new(2);
        let outcome = note(&mut failing, &[&a, &b], &[&a, &b]);
        assert_eq!(outcome.requeued, [a.clone(), b.clone()]);
        assert_eq!(outcome.pause, Some(FIRST_PAUSE));
        let outcome = note(&mut failing, &[&a, &b], &[&b]);
        assert_eq!((outcome.repaired, failing.len()), (1, 1));
        assert_eq!(outcome.pause, Some(2 * FIRST_PAUSE));
        let outcome = note(&mut failing, &[&b], &[&b]);
        assert_eq!((outcome.given_up, failing.len()), (1, 0));
        assert_eq!((outcome.requeued.len(), outcome.pause), (0, None));
        // From the beginning.
        let outcome = note(&mut failing, &[&b], &[&b]);
        assert_eq!(outcome.pause, Some(FIRST_PAUSE));
    }

    #[test]
    fn pause_grows_up_to_a_second() {
        let a = ObjectKey::cluster_scoped("a");
        let mut failing = Failing::new(u32::MAX);
        let pauses = (0..100).map(|_| note(&mut failing, &[&a], &[&a]).pause);
        assert_eq!(pauses.max().flatten(), Some(LONGEST_PAUSE));
    }

    // INV-CTRL-2: an object that is deleted before it was applied leaves the queue, and nothing here.
    #[test]
    fn keys_that_left_the_queue_are_forgotten() {
        let (a, b) = (
            ObjectKey::cluster_scoped("a"),
            ObjectKey::cluster_scoped("b"),
        );
        let mut failing = Failing::new(2);
        note(&mut failing, &[&a], &[&a]);
        // A full batch may leave some of many for the next one.
        let outcome = failing.note([&b].into_iter(), &HashSet::new(), false);
        assert_eq!((outcome, failing.len()), (Outcome::default(), 1));
        assert_eq!(note(&mut failing, &[&b], &[]), Outcome::default());
        assert_eq!(failing.len(), 0);
    }

    // A process may name keys that are not in the batch; they would stay for ever.
    #[test]
    fn keys_outside_of_the_batch_are_ignored() {
        let (a, b) = (
            ObjectKey::cluster_scoped("a"),
            ObjectKey::cluster_scoped("b"),
        );
        let mut failing = Failing::new(2);
        assert_eq!(note(&mut failing, &[&a], &[&b]), Outcome::default());
        assert_eq!(failing.len(), 0);
    }
}
