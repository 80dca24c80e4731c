//! One allocation for what many objects share: texts, and whole sets of labels and owners.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::meta::{Owner, Pair};

/// The most texts (or sets) of one generation.
const GENERATION: usize = 8192;
/// Longer texts rarely repeat.
const LONGEST: usize = 256;

/// Shares among objects what they have in common: label keys, label values, namespaces, and all labels and owners of
/// objects made from one template.
///
/// Its memory is bounded: texts that were not used for long are forgotten, objects keep theirs. Cloning returns another
/// handle to the same memory. Give the decoders of one informer the same interner, so that objects of a watch share with
/// those of a list.
#[derive(Clone, Default)]
pub struct Interner(Arc<Mutex<Memory>>);

#[derive(Default)]
struct Memory {
    texts: Generations<str>,
    labels: Generations<[Pair]>,
    owners: Generations<[Owner]>,
}

/// Texts used lately, and texts used before.
struct Generations<T: ?Sized> {
    young: HashSet<Arc<T>, RandomState>,
    old: HashSet<Arc<T>, RandomState>,
}

impl Interner {
    /// Runs `read` with the shared texts; other users of this interner wait meanwhile.
    pub(crate) fn with<T>(&self, read: impl FnOnce(&mut Texts<'_>) -> T) -> T {
        read(&mut Texts(Some(&mut self.0.lock())))
    }
}

impl std::fmt::Debug for Interner {
    /// Without the texts, which may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts = self.0.lock().texts.len();
        f.debug_struct("Interner").field("texts", &texts).finish()
    }
}

/// The memory of an [`Interner`] while an object is read, or none.
pub(crate) struct Texts<'a>(Option<&'a mut Memory>);

impl Texts<'_> {
    /// Shares nothing.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// The shared allocation of a text.
    pub(crate) fn get(&mut self, text: &str) -> Arc<str> {
        match &mut self.0 {
            Some(memory) if text.len() <= LONGEST => memory.texts.get(text, Arc::from),
            _ => Arc::from(text),
        }
    }

    /// The shared allocation of all labels of an object.
    pub(crate) fn labels(&mut self, labels: Vec<Pair>) -> Arc<[Pair]> {
        match &mut self.0 {
            Some(memory) if !labels.is_empty() => memory.labels.get(&labels, Arc::from),
            _ => labels.into(),
        }
    }

    /// The shared allocation of all owners of an object.
    pub(crate) fn owners(&mut self, owners: Vec<Owner>) -> Arc<[Owner]> {
        match &mut self.0 {
            Some(memory) if !owners.is_empty() => memory.owners.get(&owners, Arc::from),
            _ => owners.into(),
        }
    }
}

impl<T: ?Sized + Eq + Hash> Generations<T> {
    fn get<'a>(&mut self, wanted: &'a T, make: impl FnOnce(&'a T) -> Arc<T>) -> Arc<T> {
        if let Some(found) = self.young.get(wanted) {
            return found.clone();
        }
        let shared = self.old.take(wanted).unwrap_or_else(|| make(wanted));
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(shared.clone());
        shared
    }

    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

impl<T: ?Sized> Default for Generations<T> {
    fn default() -> Self {
        Self {
            young: HashSet::default(),
            old: HashSet::default(),
        }
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
    fn interner_keeps_used_texts_and_forgets_others() {
        let interner = Interner::default();
        let hot = interner.with(|texts| texts.get("hot"));
        for n in 0..GENERATION * 10 {
            interner.with(|texts| texts.get(&format!("cold-{n}")));
            if n % 1000 == 0 {
                let again = interner.with(|texts| texts.get("hot"));
                assert!(Arc::ptr_eq(&hot, &again));
            }
        }
        assert!(interner.0.lock().texts.len() <= 2 * GENERATION);
    }

    #[test]
    fn interner_ignores_long_texts() {
        let interner = Interner::default();
        let long = "x".repeat(LONGEST + 1);
        let a = interner.with(|texts| texts.get(&long));
        let b = interner.with(|texts| texts.get(&long));
        assert!(!Arc::ptr_eq(&a, &b));
    }

    #[test]
    fn objects_of_one_template_share_their_labels() {
        let interner = Interner::default();
        let labels = |hash: &str| {
            interner.with(|texts| {
                let pairs = vec![
                    (texts.get("app"), texts.get("shop")),
                    (texts.get("hash"), texts.get(hash)),
                ];
                texts.labels(pairs)
            })
        };
        assert!(Arc::ptr_eq(&labels("1"), &labels("1")));
        assert!(!Arc::ptr_eq(&labels("1"), &labels("2")));
    }
}
