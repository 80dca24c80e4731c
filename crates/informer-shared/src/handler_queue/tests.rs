//! The queue against a naive model: any policy, any order of pushes and pops.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use informer_store::ObjectKey;
use proptest::prelude::*;
use tokio::time::Instant;

use super::state::QueueState;
use super::{Consumer, End, HandlerPhase, HandlerQueue, QueuePolicy};
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

fn coalescing() -> QueueState<Value> {
    QueueState::new(QueuePolicy::Coalesce)
}

fn push(queue: &mut QueueState<Value>, key: &ObjectKey, event: Event<Value>) -> bool {
    let pushed = queue.push(key, event.into(), Instant::now());
    queue.check();
    pushed
}

fn pop(queue: &mut QueueState<Value>) -> Option<String> {
    queue.finish();
    let event = queue.pop().map(|delivery| text(&delivery.event));
    queue.check();
    event
}

/// What a coalescing queue delivers if one key gets all these events before the handler receives any.
fn coalesced(events: Vec<Event<Value>>) -> Vec<String> {
    let mut queue = coalescing();
    for event in events {
        push(&mut queue, &key(0), event);
    }
    std::iter::from_fn(|| pop(&mut queue)).collect()
}

// INV-SHARED-2
#[test]
fn events_of_a_key_coalesce_as_the_table_says() {
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

// INV-SHARED-2: the handler has the state before all of them.
#[test]
fn coalesced_deletion_is_filtered_by_the_state_that_the_handler_has() {
    let mut queue = coalescing();
    push(&mut queue, &key(0), updated(1, 2, Cause::Watch));
    push(&mut queue, &key(0), deleted(3));
    let delivery = queue.pop().expect("an event");
    assert_eq!(text(&delivery.event), "-3");
    assert_eq!(delivery.before.as_deref(), Some(&1));
}

// INV-SHARED-2
#[test]
fn key_keeps_its_place_while_its_events_coalesce() {
    let mut queue = coalescing();
    push(&mut queue, &key(1), added(1));
    push(&mut queue, &key(2), added(2));
    push(&mut queue, &key(1), updated(1, 10, Cause::Watch));
    assert_eq!(queue.status(Instant::now()).depth, 2);
    assert_eq!(pop(&mut queue).as_deref(), Some("+10"));
    assert_eq!(pop(&mut queue).as_deref(), Some("+2"));
}

// INV-SHARED-2: the addition of a recreated key still coalesces with later events.
#[test]
fn addition_of_a_recreated_key_keeps_the_place() {
    let mut queue = coalescing();
    push(&mut queue, &key(1), deleted(1));
    push(&mut queue, &key(1), added(2));
    push(&mut queue, &key(2), added(9));
    assert_eq!(queue.status(Instant::now()).depth, 2);
    assert_eq!(pop(&mut queue).as_deref(), Some("-1"));
    assert_eq!(queue.status(Instant::now()).depth, 2);
    push(&mut queue, &key(1), deleted(2));
    assert_eq!(pop(&mut queue).as_deref(), Some("+9"));
    assert_eq!(pop(&mut queue), None);
}

// INV-SHARED-5, WS3
#[test]
fn initial_object_that_is_deleted_again_does_not_delay_the_sync() {
    let mut queue = coalescing();
    push(&mut queue, &key(1), added(1));
    queue.push_barrier();
    assert!(!queue.pass_barrier());
    push(&mut queue, &key(1), deleted(1));
    assert!(queue.pass_barrier());
    assert!(!queue.pass_barrier(), "only once");
}

// INV-SHARED-5
#[test]
fn event_that_is_being_handled_delays_the_sync() {
    let mut queue = coalescing();
    push(&mut queue, &key(1), added(1));
    queue.push_barrier();
    assert!(pop(&mut queue).is_some());
    push(&mut queue, &key(2), added(2));
    assert!(!queue.pass_barrier());
    queue.finish();
    assert!(queue.pass_barrier());
}

// INV-SHARED-5: what is pushed behind the barrier does not delay the sync, even of a key before it.
#[test]
fn later_events_do_not_delay_the_sync() {
    let mut queue = coalescing();
    push(&mut queue, &key(1), added(1));
    queue.push_barrier();
    push(&mut queue, &key(2), added(2));
    push(&mut queue, &key(1), updated(1, 3, Cause::Watch));
    assert_eq!(pop(&mut queue).as_deref(), Some("+3"));
    queue.finish();
    assert!(queue.pass_barrier());
    assert_eq!(queue.status(Instant::now()).depth, 1);
}

// INV-SHARED-4
#[test]
fn bounded_queue_ends_when_full_and_does_not_count_initial_objects() {
    let mut queue = QueueState::new(QueuePolicy::Bounded(2));
    for n in 0..10 {
        assert!(push(&mut queue, &key(n), added(0)));
    }
    queue.push_barrier();
    assert!(push(&mut queue, &key(0), updated(0, 1, Cause::Watch)));
    assert!(push(&mut queue, &key(0), updated(1, 2, Cause::Watch)));
    // Handling initial objects makes no room.
    assert!(pop(&mut queue).is_some());
    assert_eq!(queue.ended(), None);
    assert!(!push(&mut queue, &key(0), updated(2, 3, Cause::Watch)));
    assert_eq!(queue.ended(), Some(End::Full { limit: 2 }));
    assert_eq!(queue.status(Instant::now()).depth, 0);
    queue.finish();
    assert!(
        !queue.pass_barrier(),
        "a handler that was cut off never becomes synced"
    );
}

/// The next event as text, `pending`, or `None` at the end.
fn poll(consumer: &mut Consumer<Value>) -> Option<String> {
    match consumer.poll_next(&Context::from_waker(Waker::noop())) {
        Poll::Ready(event) => event.map(|delivery| text(&delivery.event)),
        Poll::Pending => Some("pending".into()),
    }
}

#[test]
fn handler_is_synced_when_it_polls_behind_its_last_initial_object() {
    let (queue, mut consumer) = HandlerQueue::<Value>::new(QueuePolicy::Coalesce);
    let now = Instant::now();
    let initial = [1, 2].map(|n| (key(n), added(n.into())));
    queue.push_all(initial.iter().map(|(k, e)| (k, e.clone().into())), now);
    queue.push_barrier();
    let later = (key(1), updated(1, 3, Cause::Watch));
    queue.push_all([(&later.0, later.1.into())].into_iter(), now);
    assert_eq!(poll(&mut consumer).as_deref(), Some("+3"));
    assert_eq!(poll(&mut consumer).as_deref(), Some("+2"));
    assert_eq!(*queue.phase().borrow(), HandlerPhase::NotSynced);
    assert_eq!(poll(&mut consumer).as_deref(), Some("pending"));
    assert_eq!(*queue.phase().borrow(), HandlerPhase::Synced);
    queue.end(End::Closed);
    assert_eq!(poll(&mut consumer), None);
    drop(consumer);
    assert_eq!(
        *queue.phase().borrow(),
        HandlerPhase::Ended { synced: true }
    );
}

#[test]
fn draining_queue_delivers_what_is_queued_and_takes_no_more() {
    let (queue, mut consumer) = HandlerQueue::<Value>::new(QueuePolicy::Unbounded);
    let now = Instant::now();
    assert!(queue.push_all([(&key(1), added(1).into())].into_iter(), now));
    queue.end(End::Draining);
    assert!(!queue.push_all([(&key(2), added(2).into())].into_iter(), now));
    assert_eq!(poll(&mut consumer).as_deref(), Some("+1"));
    assert_eq!(poll(&mut consumer), None);
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The cluster changes this key: creates, updates or deletes it, as the number and its state decide.
    Change(u8, bool),
    Resync(u8),
    Pop,
    Barrier,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..6_u8, any::<bool>()).prop_map(|(key, delete)| Step::Change(key, delete)),
        1 => (0..6_u8).prop_map(Step::Resync),
        4 => Just(Step::Pop),
        1 => Just(Step::Barrier),
    ];
    prop::collection::vec(step, 0..120)
}

/// What the handler has, from its events alone. Refuses an illegal history.
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
                    "old is not what was received"
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
    fn handler_receives_a_legal_history_that_ends_at_the_state(
        steps in steps(),
        coalesces in any::<bool>(),
    ) {
        let policy = if coalesces { QueuePolicy::Coalesce } else { QueuePolicy::Unbounded };
        let mut queue = QueueState::new(policy);
        let mut truth: BTreeMap<ObjectKey, Value> = BTreeMap::new();
        // Each value is of one key, so that an event shows its key.
        let mut keys = BTreeMap::new();
        let mut seen = Seen::default();
        // The pushes before the barrier, how many of them were popped, and of which keys.
        let (mut next, mut barrier, mut initial) = (0, false, Vec::new());
        let mut synced = false;
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
                    push(&mut queue, &key, event);
                    if !barrier { initial.push(key); }
                }
                Step::Resync(n) => {
                    let key = key(n);
                    if let Some(&value) = truth.get(&key) {
                        push(&mut queue, &key, updated(value, value, Cause::Resync));
                        if !barrier { initial.push(key); }
                    }
                }
                Step::Pop => {
                    queue.finish();
                    synced |= queue.pass_barrier();
                    if let Some(delivery) = queue.pop() { seen.handle(&delivery.event, &keys); }
                }
                Step::Barrier => { queue.push_barrier(); barrier = true; }
            }
            queue.check();
            if coalesces { prop_assert!(queue.status(Instant::now()).depth <= 6); }
            let passed = queue.pass_barrier();
            prop_assert!(!(passed && synced), "synced twice");
            synced |= passed;
            prop_assert_eq!(synced, queue.is_synced());
            prop_assert!(barrier || !synced);
            prop_assert!(synced || !barrier || !initial.is_empty(), "nothing delays the sync");
        }
        queue.push_barrier();
        queue.finish();
        let _ = queue.pass_barrier();
        while let Some(delivery) = queue.pop() {
            seen.handle(&delivery.event, &keys);
            queue.finish();
            let _ = queue.pass_barrier();
        }
        prop_assert!(queue.is_synced());
        prop_assert_eq!(seen.0, truth);
    }
}
