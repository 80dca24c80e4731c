//! Writes to the server, and records each write in the oracle.

use std::sync::Arc;

use fastrand::Rng;
use informer_testkit::ApiServer;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::oracle::{Oracle, State};
use crate::trace::{Trace, note};
use crate::versions::{VersionKind, Versions};

/// The writer.
pub(crate) struct Workload {
    pub(crate) server: Arc<ApiServer>,
    pub(crate) oracle: Arc<Mutex<Oracle>>,
    pub(crate) trace: Trace,
    pub(crate) plural: &'static str,
    pub(crate) names: u32,
    pub(crate) undecodable: bool,
    pub(crate) versions: Versions,
    pub(crate) written: u64,
}

impl Workload {
    /// One random change.
    pub(crate) fn change(&mut self, rng: &mut Rng) {
        let n = rng.u32(0..self.names);
        let key = (
            if n.is_multiple_of(2) { "even" } else { "odd" },
            format!("n{n}"),
        );
        let exists = self.exists(&key);
        match rng.u8(0..10) {
            0 => self.write_elsewhere(),
            5..8 if self.versions.kind == VersionKind::OfValues && exists => self.show(&key),
            1..4 if exists => self.delete(&key),
            4 if exists => {
                // A recreation.
                self.delete(&key);
                self.put(&key, rng.u8(0..4) > 0, true);
            }
            _ => {
                let good = !self.undecodable || rng.u8(0..6) > 0;
                self.put(&key, rng.u8(0..4) > 0, good);
            }
        }
    }

    /// Makes everything decodable again, and changes something that all must receive.
    pub(crate) fn finish(&mut self) {
        let bad: Vec<String> = {
            let oracle = self.oracle.lock();
            let is_bad = |key: &&String| oracle.current(key).is_some_and(|state| !state.good);
            oracle.keys().filter(is_bad).cloned().collect()
        };
        for key in bad {
            if let Some((namespace, name)) = key.split_once('/') {
                let namespace = if namespace == "even" { "even" } else { "odd" };
                self.put(&(namespace, name.to_owned()), true, true);
            }
        }
        self.put(&("even", "last".to_owned()), true, true);
    }

    fn exists(&self, key: &(&'static str, String)) -> bool {
        self.oracle.lock().current(&full(key)).is_some()
    }

    fn put(&mut self, key: &(&'static str, String), shown: bool, good: bool) {
        self.written += 1;
        self.write(key, self.written, shown, good);
    }

    /// The object matches the selector, or no longer does, and is the same else.
    fn show(&self, key: &(&'static str, String)) {
        let now = self.oracle.lock().current(&full(key)).cloned();
        let Some(now) = now else { return };
        self.write(key, now.value.parse().unwrap_or(0), !now.shown, now.good);
    }

    fn write(&self, key: &(&'static str, String), value: u64, shown: bool, good: bool) {
        let (namespace, name) = key;
        let data = if good {
            json!(value.to_string())
        } else {
            json!(value)
        };
        let value = value.to_string();
        let object = json!({
            "metadata": {
                "namespace": namespace,
                "name": name,
                "labels": {"shown": if shown { "yes" } else { "no" }},
            },
            "data": {"value": data},
        });
        let written = match self.exists(key) {
            true => self.server.replace(self.plural, object),
            false => self.server.create(self.plural, object),
        };
        let written =
            written.unwrap_or_else(|status| panic!("the server refuses a write: {status}"));
        let revision = self.server.resource_version();
        self.versions.wrote(&value, revision);
        let version = self.versions.of_object(namespace, &value, revision);
        let uid = text(&written["metadata"]["uid"]);
        let state = State {
            uid,
            value,
            version,
            shown,
            good,
        };
        self.record(key, Some(state));
    }

    fn delete(&self, key: &(&'static str, String)) {
        let deleted = self.server.delete(self.plural, key.0, &key.1);
        deleted.unwrap_or_else(|status| panic!("the server refuses a deletion: {status}"));
        self.record(key, None);
    }

    fn record(&self, key: &(&'static str, String), state: Option<State>) {
        let key = full(key);
        let revision = self.server.resource_version();
        let what = state
            .as_ref()
            .map_or("deleted", |state| state.value.as_str());
        note!(self.trace, "write {key}@{revision} {what}");
        self.oracle.lock().wrote(&key, revision, state);
    }

    /// Moves the revision, but nothing that is watched.
    fn write_elsewhere(&mut self) {
        self.written += 1;
        let secret = json!({"metadata": {"generateName": "s", "namespace": "even"}});
        if self.server.create("secrets", secret).is_ok() {
            self.oracle.lock().moved(self.server.resource_version());
        }
    }
}

fn full((namespace, name): &(&'static str, String)) -> String {
    format!("{namespace}/{name}")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
