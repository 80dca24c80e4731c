//! The queue against a naive vector.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

/// A queue as a vector of items.
#[derive(Default)]
struct Model(Vec<Item<u32, u32>>);

#[derive(Debug, Clone)]
enum Step {
    PushBack(u8, u32),
    PushFront(u8, u32),
    StoreChange(u8, u32),
    PushBackOr(u8, u32),
    /// Doubles values, and removes those that this divides.
    FilterMap(u32),
    Remove(u8),
    PushBarrier(u32),
    PushBarrierFront(u32),
    ChangeBarrier(u32),
    TakeBarrier,
    PopFront(usize),
    PopBack(usize),
    /// Pushes as many entries of different keys as there are numbers.
    Fill(std::ops::Range<u8>),
    /// Removes every key of these.
    RemoveAll(std::ops::Range<u8>),
    Append(Vec<(u8, u32)>),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0u8..40;
    let range = (0..KEYS, 0u8..60).prop_map(|(from, count)| from..KEYS.min(from + count));
    prop_oneof![
        6 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::PushBack(key, value)),
        3 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::PushFront(key, value)),
        3 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::StoreChange(key, value)),
        3 => (key.clone(), any::<u32>()).prop_map(|(key, value)| Step::PushBackOr(key, value)),
        1 => (1u32..4).prop_map(Step::FilterMap),
        4 => key.prop_map(Step::Remove),
        2 => any::<u32>().prop_map(Step::PushBarrier),
        1 => any::<u32>().prop_map(Step::PushBarrierFront),
        1 => any::<u32>().prop_map(Step::ChangeBarrier),
        1 => Just(Step::TakeBarrier),
        3 => (0usize..30).prop_map(Step::PopFront),
        2 => (0usize..10).prop_map(Step::PopBack),
        2 => range.clone().prop_map(Step::Fill),
        2 => range.prop_map(Step::RemoveAll),
        1 => prop::collection::vec((0u8..40, any::<u32>()), 0..12).prop_map(Step::Append),
        1 => Just(Step::Clear),
    ]
}

/// How many keys there are.
const KEYS: u8 = 100;

fn key(number: u8) -> ObjectKey {
    static ALL: LazyLock<Vec<ObjectKey>> = LazyLock::new(|| {
        let name = |number| format!("cart-{number}");
        let keys = (0..KEYS).map(|number| ObjectKey::namespaced("shop", &name(number)));
        keys.collect()
    });
    ALL[usize::from(number)].clone()
}

fn entry(number: u8, value: u32) -> Item<u32, u32> {
    Item::Entry(key(number), value)
}

impl Model {
    fn position(&self, of: &ObjectKey) -> Option<usize> {
        self.0
            .iter()
            .rposition(|item| matches!(item, Item::Entry(key, _) if key == of))
    }

    fn last_barrier(&self) -> Option<usize> {
        self.0
            .iter()
            .rposition(|item| matches!(item, Item::Barrier(_)))
    }

    fn remove(&mut self, of: &ObjectKey) -> Option<u32> {
        match self.0.remove(self.position(of)?) {
            Item::Entry(_, value) => Some(value),
            Item::Barrier(_) => None,
        }
    }

    fn entries(&self) -> Vec<(&ObjectKey, &u32)> {
        let entries = self.0.iter().filter_map(|item| match item {
            Item::Entry(key, value) => Some((key, value)),
            Item::Barrier(_) => None,
        });
        entries.collect()
    }
}

/// Does a step to both and compares what they return.
fn apply(
    queue: &mut KeyQueue<u32, u32>,
    model: &mut Model,
    step: Step,
) -> Result<(), TestCaseError> {
    let items = &mut model.0;
    match step {
        Step::PushBack(number, value) => {
            queue.push_back(key(number), value);
            items.push(entry(number, value));
        }
        Step::PushFront(number, value) => {
            queue.push_front(key(number), value);
            items.insert(0, entry(number, value));
        }
        Step::StoreChange(number, value) => {
            let found = model.position(&key(number)).map(|at| &mut model.0[at]);
            match (queue.get_mut(&key(number)), found) {
                (Some(changed), Some(Item::Entry(_, expected))) => {
                    prop_assert_eq!(*changed, *expected);
                    (*changed, *expected) = (value, value);
                }
                (None, None) => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
        Step::PushBackOr(number, value) => {
            let found = model.position(&key(number)).map(|at| &mut model.0[at]);
            let changed = queue.push_back_or(key(number), value, |old, new| *old ^= new);
            prop_assert_eq!(changed, found.is_some().then(|| key(number)));
            match found {
                Some(Item::Entry(_, old)) => *old ^= value,
                _ => model.0.push(entry(number, value)),
            }
        }
        Step::FilterMap(divisor) if queue.keys() == queue.len() => {
            let change =
                |value: u32| (!value.is_multiple_of(divisor)).then(|| value.wrapping_mul(2));
            let mapped: KeyQueue<u32, u32> =
                std::mem::take(queue).filter_map(|_, value| change(value));
            *queue = mapped;
            *items = std::mem::take(items)
                .into_iter()
                .filter_map(|item| match item {
                    Item::Entry(key, value) => Some(Item::Entry(key, change(value)?)),
                    Item::Barrier(_) => None,
                })
                .collect();
        }
        Step::FilterMap(_) => {}
        Step::Remove(number) => {
            prop_assert_eq!(queue.remove(&key(number)), model.remove(&key(number)));
        }
        Step::PushBarrier(barrier) => {
            queue.push_barrier(barrier);
            items.push(Item::Barrier(barrier));
        }
        Step::PushBarrierFront(barrier) => {
            queue.push_barrier_front(barrier);
            items.insert(0, Item::Barrier(barrier));
        }
        Step::ChangeBarrier(value) => {
            if let Some(barrier) = queue.last_barrier_mut() {
                *barrier = value;
            }
            if let Some(at) = model.last_barrier() {
                model.0[at] = Item::Barrier(value);
            }
        }
        Step::TakeBarrier => {
            let expected = model.last_barrier().map(|at| model.0.remove(at));
            prop_assert_eq!(queue.take_barrier().map(Item::Barrier), expected);
        }
        Step::PopFront(count) => {
            for _ in 0..count {
                let expected = (!items.is_empty()).then(|| items.remove(0));
                prop_assert_eq!(queue.pop_front(), expected);
            }
        }
        Step::PopBack(count) => {
            for _ in 0..count {
                prop_assert_eq!(queue.pop_back(), items.pop());
            }
        }
        Step::Fill(numbers) => {
            for number in numbers {
                queue.push_back(key(number), 0);
                items.push(entry(number, 0));
            }
        }
        Step::RemoveAll(numbers) => {
            for number in numbers {
                prop_assert_eq!(queue.remove(&key(number)), model.remove(&key(number)));
            }
        }
        Step::Append(entries) => {
            let mut other = KeyQueue::new();
            for (number, value) in entries {
                other.push_back(key(number), value);
                other.push_barrier(value);
                items.extend([entry(number, value), Item::Barrier(value)]);
            }
            queue.append(other);
        }
        Step::Clear => {
            queue.clear();
            items.clear();
        }
    }
    Ok(())
}

/// Compares all that can be read of both.
fn compare(queue: &KeyQueue<u32, u32>, model: &Model) -> Result<(), TestCaseError> {
    let entries = model.entries();
    prop_assert_eq!(queue.iter().collect::<Vec<_>>(), &entries[..]);
    let back = queue.iter().rev().collect::<Vec<_>>();
    prop_assert_eq!(back, entries.iter().rev().copied().collect::<Vec<_>>());
    prop_assert_eq!(
        queue.items().collect::<Vec<_>>(),
        model.0.iter().collect::<Vec<_>>()
    );
    prop_assert_eq!(queue.len(), entries.len());
    prop_assert_eq!(queue.is_empty(), model.0.is_empty());
    prop_assert_eq!(
        (queue.front(), queue.back()),
        (model.0.first(), model.0.last())
    );
    prop_assert_eq!(queue.barriers(), model.0.len() - entries.len());
    let barrier = model.last_barrier().map(|at| model.0[at].clone());
    prop_assert_eq!(queue.last_barrier().copied().map(Item::Barrier), barrier);
    let mut keys = 0;
    for number in 0..KEYS {
        let newest = entries
            .iter()
            .rev()
            .find(|(other, _)| **other == key(number));
        prop_assert_eq!(queue.get(&key(number)), newest.map(|(_, value)| *value));
        prop_assert_eq!(queue.get_key_value(&key(number)), newest.copied());
        prop_assert_eq!(queue.contains(&key(number)), newest.is_some());
        keys += usize::from(newest.is_some());
    }
    prop_assert_eq!(queue.keys(), keys);
    Ok(())
}

/// Checks what the queue holds of memory.
fn check_size(queue: &KeyQueue<u32, u32>) -> Result<(), TestCaseError> {
    let items = queue.slots.len() - queue.holes;
    prop_assert!(
        queue.holes <= items + 2 * CHUNK as usize,
        "{} holes",
        queue.holes
    );
    prop_assert!(queue.index.num_buckets() <= 8 * queue.index.len() + 2 * queue.kept + 4);
    let is_hole = |slot: Option<&Option<_>>| matches!(slot, Some(None));
    prop_assert!(!is_hole(queue.slots.front()) && !is_hole(queue.slots.back()));
    Ok(())
}

proptest! {
    #[test]
    fn queue_matches_vector(
        steps in prop::collection::vec(step(), 1..60),
        kept in prop::sample::select(vec![0usize, 4, 64]),
    ) {
        let (mut queue, mut model) = (KeyQueue::keeping(kept), Model::default());
        for step in steps {
            apply(&mut queue, &mut model, step)?;
            compare(&queue, &model)?;
            check_size(&queue)?;
        }
        prop_assert_eq!(queue.take().into_items().collect::<Vec<_>>(), model.0);
        prop_assert!(queue.is_empty() && queue.keys() == 0);
    }
}

#[test]
fn positions_wrap_around() {
    let mut queue: KeyQueue<u32, u32> = KeyQueue::new();
    // Goes back beyond zero, to the last positions there are, and forth again.
    (0..50).for_each(|number| queue.push_front(key(number), 0));
    assert!(queue.slots.first() > queue.slots.end());
    (50..KEYS).for_each(|number| queue.push_back(key(number), 0));
    for number in (0..50).rev().chain(50..KEYS) {
        assert_eq!(queue.get(&key(number)), Some(&0));
        assert_eq!(queue.pop_front(), Some(entry(number, 0)));
        assert_eq!(queue.get(&key(number)), None);
    }
}

#[test]
fn slots_of_small_values_are_small() {
    use std::sync::Arc;

    /// As the deltas of one key: one inline, more boxed.
    #[allow(dead_code, reason = "only its size counts")]
    enum Deltas {
        Added(Arc<u8>),
        Deleted(Arc<u8>),
        More(Box<u8>),
    }
    assert_eq!(size_of::<Option<Item<Deltas, Box<u8>>>>(), 32);
    assert_eq!(size_of::<Option<Item<Option<Arc<u8>>, Infallible>>>(), 24);
}

#[test]
fn panicking_drop_of_a_value_leaves_an_empty_queue() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "the drop panics");
        }
    }
    for (count, kept) in [(4, 64), (60, 64), (60, 4)] {
        let mut queue: KeyQueue<Bomb, u32> = KeyQueue::keeping(kept);
        for number in 0..count {
            queue.push_back(key(number), Bomb(number == count / 2));
        }
        queue.push_barrier(1);
        let cleared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| queue.clear()));
        assert!(cleared.is_err());
        assert!(queue.is_empty() && queue.keys() == 0 && queue.barriers() == 0);
        queue.push_back(key(1), Bomb(false));
        assert!(queue.get(&key(1)).is_some() && queue.get(&key(0)).is_none());
        assert_eq!(queue.iter().count(), 1);
    }
}
