//! A sink that logs what it is given.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use informer_store::{
    Deletion, DeltaSink, ListEnd, Object, ObjectKey, ObjectList, ResourceVersion,
};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;

use crate::support::key;

/// A naive sink: it logs and believes what it is given.
#[derive(Default)]
pub(crate) struct Mirror {
    state: Mutex<MirrorState>,
    /// The next change overflows it.
    pub(crate) overflows: AtomicBool,
}

#[derive(Default)]
struct MirrorState {
    objects: BTreeMap<ObjectKey, Arc<ConfigMap>>,
    log: Vec<String>,
    dropped: bool,
}

impl Mirror {
    /// What it was given, in short form.
    pub(crate) fn log(&self) -> Vec<String> {
        self.state.lock().log.clone()
    }

    /// Its objects as `name@version`.
    pub(crate) fn objects(&self) -> Vec<String> {
        let state = self.state.lock();
        state.objects.values().map(|object| short(object)).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<ConfigMap>> {
        self.state.lock().objects.get(&key(name)).cloned()
    }

    fn change(&self, line: String, change: impl FnOnce(&mut BTreeMap<ObjectKey, Arc<ConfigMap>>)) {
        let mut state = self.state.lock();
        if self.overflows.swap(false, Ordering::Relaxed) {
            state.log.push("dropped".to_owned());
            state.dropped = true;
            return;
        }
        state.log.push(line);
        change(&mut state.objects);
    }
}

fn short(object: &ConfigMap) -> String {
    let version = object.resource_version();
    format!("{}@{}", object.name(), text(version.as_ref()))
}

fn text(version: Option<&ResourceVersion>) -> String {
    version.map(ToString::to_string).unwrap_or_default()
}

impl DeltaSink<ConfigMap> for Mirror {
    fn newest(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<ConfigMap>)> {
        let state = self.state.lock();
        let (key, object) = state.objects.get_key_value(key)?;
        Some((key.clone(), Arc::clone(object)))
    }

    fn add(&self, key: ObjectKey, object: Arc<ConfigMap>) {
        self.change(format!("add {}", short(&object)), |all| {
            all.insert(key, object);
        });
    }

    fn update(&self, key: ObjectKey, object: Arc<ConfigMap>) {
        self.change(format!("update {}", short(&object)), |all| {
            all.insert(key, object);
        });
    }

    fn delete(&self, key: ObjectKey, deletion: Deletion<ConfigMap>) {
        let body = if deletion.object.is_some() {
            ""
        } else {
            " without its state"
        };
        let version = text(deletion.version.resource_version.as_ref());
        self.change(format!("delete {}@{version}{body}", key.name()), |all| {
            all.remove(&key);
        });
    }

    fn undecodable(&self, key: ObjectKey, version: Option<ResourceVersion>) {
        let version = text(version.as_ref());
        self.change(format!("undecodable {}@{version}", key.name()), |_| ());
    }

    fn bookmark(&self, version: ResourceVersion) {
        self.change(format!("bookmark {version}"), |_| ());
    }

    fn resync(&self) {
        self.change("resync".to_owned(), |_| ());
    }

    fn replace(&self, list: ObjectList<ConfigMap>, end: ListEnd) {
        let mut state = self.state.lock();
        state.dropped = false;
        let old = std::mem::take(&mut state.objects);
        state.objects = list
            .iter()
            .filter_map(|(key, object)| {
                let object = object.or_else(|| old.get(key))?;
                Some((key.clone(), Arc::clone(object)))
            })
            .collect();
        let objects: Vec<_> = state.objects.values().map(|object| short(object)).collect();
        let rewind = if end.rewind { " rewind" } else { "" };
        state.log.push(format!(
            "replace {} at {}{rewind}",
            objects.join(" "),
            end.resource_version
        ));
    }

    fn needs_list(&self) -> bool {
        self.state.lock().dropped
    }
}
