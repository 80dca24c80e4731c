//! A handler's history against all that there was to tell: where it started, and then everything, once, in order; or
//! joined to fewer events by the table of `QueuePolicy::Coalesce`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use informer_shared::{Cause, Event};
use informer_store::ObjectKey;

use super::judge::is_shown;
use crate::object::{Item, short};

/// What is to be expected of a handler.
pub(super) struct Terms {
    pub(super) filtered: bool,
    pub(super) coalesces: bool,
    /// Nothing may be left to tell.
    pub(super) whole: bool,
    /// After how many events it may have started.
    pub(super) starts: RangeInclusive<usize>,
}

type Known = BTreeMap<ObjectKey, Arc<Item>>;

/// Finds a start from which `log` is the history of a handler.
pub(super) fn judge(all: &[Event<Item>], log: &[Event<Item>], terms: &Terms) -> Result<(), String> {
    let mut known = Known::new();
    let mut why = "it started nowhere".to_owned();
    for start in 0..=*terms.starts.end() {
        if terms.starts.contains(&start) {
            match from(&known, &all[start..], log, terms) {
                Ok(()) => return Ok(()),
                Err(reason) => why = reason,
            }
        }
        let Some(event) = all.get(start) else { break };
        match event {
            Event::Deleted { .. } => known.remove(&event.key()),
            _ => known.insert(event.key(), Arc::clone(event.object())),
        };
    }
    Err(why)
}

/// Whether it started from what is known here, and then heard of `later`.
fn from(
    known: &Known,
    later: &[Event<Item>],
    log: &[Event<Item>],
    terms: &Terms,
) -> Result<(), String> {
    let shown = |item: &Item| !terms.filtered || is_shown(item);
    let first = known.values().filter(|item| shown(item)).count();
    let (replay, rest) = log.split_at(first.min(log.len()));
    let mut replayed = Known::new();
    for event in replay {
        let Event::Added {
            object,
            initial: true,
        } = event
        else {
            return Err(format!("{event:?} before all that was there first"));
        };
        let is_known = known
            .get(&event.key())
            .is_some_and(|item| Arc::ptr_eq(item, object) && shown(item));
        if !is_known {
            return Err(format!("{event:?} was not there first"));
        }
        replayed.insert(event.key(), Arc::clone(object));
    }
    if replayed.len() != replay.len() {
        return Err("an object was there first twice".to_owned());
    }
    if replay.len() < first && (!rest.is_empty() || terms.whole) {
        return Err(format!("{} of {first} that were there first", replay.len()));
    }
    let rest: Vec<_> = rest.iter().filter(|event| !is_reminder(event)).collect();
    match terms.coalesces {
        true => joined(known, later, &rest, terms),
        false => in_full(known, later, &rest, terms),
    }
}

/// Judged where it is told; it changes nothing.
fn is_reminder(event: &Event<Item>) -> bool {
    matches!(event, Event::Updated { old, new, .. } if Arc::ptr_eq(old, new))
}

/// Each event, once, in order.
fn in_full(
    known: &Known,
    later: &[Event<Item>],
    rest: &[&Event<Item>],
    terms: &Terms,
) -> Result<(), String> {
    let mut known = known.clone();
    let mut expected = later.iter().filter_map(|event| match terms.filtered {
        true => filtered(&mut known, event),
        false => Some(event.clone()),
    });
    for event in rest {
        let wanted = expected.next();
        if !wanted.as_ref().is_some_and(|wanted| same(wanted, event)) {
            return Err(format!("told {event:?}, where {wanted:?} was next"));
        }
    }
    match expected.next().filter(|_| terms.whole) {
        Some(missed) => Err(format!("never told {missed:?}")),
        None => Ok(()),
    }
}

/// What a filter leaves of an event. A deletion may bring a last state that nobody has heard of: it ends what was
/// known.
fn filtered(known: &mut Known, event: &Event<Item>) -> Option<Event<Item>> {
    let key = event.key();
    let before = match event {
        Event::Deleted { .. } => known.remove(&key),
        _ => known.insert(key, Arc::clone(event.object())),
    };
    let was_shown = before.as_ref().is_some_and(|item| is_shown(item));
    match (event, was_shown, is_shown(event.object())) {
        (Event::Deleted { .. }, _, _) => was_shown.then(|| event.clone()),
        (Event::Updated { old, .. }, true, false) => Some(Event::Deleted {
            object: Arc::clone(old),
            final_state_unknown: false,
        }),
        (Event::Updated { new, .. }, false, true) => Some(Event::Added {
            object: Arc::clone(new),
            initial: false,
        }),
        (_, _, shown) => shown.then(|| event.clone()),
    }
}

fn same(a: &Event<Item>, b: &Event<Item>) -> bool {
    let object = Arc::ptr_eq(a.object(), b.object());
    object
        && match (a, b) {
            (Event::Added { initial: a, .. }, Event::Added { initial: b, .. }) => a == b,
            (
                Event::Updated {
                    old: a, cause: x, ..
                },
                Event::Updated {
                    old: b, cause: y, ..
                },
            ) => Arc::ptr_eq(a, b) && x == y,
            (
                Event::Deleted {
                    final_state_unknown: a,
                    ..
                },
                Event::Deleted {
                    final_state_unknown: b,
                    ..
                },
            ) => a == b,
            _ => false,
        }
}

/// One key's way through the events, as far as the handler has come.
struct Course<'a> {
    events: Vec<&'a Event<Item>>,
    /// How many of them the handler has heard of, by themselves or within others.
    heard: usize,
}

/// For each key some of its states, in order, none twice; told as the events between them join.
fn joined(
    known: &Known,
    later: &[Event<Item>],
    rest: &[&Event<Item>],
    terms: &Terms,
) -> Result<(), String> {
    let mut courses: BTreeMap<ObjectKey, Course<'_>> = BTreeMap::new();
    for event in later {
        let course = courses.entry(event.key()).or_insert_with(|| Course {
            events: Vec::new(),
            heard: 0,
        });
        course.events.push(event);
    }
    for event in rest {
        let key = event.key();
        let before = known.get(&key).map(|item| short(item));
        let Some(course) = courses.get_mut(&key) else {
            return Err(format!(
                "told {event:?}, where nothing came after {before:?}"
            ));
        };
        let run = &course.events[course.heard..];
        let ends = |candidate: &&Event<Item>| ends_with(candidate, event, terms.filtered);
        let Some(length) = run.iter().position(ends).map(|at| at + 1) else {
            return Err(format!("told {event:?}, where {run:?} was left"));
        };
        if !terms.filtered {
            judge_join(&run[..length], event)?;
        }
        course.heard += length;
    }
    Ok(())
}

/// Whether a run of events that this one ends can be told as `told`.
fn ends_with(last: &Event<Item>, told: &Event<Item>, filtered: bool) -> bool {
    match (last, told) {
        // The last event of those that join says what is left.
        (Event::Deleted { .. }, Event::Deleted { .. }) => filtered || same(last, told),
        (Event::Updated { new, .. }, Event::Deleted { .. }) => filtered && !is_shown(new),
        (Event::Deleted { .. }, _) | (_, Event::Deleted { .. }) => false,
        _ => Arc::ptr_eq(last.object(), told.object()),
    }
}

/// The table of `QueuePolicy::Coalesce`, for a run of events of one key that was told as one.
fn judge_join(run: &[&Event<Item>], told: &Event<Item>) -> Result<(), String> {
    let fits = match told {
        // It begins with an addition, perhaps after lives that came and went.
        Event::Added { initial, .. } => {
            let birth = run.iter().rev().find_map(|event| match event {
                Event::Added { initial, .. } => Some(*initial),
                _ => None,
            });
            birth == Some(*initial)
        }
        // No end lies within it, and the weightiest cause is told.
        Event::Updated { cause, .. } => {
            let mut joined = Cause::Resync;
            let within = run.iter().all(|event| match event {
                Event::Updated { cause, .. } => {
                    joined = joined.or(*cause);
                    true
                }
                _ => false,
            });
            within && joined == *cause
        }
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err(format!("{run:?} was told as {told:?}")),
    }
}
