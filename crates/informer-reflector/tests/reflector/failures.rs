//! Failures of the user's own code, and who receives reports.

use std::sync::Arc;
use std::time::Duration;

use informer_reflector::{ListWatchError, Operation, Report};
use parking_lot::Mutex;

use crate::support::*;

/// peers 25, 58; INV-REFL-9
#[tokio::test(start_paused = true)]
async fn panic_of_the_source_is_reported_and_the_request_repeated() {
    let mut run = Run::new(
        lists(),
        vec![
            Answer::Panic,
            Answer::List(vec![Beat::Panic]),
            list(10, vec![object("a", 1)]),
            Answer::Panic,
            list(11, vec![object("a", 1)]),
            short_watch(vec![modified("a", 12), Beat::Panic]),
            list(13, vec![object("a", 12)]),
            watch(vec![modified("a", 14)]),
        ],
    );
    run.until_version(14).await;
    let log = run.script.log();
    let expected = [
        "list@", "list@", "list@", "watch@10", "list@10", "watch@11", "list@12", "watch@13",
    ];
    assert_eq!(log, expected);
    let panics = run
        .reports()
        .iter()
        .filter(|report| report.contains("on purpose"))
        .count();
    assert_eq!(panics, 4);
}

/// INV-REFL-9
#[tokio::test(start_paused = true)]
async fn panic_of_the_source_when_a_request_is_dropped_is_survived() {
    let mut run = Run::new(
        lists(),
        vec![
            // Given up for want of progress, then for silence.
            Answer::List(vec![Beat::HangAndPanic]),
            list(10, vec![object("a", 1)]),
            short_watch(vec![modified("a", 12), Beat::HangAndPanic]),
            watch(vec![modified("a", 14), Beat::HangAndPanic]),
        ],
    );
    run.until_version(14).await;
    assert_eq!(run.script.log(), ["list@", "list@", "watch@10", "watch@12"]);
    run.stop.cancel();
    run.task.await.expect("no panic at its end");
}

/// SI7; INV-REFL-9
#[tokio::test(start_paused = true)]
async fn handler_receives_every_failure_also_inside_a_stream() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let handler = move |report: &Report| {
        if let Report::Failed {
            during,
            error,
            attempts,
            retry_in,
            ..
        } = report
        {
            log.lock()
                .push((*during, error.chain(), *attempts, *retry_in));
        }
    };
    let mut run = Run::with(
        streams(),
        vec![
            refusal(429, "TooManyRequests"),
            Answer::Fail(ListWatchError::transport("no route")),
            Answer::Fail(ListWatchError::refused("nobody there")),
            watch(vec![
                initial_events_end(10),
                error_event(500, "InternalError"),
            ]),
            watch(vec![added("a", 11)]),
        ],
        |reflector| reflector.watch_error_handler(handler),
    );
    run.until_version(11).await;
    let heard = heard.lock();
    let said: Vec<_> = heard
        .iter()
        .map(|(during, error, ..)| (*during, error.as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (
                Operation::StreamingList,
                "the API server refused: no (429 TooManyRequests)"
            ),
            (
                Operation::StreamingList,
                "cannot talk to the API server: no route"
            ),
            (
                Operation::List,
                "cannot talk to the API server: nobody there"
            ),
            (
                Operation::Watch,
                "the API server refused: no (500 InternalError)"
            ),
        ],
    );
    let attempts: Vec<_> = heard.iter().map(|(_, _, attempts, _)| *attempts).collect();
    assert_eq!(attempts, [1, 2, 3, 1]);
    assert!(
        heard
            .iter()
            .all(|(_, _, _, retry_in)| *retry_in >= Duration::from_millis(500))
    );
}

/// INV-REFL-9
#[tokio::test(start_paused = true)]
async fn panics_of_hooks_are_survived() {
    let mut run = Run::with(
        lists().with_options_modifier(|options| {
            options.label_selector = Some("half=done".to_owned());
            panic!("the modifier panicked on purpose")
        }),
        vec![
            refusal(403, "Forbidden"),
            list(10, vec![]),
            watch(vec![added("a", 11)]),
        ],
        |reflector| {
            reflector
                .watch_error_handler(|_: &Report| panic!("the handler panicked on purpose"))
                .resync_period(MINUTE)
        },
    );
    run.until_version(11).await;
    run.pass(MINUTE + SECOND).await;
    assert_eq!(run.mirror.log(), ["replace  at 10", "add a@11", "resync"]);
    for request in run.script.requests() {
        assert_eq!(request.options.label_selector, None);
    }
}
