//! One allocation for each text that many objects share.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use parking_lot::Mutex;

/// How many texts one generation holds.
const GENERATION: usize = 8192;
/// Longer texts rarely repeat.
const LONGEST: usize = 256;

/// Remembers texts that repeat from object to object, as label keys, label values and namespaces do, so that
/// objects share them.
///
/// Its memory is bounded: texts that have not been seen for long are forgotten, objects keep theirs. Cloning gives
/// another handle to the same texts. Give the decoders of one informer the same one, so that what a watch brings
/// shares its texts with what a list brought.
#[derive(Clone, Default)]
pub struct Interner(Arc<Mutex<Generations>>);

#[derive(Default)]
struct Generations {
    young: HashSet<Arc<str>, RandomState>,
    old: HashSet<Arc<str>, RandomState>,
}

impl Interner {
    /// Runs `read` with the texts at hand; other users of this interner wait meanwhile.
    pub(crate) fn with<T>(&self, read: impl FnOnce(&mut Texts<'_>) -> T) -> T {
        read(&mut Texts(Some(&mut self.0.lock())))
    }
}

impl std::fmt::Debug for Interner {
    /// Without the texts, which may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let generations = self.0.lock();
        let texts = generations.young.len() + generations.old.len();
        drop(generations);
        f.debug_struct("Interner").field("texts", &texts).finish()
    }
}

/// The texts of an [`Interner`] while an object is read, or none.
pub(crate) struct Texts<'a>(Option<&'a mut Generations>);

impl Texts<'_> {
    /// Shares nothing.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// The shared allocation of a text.
    pub(crate) fn get(&mut self, text: &str) -> Arc<str> {
        match &mut self.0 {
            Some(generations) if text.len() <= LONGEST => generations.get(text),
            _ => Arc::from(text),
        }
    }
}

impl Generations {
    fn get(&mut self, text: &str) -> Arc<str> {
        if let Some(found) = self.young.get(text) {
            return found.clone();
        }
        let shared = self.old.take(text).unwrap_or_else(|| Arc::from(text));
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(shared.clone());
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_an_allocation() {
        let interner = Interner::default();
        let a = interner.with(|texts| texts.get("app"));
        let b = interner.clone().with(|texts| texts.get("app"));
        assert!(Arc::ptr_eq(&a, &b));
        assert_eq!(&*a, "app");
    }

    #[test]
    fn texts_in_use_stay_and_the_rest_is_forgotten() {
        let interner = Interner::default();
        let hot = interner.with(|texts| texts.get("hot"));
        for n in 0..GENERATION * 10 {
            interner.with(|texts| texts.get(&format!("cold-{n}")));
            if n % 1000 == 0 {
                let again = interner.with(|texts| texts.get("hot"));
                assert!(Arc::ptr_eq(&hot, &again));
            }
        }
        let generations = interner.0.lock();
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
    }

    #[test]
    fn long_texts_are_not_remembered() {
        let interner = Interner::default();
        let long = "x".repeat(LONGEST + 1);
        let a = interner.with(|texts| texts.get(&long));
        let b = interner.with(|texts| texts.get(&long));
        assert!(!Arc::ptr_eq(&a, &b));
    }
}
