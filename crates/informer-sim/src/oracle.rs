//! Records every state that each object ever had, and judges the cache by it.

use std::collections::BTreeMap;

use informer_store::{ObjectKey, Snapshot};

use crate::object::{Item, revision_of, value_of};
use crate::trace::{Trace, holds};
use crate::versions::{VersionKind, Versions};

/// A state of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) uid: String,
    pub(crate) value: String,
    /// The version that the object has for clients, empty if none.
    pub(crate) version: String,
    /// Whether a client that selects sees it.
    pub(crate) shown: bool,
    /// Whether it can be decoded.
    pub(crate) good: bool,
}

/// The states of one key, each from its revision on; `None` where it was deleted.
type States = Vec<(u64, Option<State>)>;

/// One course of history. A rewind starts another, which shares its past.
#[derive(Debug, Clone, Default)]
struct Course {
    histories: BTreeMap<String, States>,
    head: u64,
}

/// The truth.
#[derive(Debug)]
pub(crate) struct Oracle {
    /// The last is the present one.
    courses: Vec<Course>,
    /// The revision that each rewind went back to.
    rewinds: Vec<u64>,
    /// Every decodable state that ever was, in any course.
    decodable: BTreeMap<String, Vec<(u64, State)>>,
    selects: bool,
    versions: Versions,
}

impl Oracle {
    pub(crate) fn new(selects: bool, versions: Versions) -> Self {
        Self {
            courses: vec![Course::default()],
            rewinds: Vec::new(),
            decodable: BTreeMap::new(),
            selects,
            versions,
        }
    }

    fn now(&mut self) -> &mut Course {
        self.courses.last_mut().expect("there is always one")
    }

    fn present(&self) -> &Course {
        self.courses.last().expect("there is always one")
    }

    pub(crate) fn wrote(&mut self, key: &str, revision: u64, state: Option<State>) {
        if let Some(good) = state.clone().filter(|state| state.good) {
            self.decodable
                .entry(key.to_owned())
                .or_default()
                .push((revision, good));
        }
        let now = self.now();
        now.head = now.head.max(revision);
        now.histories
            .entry(key.to_owned())
            .or_default()
            .push((revision, state));
    }

    /// Something else was written.
    pub(crate) fn moved(&mut self, revision: u64) {
        let now = self.now();
        now.head = now.head.max(revision);
    }

    pub(crate) fn rewound(&mut self, revision: u64) {
        let mut course = self.present().clone();
        course.head = revision;
        for states in course.histories.values_mut() {
            states.retain(|(at, _)| *at <= revision);
        }
        self.courses.push(course);
        self.rewinds.push(revision);
    }

    /// The rewinds are recognised.
    pub(crate) fn rewind_is_recognised(&mut self) {
        let last = self.courses.len() - 1;
        self.courses.drain(..last);
    }

    /// Returns the present state.
    pub(crate) fn current(&self, key: &str) -> Option<&State> {
        self.present().histories.get(key)?.last()?.1.as_ref()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.present().histories.keys()
    }

    /// Whether an object may go back from one version to another: only where a rewind lies between, or where events with
    /// versions below the one of the last list are sent again.
    pub(crate) fn may_go_back(&self, from: u64) -> bool {
        self.versions.kind.repeats_events() || self.rewinds.iter().any(|to| from > *to)
    }

    /// Whether versions tell the order: not after a rewind.
    pub(crate) fn is_straight(&self) -> bool {
        self.rewinds.is_empty()
    }

    /// Returns when an object was in a state between these two versions, if every client received it.
    pub(crate) fn between(&self, key: &str, from: u64, to: u64) -> Option<u64> {
        let states = self.present().histories.get(key)?;
        let within = states.iter().filter(|(at, _)| from < *at && *at < to);
        // No client receives what cannot be decoded, nor its end.
        let within: Vec<_> = within.collect();
        let is_good = |state: &Option<State>| state.as_ref().is_none_or(|state| state.good);
        let all_good = within.iter().all(|(_, state)| is_good(state));
        within.first().filter(|_| all_good).map(|(at, _)| *at)
    }

    /// Whether an object of this UID was deleted, for a client that selects, after a state that it had. After a rewind, and
    /// where events are sent again, anything may have been.
    pub(crate) fn has_ended(&self, key: &str, uid: &str, known: u64) -> bool {
        let Some(states) = self
            .present()
            .histories
            .get(key)
            .filter(|_| self.rewinds.is_empty() && !self.versions.kind.repeats_events())
        else {
            return true;
        };
        let later = states.iter().filter(|(at, _)| *at > known);
        later
            .map(|(_, state)| state.as_ref())
            .any(|state| !state.is_some_and(|state| state.uid == uid && self.is_visible(state)))
    }

    /// Compares with what a client that selects sees.
    ///
    /// # Errors
    /// How it differs.
    pub(crate) fn equals(&self, snapshot: &Snapshot<Item>) -> Result<(), String> {
        let mut count = 0;
        for (key, states) in &self.present().histories {
            let now = states
                .last()
                .and_then(|(at, state)| Some((*at, state.as_ref()?)));
            let wanted = now.filter(|(_, state)| self.is_visible(state));
            let cached = snapshot.get(key.as_str());
            match (wanted, cached) {
                (None, None) => {}
                // Whatever is left of it.
                (Some((_, state)), cached) if !state.good => count += usize::from(cached.is_some()),
                (Some((_, state)), Some(item)) if is(item, state) => count += 1,
                (wanted, cached) => {
                    let cached = cached.map(|item| (revision_of(item), value_of(item)));
                    return Err(format!("{key} is {wanted:?}, cached is {cached:?}"));
                }
            }
        }
        if snapshot.len() == count {
            Ok(())
        } else {
            Err(format!(
                "{} objects are cached, not {count}",
                snapshot.len()
            ))
        }
    }

    fn is_visible(&self, state: &State) -> bool {
        state.shown || !self.selects
    }

    /// Judges the cache: each object is in a state that it had at the cache's version or later, and, where nothing is
    /// queued, in the state of exactly that version (protocol 3.3: 1, 2, 4, 9, 13).
    pub(crate) fn judge(&self, snapshot: &Snapshot<Item>, drained: bool, trace: &Trace) {
        let version = snapshot.resource_version();
        let Some(at) = version.and_then(|version| self.versions.revision(version)) else {
            let never = self.versions.kind == VersionKind::Absent;
            holds!(
                trace,
                never || snapshot.is_empty() || !drained,
                "objects are cached without a version"
            );
            return;
        };
        let mut why = String::new();
        let fits = self.courses.iter().rev().any(|course| {
            let is_exact = drained && self.versions.kind.is_history();
            let until = if is_exact && self.courses.len() == 1 {
                at
            } else {
                course.head.max(at)
            };
            match self.fits(course, snapshot, at, until) {
                Ok(()) => true,
                Err(reason) => {
                    why = reason;
                    false
                }
            }
        });
        holds!(
            trace,
            fits,
            "cached at {at}, {}: {why}",
            if drained {
                "nothing queued"
            } else {
                "more queued"
            }
        );
    }

    fn fits(
        &self,
        course: &Course,
        snapshot: &Snapshot<Item>,
        from: u64,
        until: u64,
    ) -> Result<(), String> {
        for (key, states) in &course.histories {
            let cached = snapshot.get(key.as_str());
            if !self.could_be(key, states, cached.map(|item| &**item), from, until) {
                let cached = cached.map(|item| (revision_of(item), value_of(item)));
                return Err(format!(
                    "{key} is cached as {cached:?}, its states are {states:?}"
                ));
            }
        }
        let unknown = |key: &&ObjectKey| !course.histories.contains_key(key.as_str());
        match snapshot.keys().find(unknown) {
            Some(key) => Err(format!("{key} never existed")),
            None => Ok(()),
        }
    }

    /// Whether an object could be cached so at some moment between these revisions.
    fn could_be(
        &self,
        key: &str,
        states: &States,
        cached: Option<&Item>,
        from: u64,
        until: u64,
    ) -> bool {
        // The state at `from`, and each that came later.
        let first = states
            .partition_point(|(at, _)| *at <= from)
            .saturating_sub(1);
        let before_first = states.first().is_none_or(|(at, _)| *at > from);
        if before_first && cached.is_none() {
            return true;
        }
        let mut possible = states[first..].iter().filter(|(at, _)| *at <= until);
        possible.any(|(_, state)| {
            let visible = state.as_ref().filter(|state| self.is_visible(state));
            match (visible, cached) {
                (None, None) => true,
                (None, Some(_)) => false,
                (Some(state), cached) if !state.good => {
                    // The last decodable state that was received stays, if one was.
                    let decodable = self.decodable.get(key).map_or(&[][..], Vec::as_slice);
                    cached.is_none_or(|item| {
                        let mut decodable = decodable.iter().filter(|(at, _)| *at <= until);
                        decodable.any(|(_, state)| is(item, state))
                    })
                }
                (Some(_), None) => false,
                (Some(state), Some(item)) => is(item, state),
            }
        })
    }
}

fn is(item: &Item, state: &State) -> bool {
    let uid = item.metadata.uid().map(ToString::to_string);
    let version = item.metadata.resource_version().map(ToString::to_string);
    version.unwrap_or_default() == state.version
        && uid.as_deref() == Some(&state.uid)
        && value_of(item) == state.value
}
