//! Watches: resuming, expiries, waiting, silence.

use std::time::Duration;

use informer_reflector::{BackoffConfig, ListWatchError, ReflectorPhase};
use informer_wire::Status;

use crate::support::*;

/// WL10; peers 14, 27, 37; INV-REFL-3
#[tokio::test(start_paused = true)]
async fn watch_that_ends_is_resumed_where_it_was() {
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1)]),
            short_watch(vec![modified("a", 11), Beat::Pause(5 * SECOND)]),
            short_watch(vec![
                bookmark(15),
                Beat::Pause(5 * SECOND),
                Beat::Fail(ListWatchError::transport("goaway")),
            ]),
            watch(vec![modified("a", 16)]),
        ],
    );
    run.until_version(16).await;
    assert_eq!(
        run.script.log(),
        ["list@", "watch@10", "watch@11", "watch@15"]
    );
    assert_eq!(run.script.gaps()[1..], [5 * SECOND, 5 * SECOND]);
    assert_eq!(run.now().lists, 1);
}

/// peers 2, 3; WL11; INV-REFL-4
#[tokio::test(start_paused = true)]
async fn every_form_of_expired_leads_to_one_list_that_is_not_older() {
    for too_old in [
        refusal(410, "Gone"),
        refusal(410, "Expired"),
        refusal(410, ""),
        short_watch(vec![error_event(410, "Expired")]),
        short_watch(vec![error_event(410, "Gone")]),
        short_watch(vec![error_event(0, "Expired")]),
        short_watch(vec![bookmark(10), error_event(410, "Expired")]),
    ] {
        let mut run = Run::new(
            lists(),
            vec![
                list(10, vec![object("a", 1), object("b", 2)]),
                too_old,
                list(20, vec![object("b", 18)]),
                watch(vec![]),
            ],
        );
        run.until_version(20).await;
        assert_eq!(
            run.script.log(),
            ["list@", "watch@10", "list@10", "watch@20"]
        );
        assert_eq!(run.mirror.objects(), ["b@18"]);
    }
}

/// peers 1; INV-REFL-4
#[tokio::test(start_paused = true)]
async fn version_that_lists_but_does_not_watch_is_left_in_the_second_round() {
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1)]),
            refusal(410, "Expired"),
            list(10, vec![object("a", 1)]),
            refusal(410, "Expired"),
            list(90, vec![object("a", 80)]),
            watch(vec![modified("a", 91)]),
        ],
    );
    run.until_version(91).await;
    let expected = [
        "list@", "watch@10", "list@10", "watch@10", "list@", "watch@90",
    ];
    assert_eq!(run.script.log(), expected);
}

/// RF9, RF12; peers 16, 18; INV-REFL-5
#[tokio::test(start_paused = true)]
async fn waits_grow_to_half_a_minute_without_a_list() {
    let mut answers = vec![list(10, vec![])];
    answers.extend((0..12).map(|_| Answer::Fail(ListWatchError::refused("nobody there"))));
    answers.push(watch(vec![added("a", 11)]));
    let mut run = Run::new(lists(), answers);
    run.until_version(11).await;
    let gaps = run.script.gaps();
    assert!(gaps[1..6].is_sorted(), "{gaps:?}");
    assert!(gaps[1] >= SECOND / 2 && gaps[1] < 2 * SECOND, "{gaps:?}");
    assert!(
        gaps[7..]
            .iter()
            .all(|gap| *gap > 20 * SECOND && *gap <= 30 * SECOND),
        "{gaps:?}"
    );
    assert_eq!(
        run.script
            .log()
            .iter()
            .filter(|line| line.starts_with("list"))
            .count(),
        1
    );
    assert_eq!(run.reports().len(), 12);
}

/// RF11; peers 16; INV-REFL-5
#[tokio::test(start_paused = true)]
async fn retry_after_is_heeded() {
    let busy = |seconds| {
        let status = Box::new(Status::failure(429, "TooManyRequests", "later"));
        Answer::Fail(ListWatchError::Status {
            status,
            retry_after: Some(seconds),
        })
    };
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![]),
            busy(3 * SECOND),
            busy(100 * SECOND),
            busy(10_000 * SECOND),
            watch(vec![added("a", 11)]),
        ],
    );
    run.until_version(11).await;
    assert_eq!(
        run.script.log(),
        ["list@", "watch@10", "watch@10", "watch@10", "watch@10"]
    );
    let gaps = run.script.gaps();
    assert!(gaps[1] >= 3 * SECOND && gaps[1] < 4 * SECOND, "{gaps:?}");
    assert!(
        gaps[2] >= 100 * SECOND && gaps[2] <= 120 * SECOND,
        "{gaps:?}"
    );
    assert_eq!(gaps[3], 300 * SECOND);
}

/// RF10
#[tokio::test(start_paused = true)]
async fn backoff_without_jitter_is_exact() {
    let backoff = BackoffConfig::default()
        .initial(SECOND)
        .factor(3.0)
        .max(10 * SECOND)
        .jitter(false);
    let mut answers: Vec<_> = (0..4).map(|_| refusal(403, "Forbidden")).collect();
    answers.extend([list(10, vec![]), watch(vec![])]);
    let mut run = Run::new(lists().backoff(backoff), answers);
    run.until_version(10).await;
    let exact = [SECOND, 3 * SECOND, 9 * SECOND, 10 * SECOND];
    for (gap, exact) in run.script.gaps().iter().zip(exact) {
        // Timers are as exact as the runtime's clock: a millisecond.
        assert!(
            *gap >= exact && *gap <= exact + Duration::from_millis(2),
            "{gap:?} for {exact:?}"
        );
    }
}

/// peers 4; kube D1; INV-REFL-5
#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_followed_by_a_list_after_waits() {
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![]),
            short_watch(vec![]),
            short_watch(vec![Beat::Pause(Duration::from_millis(1100))]),
            list(50, vec![object("a", 50)]),
            watch(vec![]),
        ],
    );
    run.until_version(50).await;
    assert_eq!(
        run.script.log(),
        ["list@", "watch@10", "watch@10", "list@10", "watch@50"]
    );
    assert!(run.script.gaps()[1] >= SECOND / 2);
}

/// RF13, RF26; peers 17; INV-REFL-4
#[tokio::test(start_paused = true)]
async fn internal_errors_are_followed_by_watches_and_then_by_a_list() {
    let internal = || short_watch(vec![error_event(500, "InternalError")]);
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("corrupt", 1), object("good", 2)]),
            internal(),
            internal(),
            internal(),
            internal(),
            list(12, vec![object("good", 2)]),
            watch(vec![]),
        ],
    );
    run.until_version(12).await;
    let mut expected = vec!["list@"];
    expected.extend(["watch@10"; 4]);
    expected.extend(["list@10", "watch@12"]);
    assert_eq!(run.script.log(), expected);
    assert_eq!(run.mirror.objects(), ["good@2"]);
}

/// peers 23; INV-REFL-7
#[tokio::test(start_paused = true)]
async fn silent_watch_with_bookmarks_is_opened_again() {
    let minute = || [Beat::Pause(MINUTE), bookmark(10)];
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1)]),
            watch(minute().into_iter().chain(minute()).collect()),
            watch(vec![modified("a", 11)]),
        ],
    );
    run.until_version(11).await;
    assert_eq!(run.script.log(), ["list@", "watch@10", "watch@10"]);
    let silent = run.script.gaps()[1] - 2 * MINUTE;
    assert!(silent >= 70 * SECOND && silent < 80 * SECOND, "{silent:?}");
    let report = "watch timed out: no event or bookmark within";
    assert!(run.reports()[0].starts_with(report), "{:?}", run.reports());
}

/// peers 24; INV-REFL-7
#[tokio::test(start_paused = true)]
async fn watch_without_response_is_requested_again_after_70_seconds() {
    let mut run = Run::new(
        lists(),
        vec![list(10, vec![]), Answer::Hang, watch(vec![added("a", 11)])],
    );
    run.until_version(11).await;
    assert_eq!(run.script.log(), ["list@", "watch@10", "watch@10"]);
    assert_eq!(run.script.gaps()[1], 70 * SECOND);
    let timed_out = "watch timed out: no response within 70s";
    assert_eq!(run.reports(), [timed_out]);
}

/// INV-REFL-7: the link broke before the first bookmark.
#[tokio::test(start_paused = true)]
async fn watch_that_is_silent_from_its_start_is_opened_again() {
    let mut run = Run::new(
        lists(),
        vec![list(10, vec![]), watch(vec![]), watch(vec![added("a", 11)])],
    );
    run.until_version(11).await;
    assert_eq!(run.script.gaps()[1], 70 * SECOND);
    assert_eq!(run.script.log(), ["list@", "watch@10", "watch@10"]);
    assert_eq!(run.reports().len(), 1);
}

/// A stream without events and without an end is left when its time is over, however long silence may last.
#[tokio::test(start_paused = true)]
async fn watch_that_outlasts_its_timeout_is_replaced() {
    let mut run = Run::new(
        lists().silence_timeout(60 * MINUTE),
        vec![list(10, vec![]), watch(vec![]), watch(vec![added("a", 11)])],
    );
    run.until_version(11).await;
    let timeout = run.script.requests()[1].options.timeout.unwrap();
    let gap = run.script.gaps()[1];
    assert!(
        gap > timeout && gap <= timeout + MINUTE,
        "{gap:?} for {timeout:?}"
    );
    assert!(run.reports().is_empty());
}

/// INV-REFL-3
#[tokio::test(start_paused = true)]
async fn unknown_events_and_errors_move_no_version() {
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![]),
            short_watch(vec![
                added("a", 11),
                unknown("SHINY"),
                error_event(429, "TooManyRequests"),
            ]),
            watch(vec![added("b", 12)]),
        ],
    );
    run.until_version(12).await;
    assert_eq!(run.script.log(), ["list@", "watch@10", "watch@11"]);
}

/// protocol 1.6, INV-REFL-2: skipped and reported, and nothing else suffers.
#[tokio::test(start_paused = true)]
async fn unknown_events_are_counted_and_each_type_is_reported_once() {
    let events = || {
        let mut beats = vec![unknown("SHINY"), added("a", 11), unknown("SHINY")];
        beats.extend([unknown("\u{1b}[2J"), modified("a", 12), unknown("SHINY")]);
        beats
    };
    let mut run = Run::new(lists(), vec![list(10, vec![]), watch(events())]);
    let status = run.until(|status| status.unknown_events == 4).await;
    assert_eq!(status.resource_version, Some(12.into()));
    assert_eq!(status.phase, ReflectorPhase::Watching);
    let skipped = |event_type| format!("skipped watch events of the unknown type {event_type}");
    let both = [skipped("\"SHINY\""), skipped(r#""\u{1b}[2J""#)];
    assert_eq!(run.reports(), both);
    assert_eq!(run.script.log(), ["list@", "watch@10"]);
    assert_eq!(
        run.mirror.log(),
        ["replace  at 10", "add a@11", "update a@12"]
    );

    // A server that makes up more and more of them fills neither memory nor log.
    let many = (0..1_000).map(|number| unknown(&format!("T{number}")));
    let beats = many.chain([added("a", 11)]).collect();
    let mut run = Run::new(lists(), vec![list(10, vec![]), watch(beats)]);
    let status = run.until_version(11).await;
    assert_eq!((status.unknown_events, run.reports().len()), (1_000, 16));

    // Within the first state of a streaming list, too.
    let mut beats = vec![
        added("a", 9),
        unknown("SHINY"),
        added("b", 4),
        initial_events_end(10),
    ];
    beats.extend(events());
    let mut run = Run::new(streams(), vec![watch(beats)]);
    let status = run.until(|status| status.unknown_events == 5).await;
    assert_eq!(status.resource_version, Some(12.into()));
    assert_eq!(run.mirror.objects(), ["a@12", "b@4"]);
    assert_eq!(run.script.log(), ["stream@"]);
}

/// protocol 1.14, step 6
#[tokio::test(start_paused = true)]
async fn list_without_a_version_is_followed_by_a_watch_without_one() {
    let mut run = Run::new(
        lists(),
        vec![
            page(vec![object("a", 9)], informer_wire::ListMeta::default()),
            watch(vec![added("a", 9), added("b", 3), modified("b", 12)]),
        ],
    );
    let status = run.until_version(12).await;
    assert_eq!(status.phase, ReflectorPhase::Watching);
    assert_eq!(run.script.log(), ["list@", "watch@"]);
    assert_eq!(
        run.mirror.log(),
        ["replace a@9 at ", "add a@9", "add b@3", "update b@12"]
    );
}
