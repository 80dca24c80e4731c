//! Any calls of a queue, compared with the model.

use std::fmt;
use std::sync::Arc;

use informer_store::proptest::{SinkStep, sink_steps, versions};
use informer_store::{DeltaSink, ListEnd, Object, ObjectKey, ObjectList, ObjectVersion};
use proptest::collection::SizeRange;
use proptest::prelude::*;

use super::model::Model;
use super::objects::Objects;
use super::under_test::{Popped, QueueUnderTest, TestStore};

/// One call of a queue.
#[non_exhaustive]
pub enum Call<K> {
    /// A call of the feeder.
    Feed(SinkStep<K>),
    /// An object becomes part of the list that is being received.
    Insert(ObjectKey, Arc<K>),
    /// The newest object of a key becomes part of that list, as one that a decoder found unchanged.
    InsertNewest(ObjectKey),
    /// A key becomes part of that list, undecodable.
    InsertUndecodable(ObjectKey),
    /// A key is removed from that list.
    Remove(ObjectKey),
    /// The list is handed over.
    Replace(ListEnd),
    /// Up to this many keys are popped.
    Pop(usize),
    /// What is in flight is applied and acknowledged.
    Ack,
    /// The same but for one key, which is not applied.
    AckExcept(ObjectKey),
    /// What is in flight is acknowledged, though this key was not applied.
    Lose(ObjectKey),
    /// What is in flight is dropped, perhaps after it was applied.
    Requeue {
        /// It was applied.
        is_applied: bool,
    },
    /// The queue is closed.
    Close,
}

/// Generates sequences of calls, of a feeder that sends what it likes and a consumer that fails at times.
pub fn calls<K>(objects: &Objects<K>, length: impl Into<SizeRange>) -> BoxedStrategy<Vec<Call<K>>>
where
    K: Object + Clone + fmt::Debug,
{
    let object = objects.identified(versions());
    let step = sink_steps(object.clone(), 1).prop_filter_map("one step", |steps| {
        Some(Call::Feed(steps.into_iter().next()?.1))
    });
    let key = || versions().prop_map(|(key, _)| key);
    let version = || versions().prop_filter_map("a version", |(_, v)| v.resource_version);
    let end = (version(), prop::bool::weighted(0.2));
    let call = prop_oneof![
        14 => step,
        3 => object.prop_map(|object| Call::Insert(ObjectKey::of(&object), Arc::new(object))),
        2 => key().prop_map(Call::InsertNewest),
        1 => key().prop_map(Call::InsertUndecodable),
        1 => key().prop_map(Call::Remove),
        1 => end.prop_map(|(version, rewind)| Call::Replace(ListEnd::new(version).rewind(rewind))),
        7 => (0..4usize).prop_map(Call::Pop),
        4 => Just(Call::Ack),
        2 => key().prop_map(Call::AckExcept),
        1 => key().prop_map(Call::Lose),
        2 => any::<bool>().prop_map(|is_applied| Call::Requeue { is_applied }),
    ];
    prop::collection::vec(call, length).boxed()
}

/// Performs calls on a queue and on the model, which know the same store, and compares both after each call. At the end everything is popped.
///
/// # Errors
/// If they differ.
pub fn check_calls<K: Object, Q: QueueUnderTest<K>>(
    queue: &mut Q,
    model: &Model<K>,
    store: &TestStore<K>,
    calls: &[Call<K>],
) -> Result<(), TestCaseError> {
    let mut run = Run {
        queue,
        model,
        store,
        lists: [ObjectList::new(), ObjectList::new()],
        in_flight: None,
    };
    for call in calls {
        run.perform(call)?;
        run.compare(call)?;
    }
    loop {
        run.perform(&Call::Ack)?;
        run.perform(&Call::Pop(2))?;
        if run.in_flight.is_none() {
            break;
        }
    }
    prop_assert_eq!(run.queue.depth(), 0);
    prop_assert_eq!(run.queue.queued_deltas(), 0);
    Ok(())
}

struct Run<'a, K: Object, Q> {
    queue: &'a mut Q,
    model: &'a Model<K>,
    store: &'a TestStore<K>,
    /// The list that is being received, once for each.
    lists: [ObjectList<K>; 2],
    in_flight: Option<Popped<K>>,
}

impl<K: Object, Q: QueueUnderTest<K>> Run<'_, K, Q> {
    fn perform(&mut self, call: &Call<K>) -> Result<(), TestCaseError> {
        match call {
            Call::Feed(step) => {
                step.feed(self.queue.sink());
                step.feed(self.model);
            }
            Call::Insert(key, object) => {
                self.list(|list| list.insert(key.clone(), Arc::clone(object)));
            }
            Call::InsertNewest(key) => {
                if let Some((key, object)) = self.queue.sink().newest(key) {
                    self.list(|list| list.insert(key.clone(), Arc::clone(&object)));
                }
            }
            Call::InsertUndecodable(key) => self.list(|list| list.insert_undecodable(key.clone())),
            Call::Remove(key) => self.list(|list| {
                list.remove(key);
            }),
            Call::Replace(end) => {
                let [first, second] =
                    std::mem::replace(&mut self.lists, [ObjectList::new(), ObjectList::new()]);
                self.queue.sink().replace(first, end.clone());
                self.model.replace(second, end.clone());
            }
            Call::Pop(max) => {
                let popped = self.queue.pop(*max);
                self.model.check_pop(*max, popped.as_ref())?;
                self.in_flight = popped.or_else(|| self.in_flight.take());
            }
            Call::Ack => self.ack(&[], &[]),
            Call::AckExcept(key) => self.ack(std::slice::from_ref(key), std::slice::from_ref(key)),
            Call::Lose(key) => self.ack(std::slice::from_ref(key), &[]),
            Call::Requeue { is_applied } => {
                if let Some(popped) = self.in_flight.take() {
                    if *is_applied {
                        self.store.apply_except(&popped, &[]);
                    }
                    self.queue.requeue();
                    self.model.requeue();
                }
            }
            Call::Close => self.queue.close(),
        }
        Ok(())
    }

    fn list(&mut self, change: impl Fn(&mut ObjectList<K>)) {
        self.lists.iter_mut().for_each(change);
    }

    fn ack(&mut self, unapplied: &[ObjectKey], failed: &[ObjectKey]) {
        if let Some(popped) = self.in_flight.take() {
            self.store.apply_except(&popped, unapplied);
            self.queue.ack_except(failed);
            self.model.ack_except(failed);
        }
    }

    fn compare(&self, call: &Call<K>) -> Result<(), TestCaseError> {
        let (queue, model) = (&self.queue, self.model);
        prop_assert_eq!(
            queue.has_synced(),
            model.has_synced(),
            "synced after {:?}",
            call
        );
        prop_assert_eq!(queue.depth(), model.depth(), "depth after {:?}", call);
        let deltas = (queue.queued_deltas(), model.queued_deltas());
        prop_assert_eq!(deltas.0, deltas.1, "deltas after {:?}", call);
        let needs_list = (queue.sink().needs_list(), model.needs_list());
        prop_assert_eq!(needs_list.0, needs_list.1, "needs a list after {:?}", call);
        for key in call.keys() {
            let newest = queue.sink().newest(key).map(|(_, object)| object);
            let expected = model.newest(key).map(|(_, object)| object);
            let is_same = match (&newest, &expected) {
                (Some(newest), Some(expected)) => Arc::ptr_eq(newest, expected),
                (None, None) => true,
                _ => false,
            };
            let version = |object: Option<Arc<K>>| object.map(|object| ObjectVersion::of(&*object));
            let (newest, expected) = (version(newest), version(expected));
            prop_assert!(
                is_same,
                "newest of {key} after {call:?}: {newest:?}, not {expected:?}"
            );
        }
        Ok(())
    }
}

impl<K> Call<K> {
    fn keys(&self) -> Vec<&ObjectKey> {
        match self {
            Self::Feed(
                SinkStep::Add(key, _)
                | SinkStep::Update(key, _)
                | SinkStep::Delete(key, _)
                | SinkStep::Undecodable(key, _),
            )
            | Self::AckExcept(key)
            | Self::Lose(key)
            | Self::InsertNewest(key) => vec![key],
            _ => Vec::new(),
        }
    }
}

impl<K> Clone for Call<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Feed(step) => Self::Feed(step.clone()),
            Self::Insert(key, object) => Self::Insert(key.clone(), Arc::clone(object)),
            Self::InsertNewest(key) => Self::InsertNewest(key.clone()),
            Self::InsertUndecodable(key) => Self::InsertUndecodable(key.clone()),
            Self::Remove(key) => Self::Remove(key.clone()),
            Self::Replace(end) => Self::Replace(end.clone()),
            Self::Pop(max) => Self::Pop(*max),
            Self::Ack => Self::Ack,
            Self::AckExcept(key) => Self::AckExcept(key.clone()),
            Self::Lose(key) => Self::Lose(key.clone()),
            Self::Requeue { is_applied } => Self::Requeue {
                is_applied: *is_applied,
            },
            Self::Close => Self::Close,
        }
    }
}

impl<K: Object> fmt::Debug for Call<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feed(step) => step.fmt(f),
            Self::Insert(key, object) => {
                write!(f, "Insert({key}, {:?})", ObjectVersion::of(&**object))
            }
            Self::InsertNewest(key) => write!(f, "InsertNewest({key})"),
            Self::InsertUndecodable(key) => write!(f, "InsertUndecodable({key})"),
            Self::Remove(key) => write!(f, "Remove({key})"),
            Self::Replace(end) => write!(f, "Replace({end:?})"),
            Self::Pop(max) => write!(f, "Pop({max})"),
            Self::Ack => f.write_str("Ack"),
            Self::AckExcept(key) => write!(f, "AckExcept({key})"),
            Self::Lose(key) => write!(f, "Lose({key})"),
            Self::Requeue { is_applied: true } => f.write_str("Requeue(applied)"),
            Self::Requeue { is_applied: false } => f.write_str("Requeue"),
            Self::Close => f.write_str("Close"),
        }
    }
}
