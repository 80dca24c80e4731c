//! Single objects: transforms, undecodable objects, objects without a key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use informer_store::Object;
use informer_wire::{DecodeError, Decoded, ListMeta, WatchEvent};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::support::*;

/// RF27; peers 40; INV-REFL-8
#[tokio::test(start_paused = true)]
async fn transform_is_called_once_for_each_received_object() {
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
        // Two of the first list, then a change, a deletion and an addition.
        assert_eq!(calls.load(Ordering::Relaxed), 5);
        for name in ["a", "c"] {
            assert_eq!(run.mirror.get(name).unwrap().label("seen"), Some("yes"));
        }
    }

    fn live() -> Vec<Beat> {
        vec![modified("a", 11), deleted("b", 12), added("c", 13)]
    }

    fn streamed() -> Vec<Beat> {
        let mut beats = vec![added("a", 1), added("b", 2), initial_events_end(10)];
        beats.extend(live());
        beats
    }
}

/// INV-REFL-8
#[tokio::test(start_paused = true)]
async fn object_refused_by_the_transform_is_undecodable_and_its_deletion_counts() {
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
            "undecodable bad@11",
            "delete bad@12 without its state",
            "undecodable worse@13",
            "add b@14"
        ],
    );
    assert_eq!((status.undecodable, status.undecodable_total), (1, 3));
    let reports = run.reports();
    assert!(reports[0].contains("cannot decode shop/bad") && reports[0].contains("it is bad"));
    assert!(
        reports[2].contains("cannot decode shop/worse") && reports[2].contains("panicked: worse")
    );
}

/// peers 28; INV-REFL-2
#[tokio::test(start_paused = true)]
async fn undecodable_object_stops_nothing_and_is_reported_once_per_version() {
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
            "undecodable bad@21",
            "undecodable bad@21",
            "update a@22",
            "update bad@23",
            "delete bad@24 without its state",
            "update a@25"
        ],
    );
    assert_eq!((status.undecodable, status.undecodable_total), (0, 2));
    let reported: Vec<_> = run
        .reports()
        .into_iter()
        .filter(|r| r.contains("cannot decode"))
        .collect();
    assert_eq!(reported.len(), 2, "{reported:?}");
}

/// The newest decodable version of an object stays while a list has it as undecodable.
#[tokio::test(start_paused = true)]
async fn relist_with_an_undecodable_object_keeps_its_newest_decodable_version() {
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
    assert_eq!(status.undecodable, 1);
}

/// Another kind, no name, no object at all: such an event may concern any object. INV-REFL-5
#[tokio::test(start_paused = true)]
async fn event_without_a_key_leads_to_a_list_after_a_wait() {
    let malformed = |reason: &str| DecodeError::Malformed {
        what: "event",
        reason: reason.to_owned(),
    };
    let foreign = || DecodeError::UnexpectedKind {
        expected: "an object of the resource",
        kind: "Secret".to_owned(),
    };
    let nameless = || Decoded::Object(ConfigMap::default());
    for (event, report) in [
        (WatchEvent::Added(nameless()), "no metadata.name"),
        (WatchEvent::Deleted(nameless()), "no metadata.name"),
        (WatchEvent::Added(keyless(foreign())), "Secret"),
        (WatchEvent::Deleted(keyless(foreign())), "Secret"),
        (WatchEvent::Modified(keyless(malformed("null"))), "null"),
    ] {
        let mut run = Run::new(
            lists(),
            vec![
                list(10, vec![object("a", 1)]),
                watch(vec![Beat::Event(event), added("late", 11)]),
                list(12, vec![object("a", 1), object("b", 11)]),
                watch(vec![]),
            ],
        );
        let status = run.until_version(12).await;
        let log = run.script.log();
        assert_eq!(log, ["list@", "watch@10", "list@10", "watch@12"]);
        assert!(run.script.gaps()[1] >= SECOND / 2);
        let log = run.mirror.log();
        assert_eq!(log, ["replace a@1 at 10", "replace a@1 b@11 at 12"]);
        let reports = run.reports();
        assert!(reports.iter().any(|r| r.contains(report)), "{reports:?}");
        assert_eq!(status.undecodable_total, 1);
    }
}

/// A list would have it again and again.
#[tokio::test(start_paused = true)]
async fn object_without_a_key_in_a_list_is_reported_and_left_out() {
    let pages = |items: Vec<Beat>| {
        let end = Beat::PageEnd(ListMeta::at(10.into()));
        Answer::List(items.into_iter().chain([end]).collect())
    };
    let foreign = DecodeError::UnexpectedKind {
        expected: "an object of the resource",
        kind: "Secret".to_owned(),
    };
    let nameless = || Decoded::Object(ConfigMap::default());
    let a = || Beat::Item(Decoded::Object(object("a", 1)));
    let streamed = vec![
        Beat::Event(WatchEvent::Added(nameless())),
        added("a", 1),
        initial_events_end(10),
    ];
    for (config, answers) in [
        (
            lists(),
            vec![pages(vec![a(), Beat::Item(nameless())]), watch(vec![])],
        ),
        (
            lists(),
            vec![
                pages(vec![Beat::Item(keyless(foreign)), a()]),
                watch(vec![]),
            ],
        ),
        (streams(), vec![watch(streamed)]),
    ] {
        let mut run = Run::new(config, answers);
        let status = run.until_version(10).await;
        assert_eq!(run.mirror.objects(), ["a@1"]);
        assert_eq!((status.undecodable, status.undecodable_total), (0, 1));
        assert_eq!(run.reports().len(), 1);
    }
}

/// INV-REFL-6, INV-REFL-8: the cache compares objects by UID and resource version.
#[tokio::test(start_paused = true)]
async fn version_that_the_transform_changes_is_restored() {
    let changes: [fn(&mut ConfigMap); 3] = [
        |object| object.metadata.resource_version = None,
        |object| object.metadata.uid = None,
        |object| {
            object.metadata.uid = Some("mine".to_owned());
            object.metadata.resource_version = Some("1".to_owned());
        },
    ];
    for change in changes {
        let mut run = Run::with(
            lists(),
            vec![
                list(10, vec![object("a", 1), object("b", 2)]),
                short_watch(vec![
                    modified("a", 11),
                    deleted("b", 12),
                    error_event(410, "Expired"),
                ]),
                Answer::List(vec![
                    Beat::Unchanged("a"),
                    Beat::PageEnd(ListMeta::at(20.into())),
                ]),
                watch(vec![]),
            ],
            |reflector| {
                reflector.transform(move |object: &mut ConfigMap| {
                    change(object);
                    Ok::<_, String>(())
                })
            },
        );
        run.until_version(20).await;
        let log = run.mirror.log();
        assert_eq!(
            log,
            [
                "replace a@1 b@2 at 10",
                "update a@11",
                "delete b@12",
                "replace a@11 at 20"
            ]
        );
        let a = run.mirror.get("a").unwrap();
        assert_eq!(a.uid(), Some("1".into()));
        let restored = "the transform changes metadata.uid or metadata.resourceVersion";
        let reports = run.reports();
        let restored = reports.iter().filter(|r| r.starts_with(restored));
        assert_eq!(restored.count(), 1, "{reports:?}");
    }
}

/// The key of an object is the server's, whatever the transform does to its name.
#[tokio::test(start_paused = true)]
async fn key_is_that_before_the_transform() {
    let mut run = Run::with(
        lists(),
        vec![
            list(10, vec![object("a", 1), object("b", 1)]),
            watch(vec![modified("a", 11), deleted("b", 12)]),
        ],
        |reflector| {
            reflector.transform(|object: &mut ConfigMap| {
                object.metadata.name = Some("anonymous".to_owned());
                Ok::<_, String>(())
            })
        },
    );
    run.until_version(12).await;
    assert_eq!(run.mirror.objects(), ["anonymous@11"]);
    assert!(run.mirror.get("a").is_some());
}

/// A type of one's own that has no room for what the transform takes away.
mod unrestorable {
    use futures_util::stream::{self, BoxStream, StreamExt as _};
    use informer_reflector::{ListWatch, ListWatchError, Reflector, Report};
    use informer_store::{ObjectMetadata, OwnerReference, ResourceVersion, Store, Uid, object};
    use informer_wire::ListOptions;
    use parking_lot::Mutex;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[derive(Clone)]
    struct Meta(Option<u64>);

    impl ObjectMetadata for Meta {
        fn name(&self) -> Option<&str> {
            Some("a")
        }
        fn namespace(&self) -> Option<&str> {
            None
        }
        fn uid(&self) -> Option<Uid> {
            self.0.map(|_| Uid::from("1"))
        }
        fn resource_version(&self) -> Option<ResourceVersion> {
            self.0.map(ResourceVersion::from)
        }
        fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
            std::iter::empty()
        }
        fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
            std::iter::empty()
        }
        fn owner_references(&self) -> impl Iterator<Item = OwnerReference<'_>> {
            std::iter::empty()
        }

        fn generation(&self) -> Option<i64> {
            None
        }

        fn finalizers(&self) -> impl Iterator<Item = &str> {
            std::iter::empty()
        }

        fn is_being_deleted(&self) -> bool {
            false
        }
    }

    struct Thing {
        meta: Meta,
    }
    object!(Thing, meta: Meta);

    type Watch = BoxStream<'static, Result<WatchEvent<Thing>, ListWatchError>>;

    /// What the sink has, and what was reported, after a list and three updates.
    async fn run(version: Option<u64>, transform: fn(&mut Thing)) -> (usize, Vec<String>) {
        let list = move |_: ListOptions| async move {
            let thing = Thing {
                meta: Meta(version),
            };
            Ok::<_, ListWatchError>((vec![thing], ListMeta::at(10.into())))
        };
        let watch = move |_: ListOptions| async move {
            let update = move |by| {
                let meta = Meta(version.map(|version| version + by));
                Ok(WatchEvent::Modified(Decoded::Object(Thing { meta })))
            };
            let updates = stream::iter([update(1), update(2), update(3)]);
            Ok::<Watch, ListWatchError>(updates.chain(stream::pending()).boxed())
        };
        let store = Arc::new(Store::new());
        let reports = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&reports);
        let reflector = Reflector::new(ListWatch::new(list, watch), Arc::clone(&store))
            .watch_error_handler(move |report: &Report| log.lock().push(report.to_string()))
            .transform(move |thing: &mut Thing| {
                transform(thing);
                Ok::<_, String>(())
            });
        let running = reflector.run(CancellationToken::new());
        assert!(tokio::time::timeout(MINUTE, running).await.is_err());
        let reports = reports.lock().clone();
        (store.len(), reports)
    }

    /// INV-REFL-6: refused, rather than an object that may go back in time.
    #[tokio::test(start_paused = true)]
    async fn object_whose_version_cannot_be_restored_is_refused() {
        let (objects, reports) = run(Some(1), |thing| thing.meta.0 = None).await;
        assert_eq!(objects, 0);
        assert_eq!(reports.len(), 4, "{reports:?}");
        assert!(
            reports[0].contains("implement restore_version"),
            "{reports:?}"
        );
        let (objects, reports) = run(Some(1), |_| ()).await;
        assert_eq!((objects, reports.len()), (1, 0), "{reports:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn objects_without_versions_are_stored_and_reported_once() {
        let (objects, reports) = run(None, |_| ()).await;
        assert_eq!((objects, reports.len()), (1, 1), "{reports:?}");
        assert!(reports[0].contains("cannot be compared"), "{reports:?}");
    }
}
