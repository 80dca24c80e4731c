//! Lists, page by page.

use informer_reflector::ListWatchError;
use informer_wire::{Decoded, ListMeta, Status};

use crate::support::*;

/// RF7, RF24; INV-REFL-1
#[tokio::test(start_paused = true)]
async fn pages_reach_the_sink_as_one_list_and_the_watch_goes_on_from_it() {
    let first = ListMeta::at(10.into()).continue_token("two");
    let mut run = Run::new(
        lists(),
        vec![
            page(vec![object("a", 1), object("b", 2)], first),
            page(vec![object("c", 3)], ListMeta::at(10.into())),
            watch(vec![
                modified("a", 11),
                deleted("b", 12),
                added("d", 13),
                bookmark(20),
            ]),
        ],
    );
    run.until_version(20).await;
    assert_eq!(run.script.log(), ["list@", "list+two", "watch@10"]);
    assert_eq!(run.script.requests()[0].options.limit, Some(5000));
    let log = run.mirror.log();
    assert_eq!(log[0], "replace a@1 b@2 c@3 at 10");
    assert_eq!(
        log[1..],
        ["update a@11", "delete b@12", "add d@13", "bookmark 20"]
    );
    assert_eq!(run.mirror.objects(), ["a@11", "c@3", "d@13"]);
    assert!(run.reports().is_empty());
}

/// PG2, RF20; INV-REFL-1
#[tokio::test(start_paused = true)]
async fn pages_of_two_lists_are_never_mixed() {
    let first = ListMeta::at(10.into()).continue_token("two");
    let mut run = Run::new(
        lists(),
        vec![
            page(vec![object("a", 1), object("b", 2)], first),
            refusal(410, "Expired"),
            list(15, vec![object("a", 1), object("c", 14)]),
            watch(vec![]),
        ],
    );
    run.until_version(15).await;
    assert_eq!(run.script.log(), ["list@", "list+two", "list@", "watch@15"]);
    assert_eq!(run.script.requests()[2].options.limit, None);
    assert_eq!(run.mirror.log(), ["replace a@1 c@14 at 15"]);
}

/// INV-REFL-1; peers 25
#[tokio::test(start_paused = true)]
async fn incomplete_list_leaves_no_trace() {
    let item = |name| Beat::Item(Decoded::Object(object(name, 1)));
    let mut run = Run::new(
        lists(),
        vec![
            Answer::List(vec![item("a")]),
            Answer::List(vec![
                item("b"),
                Beat::Fail(ListWatchError::transport("reset")),
            ]),
            Answer::List(vec![item("c"), Beat::Hang]),
            list(10, vec![object("d", 1)]),
            watch(vec![]),
        ],
    );
    run.until_version(10).await;
    assert_eq!(run.mirror.log(), ["replace d@1 at 10"]);
    assert_eq!(
        run.script.log(),
        ["list@", "list@", "list@", "list@", "watch@10"]
    );
    let gap = run.script.gaps()[2];
    assert!(gap > 30 * SECOND && gap < 40 * SECOND, "{gap:?}");
}

/// RF19
#[tokio::test(start_paused = true)]
async fn expired_list_from_cache_is_followed_by_the_newest_state() {
    let mut run = Run::new(
        lists().first_list_from_cache(true),
        vec![
            list(10, vec![]),
            short_watch(vec![error_event(410, "Expired")]),
            refusal(410, "Expired"),
            list(20, vec![object("a", 20)]),
            watch(vec![]),
        ],
    );
    run.until_version(20).await;
    assert_eq!(
        run.script.log(),
        ["list@0", "watch@10", "list@10", "list@", "watch@20"]
    );
}

/// INV-REFL-13: objects that the sink has in the same version need not be decoded.
#[tokio::test(start_paused = true)]
async fn relist_reuses_unchanged_objects() {
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1), object("b", 2)]),
            short_watch(vec![error_event(410, "Gone")]),
            Answer::List(vec![
                Beat::Unchanged("a"),
                Beat::Item(Decoded::Object(object("c", 15))),
                Beat::PageEnd(ListMeta::at(20.into())),
            ]),
            watch(vec![]),
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
    let lists: Vec<_> = run
        .script
        .requests()
        .into_iter()
        .filter(|r| !r.watch)
        .collect();
    assert_eq!(lists[0].newest.as_deref(), Some(&[][..]));
    assert_eq!(
        lists[1].newest.as_deref(),
        Some(&["a".to_owned(), "b".to_owned()][..])
    );
}

/// INV-REFL-6; k/k 107457
#[tokio::test(start_paused = true)]
async fn rewind_is_recognised_and_followed() {
    let mut run = Run::new(
        lists(),
        vec![
            list(100, vec![object("a", 90), object("b", 95)]),
            short_watch(vec![error_event(410, "Expired")]),
            refusal(504, "Timeout: Too large resource version"),
            Answer::Fail(too_large()),
            list(50, vec![object("a", 40)]),
            watch(vec![modified("a", 51)]),
        ],
    );
    run.until_version(51).await;
    assert_eq!(
        run.script.log()[2..],
        ["list@100", "list@100", "list@", "watch@50"]
    );
    assert_eq!(
        run.mirror.log()[1..],
        ["replace a@40 at 50 rewind", "update a@51"]
    );
    let rewound = "the API server's resource versions went back from 100 to 50";
    assert!(
        run.reports().iter().any(|report| report == rewound),
        "{:?}",
        run.reports()
    );
    assert_eq!(run.now().rewinds, 1);
    assert!(
        run.script.requests()[4].newest.is_none(),
        "stored objects were reused"
    );
}

fn too_large() -> ListWatchError {
    let mut status = Status::failure(504, "Timeout", "");
    status.message = "Too large resource version: 100, current: 50".to_owned();
    status.into()
}

/// INV-REFL-6; peers 6
#[tokio::test(start_paused = true)]
async fn list_of_a_replica_that_lags_is_refused() {
    let mut run = Run::new(
        lists(),
        vec![
            list(100, vec![object("a", 100)]),
            short_watch(vec![error_event(410, "Expired")]),
            // It ignores "not older than".
            list(90, vec![object("a", 80)]),
            list(101, vec![object("a", 100)]),
            watch(vec![bookmark(95), modified("b", 102)]),
        ],
    );
    run.until_version(102).await;
    let log = run.mirror.log();
    assert_eq!(log[1..], ["replace a@100 at 101", "update b@102"]);
    assert_eq!(run.now().rewinds, 0);
}

/// INV-REFL-7: servers give up a list after a minute, and say why and how long to wait.
#[tokio::test(start_paused = true)]
async fn late_refusal_of_a_list_is_waited_for_and_heeded() {
    let status = Box::new(Status::failure(504, "Timeout", "etcd is slow"));
    let slow = Answer::Fail(ListWatchError::Status {
        status,
        retry_after: Some(20 * SECOND),
    });
    let mut run = Run::new(
        lists(),
        vec![
            Answer::Late(60 * SECOND, Box::new(slow)),
            Answer::Late(74 * SECOND, Box::new(list(10, vec![]))),
            watch(vec![]),
        ],
    );
    run.until_version(10).await;
    let reports = run.reports();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert!(reports[0].contains("etcd is slow"), "{reports:?}");
    let gap = run.script.gaps()[0];
    assert!(gap >= 80 * SECOND && gap <= 84 * SECOND, "{gap:?}");
}
