//! Metrics.

use crate::support::*;

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
    async fn metrics_have_the_documented_names() {
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
            ("informer_reflector_synced things", 1.0),
            ("informer_reflector_undecodable_total things", 0.0),
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
