//! The same random calls to client-go's real DeltaFIFO and to ours must come out as the same deltas. Runs where
//! `cargo xtask e2e` has built client-go's side (`e2e/clientgo`) and says in `INFORMER_E2E_CLIENTGO` where it is.
//!
//! Differences on purpose, which the test leaves out or evens out:
//! - Of a list, client-go hands out its objects before its deletions, each key by itself; ours is one batch, deletions
//!   first. So keys are compared in order only where no list came between two drains.
//! - A key listed twice is told twice by client-go, once by ours: no list here has a key twice.
//! - Ours leaves out what resource versions show to be old: the objects here have none.
//! - Ours compresses long chains: here it keeps them.

mod common;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use common::{Calls, NaiveStore, Thing, plain, short};
use informer_delta_fifo::{Config, DeltaFifo};
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
fn ours(calls: &[Call]) -> String {
    let store = NaiveStore::holding(&[]);
    let config = Config::new()
        .known_objects(Arc::clone(&store))
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

/// Sorts the keys of each drain that a list came before.
fn evened(told: &str, calls: &[Call]) -> Vec<Vec<String>> {
    let spans = calls.split(|call| matches!(call, Call::Drain));
    told.split(" | ")
        .zip(spans)
        .map(|(drain, span)| {
            let mut keys: Vec<String> = drain.split("; ").map(str::to_owned).collect();
            // Known objects come in any order.
            if span
                .iter()
                .any(|call| matches!(call, Call::Replace(_) | Call::Resync))
            {
                keys.sort();
            }
            keys
        })
        .collect()
}

#[test]
fn client_gos_queue_hands_out_the_same() {
    let Some(program) = std::env::var_os("INFORMER_E2E_CLIENTGO") else {
        println!("SKIP (INFORMER_E2E_CLIENTGO is not set; `cargo xtask e2e` sets it)");
        return;
    };
    let seed = std::env::var("INFORMER_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("INFORMER_SEED={seed}");
    let mut runner = TestRunner::new(RunConfig {
        rng_seed: RngSeed::Fixed(seed),
        ..RunConfig::default()
    });
    let strategy = prop::collection::vec(call(), 1..40);
    let cases: Vec<Vec<Call>> = (0..CASES)
        .map(|_| {
            let mut calls = strategy
                .new_tree(&mut runner)
                .expect("it generates")
                .current();
            calls.push(Call::Drain);
            calls
        })
        .collect();
    let lines: Vec<String> = cases.iter().map(|calls| to_line(calls)).collect();
    let mut child = Command::new(program)
        .arg("deltas")
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
    let theirs = String::from_utf8(output.stdout).expect("it is text");
    assert_eq!(theirs.lines().count(), CASES);
    for ((calls, line), theirs) in cases.iter().zip(&lines).zip(theirs.lines()) {
        let (ours, theirs) = (ours(calls), evened(theirs, calls));
        assert_eq!(evened(&ours, calls), theirs, "after {line} (seed {seed})");
    }
}
