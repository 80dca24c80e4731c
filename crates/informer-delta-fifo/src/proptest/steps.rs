//! What happens in a [`World`](super::World).

use std::fmt;

use proptest::collection::SizeRange;
use proptest::prelude::*;

use super::objects::Objects;

/// The number of names. Few, so that much happens to each.
pub(super) const NAMES: u8 = 5;

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<K> {
    /// An object is created on the server, or changed. No watch has sent it yet.
    Change {
        /// Which one.
        name: u8,
        /// What it contains.
        content: K,
    },
    /// An object is deleted on the server, if it exists.
    Delete {
        /// Which one.
        name: u8,
    },
    /// An object is deleted on the server and created again.
    Recreate {
        /// Which one.
        name: u8,
        /// What it contains.
        content: K,
    },
    /// An object ceases to match the selector, if it exists: the watch sends it as deleted. Its next change makes it match again, and the
    /// watch sends it as added, with the same UID.
    Unmatch {
        /// Which one.
        name: u8,
    },
    /// The watch sends the next changes, up to this many; or they become part of the list that is being received.
    Watch(usize),
    /// The watch sends the next change, and its object cannot be decoded.
    WatchUndecodable,
    /// The watch sends its last change once more.
    Repeat,
    /// The watch sends a bookmark.
    Bookmark,
    /// The watch is lost and a list begins, of a resource version that lags behind the server's by up to this, but not behind what the
    /// watch sent.
    BeginList {
        /// By how much.
        lag: u64,
        /// An object that cannot be decoded.
        undecodable: Option<u8>,
    },
    /// The list that is being received is complete: it is handed over, and the watch goes on from there.
    EndList,
    /// The list that is being received breaks off and leaves nothing.
    AbandonList,
    /// The server is restored from a backup: its last changes, up to this many, never were; and a list follows.
    Rewind {
        /// How many changes.
        changes: u64,
        /// An object that cannot be decoded.
        undecodable: Option<u8>,
    },
    /// A resync.
    Resync,
    /// Up to this many keys are popped, applied and acknowledged. The test's own: [`World::perform`](super::World::perform) ignores it.
    Consume(usize),
    /// Up to this many keys are popped; all but the first are applied and acknowledged. The test's own.
    Fail(usize),
    /// Up to this many keys are popped and the batch is dropped. The test's own.
    Requeue(usize),
    /// The queue is closed. The test's own.
    Close,
}

/// Generates sequences of steps. They shrink well: any part of a sequence is one.
pub fn steps<K>(objects: &Objects<K>, length: impl Into<SizeRange>) -> BoxedStrategy<Vec<Step<K>>>
where
    K: Clone + fmt::Debug + 'static,
{
    let (name, content) = (0..NAMES, objects.content());
    let undecodable = || prop::option::weighted(0.2, 0..NAMES);
    let change = (name.clone(), content.clone());
    let step = prop_oneof![
        8 => change.clone().prop_map(|(name, content)| Step::Change { name, content }),
        3 => name.clone().prop_map(|name| Step::Delete { name }),
        1 => name.prop_map(|name| Step::Unmatch { name }),
        1 => change.prop_map(|(name, content)| Step::Recreate { name, content }),
        7 => (1..6usize).prop_map(Step::Watch),
        1 => Just(Step::WatchUndecodable),
        1 => Just(Step::Repeat),
        1 => Just(Step::Bookmark),
        2 => (0..6u64, undecodable())
            .prop_map(|(lag, undecodable)| Step::BeginList { lag, undecodable }),
        3 => Just(Step::EndList),
        1 => Just(Step::AbandonList),
        1 => (0..6u64, undecodable())
            .prop_map(|(changes, undecodable)| Step::Rewind { changes, undecodable }),
        1 => Just(Step::Resync),
        6 => (1..4usize).prop_map(Step::Consume),
        1 => (1..4usize).prop_map(Step::Fail),
        1 => (1..4usize).prop_map(Step::Requeue),
    ];
    // A queue is closed once, if at all.
    let close = prop::option::weighted(0.1, any::<prop::sample::Index>());
    let steps = (prop::collection::vec(step, length), close).prop_map(|(mut steps, close)| {
        if let Some(at) = close {
            steps.insert(at.index(steps.len() + 1), Step::Close);
        }
        steps
    });
    steps.boxed()
}
