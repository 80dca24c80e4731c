//! What of an object's metadata decides who keeps it alive: owners, finalizers, and whether it is being deleted.

use serde_json::{Map, Value};

/// What ties an object to others, and what keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ties {
    pub(crate) owners: Vec<Owner>,
    pub(crate) finalizers: Vec<String>,
    /// Whether there is a deletion timestamp.
    pub(crate) deleted: bool,
    /// The seconds that it has to end.
    pub(crate) grace_period: Option<u64>,
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// Whether the owner waits for this object when it is deleted in the foreground.
    pub(crate) blocks: bool,
}

impl Ties {
    /// Those of an object without any.
    pub(crate) const NONE: &Self = &Self {
        owners: Vec::new(),
        finalizers: Vec::new(),
        deleted: false,
        grace_period: None,
    };

    pub(super) fn read(metadata: &Map<String, Value>) -> Option<Box<Self>> {
        let list = |field: &str| metadata.get(field).and_then(Value::as_array);
        let ties = Self {
            owners: list("ownerReferences")
                .into_iter()
                .flatten()
                .map(Owner::read)
                .collect(),
            finalizers: list("finalizers")
                .into_iter()
                .flatten()
                .filter_map(|finalizer| finalizer.as_str().map(str::to_owned))
                .collect(),
            deleted: metadata
                .get("deletionTimestamp")
                .is_some_and(Value::is_string),
            grace_period: metadata
                .get("deletionGracePeriodSeconds")
                .and_then(Value::as_u64),
        };
        (ties != *Self::NONE).then(|| Box::new(ties))
    }

    pub(crate) fn has_finalizer(&self, wanted: &str) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == wanted)
    }
}

impl Owner {
    fn read(reference: &Value) -> Self {
        let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            blocks: reference["blockOwnerDeletion"] == true,
        }
    }
}
