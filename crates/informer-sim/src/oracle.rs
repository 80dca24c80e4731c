//! Knows every state that each object ever had, and judges what is cached by it.

use std::collections::BTreeMap;

use informer_store::{ObjectKey, Snapshot};

use crate::object::{Item, value_of, version_of};
use crate::trace::{Trace, holds};

/// A state of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) uid: String,
    pub(crate) value: String,
    /// Whether a client that selects sees it.
    pub(crate) shown: bool,
    /// Whether it can be decoded.
    pub(crate) good: bool,
}

/// What happened to one object: at which revision it became what; `None` where it was deleted.
type Life = Vec<(u64, Option<State>)>;

/// One course of history. A rewind begins another, which shares its past.
#[derive(Debug, Clone, Default)]
struct Course {
    lives: BTreeMap<String, Life>,
    head: u64,
}

/// The truth.
#[derive(Debug)]
pub(crate) struct Oracle {
    /// The last is the present one.
    courses: Vec<Course>,
    /// Up to where each rewind went back.
    rewinds: Vec<u64>,
    /// Every good copy that ever was, in any course.
    copies: BTreeMap<String, Vec<(u64, State)>>,
    selects: bool,
}

impl Oracle {
    pub(crate) fn new(selects: bool) -> Self {
        Self {
            courses: vec![Course::default()],
            rewinds: Vec::new(),
            copies: BTreeMap::new(),
            selects,
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
            self.copies
                .entry(key.to_owned())
                .or_default()
                .push((revision, good));
        }
        let now = self.now();
        now.head = now.head.max(revision);
        now.lives
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
        for life in course.lives.values_mut() {
            life.retain(|(at, _)| *at <= revision);
        }
        self.courses.push(course);
        self.rewinds.push(revision);
    }

    /// Everybody has come to know of the rewinds.
    pub(crate) fn rewind_is_known(&mut self) {
        let last = self.courses.len() - 1;
        self.courses.drain(..last);
    }

    /// What is there now.
    pub(crate) fn current(&self, key: &str) -> Option<&State> {
        self.present().lives.get(key)?.last()?.1.as_ref()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.present().lives.keys()
    }

    /// Whether an object may go back from one version to another: only where a rewind lies between.
    pub(crate) fn may_go_back(&self, from: u64) -> bool {
        self.rewinds.iter().any(|to| from > *to)
    }

    /// Whether versions say what came first: not where a server once went back in time.
    pub(crate) fn is_straight(&self) -> bool {
        self.rewinds.is_empty()
    }

    /// When an object was in a state between these two versions that everybody could have heard of.
    pub(crate) fn between(&self, key: &str, from: u64, to: u64) -> Option<u64> {
        let life = self.present().lives.get(key)?;
        let within = life.iter().filter(|(at, _)| from < *at && *at < to);
        // Nobody hears of what cannot be decoded, nor of its end.
        let within: Vec<_> = within.collect();
        let is_good = |state: &Option<State>| state.as_ref().is_none_or(|state| state.good);
        let all_good = within.iter().all(|(_, state)| is_good(state));
        within.first().filter(|_| all_good).map(|(at, _)| *at)
    }

    /// Whether a life of an object ended, for a client that selects, after it was in a state that it knew. Once the
    /// server has gone back in time, anything may have.
    pub(crate) fn has_ended(&self, key: &str, uid: &str, known: u64) -> bool {
        let Some(life) = self
            .present()
            .lives
            .get(key)
            .filter(|_| self.rewinds.is_empty())
        else {
            return true;
        };
        let later = life.iter().filter(|(at, _)| *at > known);
        later
            .map(|(_, state)| state.as_ref())
            .any(|state| !state.is_some_and(|state| state.uid == uid && self.is_visible(state)))
    }

    /// True if what a client that selects sees is exactly this, and how it differs otherwise.
    pub(crate) fn equals(&self, snapshot: &Snapshot<Item>) -> Result<(), String> {
        let mut count = 0;
        for (key, life) in &self.present().lives {
            let now = life
                .last()
                .and_then(|(at, state)| Some((*at, state.as_ref()?)));
            let wanted = now.filter(|(_, state)| self.is_visible(state));
            let cached = snapshot.get(key.as_str());
            match (wanted, cached) {
                (None, None) => {}
                // Whatever is left of it.
                (Some((_, state)), cached) if !state.good => count += usize::from(cached.is_some()),
                (Some((at, state)), Some(item)) if is(item, at, state) => count += 1,
                (wanted, cached) => {
                    let cached = cached.map(|item| (version_of(item), value_of(item)));
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

    /// What is cached must be true: each object in a state that it had at the cache's version or after it, and, where
    /// nothing waits in a queue, in the state of just that version (protocol 3.3: 1, 2, 4, 9, 13).
    pub(crate) fn judge(&self, snapshot: &Snapshot<Item>, drained: bool, trace: &Trace) {
        let Some(at) = snapshot.resource_version().and_then(|rv| rv.as_u64()) else {
            holds!(
                trace,
                snapshot.is_empty() || !drained,
                "objects are cached without a version"
            );
            return;
        };
        let mut why = String::new();
        let fits = self.courses.iter().rev().any(|course| {
            let until = if drained && self.courses.len() == 1 {
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
        for (key, life) in &course.lives {
            let cached = snapshot.get(key.as_str());
            if !self.could_be(key, life, cached.map(|item| &**item), from, until) {
                let cached = cached.map(|item| (version_of(item), value_of(item)));
                return Err(format!(
                    "{key} is cached as {cached:?}, its life is {life:?}"
                ));
            }
        }
        let unknown = |key: &&ObjectKey| !course.lives.contains_key(key.as_str());
        match snapshot.keys().find(unknown) {
            Some(key) => Err(format!("{key} never was")),
            None => Ok(()),
        }
    }

    /// Whether an object could be cached so at some moment between these revisions.
    fn could_be(
        &self,
        key: &str,
        life: &Life,
        cached: Option<&Item>,
        from: u64,
        until: u64,
    ) -> bool {
        // The state at `from`, and each that came later.
        let first = life
            .partition_point(|(at, _)| *at <= from)
            .saturating_sub(1);
        let before_first = life.first().is_none_or(|(at, _)| *at > from);
        if before_first && cached.is_none() {
            return true;
        }
        let mut possible = life[first..].iter().filter(|(at, _)| *at <= until);
        possible.any(|(at, state)| {
            let visible = state.as_ref().filter(|state| self.is_visible(state));
            match (visible, cached) {
                (None, None) => true,
                (None, Some(_)) => false,
                (Some(state), cached) if !state.good => {
                    // The last good copy that was seen stays, if one was.
                    let copies = self.copies.get(key).map_or(&[][..], Vec::as_slice);
                    cached.is_none_or(|item| {
                        let mut copies = copies.iter().filter(|(at, _)| *at <= until);
                        copies.any(|(at, copy)| is(item, *at, copy))
                    })
                }
                (Some(_), None) => false,
                (Some(state), Some(item)) => is(item, *at, state),
            }
        })
    }
}

fn is(item: &Item, at: u64, state: &State) -> bool {
    let uid = item.metadata.uid().map(ToString::to_string);
    version_of(item) == at && uid.as_deref() == Some(&state.uid) && value_of(item) == state.value
}
