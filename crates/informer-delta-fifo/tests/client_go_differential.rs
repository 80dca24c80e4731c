//! The same random calls to client-go's real DeltaFIFO, and to its RealFIFO, and to ours in the same order must come out
//! as the same deltas. Runs where `cargo xtask e2e` has built client-go's side (`e2e/clientgo`) and says in
//! `INFORMER_E2E_CLIENTGO` where it is.
//!
//! Differences on purpose, which the test leaves out or evens out:
//! - Of a list, DeltaFIFO hands out its objects before its deletions, each key by itself; ours is one batch, deletions
//!   first. So keys are compared in order only where no list came between two drains.
//! - A key listed twice is told twice by client-go, once by ours: no list here has a key twice.
//! - Ours leaves out what resource versions show to be old: the objects here have none.
//! - Ours compresses long chains: here it keeps them.
//! - RealFIFO tells every deletion. Ours tells none of what is not there; one that knows the last state makes a tombstone
//!   that waits the better one, in its place.
//! - Stored objects have no order in client-go: what a list or a resync says of them one after another is compared as a
//!   set.

mod common;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use common::{Calls, NaiveStore, Thing, plain, short};
use informer_delta_fifo::{Config, DeltaFifo, Order};
use informer_store::DeltaSink;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config as RunConfig, RngSeed, TestRunner};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const CASES: usize = 2000;

#[derive(Debug, Clone)]
enum Call {
    Add(usize),
    Update(usize),
    Delete(usize),
    Replace(Vec<usize>),
    Resync,
    Drain,
}

fn call() -> impl Strategy<Value = Call> {
    let name = 0..NAMES.len();
    prop_oneof![
        3 => name.clone().prop_map(Call::Add),
        3 => name.clone().prop_map(Call::Update),
        4 => name.prop_map(Call::Delete),
        2 => prop::sample::subsequence((0..NAMES.len()).collect::<Vec<_>>(), 0..=NAMES.len())
            .prop_shuffle()
            .prop_map(Call::Replace),
        1 => Just(Call::Resync),
        3 => Just(Call::Drain),
    ]
}

/// The calls as client-go's side reads them, each object with a value of its own.
fn to_line(calls: &[Call]) -> String {
    let mut value = 0;
    let mut object = |name: &usize| {
        value += 1;
        format!("{}={value}", NAMES[*name])
    };
    let words: Vec<String> = calls
        .iter()
        .map(|call| match call {
            Call::Add(name) => format!("a {}", object(name)),
            Call::Update(name) => format!("u {}", object(name)),
            Call::Delete(name) => format!("d {}", object(name)),
            Call::Replace(names) => {
                let all: Vec<_> = names.iter().map(&mut object).collect();
                format!("r {}", all.join(" "))
            }
            Call::Resync => "s".into(),
            Call::Drain => "p".into(),
        })
        .collect();
    words.join(";")
}

/// What ours hands out, in the same notation.
fn ours(order: Order, calls: &[Call]) -> String {
    let store = NaiveStore::holding(&[]);
    let config = Config::new()
        .known_objects(Arc::clone(&store))
        .order(order)
        .max_deltas(None);
    let fifo: DeltaFifo<Thing> = DeltaFifo::with_config(&config);
    let mut value = 0;
    let mut object = |name: &usize| {
        value += 1;
        plain(NAMES[*name], value)
    };
    let mut drained = Vec::new();
    for call in calls {
        match call {
            Call::Add(name) => fifo.added(&object(name)),
            Call::Update(name) => fifo.updated(&object(name)),
            Call::Delete(name) => fifo.deleted(&object(name)),
            Call::Replace(names) => {
                let all: Vec<_> = names.iter().map(&mut object).collect();
                fifo.replaced(&all, 1);
            }
            Call::Resync => fifo.resync(),
            Call::Drain => {
                let mut keys = Vec::new();
                while let Some(batch) = fifo.try_pop_batch(1) {
                    keys.extend(short(&batch));
                    store.apply(&batch);
                    batch.ack();
                }
                drained.push(format!("{}; synced {}", keys.join("; "), fifo.has_synced()));
            }
        }
    }
    drained.join(" | ")
}

/// What is told of the keys of each drain, and whether the queue is synced then.
fn drains(told: &str) -> Vec<Vec<String>> {
    let keys = |drain: &str| {
        let keys = drain.split("; ").filter(|told| !told.is_empty());
        keys.map(str::to_owned).collect()
    };
    told.split(" | ").map(keys).collect()
}

/// For each drain, whether a list or a resync came before it.
fn told_of_stored(calls: &[Call]) -> impl Iterator<Item = bool> {
    let spans = calls.split(|call| matches!(call, Call::Drain));
    spans.map(|span| {
        span.iter()
            .any(|call| matches!(call, Call::Replace(_) | Call::Resync))
    })
}

/// Sorts the keys of each drain that a list or a resync came before.
fn evened(told: &str, calls: &[Call]) -> Vec<Vec<String>> {
    let mut drains = drains(told);
    for (keys, any_order) in drains.iter_mut().zip(told_of_stored(calls)) {
        if any_order {
            keys.sort();
        }
    }
    drains
}

/// Sorts what is said of stored objects one after another: reminders, and deletions.
fn evened_in_order(mut drains: Vec<Vec<String>>, calls: &[Call]) -> Vec<Vec<String>> {
    let kind = |told: &String| {
        let is = |kind| told.contains(kind);
        (is(": Sync "), is(": Deleted"))
    };
    for (told, any_order) in drains.iter_mut().zip(told_of_stored(calls)) {
        if any_order {
            let same = |a: &String, b: &String| kind(a) == kind(b) && kind(a) != (false, false);
            told.chunk_by_mut(same).for_each(<[String]>::sort);
        }
    }
    drains
}

/// Leaves out of what RealFIFO tells the deletions of what is not there, and lets one that waits know the last state.
fn without_empty_deletions(drains: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut present = BTreeSet::new();
    let mut left = Vec::new();
    for drain in drains {
        let mut told: Vec<String> = Vec::new();
        for change in drain {
            let name = change.split(": ").next().unwrap_or_default().to_owned();
            if !change.contains(": Deleted") {
                present.insert(name);
            } else if !present.remove(&name) {
                let deleted = format!("{name}: Deleted");
                let waits = told
                    .iter_mut()
                    .rev()
                    .find(|waits| waits.starts_with(&deleted));
                if let Some(tombstone) = waits.filter(|waits| waits.contains('?')) {
                    *tombstone = change;
                }
                continue;
            }
            told.push(change);
        }
        left.push(told);
    }
    left
}

fn program() -> Option<OsString> {
    let program = std::env::var_os("INFORMER_E2E_CLIENTGO");
    if program.is_none() {
        println!("SKIP (INFORMER_E2E_CLIENTGO is not set; `cargo xtask e2e` sets it)");
    }
    program
}

fn random_cases(seed: u64) -> Vec<Vec<Call>> {
    let mut runner = TestRunner::new(RunConfig {
        rng_seed: RngSeed::Fixed(seed),
        ..RunConfig::default()
    });
    let strategy = prop::collection::vec(call(), 1..40);
    let mut case = || {
        let tree = strategy.new_tree(&mut runner).expect("it generates");
        let mut calls = tree.current();
        calls.push(Call::Drain);
        calls
    };
    (0..CASES).map(|_| case()).collect()
}

/// What client-go hands out for each line of calls.
fn theirs(program: &OsStr, arguments: &[&str], lines: &[String]) -> Vec<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("client-go's side runs");
    let mut input = child.stdin.take().expect("it is piped");
    let text = lines.join("\n");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads all");
    assert!(output.status.success(), "client-go's side failed");
    let told = String::from_utf8(output.stdout).expect("it is text");
    let told: Vec<String> = told.lines().map(str::to_owned).collect();
    assert_eq!(told.len(), CASES);
    told
}

/// Runs both sides; `even` makes comparable what ours and what theirs told.
fn compare(
    order: Order,
    arguments: &[&str],
    even: impl Fn(&str, &str, &[Call]) -> [Vec<Vec<String>>; 2],
) {
    let Some(program) = program() else { return };
    let seed = std::env::var("INFORMER_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("INFORMER_SEED={seed}");
    let cases = random_cases(seed);
    let lines: Vec<String> = cases.iter().map(|calls| to_line(calls)).collect();
    let theirs = theirs(&program, arguments, &lines);
    for ((calls, line), theirs) in cases.iter().zip(&lines).zip(theirs) {
        let [ours, theirs] = even(&ours(order, calls), &theirs, calls);
        assert_eq!(ours, theirs, "after {line} (seed {seed})");
    }
}

#[test]
fn client_gos_queue_hands_out_the_same() {
    compare(Order::ByKey, &["deltas"], |ours, theirs, calls| {
        [evened(ours, calls), evened(theirs, calls)]
    });
}

// INV-FIFO-16
#[test]
fn client_gos_queue_in_order_hands_out_the_same_in_the_same_order() {
    compare(
        Order::InOrder,
        &["deltas", "in-order"],
        |ours, theirs, calls| {
            let theirs = without_empty_deletions(drains(theirs));
            [drains(ours), theirs].map(|drains| evened_in_order(drains, calls))
        },
    );
}
