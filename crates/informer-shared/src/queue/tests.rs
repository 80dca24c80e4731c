//! The queue against a naive model: any policy, any order of pushes and takes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informer_store::ObjectKey;
use proptest::prelude::*;
use tokio::time::Instant;

use super::backlog::Backlog;
use super::state::QueueState;
use super::{End, Queue, QueuePolicy, Replay};
use crate::event::{Cause, Event};

type Value = u32;

fn key(n: u8) -> ObjectKey {
    ObjectKey::namespaced("ns", &format!("o{n}"))
}

fn added(value: Value) -> Event<Value> {
    Event::Added {
        object: Arc::new(value),
        initial: false,
    }
}

fn updated(old: Value, new: Value, cause: Cause) -> Event<Value> {
    Event::Updated {
        old: Arc::new(old),
        new: Arc::new(new),
        cause,
    }
}

fn deleted(value: Value) -> Event<Value> {
    Event::Deleted {
        object: Arc::new(value),
        final_state_unknown: false,
    }
}

fn text(event: &Event<Value>) -> String {
    match event {
        Event::Added { object, initial } => format!("+{object}{}", if *initial { "i" } else { "" }),
        Event::Updated { old, new, cause } => format!("{old}>{new} {cause}"),
        Event::Deleted {
            object,
            final_state_unknown,
        } => {
            format!("-{object}{}", if *final_state_unknown { "?" } else { "" })
        }
    }
}

/// What a coalescing queue delivers if one key gets all these events before the handler takes any.
fn coalesced(events: Vec<Event<Value>>) -> Vec<String> {
    let mut backlog = Backlog::new(true);
    for event in events {
        backlog.push(&key(0), event.into(), false, Instant::now());
        backlog.check();
    }
    let mut out = Vec::new();
    while let Some(taken) = backlog.pop() {
        backlog.check();
        out.push(text(&taken.delivery.event));
    }
    out
}

// INV-SHARED-2
#[test]
fn events_of_a_key_join_as_the_table_says() {
    use Cause::{Relist, Resync, Watch};
    let initial = Event::Added {
        object: Arc::new(1),
        initial: true,
    };
    let unknown = Event::Deleted {
        object: Arc::new(2),
        final_state_unknown: true,
    };
    let cases: Vec<(Vec<Event<Value>>, &[&str])> = vec![
        (vec![initial, updated(1, 2, Watch)], &["+2i"]),
        (vec![added(1), updated(1, 2, Watch)], &["+2"]),
        (
            vec![updated(1, 2, Relist), updated(2, 3, Watch)],
            &["1>3 watch"],
        ),
        (
            vec![updated(1, 2, Watch), updated(2, 2, Resync)],
            &["1>2 watch"],
        ),
        (
            vec![updated(1, 1, Resync), updated(1, 1, Relist)],
            &["1>1 relist"],
        ),
        (
            vec![updated(1, 1, Resync), updated(1, 1, Resync)],
            &["1>1 resync"],
        ),
        (vec![added(1), deleted(1)], &[]),
        (vec![added(1), deleted(1), added(2)], &["+2"]),
        (vec![updated(1, 2, Watch), deleted(2)], &["-2"]),
        (vec![updated(1, 2, Watch), unknown], &["-2?"]),
        (vec![deleted(1), added(2)], &["-1", "+2"]),
        (
            vec![deleted(1), added(2), updated(2, 3, Watch)],
            &["-1", "+3"],
        ),
        (vec![deleted(1), added(2), deleted(2)], &["-1"]),
        (
            vec![deleted(1), added(2), deleted(2), added(3)],
            &["-1", "+3"],
        ),
    ];
    for (events, expected) in cases {
        let given: Vec<_> = events.iter().map(text).collect();
        assert_eq!(coalesced(events), expected, "given {given:?}");
    }
}

// INV-SHARED-2
#[test]
fn a_key_keeps_its_place_while_its_events_join() {
    let mut backlog = Backlog::new(true);
    let now = Instant::now();
    backlog.push(&key(1), added(1).into(), false, now);
    backlog.push(&key(2), added(2).into(), false, now);
    backlog.push(&key(1), updated(1, 10, Cause::Watch).into(), false, now);
    assert_eq!(backlog.len(), 2);
    assert_eq!(text(&backlog.pop().unwrap().delivery.event), "+10");
    assert_eq!(text(&backlog.pop().unwrap().delivery.event), "+2");
}

// INV-SHARED-2: the added half of an entry that holds two still joins with what comes.
#[test]
fn the_second_half_of_a_recreated_key_waits_in_place() {
    let mut backlog = Backlog::new(true);
    let now = Instant::now();
    backlog.push(&key(1), deleted(1).into(), false, now);
    backlog.push(&key(1), added(2).into(), false, now);
    backlog.push(&key(2), added(9).into(), false, now);
    assert_eq!(backlog.len(), 2);
    assert_eq!(text(&backlog.pop().unwrap().delivery.event), "-1");
    assert_eq!(backlog.len(), 2);
    backlog.push(&key(1), deleted(2).into(), false, now);
    assert_eq!(text(&backlog.pop().unwrap().delivery.event), "+9");
    assert!(backlog.pop().is_none());
}

// INV-SHARED-3, peers 60
#[test]
fn keys_that_come_and_go_behind_a_stuck_entry_take_no_memory() {
    let mut backlog = Backlog::new(true);
    let now = Instant::now();
    backlog.push(&key(0), added(0).into(), false, now);
    for n in 0..100_000_u32 {
        let key = ObjectKey::cluster_scoped(&(n % 200).to_string());
        backlog.push(&key, added(n).into(), false, now);
        if n % 2 == 0 {
            backlog.push(
                &ObjectKey::namespaced("ns", "other"),
                added(n).into(),
                false,
                now,
            );
        }
        backlog.push(&key, deleted(n).into(), false, now);
    }
    backlog.check();
    assert_eq!(backlog.len(), 2);
    assert!(backlog.slots() < 200, "{} slots", backlog.slots());
}

// peers 60
#[test]
fn a_drained_queue_gives_its_memory_back() {
    for coalesces in [true, false] {
        let mut backlog = Backlog::new(coalesces);
        for n in 0..10_000 {
            let key = ObjectKey::cluster_scoped(&n.to_string());
            backlog.push(&key, added(n).into(), false, Instant::now());
        }
        while backlog.pop().is_some() {}
        assert!(
            backlog.capacity() <= 64,
            "{} slots kept",
            backlog.capacity()
        );
    }
}

// INV-SHARED-5, WS3
#[test]
fn an_initial_object_that_is_deleted_again_settles_the_sync_count() {
    let mut queue = QueueState::new(QueuePolicy::Coalesce);
    let now = Instant::now();
    queue.push(&key(1), added(1).into(), now);
    queue.mark_source_synced();
    assert!(!queue.turns_synced());
    queue.push(&key(1), deleted(1).into(), now);
    assert!(queue.turns_synced());
    assert!(!queue.turns_synced(), "only once");
}

// INV-SHARED-5
#[test]
fn an_event_in_hand_is_not_yet_handled_whatever_else_happens() {
    let mut queue = QueueState::new(QueuePolicy::Coalesce);
    let now = Instant::now();
    queue.push(&key(1), added(1).into(), now);
    queue.mark_source_synced();
    assert!(queue.pop().is_some());
    queue.push(&key(2), added(2).into(), now);
    assert!(!queue.turns_synced());
    queue.finish();
    assert!(queue.turns_synced());
}

// INV-SHARED-4
#[test]
fn a_bounded_queue_ends_when_full_but_does_not_count_the_first_state() {
    let mut queue = QueueState::new(QueuePolicy::Bounded(2));
    let now = Instant::now();
    for n in 0..10 {
        assert!(queue.push(&key(n), added(0).into(), now));
    }
    queue.mark_source_synced();
    assert!(queue.push(&key(0), updated(0, 1, Cause::Watch).into(), now));
    assert!(queue.push(&key(0), updated(1, 2, Cause::Watch).into(), now));
    assert_eq!(queue.ended(), None);
    assert!(!queue.push(&key(0), updated(2, 3, Cause::Watch).into(), now));
    assert_eq!(queue.ended(), Some(End::Full { limit: 2 }));
    assert_eq!(queue.status(now).depth, 0);
    assert!(
        !queue.turns_synced(),
        "a handler that was cut off never becomes synced"
    );
}

#[test]
fn a_replay_comes_before_what_was_pushed_and_ends_with_the_queue() {
    let (queue, mut consumer) = Queue::<Value>::new(QueuePolicy::Coalesce);
    let now = Instant::now();
    let objects = || vec![Arc::new(1), Arc::new(2)];
    queue.replay(
        Replay {
            at_most: 2,
            objects: Box::new(objects),
        },
        now,
    );
    queue.mark_source_synced();
    queue.push_all(
        [(&key(1), updated(1, 3, Cause::Watch).into())].into_iter(),
        now,
    );
    assert_eq!(queue.status().depth, 3);
    let cx = Context::from_waker(Waker::noop());
    let mut take = || match consumer.poll_next(&cx) {
        Poll::Ready(event) => event.map(|d| text(&d.event)),
        Poll::Pending => Some("pending".into()),
    };
    assert_eq!(take().as_deref(), Some("+1i"));
    assert_eq!(take().as_deref(), Some("+2i"));
    assert!(!queue.phase().synced, "the last one is still in hand");
    assert_eq!(take().as_deref(), Some("1>3 watch"));
    assert!(queue.phase().synced);
    assert_eq!(take().as_deref(), Some("pending"));
    queue.replay(
        Replay {
            at_most: 2,
            objects: Box::new(|| vec![Arc::new(1), Arc::new(2)]),
        },
        now,
    );
    assert_eq!(take().as_deref(), Some("+1i"));
    queue.end(End::Closed);
    assert_eq!(take(), None);
    drop(consumer);
    assert!(queue.phase().ended);
}

#[test]
fn a_draining_queue_delivers_what_waits_and_takes_nothing_more() {
    let (queue, mut consumer) = Queue::<Value>::new(QueuePolicy::Unbounded);
    let now = Instant::now();
    assert!(queue.push_all([(&key(1), added(1).into())].into_iter(), now));
    queue.end(End::Draining);
    assert!(!queue.push_all([(&key(2), added(2).into())].into_iter(), now));
    let cx = Context::from_waker(Waker::noop());
    assert!(matches!(consumer.poll_next(&cx), Poll::Ready(Some(_))));
    assert!(matches!(consumer.poll_next(&cx), Poll::Ready(None)));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The cluster changes this key: creates, updates or deletes it, as the number and its state decide.
    Change(u8, bool),
    Resync(u8),
    Take,
    Synced,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..6_u8, any::<bool>()).prop_map(|(key, delete)| Step::Change(key, delete)),
        1 => (0..6_u8).prop_map(Step::Resync),
        4 => Just(Step::Take),
        1 => Just(Step::Synced),
    ];
    prop::collection::vec(step, 0..120)
}

/// What the handler knows, from its events alone. Refuses an illegal history.
#[derive(Default)]
struct Seen(BTreeMap<ObjectKey, Value>);

impl Seen {
    fn handle(&mut self, event: &Event<Value>, keys: &BTreeMap<Value, ObjectKey>) {
        let key = keys[&**event.object()].clone();
        match event {
            Event::Added { object, .. } => {
                assert_eq!(self.0.insert(key, **object), None, "added a known key");
            }
            Event::Updated { old, new, .. } => {
                assert_eq!(
                    self.0.insert(key, **new),
                    Some(**old),
                    "old is not what was told"
                );
            }
            Event::Deleted { .. } => {
                assert!(self.0.remove(&key).is_some(), "deleted an unknown key");
            }
        }
    }
}

proptest! {
    // INV-SHARED-1, INV-SHARED-2, INV-SHARED-3, INV-SHARED-5
    #[test]
    fn what_a_handler_saw_is_always_a_legal_history_that_ends_at_the_state(
        steps in steps(),
        coalesces in any::<bool>(),
    ) {
        let policy = if coalesces { QueuePolicy::Coalesce } else { QueuePolicy::Unbounded };
        let mut queue = QueueState::new(policy);
        let mut truth: BTreeMap<ObjectKey, Value> = BTreeMap::new();
        // Each value is of one key, so that an event tells its key.
        let mut keys = BTreeMap::new();
        let mut seen = Seen::default();
        let (mut next, mut source_synced, mut synced) = (0, false, false);
        let mut unfinished_first_state = 0;
        let now = Instant::now();
        for step in steps {
            match step {
                Step::Change(n, delete) => {
                    let key = key(n);
                    next += 1;
                    keys.insert(next, key.clone());
                    let event = match (truth.get(&key).copied(), delete) {
                        (Some(old), true) => { truth.remove(&key); deleted(old) }
                        (Some(old), false) => {
                            truth.insert(key.clone(), next);
                            updated(old, next, Cause::Watch)
                        }
                        (None, _) => { truth.insert(key.clone(), next); added(next) }
                    };
                    queue.push(&key, event.into(), now);
                    if !source_synced { unfinished_first_state += 1; }
                }
                Step::Resync(n) => {
                    let key = key(n);
                    if let Some(&value) = truth.get(&key) {
                        queue.push(&key, updated(value, value, Cause::Resync).into(), now);
                    }
                }
                Step::Take => {
                    queue.finish();
                    if let Some(told) = queue.pop() { seen.handle(&told.event, &keys); }
                }
                Step::Synced => { queue.mark_source_synced(); source_synced = true; }
            }
            queue.backlog().check();
            if coalesces { prop_assert!(queue.backlog().len() <= 6); }
            let turned = queue.turns_synced();
            prop_assert!(!(turned && synced), "synced twice");
            synced |= turned;
            prop_assert_eq!(synced, queue.is_synced());
            if synced { prop_assert!(source_synced); }
            if source_synced && unfinished_first_state == 0 { prop_assert!(synced); }
        }
        queue.mark_source_synced();
        queue.finish();
        while let Some(told) = queue.pop() {
            prop_assert!(!queue.turns_synced() || !synced);
            seen.handle(&told.event, &keys);
            queue.finish();
        }
        let _ = queue.turns_synced();
        prop_assert!(queue.is_synced());
        prop_assert_eq!(seen.0, truth);
    }
}
