//! The delayed items: a heap of slots by the time at which each is due, with each slot at most once.

/// The place of a slot that is not scheduled.
const NOWHERE: u32 = u32::MAX;

/// How many places are kept when the schedule gets empty; more are given back.
const KEPT: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Node {
    /// In nanoseconds since the queue began.
    due: u64,
    /// Among those due at one time, the first scheduled comes first.
    turn: u32,
    slot: u32,
}

/// When each slot is due. All operations are logarithmic, looking is constant.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// A binary heap, the earliest first.
    nodes: Vec<Node>,
    /// Where in the heap a slot stands.
    places: Vec<u32>,
    turn: u32,
}

impl Schedule {
    pub(crate) const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// When the first is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.nodes.first().map(|node| node.due)
    }

    /// When this slot is due.
    pub(crate) fn due(&self, slot: u32) -> Option<u64> {
        let place = self.place(slot)?;
        Some(self.nodes[place].due)
    }

    /// Schedules a slot, or moves it to another time.
    pub(crate) fn set(&mut self, slot: u32, due: u64) {
        let node = Node {
            due,
            turn: self.turn,
            slot,
        };
        self.turn = self.turn.wrapping_add(1);
        let place = self.place(slot).unwrap_or_else(|| {
            if self.places.len() <= slot as usize {
                self.places.resize(slot as usize + 1, NOWHERE);
            }
            self.nodes.push(node);
            self.nodes.len() - 1
        });
        self.nodes[place] = node;
        self.settle(place);
    }

    /// Takes a slot out. False if it was not in.
    pub(crate) fn remove(&mut self, slot: u32) -> bool {
        let Some(place) = self.place(slot) else {
            return false;
        };
        self.nodes.swap_remove(place);
        self.places[slot as usize] = NOWHERE;
        if place < self.nodes.len() {
            self.settle(place);
        }
        if self.nodes.is_empty() && self.places.len() > KEPT {
            self.nodes = Vec::new();
            self.places = Vec::new();
        }
        true
    }

    /// Takes out the first, if it is due.
    pub(crate) fn pop_due(&mut self, now: u64) -> Option<u32> {
        let first = self.nodes.first()?;
        (first.due <= now).then(|| self.pop()).flatten()
    }

    /// Takes out the first, due or not.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let slot = self.nodes.first()?.slot;
        self.remove(slot);
        Some(slot)
    }

    fn place(&self, slot: u32) -> Option<usize> {
        let place = *self.places.get(slot as usize)?;
        (place != NOWHERE).then_some(place as usize)
    }

    /// Moves the node of a place up or down to where it belongs.
    fn settle(&mut self, place: usize) {
        let place = self.rise(place);
        self.sink(place);
    }

    fn rise(&mut self, mut place: usize) -> usize {
        let node = self.nodes[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.nodes[parent] <= node {
                break;
            }
            self.put(place, self.nodes[parent]);
            place = parent;
        }
        self.put(place, node);
        place
    }

    fn sink(&mut self, mut place: usize) {
        let node = self.nodes[place];
        loop {
            let left = 2 * place + 1;
            let Some(&first) = self.nodes.get(left) else {
                break;
            };
            let right = self.nodes.get(left + 1).filter(|right| **right < first);
            let (child, earliest) = right.map_or((left, first), |right| (left + 1, *right));
            if node <= earliest {
                break;
            }
            self.put(place, earliest);
            place = child;
        }
        self.put(place, node);
    }

    fn put(&mut self, place: usize, node: Node) {
        self.nodes[place] = node;
        // Fewer than 2^32 slots exist, so fewer places do.
        self.places[node.slot as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Set(u32, u64),
        Remove(u32),
        Pop,
        PopDue(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..40_u32, 0..20_u64).prop_map(|(slot, due)| Step::Set(slot, due)),
            1 => (0..40_u32).prop_map(Step::Remove),
            1 => Just(Step::Pop),
            1 => (0..20_u64).prop_map(Step::PopDue),
        ];
        prop::collection::vec(step, 0..300)
    }

    /// Slots by due time and turn, found by looking at all of them.
    #[derive(Default)]
    struct Naive(BTreeMap<u32, (u64, usize)>);

    impl Naive {
        fn first(&self) -> Option<(u32, u64)> {
            let (slot, (due, _)) = self.0.iter().min_by_key(|(_, when)| **when)?;
            Some((*slot, *due))
        }

        fn pop(&mut self) -> Option<u32> {
            let (slot, _) = self.first()?;
            self.0.remove(&slot);
            Some(slot)
        }
    }

    proptest! {
        // FH2: sorted after adding, moving and removing at any position.
        #[test]
        fn it_equals_a_naive_schedule(steps in steps()) {
            let (mut schedule, mut naive) = (Schedule::default(), Naive::default());
            for (turn, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Set(slot, due) => {
                        schedule.set(slot, due);
                        naive.0.insert(slot, (due, turn));
                    }
                    Step::Remove(slot) => {
                        prop_assert_eq!(schedule.remove(slot), naive.0.remove(&slot).is_some());
                    }
                    Step::Pop => prop_assert_eq!(schedule.pop(), naive.pop()),
                    Step::PopDue(now) => {
                        let due = naive.first().is_some_and(|(_, due)| due <= now);
                        let expected = if due { naive.pop() } else { None };
                        prop_assert_eq!(schedule.pop_due(now), expected);
                    }
                }
                prop_assert_eq!(schedule.len(), naive.0.len());
                prop_assert_eq!(schedule.next_due(), naive.first().map(|(_, due)| due));
                for slot in 0..40 {
                    let due = naive.0.get(&slot).map(|(due, _)| *due);
                    prop_assert_eq!(schedule.due(slot), due);
                }
            }
            while let Some(slot) = naive.pop() {
                prop_assert_eq!(schedule.pop(), Some(slot));
            }
            prop_assert_eq!(schedule.pop(), None);
        }
    }

    #[test]
    fn memory_is_given_back_when_it_gets_empty() {
        let mut schedule = Schedule::default();
        (0..5000).for_each(|slot| schedule.set(slot, u64::from(slot)));
        while schedule.pop().is_some() {}
        assert_eq!(schedule.nodes.capacity() + schedule.places.capacity(), 0);
    }
}
