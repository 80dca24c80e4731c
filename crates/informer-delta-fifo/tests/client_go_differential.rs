//! The same random calls to client-go's real DeltaFIFO, and to its RealFIFO, and to ours in the same order must come out
//! as the same deltas. Runs where `cargo xtask e2e` has built client-go's side (`e2e/clientgo`) and says in
//! `INFORMER_E2E_CLIENTGO` where it is.
//!
//! Differences on purpose, which the test leaves out or evens out:
//! - Of a list, DeltaFIFO hands out its objects before its deletions, each key by itself; ours is one batch, tombstones
//!   first. So keys are compared in order only where no list was queued between two drains.
//! - A key listed twice is queued twice by client-go, once by ours: no list here has a key twice.
//! - Ours ignores what is outdated: the objects here have no resource versions.
//! - Ours coalesces long deltas: here it keeps them.
//! - RealFIFO queues every deletion. Ours ignores those of what is not there; one with the last state improves a tombstone
//!   that is queued, in its place.
//! - Stored objects have no order in client-go: what a list or a resync queues of them one after another is compared as a
//!   set.

mod common;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use common::{Calls, NaiveStore, Thing, plain, short};
use informer_delta_fifo::{DeltaFifo, DeltaFifoConfig, QueueOrder};
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
fn ours(order: QueueOrder, calls: &[Call]) -> String {
    let store = NaiveStore::holding(&[]);
    let config = DeltaFifoConfig::new()
        .known(Arc::clone(&store))
        .order(order)
        .max_deltas(None);
    let fifo: DeltaFifo<Thing> = DeltaFifo::new(config);
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

/// What is popped of the keys in each drain, and whether the queue is synced then.
fn drains(popped: &str) -> Vec<Vec<String>> {
    let keys = |drain: &str| {
        let keys = drain.split("; ").filter(|popped| !popped.is_empty());
        keys.map(str::to_owned).collect()
    };
    popped.split(" | ").map(keys).collect()
}

/// For each drain, whether a list or a resync was queued before it.
fn has_stored(calls: &[Call]) -> impl Iterator<Item = bool> {
    let spans = calls.split(|call| matches!(call, Call::Drain));
    spans.map(|span| {
        span.iter()
            .any(|call| matches!(call, Call::Replace(_) | Call::Resync))
    })
}

/// Sorts the keys of each drain after a list or a resync.
fn evened(popped: &str, calls: &[Call]) -> Vec<Vec<String>> {
    let mut drains = drains(popped);
    for (keys, any_order) in drains.iter_mut().zip(has_stored(calls)) {
        if any_order {
            keys.sort();
        }
    }
    drains
}

/// Sorts what is popped of stored objects one after another: resyncs, and deletions.
fn evened_in_order(mut drains: Vec<Vec<String>>, calls: &[Call]) -> Vec<Vec<String>> {
    let kind = |popped: &String| {
        let is = |kind| popped.contains(kind);
        (is(": Sync "), is(": Deleted"))
    };
    for (popped, any_order) in drains.iter_mut().zip(has_stored(calls)) {
        if any_order {
            let same = |a: &String, b: &String| kind(a) == kind(b) && kind(a) != (false, false);
            popped.chunk_by_mut(same).for_each(<[String]>::sort);
        }
    }
    drains
}

/// Leaves out of what RealFIFO pops the deletions of what is not there, and gives a tombstone that is queued the last state.
fn without_empty_deletions(drains: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut present = BTreeSet::new();
    let mut left = Vec::new();
    for drain in drains {
        let mut popped: Vec<String> = Vec::new();
        for change in drain {
            let name = change.split(": ").next().unwrap_or_default().to_owned();
            if !change.contains(": Deleted") {
                present.insert(name);
            } else if !present.remove(&name) {
                let deleted = format!("{name}: Deleted");
                let queued = popped
                    .iter_mut()
                    .rev()
                    .find(|queued| queued.starts_with(&deleted));
                if let Some(tombstone) = queued.filter(|queued| queued.contains('?')) {
                    *tombstone = change;
                }
                continue;
            }
            popped.push(change);
        }
        left.push(popped);
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
    let popped = String::from_utf8(output.stdout).expect("it is text");
    let popped: Vec<String> = popped.lines().map(str::to_owned).collect();
    assert_eq!(popped.len(), CASES);
    popped
}

/// Runs both sides; `even` makes comparable what ours and theirs popped.
fn compare(
    order: QueueOrder,
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
    compare(QueueOrder::ByKey, &["deltas"], |ours, theirs, calls| {
        [evened(ours, calls), evened(theirs, calls)]
    });
}

// INV-FIFO-16
#[test]
fn client_gos_queue_in_order_hands_out_the_same_in_the_same_order() {
    compare(
        QueueOrder::InOrder,
        &["deltas", "in-order"],
        |ours, theirs, calls| {
            let theirs = without_empty_deletions(drains(theirs));
            [drains(ours), theirs].map(|drains| evened_in_order(drains, calls))
        },
    );
}
