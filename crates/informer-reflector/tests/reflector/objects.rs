//! Single objects: transforms, objects set aside, objects without a name.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_store::{Known, Object, ObjectKey};
use informer_wire::{DecodeError, Decoded, ListMeta, SetAside, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::*;

/// RF27; peers 40; INV-REFL-8
#[tokio::test(start_paused = true)]
async fn a_transform_sees_each_received_object_once() {
    for (config, first) in [
        (
            lists(),
            vec![
                list(10, vec![object("a", 1), object("b", 2)]),
                watch(live()),
            ],
        ),
        (streams(), vec![watch(streamed())]),
    ] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let mut run = Run::with(config, first, |reflector| {
            reflector.transform(move |object: &mut ConfigMap| {
                counted.fetch_add(1, Ordering::Relaxed);
                object.metadata.labels = Some([("seen".to_owned(), "yes".to_owned())].into());
                Ok::<_, String>(())
            })
        });
        run.until_version(13).await;
        assert_eq!(run.mirror.objects(), ["a@11", "c@13"]);
        // Two of the first state, then a change, a deletion and an addition.
        assert_eq!(calls.load(Ordering::Relaxed), 5);
        for name in ["a", "c"] {
            assert_eq!(run.mirror.get(name).unwrap().label("seen"), Some("yes"));
        }
    }

    fn live() -> Vec<Beat> {
        vec![modified("a", 11), deleted("b", 12), added("c", 13)]
    }

    fn streamed() -> Vec<Beat> {
        let mut beats = vec![added("a", 1), added("b", 2), marker(10)];
        beats.extend(live());
        beats
    }
}

/// INV-REFL-8
#[tokio::test(start_paused = true)]
async fn what_a_transform_refuses_is_set_aside_and_its_deletion_counts() {
    let mut run = Run::with(
        lists(),
        vec![
            list(10, vec![object("a", 1), object("bad", 2)]),
            watch(vec![
                added("bad", 11),
                deleted("bad", 12),
                added("worse", 13),
                added("b", 14),
            ]),
        ],
        |reflector| {
            reflector.transform(|object: &mut ConfigMap| match object.name() {
                "bad" => Err("it is bad"),
                "worse" => panic!("worse"),
                _ => Ok(()),
            })
        },
    );
    let status = run.until_version(14).await;
    assert_eq!(
        run.mirror.log(),
        [
            "replace a@1 at 10",
            "aside bad@11",
            "delete bad@12 without its state",
            "aside worse@13",
            "add b@14"
        ],
    );
    assert_eq!((status.set_aside, status.set_aside_total), (1, 3));
    let reports = run.reports();
    assert!(reports[0].contains("shop/bad set aside") && reports[0].contains("it is bad"));
    assert!(reports[2].contains("shop/worse set aside") && reports[2].contains("panicked: worse"));
}

/// peers 28; INV-REFL-2
#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_decoded_holds_nothing_up_and_is_reported_once() {
    let bad_list = |version| {
        Answer::List(vec![
            Beat::Item(broken("bad", 5)),
            Beat::Item(Decoded::Object(object("a", 1))),
            Beat::PageEnd(ListMeta::at(version)),
        ])
    };
    let mut run = Run::new(
        lists(),
        vec![
            bad_list(10.into()),
            short_watch(vec![modified("a", 11), error_event(410, "Expired")]),
            bad_list(20.into()),
            watch(vec![
                Beat::Event(WatchEvent::Modified(broken("bad", 21))),
                Beat::Event(WatchEvent::Modified(broken("bad", 21))),
                modified("a", 22),
                modified("bad", 23),
                Beat::Event(WatchEvent::Deleted(broken("bad", 24))),
                modified("a", 25),
            ]),
        ],
    );
    let status = run.until_version(25).await;
    let log = run.mirror.log();
    assert_eq!(log[0], "replace a@1 at 10");
    assert_eq!(
        log[3..],
        [
            "aside bad@21",
            "aside bad@21",
            "update a@22",
            "update bad@23",
            "delete bad@24 without its state",
            "update a@25"
        ],
    );
    assert_eq!((status.set_aside, status.set_aside_total), (0, 2));
    let told: Vec<_> = run
        .reports()
        .into_iter()
        .filter(|r| r.contains("set aside"))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
}

/// The last good copy of an object that is set aside in a list stays.
#[tokio::test(start_paused = true)]
async fn a_relist_with_a_broken_object_keeps_its_last_good_copy() {
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1)]),
            short_watch(vec![error_event(410, "Expired")]),
            Answer::List(vec![
                Beat::Item(broken("a", 15)),
                Beat::PageEnd(ListMeta::at(20.into())),
            ]),
            watch(vec![]),
        ],
    );
    let status = run.until_version(20).await;
    assert_eq!(run.mirror.log()[1], "replace a@1 at 20");
    assert_eq!(status.set_aside, 1);
}

/// INV-REFL-5
#[tokio::test(start_paused = true)]
async fn an_object_without_a_name_forces_a_repair_after_a_wait() {
    let nameless = || Beat::Event(WatchEvent::Added(Decoded::Object(ConfigMap::default())));
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1)]),
            watch(vec![nameless(), added("late", 11)]),
            list(12, vec![object("a", 1), object("b", 11)]),
            watch(vec![]),
        ],
    );
    run.until_version(12).await;
    assert_eq!(
        run.script.log(),
        ["list@", "watch@10", "list@10", "watch@12"]
    );
    assert!(run.script.gaps()[1] >= SECOND / 2);
    assert_eq!(
        run.mirror.log(),
        ["replace a@1 at 10", "replace a@1 b@11 at 12"]
    );
    assert!(
        run.reports()
            .iter()
            .any(|report| report.contains("no metadata.name"))
    );
}

/// A nameless object in a list cannot be kept, but it stops nobody.
#[tokio::test(start_paused = true)]
async fn an_object_without_a_name_in_a_list_is_reported() {
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1), ConfigMap::default()]),
            watch(vec![]),
        ],
    );
    let status = run.until_version(10).await;
    assert_eq!(run.mirror.objects(), ["a@1"]);
    assert_eq!((status.set_aside, status.set_aside_total), (0, 1));
    assert_eq!(run.reports().len(), 1);
}

/// RF5
#[tokio::test(start_paused = true)]
async fn an_event_of_another_kind_is_skipped_and_reported_and_what_follows_counts() {
    let secret = || {
        let error = DecodeError::UnexpectedKind {
            expected: "an object of the resource",
            kind: "Secret".to_owned(),
        };
        let version = Known::new(None, Some(11.into()));
        Decoded::SetAside(SetAside::new(None, version, error))
    };
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1)]),
            watch(vec![
                Beat::Event(WatchEvent::Added(secret())),
                Beat::Event(WatchEvent::Deleted(secret())),
                modified("a", 12),
            ]),
        ],
    );
    let status = run.until_version(12).await;
    assert_eq!(run.script.log(), ["list@", "watch@10"]);
    assert_eq!(run.mirror.objects(), ["a@12"]);
    assert_eq!(status.set_aside_total, 2);
    assert!(run.reports().iter().any(|told| told.contains("Secret")));
}

/// INV-REFL-6
#[tokio::test(start_paused = true)]
async fn late_events_of_an_older_version_move_no_object_back() {
    let other_life = WatchEvent::Added(Decoded::Object(object_of("c", 8, "2")));
    let mut run = Run::new(
        lists(),
        vec![
            list(20, vec![object("a", 15), object("b", 7)]),
            watch(vec![
                modified("a", 14),
                deleted("a", 13),
                // Newer than the copy at hand, though older than the list.
                modified("b", 9),
                Beat::Event(other_life),
                bookmark(21),
            ]),
        ],
    );
    run.until_version(21).await;
    assert_eq!(run.mirror.objects(), ["a@15", "b@9", "c@8"]);
    assert_eq!(run.script.log(), ["list@", "watch@20"]);
}

#[tokio::test(start_paused = true)]
async fn keys_may_stand_in_a_cluster() {
    let key = Beat::Item(Decoded::Unchanged(ObjectKey::namespaced("shop", "a")));
    let mut run = Run::new(
        lists().cluster("east"),
        vec![
            list(10, vec![object("a", 1)]),
            short_watch(vec![added("b", 11), error_event(410, "Expired")]),
            Answer::List(vec![key, Beat::PageEnd(ListMeta::at(20.into()))]),
            watch(vec![]),
        ],
    );
    run.until_version(20).await;
    assert_eq!(run.mirror.objects(), ["a@1"]);
    assert!(
        run.mirror.get("a").is_none(),
        "the key stands in no cluster"
    );
    let known = run.script.requests()[2].known.clone();
    assert_eq!(known, Some(vec!["a".to_owned(), "b".to_owned()]));
}
