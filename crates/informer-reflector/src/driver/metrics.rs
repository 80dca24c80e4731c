//! What is counted through the `metrics` facade, with the feature `metrics`; without it nothing is. The names are in the
//! [crate's documentation](crate#metrics) and in `docs/metrics.md`.

use std::time::Duration;

#[cfg(feature = "metrics")]
use metrics::{Counter, Gauge, Histogram, SharedString, counter, gauge, histogram};

use crate::report::Operation;
use crate::status::ReflectorStatus;

/// The series of one reflector.
pub(super) struct Metrics {
    #[cfg(feature = "metrics")]
    series: Series,
}

#[cfg(feature = "metrics")]
struct Series {
    resource: SharedString,
    lists: Counter,
    watches: Counter,
    events: Counter,
    unknown_events: Counter,
    undecodable: Counter,
    rewinds: Counter,
    list_duration: Histogram,
    synced: Gauge,
}

#[cfg(feature = "metrics")]
impl Metrics {
    pub(super) fn new(resource: &str) -> Self {
        let resource = SharedString::from(resource.to_owned());
        let label = || ("resource", resource.clone());
        let [lists, watches] = [label(), label()];
        Self {
            series: Series {
                lists: counter!("informer_reflector_lists_total", &[lists]),
                watches: counter!("informer_reflector_watches_total", &[watches]),
                events: counter!("informer_reflector_events_total", &[label()]),
                unknown_events: counter!("informer_reflector_unknown_events_total", &[label()]),
                undecodable: counter!("informer_reflector_undecodable_total", &[label()]),
                rewinds: counter!("informer_reflector_rewinds_total", &[label()]),
                list_duration: histogram!("informer_reflector_list_duration_seconds", &[label()]),
                synced: gauge!("informer_reflector_synced", &[label()]),
                resource,
            },
        }
    }

    pub(super) fn failed(&self, during: Operation) {
        let operation = SharedString::from(during.to_string());
        let labels = [
            ("resource", self.series.resource.clone()),
            ("operation", operation),
        ];
        counter!("informer_reflector_failures_total", &labels).increment(1);
    }

    pub(super) fn event(&self) {
        self.series.events.increment(1);
    }

    pub(super) fn listed(&self, duration: Duration) {
        self.series.list_duration.record(duration.as_secs_f64());
    }

    /// Publishes what the status counts.
    pub(super) fn publish(&self, status: &ReflectorStatus) {
        let series = &self.series;
        series.lists.absolute(status.lists);
        series.watches.absolute(status.watches);
        series.unknown_events.absolute(status.unknown_events);
        series.undecodable.absolute(status.undecodable_total);
        series.rewinds.absolute(status.rewinds);
        series.synced.set(if status.synced { 1.0 } else { 0.0 });
    }

    pub(super) fn stopped(&self) {
        self.series.synced.set(0.0);
    }
}

#[cfg(not(feature = "metrics"))]
#[expect(clippy::unused_self, reason = "the same interface as with the feature")]
impl Metrics {
    pub(super) const fn new(_resource: &str) -> Self {
        Self {}
    }

    pub(super) const fn failed(&self, _during: Operation) {}

    pub(super) const fn event(&self) {}

    pub(super) const fn listed(&self, _duration: Duration) {}

    pub(super) const fn publish(&self, _status: &ReflectorStatus) {}

    pub(super) const fn stopped(&self) {}
}
