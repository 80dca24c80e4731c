//! What can be seen from outside: the check of lists, and metrics.

use informer_wire::{Decoded, ListMeta};

use crate::support::*;

fn checked() -> informer_reflector::ReflectorConfig {
    lists().check_consistency(true)
}

/// WL14, CD2
#[tokio::test(start_paused = true)]
async fn a_second_list_of_the_same_version_is_compared_only_where_asked_for() {
    // It waits between the check's tries: the first one fails.
    let answers = || {
        vec![
            list(10, vec![object("a", 1), object("b", 2), object("c", 3)]),
            watch(vec![]),
            refusal(500, "InternalError"),
            list(10, vec![object("a", 1), object("b", 4), object("d", 5)]),
        ]
    };
    let mut run = Run::new(checked(), answers());
    run.until_version(10).await;
    run.pass(10 * SECOND).await;
    let requests = run.script.requests();
    let exact = requests
        .last()
        .map(|request| request.options.clone())
        .unwrap();
    assert_eq!(exact.resource_version, Some(10.into()));
    let only = Some(informer_wire::ResourceVersionMatch::Exact);
    assert_eq!((exact.resource_version_match, exact.limit), (only, None));
    let differs = "a second list of version 10 differs in shop/b shop/c shop/d";
    assert_eq!(run.reports(), [differs]);

    let mut run = Run::new(lists(), answers());
    run.until_version(10).await;
    run.pass(10 * SECOND).await;
    assert_eq!(run.script.log(), ["list@", "watch@10"]);
}

/// CD2
#[tokio::test(start_paused = true)]
async fn equal_lists_are_no_news_and_what_cannot_be_asked_for_is_left() {
    for second in [
        list(10, vec![object("b", 2), object("a", 1)]),
        refusal(410, "Expired"),
    ] {
        let first = watch(vec![
            added("a", 1),
            added("x", 1),
            deleted("x", 1),
            added("b", 2),
            marker(10),
        ]);
        let config = streams().check_consistency(true);
        let mut run = Run::new(config, vec![first, second]);
        run.until_version(10).await;
        run.pass(MINUTE).await;
        assert_eq!(run.script.log(), ["stream@", "list@10"]);
        assert_eq!(run.reports(), Vec::<String>::new());
    }
}

/// What a relist keeps is compared as the copy that is known.
#[tokio::test(start_paused = true)]
async fn what_a_list_keeps_is_compared_too() {
    let kept = || {
        let key = informer_store::ObjectKey::namespaced("shop", "a");
        Beat::Item(Decoded::Unchanged(key))
    };
    let run = |second: Answer| {
        let answers = vec![
            list(10, vec![object("a", 1)]),
            short_watch(vec![Beat::Pause(MINUTE), error_event(410, "Expired")]),
            list(10, vec![object("a", 1)]),
            Answer::List(vec![kept(), Beat::PageEnd(ListMeta::at(20.into()))]),
            watch(vec![]),
            second,
        ];
        Run::new(checked(), answers)
    };
    for (second, differs) in [
        (list(20, vec![object("a", 1)]), vec![]),
        (
            list(20, vec![object("a", 2)]),
            vec!["a second list of version 20 differs in shop/a"],
        ),
    ] {
        let mut run = run(second);
        run.until_version(20).await;
        run.pass(10 * SECOND).await;
        let reports = run.reports();
        let found = reports.iter().filter(|line| line.starts_with("a second"));
        assert_eq!(found.collect::<Vec<_>>(), differs);
    }
}

/// k/k 53485 needs no more than this: series are named by the reflector, not by its instance.
#[cfg(feature = "metrics")]
mod counting {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use metrics::{
        Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata,
        Recorder, SharedString, Unit,
    };
    use parking_lot::Mutex;

    use super::*;

    /// The last value of each series.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<BTreeMap<String, f64>>>);

    struct Series(String, Seen);

    impl Series {
        fn change(&self, change: impl FnOnce(f64) -> f64) {
            let mut values = self.1.0.lock();
            let value = values.entry(self.0.clone()).or_default();
            *value = change(*value);
        }
    }

    impl CounterFn for Series {
        fn increment(&self, by: u64) {
            self.change(|value| value + by as f64);
        }

        fn absolute(&self, value: u64) {
            self.change(|_| value as f64);
        }
    }

    impl GaugeFn for Series {
        fn increment(&self, by: f64) {
            self.change(|value| value + by);
        }

        fn decrement(&self, by: f64) {
            self.change(|value| value - by);
        }

        fn set(&self, value: f64) {
            self.change(|_| value);
        }
    }

    impl HistogramFn for Series {
        fn record(&self, _: f64) {
            self.change(|count| count + 1.0);
        }
    }

    impl Seen {
        fn series(&self, key: &Key) -> Arc<Series> {
            let labels: Vec<_> = key.labels().map(|label| label.value().to_owned()).collect();
            let name = format!("{} {}", key.name(), labels.join(" "));
            Arc::new(Series(name, self.clone()))
        }
    }

    impl Recorder for Seen {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            Counter::from_arc(self.series(key))
        }

        fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::from_arc(self.series(key))
        }

        fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::from_arc(self.series(key))
        }
    }

    // INV-REFL-11
    #[tokio::test(start_paused = true)]
    async fn what_happens_is_counted_under_documented_names() {
        let seen = Seen::default();
        // The series are made when the reflector first runs, on this thread.
        let recorder = metrics::set_default_local_recorder(&seen);
        let mut run = Run::with(
            lists(),
            vec![
                refusal(500, "InternalError"),
                list(10, vec![object("a", 1)]),
                watch(vec![added("b", 11), unknown("SHINY"), bookmark(12)]),
            ],
            |reflector| reflector.named("things"),
        );
        run.until_version(12).await;
        run.pass(SECOND).await;
        drop(recorder);
        let expected = [
            ("informer_reflector_events_total things", 3.0),
            ("informer_reflector_failures_total things list", 1.0),
            ("informer_reflector_list_duration_seconds things", 1.0),
            ("informer_reflector_lists_total things", 2.0),
            ("informer_reflector_rewinds_total things", 0.0),
            ("informer_reflector_set_aside_total things", 0.0),
            ("informer_reflector_synced things", 1.0),
            ("informer_reflector_unknown_events_total things", 1.0),
            ("informer_reflector_watches_total things", 1.0),
        ];
        let values: Vec<_> = seen.0.lock().clone().into_iter().collect();
        assert_eq!(
            values,
            expected.map(|(name, value)| (name.to_owned(), value))
        );
        run.stop.cancel();
        within(SECOND, &mut run.task).await.expect("it ends");
        assert_eq!(seen.0.lock()["informer_reflector_synced things"], 0.0);
    }
}
