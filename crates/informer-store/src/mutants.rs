//! Seeded bugs, for checking that the tests see them. Not part of the public interface.
//!
//! A place where a bug can be seeded asks `mutant!("name")`. In every ordinary build that is `false`, known to the
//! compiler. With `--cfg informer_mutants` it is true if the environment variable `INFORMER_MUTANT` holds the name.
//! `cargo xtask mutants` builds so once, then runs the test that must see each of them. It stands in this crate because
//! all others that hold such places depend on it.

/// Whether this bug was chosen for this process.
#[cfg(informer_mutants)]
#[must_use]
pub fn is_on(name: &str) -> bool {
    use std::sync::LazyLock;

    static CHOSEN: LazyLock<String> =
        LazyLock::new(|| std::env::var("INFORMER_MUTANT").unwrap_or_default());
    *CHOSEN == name
}

/// No bug is ever chosen in an ordinary build.
#[cfg(not(informer_mutants))]
#[inline(always)]
#[must_use]
pub const fn is_on(_name: &str) -> bool {
    false
}

/// True where the seeded bug of this name is to happen; `false` in every ordinary build.
#[doc(hidden)]
#[macro_export]
macro_rules! mutant {
    ($name:literal) => {
        $crate::__private::is_mutant_on($name)
    };
}
