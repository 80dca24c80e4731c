//! Lists, page by page.

use informer_reflector::{FirstList, ListWatchError};
use informer_wire::{Decoded, ListMeta};

use crate::support::*;

/// RF7, RF24; INV-REFL-1
#[tokio::test(start_paused = true)]
async fn a_list_in_pages_arrives_as_one_and_the_watch_goes_on_from_it() {
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
async fn half_a_list_leaves_no_trace() {
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
    assert!(run.script.gaps()[2] > 55 * SECOND && run.script.gaps()[2] < MINUTE);
}

/// RF19
#[tokio::test(start_paused = true)]
async fn the_versions_of_lists_that_expire() {
    let mut run = Run::new(
        lists().first_list(FirstList::Any),
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

/// Only what the sink does not know is decoded again.
#[tokio::test(start_paused = true)]
async fn a_relist_says_what_is_known_and_keeps_it() {
    let unchanged = || {
        let key = informer_store::ObjectKey::namespaced("shop", "a");
        Beat::Item(Decoded::Unchanged(key))
    };
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1), object("b", 2)]),
            short_watch(vec![error_event(410, "Gone")]),
            Answer::List(vec![
                unchanged(),
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
    let known: Vec<_> = run
        .script
        .requests()
        .into_iter()
        .filter(|r| !r.watch)
        .collect();
    assert_eq!(known[0].known.as_deref(), Some(&[][..]));
    assert_eq!(
        known[1].known.as_deref(),
        Some(&["a".to_owned(), "b".to_owned()][..])
    );
}

/// INV-REFL-6; k/k 107457
#[tokio::test(start_paused = true)]
async fn a_server_that_went_back_in_time_is_recognised_and_followed() {
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
    let rewound = "the API server went back in time from resource version 100 to 50";
    assert!(
        run.reports().iter().any(|report| report == rewound),
        "{:?}",
        run.reports()
    );
    assert_eq!(run.now().rewinds, 1);
    assert!(
        run.script.requests()[4].known.is_none(),
        "old copies were trusted"
    );
}

fn too_large() -> ListWatchError {
    let mut status = informer_wire::Status::failure(504, "Timeout", "");
    status.message = "Too large resource version: 100, current: 50".to_owned();
    status.into()
}

/// INV-REFL-6; peers 6
#[tokio::test(start_paused = true)]
async fn a_replica_that_lags_moves_nothing_back() {
    let mut run = Run::new(
        lists(),
        vec![
            list(100, vec![object("a", 100)]),
            short_watch(vec![error_event(410, "Expired")]),
            // It ignores "not older than".
            list(90, vec![object("a", 80)]),
            list(101, vec![object("a", 100)]),
            watch(vec![modified("a", 99), bookmark(95), modified("b", 102)]),
        ],
    );
    run.until_version(102).await;
    let log = run.mirror.log();
    assert_eq!(log[1..], ["replace a@100 at 101", "update b@102"]);
    assert_eq!(run.now().rewinds, 0);
}
