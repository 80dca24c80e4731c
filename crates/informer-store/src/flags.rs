//! One bit a slot, cloned in constant time; without memory until a bit is set.

use crate::pages::PagedVec;

#[derive(Clone, Default)]
pub(crate) struct Flags {
    words: PagedVec<u64, 8>,
    /// How many bits are set.
    set: u32,
}

impl Flags {
    pub(crate) const fn count(&self) -> u32 {
        self.set
    }

    pub(crate) fn get(&self, slot: u32) -> bool {
        self.words
            .get(slot / 64)
            .is_some_and(|word| word & (1 << (slot % 64)) != 0)
    }

    pub(crate) fn set(&mut self, slot: u32, on: bool) {
        if self.get(slot) == on {
            return;
        }
        while self.words.len() <= slot / 64 {
            self.words.push(0);
        }
        if let Some(word) = self.words.get_mut(slot / 64) {
            *word ^= 1 << (slot % 64);
        }
        if on {
            self.set += 1;
            return;
        }
        self.set -= 1;
        if self.set == 0 {
            *self = Self::default();
        }
    }

    /// Moves the bit of the last slot to this one.
    pub(crate) fn swap_remove(&mut self, slot: u32, last: u32) {
        let moved = self.get(last);
        self.set(slot, moved);
        self.set(last, false);
    }

    /// Returns the slots whose bit is set.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            (0..64)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| at as u32 * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_flag_moves_with_its_slot() {
        let mut flags = Flags::default();
        flags.set(200, true);
        flags.set(3, true);
        flags.swap_remove(3, 200);
        assert_eq!(flags.iter().collect::<Vec<_>>(), [3]);
        flags.swap_remove(3, 3);
        assert_eq!(flags.count(), 0);
        assert!(flags.words.is_empty());
    }
}
