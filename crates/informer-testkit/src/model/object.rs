//! One version of one object, encoded once, in the shape that it has on the wire.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Map, Value};

use super::ties::Ties;
use crate::resource::ResourceType;
use crate::schema::Family;

/// The order in which a real server writes the metadata of built-in kinds; other fields follow.
const METADATA_ORDER: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// One version of one object. It never changes; a write makes another one.
///
/// The JSON text is kept without the leading brace and without `apiVersion` and `kind`, since
/// these differ between a list of built-in kinds (absent) and everywhere else (first), and since a
/// delete sends the same text again with another resource version in it.
#[derive(Debug, PartialEq, Eq)]
pub struct StoredObject {
    key: String,
    revision: u64,
    uid: String,
    labels: BTreeMap<String, String>,
    fields: Vec<(String, String)>,
    body: Bytes,
    /// The place of the resource version's digits in `body`.
    revision_at: Range<usize>,
    /// The place of the value of `metadata` in `body`.
    metadata_at: Range<usize>,
    protobuf: Protobuf,
    origin: Origin,
    /// What ties it to others and keeps it; most objects have none.
    ties: Option<Box<Ties>>,
}

/// The version of a custom resource, and its schemas, in whose shape an object is.
#[derive(Debug, Default)]
struct Origin {
    version: String,
    /// None if defaults are still to be filled in.
    family: Option<Arc<Family>>,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        // What it says shows in the object.
        true
    }
}

impl Eq for Origin {}

/// The object's message in protobuf, once it was needed. It follows from the rest, so objects with and without it are
/// equal.
#[derive(Debug, Default)]
struct Protobuf(OnceLock<Bytes>);

impl PartialEq for Protobuf {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Protobuf {}

impl StoredObject {
    /// Encodes an object. Its own `metadata.resourceVersion` is ignored in favour of `revision`; with 0 it has none.
    pub(crate) fn encode(resource: &ResourceType, value: &Value, revision: u64) -> Self {
        let empty = Map::new();
        let object = value.as_object().unwrap_or(&empty);
        let metadata = object
            .get("metadata")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let mut body = Vec::with_capacity(1024);
        let mut marks = Marks::default();
        for (at, key) in top_level_order(resource, object).into_iter().enumerate() {
            if at > 0 {
                body.push(b',');
            }
            if key == "metadata" {
                write_metadata(resource, metadata, revision, &mut body, &mut marks);
            } else {
                write_member(&mut body, key, &object[key]);
            }
        }
        body.push(b'}');
        let text = |name: &str| {
            metadata
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Self {
            key: object_key(text("namespace"), text("name")),
            revision,
            uid: text("uid").to_owned(),
            labels: string_map(metadata.get("labels")),
            fields: resource
                .selectable
                .iter()
                .map(|(path, default)| (path.clone(), field_text(value, path, default)))
                .collect(),
            body: body.into(),
            revision_at: marks.revision,
            metadata_at: marks.metadata,
            protobuf: Protobuf::default(),
            origin: Origin {
                version: match resource.family {
                    Some(_) => resource.version.clone(),
                    None => String::new(),
                },
                family: resource.family.clone(),
            },
            ties: Ties::read(metadata),
        }
    }

    /// Says that defaults are still to be filled in when it is read.
    pub(super) fn without_defaults(mut self) -> Self {
        self.origin.family = None;
        self
    }

    /// Returns the version in whose shape the object is; `None` if it is what this resource shows.
    pub(super) fn foreign_version<'a>(&'a self, resource: &'a ResourceType) -> Option<&'a str> {
        let family = resource.family.as_ref()?;
        let version = match self.origin.version.as_str() {
            "" => &resource.version,
            version => version,
        };
        let same = self.is_shaped_by(family) && *version == resource.version;
        (!same).then_some(version)
    }

    /// Whether the object has the shape that these schemas gave it.
    pub(super) fn is_shaped_by(&self, family: &Arc<Family>) -> bool {
        let known = self.origin.family.as_ref();
        known.is_some_and(|known| Arc::ptr_eq(known, family))
    }

    /// Returns `namespace/name`, or the name alone for objects without a namespace.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the object's name.
    pub fn name(&self) -> &str {
        self.key
            .rsplit_once('/')
            .map_or(&self.key, |(_, name)| name)
    }

    /// Returns the object's namespace; empty when it has none.
    pub fn namespace(&self) -> &str {
        self.key
            .rsplit_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    /// Returns the revision that wrote this version: its `metadata.resourceVersion`.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the object's UID.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Returns the object's labels.
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Returns its owners, its finalizers and whether it is being deleted.
    pub(crate) fn ties(&self) -> &Ties {
        self.ties.as_deref().unwrap_or(Ties::NONE)
    }

    /// Returns the seconds that it has to end, if it is being deleted.
    pub(crate) fn grace_period(&self) -> Option<u64> {
        self.ties().grace_period
    }

    /// Returns the value of a selectable field; empty when the kind has no such field.
    pub(crate) fn field(&self, path: &str) -> &str {
        match path {
            "metadata.name" => self.name(),
            "metadata.namespace" => self.namespace(),
            _ => self
                .fields
                .iter()
                .find(|(known, _)| known == path)
                .map_or("", |(_, value)| value.as_str()),
        }
    }

    /// Returns the JSON text without its leading brace, and without `apiVersion` and `kind`.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// Appends the text of [`Self::body`] with another resource version.
    pub(crate) fn write_body(&self, revision: u64, out: &mut Vec<u8>) {
        self.write_range(0..self.body.len(), revision, out);
    }

    /// Appends the JSON text of `metadata` with another resource version.
    pub(crate) fn write_metadata(&self, revision: u64, out: &mut Vec<u8>) {
        self.write_range(self.metadata_at.clone(), revision, out);
    }

    fn write_range(&self, range: Range<usize>, revision: u64, out: &mut Vec<u8>) {
        if revision == self.revision {
            return out.extend_from_slice(&self.body[range]);
        }
        out.extend_from_slice(&self.body[range.start..self.revision_at.start]);
        out.extend_from_slice(revision.to_string().as_bytes());
        out.extend_from_slice(&self.body[self.revision_at.end..range.end]);
    }

    /// Returns the message of the whole object in protobuf, encoded once.
    pub(crate) fn protobuf(&self, make: impl FnOnce() -> Vec<u8>) -> Bytes {
        self.protobuf.0.get_or_init(|| make().into()).clone()
    }

    /// Decodes the whole object.
    #[allow(
        clippy::missing_panics_doc,
        reason = "the text was written by `encode`"
    )]
    pub fn value(&self, resource: &ResourceType) -> Value {
        let mut text = Vec::with_capacity(self.body.len() + 1);
        text.push(b'{');
        text.extend_from_slice(&self.body);
        let mut value: Value = serde_json::from_slice(&text).expect("written by encode");
        if let Some(object) = value.as_object_mut() {
            object.insert("apiVersion".to_owned(), resource.api_version().into());
            object.insert("kind".to_owned(), resource.kind.as_str().into());
        }
        value
    }
}

/// Returns the key of an object. Keys sort as in etcd, so a namespace is a range of keys.
pub(crate) fn object_key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        return name.to_owned();
    }
    format!("{namespace}/{name}")
}

#[derive(Default)]
struct Marks {
    revision: Range<usize>,
    metadata: Range<usize>,
}

fn top_level_order<'a>(resource: &ResourceType, object: &'a Map<String, Value>) -> Vec<&'a str> {
    let mut keys: Vec<&str> = object
        .keys()
        .map(String::as_str)
        .filter(|key| !matches!(*key, "apiVersion" | "kind" | "metadata"))
        .chain(["metadata"])
        .collect();
    keys.sort_unstable();
    if !resource.custom {
        keys.sort_by_key(|key| *key != "metadata");
    }
    keys
}

fn write_metadata(
    resource: &ResourceType,
    metadata: &Map<String, Value>,
    revision: u64,
    out: &mut Vec<u8>,
    marks: &mut Marks,
) {
    out.extend_from_slice(b"\"metadata\":");
    marks.metadata.start = out.len();
    out.push(b'{');
    for (at, key) in metadata_order(resource, metadata, revision)
        .into_iter()
        .enumerate()
    {
        if at > 0 {
            out.push(b',');
        }
        if key == "resourceVersion" {
            out.extend_from_slice(b"\"resourceVersion\":\"");
            marks.revision.start = out.len();
            out.extend_from_slice(revision.to_string().as_bytes());
            marks.revision.end = out.len();
            out.push(b'"');
        } else {
            write_member(out, key, &metadata[key]);
        }
    }
    out.push(b'}');
    marks.metadata.end = out.len();
}

fn metadata_order<'a>(
    resource: &ResourceType,
    metadata: &'a Map<String, Value>,
    revision: u64,
) -> Vec<&'a str> {
    let mut keys: Vec<&str> = metadata
        .keys()
        .map(String::as_str)
        .filter(|key| *key != "resourceVersion")
        .chain((revision > 0).then_some("resourceVersion"))
        .collect();
    keys.sort_unstable();
    if !resource.custom {
        let place = |key: &str| METADATA_ORDER.iter().position(|known| *known == key);
        keys.sort_by_key(|key| place(key).unwrap_or(METADATA_ORDER.len()));
    }
    keys
}

fn write_member(out: &mut Vec<u8>, key: &str, value: &Value) {
    write_json(out, &key);
    out.push(b':');
    write_json(out, value);
}

fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("a JSON value always serialises into memory");
}

fn string_map(value: Option<&Value>) -> BTreeMap<String, String> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn field_text(object: &Value, path: &str, default: &str) -> String {
    let found = path
        .split('.')
        .try_fold(object, |value, name| value.get(name));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        // The deprecated event source: its component is what the selector compares.
        Some(Value::Object(object)) if path == "source" => object
            .get("component")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
        _ => default.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::Registry;

    fn text(object: &StoredObject, revision: u64) -> String {
        let mut out = Vec::new();
        object.write_body(revision, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn built_in_kind_is_written_in_the_order_of_its_go_type() {
        let pods = Registry::with_builtin().resolve("pods").unwrap();
        let object = StoredObject::encode(
            &pods,
            &json!({
                "status": {"phase": "Running"},
                "spec": {"nodeName": "n"},
                "metadata": {"labels": {"a": "b"}, "uid": "u", "name": "x", "namespace": "ns"},
            }),
            7,
        );
        assert_eq!(
            text(&object, 7),
            r#""metadata":{"name":"x","namespace":"ns","uid":"u","resourceVersion":"7","labels":{"a":"b"}},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}"#
        );
        assert!(text(&object, 1234).contains(r#""resourceVersion":"1234","labels""#));
        let mut metadata = Vec::new();
        object.write_metadata(99, &mut metadata);
        let metadata: Value = serde_json::from_slice(&metadata).unwrap();
        assert_eq!(metadata["resourceVersion"], "99");
        assert_eq!((object.namespace(), object.name()), ("ns", "x"));
        assert_eq!(object.field("status.phase"), "Running");
        assert_eq!(object.field("spec.hostNetwork"), "false");
        assert_eq!(object.value(&pods)["kind"], "Pod");
    }

    #[test]
    fn custom_resource_is_written_in_alphabetical_order() {
        let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets");
        let object = StoredObject::encode(
            &widgets,
            &json!({"spec": 1, "data": 2, "metadata": {"uid": "u", "name": "x", "labels": {}}}),
            7,
        );
        assert_eq!(
            text(&object, 7),
            r#""data":2,"metadata":{"labels":{},"name":"x","resourceVersion":"7","uid":"u"},"spec":1}"#
        );
    }
}
