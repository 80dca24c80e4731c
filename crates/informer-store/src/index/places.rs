//! The places of each object in one index: eight bytes a slot, and a list for objects of several values.

use crate::pages::{Element, PagedVec};

/// One slot's place under one value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) value: u32,
    pub(super) position: u32,
}

/// In the place of a value: the object has none.
const NONE: u32 = u32::MAX;
/// In the place of a value: it has several; the position is that of their list.
const MANY: u32 = u32::MAX - 1;
/// In the place of a value: it is unindexed; the position is that among these.
const UNINDEXED: u32 = u32::MAX - 2;

/// The places of all slots.
#[derive(Clone, Default)]
pub(super) struct Places {
    by_slot: PagedVec<Place, 32>,
    many: PagedVec<Option<Many>, 4>,
}

#[derive(Clone)]
struct Many {
    slot: u32,
    places: triomphe::Arc<Vec<Place>>,
}

impl Element for Place {}

/// The places of one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Membership<'a> {
    /// Under each of these values; mostly none or one.
    In(&'a [Place]),
    /// At this position among the unindexed ones.
    Unindexed { position: u32 },
}

impl<'a> Membership<'a> {
    pub(super) const fn places(self) -> &'a [Place] {
        match self {
            Self::In(places) => places,
            Self::Unindexed { .. } => &[],
        }
    }
}

impl Places {
    #[cfg(test)]
    const fn len(&self) -> u32 {
        self.by_slot.len()
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<Membership<'_>> {
        let place = self.by_slot.get(slot)?;
        Some(match place.value {
            NONE => Membership::In(&[]),
            MANY => Membership::In(&self.many.get(place.position)?.as_ref()?.places),
            UNINDEXED => Membership::Unindexed {
                position: place.position,
            },
            _ => Membership::In(std::slice::from_ref(place)),
        })
    }

    /// Sets the places of a slot, old or the next one.
    pub(super) fn set(&mut self, slot: u32, places: &[Place]) {
        self.drop_list(slot);
        let place = match places {
            [] => Place {
                value: NONE,
                position: 0,
            },
            [place] => *place,
            many => {
                let places = triomphe::Arc::new(many.to_vec());
                Place {
                    value: MANY,
                    position: self.many.push(Some(Many { slot, places })),
                }
            }
        };
        self.write(slot, place);
    }

    /// Sets a slot, old or the next one, unindexed.
    pub(super) fn set_unindexed(&mut self, slot: u32, position: u32) {
        self.drop_list(slot);
        self.write(
            slot,
            Place {
                value: UNINDEXED,
                position,
            },
        );
    }

    fn write(&mut self, slot: u32, place: Place) {
        match self.by_slot.get_mut(slot) {
            Some(old) => *old = place,
            None => drop(self.by_slot.push(place)),
        }
    }

    /// Sets another position of a slot under a value.
    pub(super) fn correct(&mut self, slot: u32, new: Place) {
        let Some(place) = self.by_slot.get_mut(slot) else {
            return;
        };
        if place.value != MANY {
            *place = new;
            return;
        }
        let Some(Some(many)) = self.many.get_mut(place.position) else {
            return;
        };
        for place in triomphe::Arc::make_mut(&mut many.places) {
            if place.value == new.value {
                *place = new;
            }
        }
    }

    /// Removes a slot; the last slot moves there.
    pub(super) fn swap_remove(&mut self, slot: u32) {
        self.drop_list(slot);
        self.by_slot.swap_remove(slot);
        if let Some(Place {
            value: MANY,
            position,
        }) = self.by_slot.get(slot).copied()
            && let Some(Some(many)) = self.many.get_mut(position)
        {
            many.slot = slot;
        }
    }

    /// Removes the list of a slot, if it has one. The last list moves there.
    fn drop_list(&mut self, slot: u32) {
        let Some(Place {
            value: MANY,
            position,
        }) = self.by_slot.get(slot).copied()
        else {
            return;
        };
        self.many.swap_remove(position);
        if let Some(Some(moved)) = self.many.get(position)
            && let Some(place) = self.by_slot.get_mut(moved.slot)
        {
            place.position = position;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Set(usize, Vec<u32>),
        LeaveOut(usize, u32),
        Correct(usize, usize, u32),
        SwapRemove(usize),
    }

    #[derive(Debug, Clone, PartialEq)]
    enum Naive {
        In(Vec<Place>),
        Unindexed(u32),
    }

    fn step() -> impl Strategy<Value = Step> {
        let values = prop::collection::vec(0u32..50, 0..4);
        prop_oneof![
            4 => (any::<usize>(), values).prop_map(|(slot, values)| Step::Set(slot, values)),
            1 => (any::<usize>(), 0u32..9).prop_map(|(slot, at)| Step::LeaveOut(slot, at)),
            2 => (any::<usize>(), any::<usize>(), 0u32..9)
                .prop_map(|(slot, which, at)| Step::Correct(slot, which, at)),
            2 => any::<usize>().prop_map(Step::SwapRemove),
        ]
    }

    fn same(places: &Places, model: &[Naive]) -> Result<(), TestCaseError> {
        prop_assert_eq!(places.len() as usize, model.len());
        for (slot, naive) in (0..).zip(model) {
            let membership = match naive {
                Naive::In(places) => Membership::In(places),
                Naive::Unindexed(position) => Membership::Unindexed {
                    position: *position,
                },
            };
            prop_assert_eq!(places.get(slot), Some(membership));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn places_match_vector_of_lists(steps in prop::collection::vec(step(), 0..200)) {
            let mut model: Vec<Naive> = Vec::new();
            let mut places = Places::default();
            let mut clones = Vec::new();
            for (at, step) in steps.into_iter().enumerate() {
                let len = model.len();
                match step {
                    Step::Set(slot, values) => {
                        let slot = slot % (len + 1);
                        let list: Vec<Place> =
                            values.iter().map(|&value| Place { value, position: 1 }).collect();
                        places.set(slot as u32, &list);
                        model.truncate(len.max(slot));
                        model.resize(len.max(slot + 1), Naive::Unindexed(0));
                        model[slot] = Naive::In(list);
                    }
                    Step::LeaveOut(slot, position) => {
                        let slot = slot % (len + 1);
                        places.set_unindexed(slot as u32, position);
                        model.resize(len.max(slot + 1), Naive::Unindexed(0));
                        model[slot] = Naive::Unindexed(position);
                    }
                    Step::Correct(slot, which, position) if len > 0 => {
                        let Naive::In(list) = &mut model[slot % len] else { continue };
                        if list.is_empty() {
                            continue;
                        }
                        let value = list[which % list.len()].value;
                        let new = Place { value, position };
                        list.iter_mut().filter(|p| p.value == value).for_each(|p| *p = new);
                        places.correct((slot % len) as u32, new);
                    }
                    Step::SwapRemove(slot) if len > 0 => {
                        model.swap_remove(slot % len);
                        places.swap_remove((slot % len) as u32);
                    }
                    Step::Correct(..) | Step::SwapRemove(_) => {}
                }
                if at % 50 == 0 {
                    clones.push((places.clone(), model.clone()));
                }
            }
            clones.push((places, model));
            for (places, model) in clones {
                same(&places, &model)?;
            }
        }
    }

    #[test]
    fn place_takes_eight_bytes() {
        assert_eq!(size_of::<Place>(), 8);
    }
}
