//! The object that an event is about.

use informer_store::Object;
use informer_wire::Resource;
use serde_json::{Value, json};

/// The object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ObjectReference {
    /// Its group and version, as `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, if it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its UID, if it is known.
    pub uid: Option<String>,
}

impl ObjectReference {
    /// Makes a reference to an object of this resource.
    #[must_use]
    #[doc(alias = "GetReference")]
    pub fn of<K: Object>(resource: &Resource, object: &K) -> Self {
        Self {
            api_version: resource.api_version().into_owned(),
            kind: resource.kind.clone().into_owned(),
            namespace: object.namespace().map(str::to_owned),
            name: object.name().to_owned(),
            uid: object.uid().map(|uid| uid.to_string()),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        })
    }

    /// Returns the namespace of events about it: `default` for objects without a namespace.
    pub(super) fn event_namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("default")
    }
}
