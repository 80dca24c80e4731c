//! Servers whose resource versions are no single rising history, into a store.

use std::sync::Arc;

use informer_reflector::Reflector;
use informer_store::{Object as _, Store};
use informer_wire::{Decoded, ListMeta, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

use crate::support::*;

fn versioned(name: &str, version: &str) -> ConfigMap {
    let mut object = object(name, 1);
    object.metadata.uid = Some(format!("uid of {name}"));
    object.metadata.resource_version = Some(version.to_owned());
    object
}

fn event(
    event: fn(Decoded<ConfigMap>) -> WatchEvent<ConfigMap>,
    name: &str,
    version: &str,
) -> Beat {
    Beat::Event(event(Decoded::Object(versioned(name, version))))
}

/// What a store has after these answers and a minute, as `name@version`, and the requests.
async fn follow(answers: Vec<Answer>) -> (Vec<String>, Vec<String>) {
    let script = Script::new(answers);
    let store = Arc::new(Store::<ConfigMap>::new());
    let reflector = Reflector::new(script.clone(), Arc::clone(&store));
    let reflector = reflector.config(lists()).expect("it has no selector");
    let running = reflector.run(CancellationToken::new());
    assert!(tokio::time::timeout(MINUTE, running).await.is_err());
    let snapshot = store.snapshot();
    let mut objects: Vec<_> = snapshot
        .objects()
        .map(|object| {
            let version = object.resource_version().expect("a version");
            format!("{}@{version}", object.name())
        })
        .collect();
    objects.sort();
    (objects, script.log())
}

fn list_at(version: &str, items: Vec<ConfigMap>) -> Answer {
    page(items, ListMeta::at(version.into()))
}

/// kubernetes/kubernetes 58545: the deletion has the version of the last change, which is older than the list, or an
/// older one still. A UID never returns, so it is true.
#[tokio::test(start_paused = true)]
async fn deletion_of_the_stored_uid_is_applied_whatever_its_version() {
    for version in ["40", "30", "1", "opaque"] {
        let (objects, log) = follow(vec![
            list_at("50", vec![versioned("a", "40"), versioned("b", "45")]),
            watch(vec![event(WatchEvent::Deleted, "a", version)]),
        ])
        .await;
        assert_eq!(
            (objects.as_slice(), log.len()),
            (&["b@45".to_owned()][..], 2)
        );
    }
}

/// karmada-io/karmada 3559: one API over several stores.
#[tokio::test(start_paused = true)]
async fn changes_with_versions_below_the_lists_are_applied() {
    let (objects, log) = follow(vec![
        list_at("500", vec![versioned("a", "17"), versioned("c", "18")]),
        short_watch(vec![
            event(WatchEvent::Added, "b", "20"),
            event(WatchEvent::Modified, "b", "30"),
            event(WatchEvent::Modified, "a", "31"),
            event(WatchEvent::Deleted, "c", "19"),
            Beat::Pause(20 * SECOND),
        ]),
        watch(vec![event(WatchEvent::Modified, "b", "33")]),
    ])
    .await;
    assert_eq!(objects, ["a@31", "b@33"]);
    assert_eq!(log, ["list@", "watch@500", "watch@500"]);
}

/// The versions of lists, items and events have different forms.
#[tokio::test(start_paused = true)]
async fn opaque_versions_are_applied_and_the_last_one_resumes() {
    let (objects, log) = follow(vec![
        list_at("eyJhIjoxfQ==", vec![versioned("a", "17")]),
        short_watch(vec![
            event(WatchEvent::Added, "b", "eyJhIjoyfQ=="),
            event(WatchEvent::Modified, "a", "eyJhIjozfQ=="),
            event(WatchEvent::Deleted, "b", "eyJhIjo0fQ=="),
            Beat::Pause(20 * SECOND),
        ]),
        watch(vec![]),
    ])
    .await;
    assert_eq!(objects, ["a@eyJhIjozfQ=="]);
    assert_eq!(log, ["list@", "watch@eyJhIjoxfQ==", "watch@eyJhIjo0fQ=="]);
}

/// INV-REFL-6
#[tokio::test(start_paused = true)]
async fn late_event_of_an_older_version_moves_no_object_back() {
    let (objects, log) = follow(vec![
        list_at("20", vec![versioned("a", "15"), versioned("b", "7")]),
        watch(vec![
            event(WatchEvent::Modified, "a", "14"),
            event(WatchEvent::Added, "a", "15"),
            // Newer than the stored one, though older than the list.
            event(WatchEvent::Modified, "b", "9"),
            event(WatchEvent::Added, "c", "8"),
        ]),
    ])
    .await;
    assert_eq!(objects, ["a@15", "b@9", "c@8"]);
    assert_eq!(log, ["list@", "watch@20"]);
}

/// INV-REFL-1, INV-REFL-5: what the sink dropped is repaired by one list, after a wait.
#[tokio::test(start_paused = true)]
async fn sink_that_dropped_changes_is_given_a_list() {
    let mut run = Run::new(
        lists(),
        vec![
            list(10, vec![object("a", 1)]),
            watch(vec![
                added("b", 11),
                Beat::Pause(10 * SECOND),
                added("c", 12),
                added("late", 13),
            ]),
            list(20, vec![object("a", 1), object("b", 11), object("c", 12)]),
            watch(vec![added("d", 21)]),
        ],
    );
    run.until_version(11).await;
    run.mirror
        .overflows
        .store(true, std::sync::atomic::Ordering::Relaxed);
    run.until_version(21).await;
    assert_eq!(
        run.mirror.log(),
        [
            "replace a@1 at 10",
            "add b@11",
            "dropped",
            "replace a@1 b@11 c@12 at 20",
            "add d@21"
        ]
    );
    let log = run.script.log();
    assert_eq!(log, ["list@", "watch@10", "list@12", "watch@20"]);
    let gap = run.script.gaps()[1];
    assert!(gap >= 10 * SECOND + SECOND / 2, "{gap:?}");
    let dropped = "changes were dropped because the queue is full; a list replaces them";
    assert_eq!(run.reports(), [dropped]);
}
