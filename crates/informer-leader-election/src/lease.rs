//! The Lease object, and the record of leadership in it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

/// A Lease as the server has it. Fields that this crate does not know stay as they are when it is written back.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease(Value);

/// Who leads, and since when: what an election reads of a lease and writes into it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
#[doc(alias = "LeaderElectionRecord")]
pub struct LeaseRecord {
    /// Who holds the lease. Empty if nobody does.
    pub holder: String,
    /// How long it holds without being renewed, in whole seconds.
    pub duration: Duration,
    /// When the holder took it, by its own clock.
    pub acquired: Option<Timestamp>,
    /// When the holder last renewed it, by its own clock.
    pub renewed: Option<Timestamp>,
    /// How often it went from one holder to another.
    pub transitions: i64,
    /// How the control plane chooses the leader, if it does.
    pub strategy: Option<String>,
    /// Who is preferred by the control plane.
    pub preferred_holder: Option<String>,
}

impl LeaseRecord {
    /// A lease held by this one.
    #[must_use]
    pub fn held_by(holder: impl Into<String>, duration: Duration) -> Self {
        Self {
            holder: holder.into(),
            duration,
            ..Self::default()
        }
    }
}

impl Lease {
    /// A lease that does not exist yet.
    #[must_use]
    pub fn new(name: &str, record: &LeaseRecord) -> Self {
        let mut lease = Self(json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name},
            "spec": {},
        }));
        lease.set_record(record);
        lease
    }

    /// An object as the server sent it.
    #[must_use]
    pub const fn from_json(object: Value) -> Self {
        Self(object)
    }

    /// The object, to be sent.
    #[must_use]
    pub const fn as_json(&self) -> &Value {
        &self.0
    }

    /// Its resource version.
    #[must_use]
    pub fn resource_version(&self) -> Option<&str> {
        self.0["metadata"]["resourceVersion"].as_str()
    }

    /// Who leads. A field that is missing or cannot be read counts as empty.
    #[must_use]
    pub fn record(&self) -> LeaseRecord {
        let spec = &self.0["spec"];
        let text = |field: &str| spec[field].as_str().map(str::to_owned);
        let time = |field: &str| spec[field].as_str().and_then(|time| time.parse().ok());
        LeaseRecord {
            holder: text("holderIdentity").unwrap_or_default(),
            duration: Duration::from_secs(
                spec["leaseDurationSeconds"]
                    .as_u64()
                    .unwrap_or(0)
                    .min(i32::MAX as u64),
            ),
            acquired: time("acquireTime"),
            renewed: time("renewTime"),
            // What an int32 can hold.
            transitions: spec["leaseTransitions"]
                .as_i64()
                .unwrap_or(0)
                .clamp(0, i64::from(i32::MAX)),
            strategy: text("strategy"),
            preferred_holder: text("preferredHolder"),
        }
    }

    /// Says who leads from now on.
    pub fn set_record(&mut self, record: &LeaseRecord) {
        let part = u64::from(record.duration.subsec_nanos() > 0);
        let seconds = record.duration.as_secs().saturating_add(part);
        // What an int32 can say.
        let seconds = seconds.clamp(1, i32::MAX as u64);
        let fields = [
            ("holderIdentity", Some(Value::from(record.holder.as_str()))),
            ("leaseDurationSeconds", Some(Value::from(seconds))),
            ("acquireTime", record.acquired.map(micro_time)),
            ("renewTime", record.renewed.map(micro_time)),
            ("leaseTransitions", Some(Value::from(record.transitions))),
            ("strategy", record.strategy.clone().map(Value::from)),
            (
                "preferredHolder",
                record.preferred_holder.clone().map(Value::from),
            ),
        ];
        if !self.0.is_object() {
            self.0 = json!({});
        }
        if !self.0["spec"].is_object() {
            self.0["spec"] = json!({});
        }
        let Some(spec) = self.0["spec"].as_object_mut() else {
            return;
        };
        for (field, value) in fields {
            match value {
                Some(value) => spec.insert(field.to_owned(), value),
                None => spec.remove(field),
            };
        }
    }
}

/// Formats a time as `MicroTime`.
fn micro_time(time: Timestamp) -> Value {
    Value::from(format!("{time:.6}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::coordination::v1 as api;

    fn record() -> LeaseRecord {
        LeaseRecord {
            holder: "a".to_owned(),
            duration: Duration::from_secs(15),
            acquired: "2026-11-29T20:00:00.000001Z".parse().ok(),
            renewed: "2026-11-29T21:00:00Z".parse().ok(),
            transitions: 3,
            strategy: Some("OldestEmulationVersion".to_owned()),
            preferred_holder: Some("b".to_owned()),
        }
    }

    // LE3
    #[test]
    fn record_survives_round_trip_through_lease() {
        for record in [record(), LeaseRecord::held_by("", Duration::from_secs(1))] {
            let lease = Lease::new("lease", &record);
            assert_eq!(lease.record(), record);
            let typed: api::Lease = serde_json::from_value(lease.0.clone()).expect("a Lease");
            let again = serde_json::to_value(typed).expect("a Lease");
            assert_eq!(Lease::from_json(again).record(), record);
        }
    }

    // LE3: whatever else is in the object stays.
    #[test]
    fn unknown_fields_are_kept_and_empty_ones_removed() {
        let mut lease = Lease::new("lease", &record());
        lease.0["metadata"]["labels"] = json!({"a": "b"});
        lease.0["spec"]["unknown"] = json!(1);
        lease.set_record(&LeaseRecord::held_by("c", Duration::from_millis(1500)));
        assert_eq!(lease.0["metadata"]["labels"], json!({"a": "b"}));
        let expected = json!({
            "holderIdentity": "c", "leaseDurationSeconds": 2, "leaseTransitions": 0, "unknown": 1,
        });
        assert_eq!(lease.0["spec"], expected);
    }

    #[test]
    fn malformed_lease_reads_as_unheld() {
        for object in [
            json!(null),
            json!(7),
            json!({"spec": []}),
            json!({"spec": {"renewTime": "x"}}),
        ] {
            let mut lease = Lease::from_json(object);
            assert_eq!(lease.record().holder, "");
            lease.set_record(&record());
            assert_eq!(lease.record(), record());
        }
    }
}
