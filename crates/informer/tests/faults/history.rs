//! The events that one handler received, checked one by one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use informer::{Cause, Event, Object};
use k8s_openapi::api::core::v1::ConfigMap;

/// UID and resource version.
pub(crate) type Version = (String, u64);

/// One event, without the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Received {
    Added { initial: bool },
    Updated { cause: Cause },
    Deleted { final_state_unknown: bool },
}

#[derive(Debug, Default)]
struct Records {
    live: BTreeMap<String, Arc<ConfigMap>>,
    received: Vec<(String, Received, Version)>,
    /// Versions may go down: the test takes the server back in time.
    rewinds: bool,
    wrong: Vec<String>,
}

/// The events that one handler received so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct History(Arc<Mutex<Records>>);

pub(crate) fn version_of(object: &ConfigMap) -> Version {
    let version = object.resource_version().map(|version| version.to_string());
    let uid = object.uid().map(|uid| uid.to_string()).unwrap_or_default();
    (uid, version.and_then(|text| text.parse().ok()).unwrap_or(0))
}

impl History {
    pub(crate) fn allow_rewinds(&self) {
        self.0.lock().unwrap().rewinds = true;
    }

    /// Records an event; what breaks a promise is kept for [`check`](Self::check).
    pub(crate) fn take(&self, event: &Event<ConfigMap>) {
        let mut records = self.0.lock().unwrap();
        let key = event.key().to_string();
        let object = Arc::clone(event.object());
        let before = records.live.get(&key).cloned();
        let (received, fault) = match event {
            Event::Added { initial, .. } => {
                let fault = before.is_some().then_some("added twice");
                (Received::Added { initial: *initial }, fault)
            }
            Event::Updated { old, cause, .. } => (
                Received::Updated { cause: *cause },
                records.bad_update(before.as_ref(), old, &object),
            ),
            Event::Deleted {
                final_state_unknown,
                ..
            } => {
                let fault = before
                    .is_none()
                    .then_some("deleted without having been added");
                let final_state_unknown = *final_state_unknown;
                (
                    Received::Deleted {
                        final_state_unknown,
                    },
                    fault,
                )
            }
        };
        if let Some(fault) = fault {
            records.wrong.push(format!("{event:?}: {fault}"));
        }
        match received {
            Received::Deleted { .. } => drop(records.live.remove(&key)),
            _ => drop(records.live.insert(key.clone(), Arc::clone(&object))),
        }
        records.received.push((key, received, version_of(&object)));
    }

    /// The objects as the handler received them.
    pub(crate) fn live(&self) -> BTreeMap<String, Version> {
        let records = self.0.lock().unwrap();
        let live = records.live.iter();
        live.map(|(key, object)| (key.clone(), version_of(object)))
            .collect()
    }

    /// The events of one key.
    pub(crate) fn of(&self, key: &str) -> Vec<Received> {
        let records = self.0.lock().unwrap();
        let of_key = records.received.iter().filter(|(of, ..)| of == key);
        of_key.map(|(_, received, _)| received.clone()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().received.len()
    }

    pub(crate) fn check(&self) {
        let records = self.0.lock().unwrap();
        assert!(records.wrong.is_empty(), "{:#?}", records.wrong);
    }
}

impl Records {
    fn bad_update(
        &self,
        before: Option<&Arc<ConfigMap>>,
        old: &Arc<ConfigMap>,
        new: &ConfigMap,
    ) -> Option<&'static str> {
        let Some(before) = before else {
            return Some("updated without having been added");
        };
        let ((old_uid, old_version), (uid, version)) = (version_of(old), version_of(new));
        if !Arc::ptr_eq(before, old) {
            return Some("`old` is not the object of the event before");
        }
        if old_uid != uid {
            return Some("the UID changed within an update");
        }
        (version < old_version && !self.rewinds).then_some("the version went down")
    }
}
