//! The owners of an object's fields: `metadata.managedFields`, read and written.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use super::set::FieldSet;

/// What a manager did: applied an object, or wrote in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What distinguishes the entries of managers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    /// Of updates only: an applier is the same in every version.
    api_version: String,
    pub(super) subresource: String,
}

/// The fields of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owned {
    pub(super) fields: FieldSet,
    pub(super) api_version: String,
    /// When it last changed them; absent if it never changed a value.
    pub(super) time: Option<String>,
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners(pub(super) BTreeMap<Manager, Owned>);

impl Manager {
    pub(super) fn new(
        name: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
    ) -> Self {
        let name = if name.is_empty() { "unknown" } else { name };
        let api_version = match operation {
            Operation::Apply => "",
            Operation::Update => api_version,
        };
        Self {
            name: name.to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        match self.operation {
            Operation::Apply => Ok(()),
            Operation::Update => write!(f, " using {}", self.api_version),
        }
    }
}

impl Owners {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether anybody owns one of these fields.
    pub(super) fn have(&self, fields: &FieldSet) -> bool {
        let mut owned = self.0.values();
        owned.any(|owned| !owned.fields.intersection(fields).is_empty())
    }

    /// Reads managed fields; `None` if they are wrong.
    pub(super) fn parse(entries: &Value) -> Option<Self> {
        let mut owners = BTreeMap::new();
        for entry in entries.as_array().into_iter().flatten() {
            let text = |field: &str| entry[field].as_str().unwrap_or_default();
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            let api_version = text("apiVersion").to_owned();
            if api_version.is_empty() || text("fieldsType") != "FieldsV1" {
                return None;
            }
            let fields = match &entry["fieldsV1"] {
                Value::Null => FieldSet::default(),
                fields => FieldSet::parse(fields)?,
            };
            let manager = Manager {
                name: text("manager").to_owned(),
                ..Manager::new("", operation, &api_version, text("subresource"))
            };
            let owned = Owned {
                fields,
                api_version,
                time: entry["time"].as_str().map(str::to_owned),
            };
            owners.insert(manager, owned);
        }
        Some(Self(owners))
    }

    /// Writes managed fields: appliers first, then by time; `None` without any.
    pub(super) fn write(&self) -> Option<Value> {
        let mut entries: Vec<(&Manager, &Owned)> = self.0.iter().collect();
        entries.sort_by_key(|(manager, owned)| {
            (
                manager.operation,
                &owned.time,
                &manager.name,
                &owned.api_version,
                &manager.subresource,
            )
        });
        let entries = entries.into_iter().map(|(manager, owned)| {
            let mut entry = json!({
                "operation": manager.operation.name(),
                "apiVersion": owned.api_version,
                "fieldsType": "FieldsV1",
                "fieldsV1": owned.fields.write(),
            });
            let texts = [
                ("manager", Some(&manager.name)),
                ("subresource", Some(&manager.subresource)),
                ("time", owned.time.as_ref()),
            ];
            for (field, text) in texts {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    entry[field] = text.as_str().into();
                }
            }
            entry
        });
        let entries: Vec<Value> = entries.collect();
        (!entries.is_empty()).then(|| entries.into())
    }

    /// Drops those that own nothing.
    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|_, owned| !owned.fields.is_empty());
    }

    /// Joins the oldest entries of updates while there are more than a real server keeps.
    pub(super) fn cap(&mut self) {
        const MOST: usize = 10;
        let updates = |(manager, _): &(&Manager, &Owned)| manager.operation == Operation::Update;
        let mut oldest: Vec<(Option<String>, Manager)> = self
            .0
            .iter()
            .filter(updates)
            .map(|(manager, owned)| (owned.time.clone(), manager.clone()))
            .collect();
        oldest.sort();
        let mut count = oldest.len();
        let mut first: BTreeMap<String, Manager> = BTreeMap::new();
        for (_, manager) in oldest {
            if count <= MOST {
                return;
            }
            let version = manager.api_version.clone();
            let Some(kept) = first.get(&version).cloned() else {
                first.insert(version, manager);
                continue;
            };
            let bucket = Manager::new("ancient-changes", Operation::Update, &version, "");
            if !self.0.contains_key(&bucket)
                && let Some(owned) = self.0.remove(&kept)
            {
                self.0.insert(bucket.clone(), owned);
            }
            if let Some(owned) = self.0.remove(&manager)
                && let Some(joined) = self.0.get_mut(&bucket)
            {
                joined.fields.extend(&owned.fields);
                joined.time = owned.time;
            }
            count -= 1;
        }
    }
}
