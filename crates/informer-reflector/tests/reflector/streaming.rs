//! Streaming lists and the way back to lists.

use std::time::Duration;

use informer_reflector::{ListMode, ReflectorPhase};

use crate::support::*;

/// RF6, WL6, WL7, WL10; INV-REFL-1
#[tokio::test(start_paused = true)]
async fn initial_events_reach_the_sink_as_one_list_and_the_stream_goes_on() {
    let mut run = Run::new(
        streams(),
        vec![
            short_watch(vec![
                added("a", 7),
                added("b", 3),
                modified("a", 9),
                deleted("b", 9),
                Beat::Pause(5 * SECOND),
                added("c", 2),
                initial_events_end(10),
                added("d", 11),
                Beat::Pause(20 * SECOND),
            ]),
            watch(vec![deleted("d", 12)]),
        ],
    );
    run.pass(SECOND).await;
    assert!(run.mirror.log().is_empty());
    let status = run.now();
    assert_eq!(
        (status.phase, status.synced),
        (ReflectorPhase::Streaming, false)
    );
    run.until_version(12).await;
    assert_eq!(
        run.mirror.log(),
        ["replace a@9 c@2 at 10", "add d@11", "delete d@12"]
    );
    assert_eq!(run.script.log(), ["stream@", "watch@11"]);
}

/// WL5; peers 35
#[tokio::test(start_paused = true)]
async fn refusal_of_streaming_lists_is_remembered() {
    for refused in [
        refusal(422, "Invalid"),
        refusal(400, "BadRequest"),
        refusal(406, "NotAcceptable"),
        short_watch(vec![error_event(422, "Invalid")]),
    ] {
        let mut run = Run::new(
            streams(),
            vec![
                refused,
                list(10, vec![object("a", 1)]),
                short_watch(vec![added("b", 11), error_event(410, "Expired")]),
                list(20, vec![object("a", 1)]),
                watch(vec![]),
            ],
        );
        run.until_version(20).await;
        assert_eq!(
            run.script.log(),
            ["stream@", "list@", "watch@10", "list@11", "watch@20"]
        );
        assert_eq!(run.script.gaps()[0], Duration::ZERO);
        assert_eq!(run.mirror.objects(), ["a@1"]);
        let fell_back = run
            .reports()
            .iter()
            .filter(|r| r.starts_with("lists instead"))
            .count();
        assert_eq!(fell_back, 1, "{:?}", run.reports());
        // That it cannot stream is an answer, not a failure to alarm people with at each start.
        let reports = run.reports();
        let failed = reports
            .iter()
            .filter(|r| r.contains("streaming list failed"));
        assert_eq!(failed.count(), 0, "{reports:?}");
    }
}

/// An etcd without a leader is no server that cannot stream.
#[tokio::test(start_paused = true)]
async fn internal_error_of_a_streaming_list_is_followed_by_one_list() {
    for failed in [
        refusal(500, "InternalError"),
        short_watch(vec![error_event(500, "InternalError")]),
    ] {
        let mut run = Run::new(
            streams(),
            vec![
                failed,
                list(10, vec![object("a", 1)]),
                short_watch(vec![added("b", 11), error_event(410, "Expired")]),
                watch(vec![added("a", 7), initial_events_end(20)]),
            ],
        );
        run.until_version(20).await;
        let log = run.script.log();
        assert_eq!(log, ["stream@", "list@", "watch@10", "stream@11"]);
        assert!(!run.reports().iter().any(|r| r.starts_with("lists instead")));
    }
}

/// peers 34, 35
#[tokio::test(start_paused = true)]
async fn streaming_list_without_an_end_is_listed_after_half_a_minute() {
    let mut run = Run::new(
        streams(),
        vec![
            watch(vec![added("a", 1)]),
            list(10, vec![object("a", 1)]),
            watch(vec![]),
        ],
    );
    run.until_version(10).await;
    assert_eq!(run.script.log(), ["stream@", "list@", "watch@10"]);
    assert_eq!(run.script.gaps()[0], 30 * SECOND);
}

/// peers 34
#[tokio::test(start_paused = true)]
async fn server_that_never_ends_initial_events_is_listed_after_three_streams() {
    let unmarked = || short_watch(vec![added("a", 1), Beat::Pause(2 * SECOND)]);
    let mut run = Run::new(
        streams(),
        vec![
            unmarked(),
            unmarked(),
            unmarked(),
            list(10, vec![object("b", 1)]),
            watch(vec![]),
        ],
    );
    run.until_version(10).await;
    assert_eq!(
        run.script.log(),
        ["stream@", "stream@", "stream@", "list@", "watch@10"]
    );
    assert_eq!(run.mirror.log(), ["replace b@1 at 10"]);
}

/// WL9; kube D5
#[tokio::test(start_paused = true)]
async fn objects_of_a_broken_stream_are_dropped() {
    let mut run = Run::new(
        streams(),
        vec![
            short_watch(vec![added("ghost", 1), Beat::Pause(2 * SECOND)]),
            watch(vec![added("a", 7), initial_events_end(10)]),
        ],
    );
    run.until_version(10).await;
    assert_eq!(run.mirror.log(), ["replace a@7 at 10"]);
}

/// WL8
#[tokio::test(start_paused = true)]
async fn busy_server_is_asked_again_for_the_same_streaming_list() {
    let busy = || refusal(429, "TooManyRequests");
    let mut run = Run::new(
        streams(),
        vec![
            busy(),
            busy(),
            busy(),
            watch(vec![added("a", 7), initial_events_end(10)]),
        ],
    );
    run.until_version(10).await;
    assert_eq!(run.script.log(), ["stream@"; 4]);
    assert!(run.script.gaps().is_sorted());
}

/// WL1
#[tokio::test(start_paused = true)]
async fn list_mode_never_streams() {
    let mut run = Run::new(
        streams().list_mode(ListMode::List),
        vec![list(10, vec![]), watch(vec![])],
    );
    run.until_version(10).await;
    assert_eq!(run.script.log(), ["list@", "watch@10"]);
}

/// INV-REFL-13
#[tokio::test(start_paused = true)]
async fn streaming_relist_reuses_unchanged_objects() {
    let mut run = Run::new(
        streams(),
        vec![
            short_watch(vec![
                added("a", 1),
                added("b", 2),
                initial_events_end(10),
                error_event(410, "Expired"),
            ]),
            watch(vec![
                Beat::Unchanged("a"),
                Beat::Unchanged("b"),
                added("c", 15),
                deleted("b", 16),
                initial_events_end(20),
            ]),
        ],
    );
    run.until_version(10).await;
    let before = run.mirror.get("a").unwrap();
    run.until_version(20).await;
    assert!(std::sync::Arc::ptr_eq(
        &before,
        &run.mirror.get("a").unwrap()
    ));
    assert_eq!(run.mirror.objects(), ["a@1", "c@15"]);
    let requests = run.script.requests();
    assert_eq!(run.script.log(), ["stream@", "stream@10"]);
    assert_eq!(requests[0].newest.as_deref(), Some(&[][..]));
    let both = ["a".to_owned(), "b".to_owned()];
    assert_eq!(requests[1].newest.as_deref(), Some(&both[..]));
}
