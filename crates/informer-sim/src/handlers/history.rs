//! Compares a handler's history with all events of the informer: its initial objects, then every event, once, in order;
//! or coalesced to fewer by the table of `QueuePolicy::Coalesce`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use informer_shared::{Cause, Event};
use informer_store::ObjectKey;

use super::judge::is_shown;
use crate::object::Item;

/// What is expected of a handler.
pub(super) struct Terms {
    pub(super) filtered: bool,
    pub(super) coalesces: bool,
    /// No event may be left.
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

/// Whether it started from `known`, and then received `later`.
fn from(
    known: &Known,
    later: &[Event<Item>],
    log: &[Event<Item>],
    terms: &Terms,
) -> Result<(), String> {
    let shown = |item: &Arc<Item>| !terms.filtered || is_shown(item);
    let initial = known.values().filter(|item| shown(item));
    if terms.coalesces {
        // Initial objects are coalesced like all others.
        let initial = initial.map(|object| Event::Added {
            object: Arc::clone(object),
            initial: true,
        });
        let all: Vec<_> = initial.chain(later.iter().cloned()).collect();
        let log: Vec<_> = log.iter().filter(|event| !is_unchanged(event)).collect();
        return coalesced(&all, &log, terms);
    }
    let first = initial.count();
    let (replay, rest) = log.split_at(first.min(log.len()));
    let mut replayed = Known::new();
    for event in replay {
        let Event::Added {
            object,
            initial: true,
        } = event
        else {
            return Err(format!("{event:?} before all initial objects"));
        };
        let is_known = known
            .get(&event.key())
            .is_some_and(|item| Arc::ptr_eq(item, object) && shown(item));
        if !is_known {
            return Err(format!("{event:?} was not initial"));
        }
        replayed.insert(event.key(), Arc::clone(object));
    }
    if replayed.len() != replay.len() {
        return Err("an object was initial twice".to_owned());
    }
    if replay.len() < first && (!rest.is_empty() || terms.whole) {
        return Err(format!("{} of {first} initial objects", replay.len()));
    }
    let rest: Vec<_> = rest.iter().filter(|event| !is_unchanged(event)).collect();
    in_full(known, later, &rest, terms)
}

/// Judged when it is received; it changes nothing.
fn is_unchanged(event: &Event<Item>) -> bool {
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
            return Err(format!("received {event:?}, where {wanted:?} was next"));
        }
    }
    match expected.next().filter(|_| terms.whole) {
        Some(missed) => Err(format!("never received {missed:?}")),
        None => Ok(()),
    }
}

/// Returns what a filter leaves of an event. A deletion may carry a last state that was not received: it deletes what
/// was known.
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

/// The events of one key, and how far the handler has come.
struct Course<'a> {
    events: Vec<&'a Event<Item>>,
    /// How many of them the handler has received, alone or coalesced.
    received: usize,
}

/// For each key some of its states, in order, none twice; received as the events between them coalesce.
fn coalesced(all: &[Event<Item>], log: &[&Event<Item>], terms: &Terms) -> Result<(), String> {
    let mut courses: BTreeMap<ObjectKey, Course<'_>> = BTreeMap::new();
    for event in all {
        let course = courses.entry(event.key()).or_insert_with(|| Course {
            events: Vec::new(),
            received: 0,
        });
        course.events.push(event);
    }
    for event in log {
        let Some(course) = courses.get_mut(&event.key()) else {
            return Err(format!("received {event:?} of a key without events"));
        };
        let run = &course.events[course.received..];
        let ends = |candidate: &&Event<Item>| ends_with(candidate, event, terms.filtered);
        let Some(length) = run.iter().position(ends).map(|at| at + 1) else {
            return Err(format!("received {event:?}, where {run:?} was left"));
        };
        if !terms.filtered {
            judge_join(&run[..length], event)?;
        }
        course.received += length;
    }
    Ok(())
}

/// Whether a run of events that this one ends can be received as `received`.
fn ends_with(last: &Event<Item>, received: &Event<Item>, filtered: bool) -> bool {
    match (last, received) {
        // The last event of a run decides.
        (Event::Deleted { .. }, Event::Deleted { .. }) => filtered || same(last, received),
        (Event::Updated { new, .. }, Event::Deleted { .. }) => filtered && !is_shown(new),
        (Event::Deleted { .. }, _) | (_, Event::Deleted { .. }) => false,
        _ => Arc::ptr_eq(last.object(), received.object()),
    }
}

/// The table of `QueuePolicy::Coalesce`, for a run of events of one key that was received as one.
fn judge_join(run: &[&Event<Item>], received: &Event<Item>) -> Result<(), String> {
    let fits = match received {
        // It starts with an addition, perhaps after others that were deleted.
        Event::Added { initial, .. } => {
            let addition = run.iter().rev().find_map(|event| match event {
                Event::Added { initial, .. } => Some(*initial),
                _ => None,
            });
            addition == Some(*initial)
        }
        // It has no deletion, and the strongest cause is received.
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
        false => Err(format!("{run:?} was received as {received:?}")),
    }
}
