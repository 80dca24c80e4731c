//! What indexes cost after their values came and went, counted by the allocator.

mod support;

use std::alloc::System;

use informer_store::{IndexValues, Indexers, Store};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::Thing;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes in use since the region began.
fn in_use(region: &Region<'_, System>) -> isize {
    let stats = region.change();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

fn words(thing: &Thing, values: &mut IndexValues<'_>) {
    values.extend(thing.words.iter().map(String::as_str));
}

fn numbers(thing: &Thing, values: &mut IndexValues<'_, u64>) {
    for word in &thing.words {
        values.push(&word.parse().expect("words are numbers"));
    }
}

/// Fails on every object whose first word is odd.
fn evens(thing: &Thing, values: &mut IndexValues<'_>) -> Result<(), &'static str> {
    let is_even = |word: &String| word.parse::<u64>().is_ok_and(|number| number % 2 == 0);
    match thing.words.first() {
        Some(word) if is_even(word) => values.push(word.as_str()),
        _ => return Err("odd"),
    }
    Ok(())
}

/// An object of this number, with one word, or two.
fn thing(number: usize) -> Thing {
    let words = [number, number + 1_000_000];
    Thing::new(&format!("ns-{number}/x")).words(&words[..1 + number % 2])
}

/// Every kind of index, alone in a store.
fn tables() -> [(&'static str, Indexers<Thing>); 5] {
    [
        ("namespace", Indexers::new().namespace()),
        ("text", Indexers::new().index("text", words)),
        ("typed", Indexers::new().typed_index("typed", numbers)),
        ("ordered", Indexers::new().ordered_index("ordered", words)),
        ("failing", Indexers::new().index("failing", evens)),
    ]
}

/// One test, as the allocator counts for the whole process.
// INV-STORE-14
#[test]
fn indexes_return_the_memory_of_deleted_values() {
    const KEPT: usize = 100;
    const SLACK: isize = 10_000;
    let passing = if cfg!(debug_assertions) {
        20_000
    } else {
        200_000
    };
    for (name, indexers) in tables() {
        for at_once in [1, 10, passing] {
            let store = Store::new();
            store.add_indexers(&indexers).expect("new");
            for number in 0..KEPT {
                store.add(thing(number)).expect("named");
            }
            let region = Region::new(ALLOCATOR);
            let delete = |number: usize| drop(store.delete(&format!("ns-{number}/x")));
            for number in KEPT..KEPT + passing {
                store.add(thing(number)).expect("named");
                if number >= KEPT + at_once {
                    delete(number - at_once);
                }
            }
            (KEPT + passing - at_once..KEPT + passing).for_each(delete);
            assert_eq!(store.len(), KEPT);
            let left = in_use(&region);
            println!("{name}: {left} bytes left of {passing} objects, {at_once} at a time");
            assert!(left <= SLACK, "{name}: {left} bytes, {at_once} at a time");

            // Updates pass through values too.
            for number in 0..passing {
                let key = format!("ns-{}/x", number % 10);
                let update = Thing::new(&key).words([number * 2 + 5_000_000]);
                store.add(update).expect("named");
            }
            (0..10).for_each(|number| drop(store.add(thing(number)).expect("named")));
            let left = in_use(&region);
            assert!(left <= SLACK, "{name}: {left} bytes after updates");
        }
    }
}
