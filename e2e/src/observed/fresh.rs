//! The judgement: the server's objects, read with nothing of ours, against a cache and its indexes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use informer::store::{NAMESPACE_INDEX, Snapshot};
use informer::wire::DecodeError;
use informer::{Compact, Dynamic, IndexValues, Indexers, Object, ObjectKey, PartialObjectMetadata};
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use crate::world::{Kind, Widget, World};

/// The index by the label `app`.
const APP_INDEX: &str = "app";
/// The index by each of the tags in an annotation.
const TAG_INDEX: &str = "tag";
const TAGS: &str = "demo.example/tags";

/// A type that objects are cached as, and how it is compared with the server's JSON.
pub(crate) trait Judged: Object {
    /// The object as JSON, from all that the type holds.
    fn json(&self) -> anyhow::Result<Value>;

    /// What of the server's object the type holds. By default everything.
    fn of(whole: &Value) -> Value {
        whole.clone()
    }
}

impl Judged for Pod {
    fn json(&self) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self)?)
    }
}

impl Judged for Widget {
    fn json(&self) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self)?)
    }
}

impl Judged for Dynamic {
    fn json(&self) -> anyhow::Result<Value> {
        both(self, self.decode())
    }
}

impl Judged for Compact<Pod> {
    fn json(&self) -> anyhow::Result<Value> {
        both(self, self.decode())
    }
}

impl Judged for PartialObjectMetadata {
    fn json(&self) -> anyhow::Result<Value> {
        Ok(serde_json::json!({
            "apiVersion": self.api_version(),
            "kind": self.kind(),
            "metadata": self.metadata(),
        }))
    }

    fn of(whole: &Value) -> Value {
        serde_json::json!({
            "apiVersion": whole["apiVersion"],
            "kind": whole["kind"],
            "metadata": whole["metadata"],
        })
    }
}

/// A compact object gives itself as bytes and decoded; both must say the same.
fn both<K, D: serde::Serialize>(
    compact: &Compact<K>,
    decoded: Result<D, DecodeError>,
) -> anyhow::Result<Value> {
    let bytes: Value =
        serde_json::from_slice(&compact.to_json()?).context("its bytes are no JSON")?;
    let decoded = serde_json::to_value(decoded.context("it cannot be decoded")?)?;
    match difference("", &decoded, &bytes) {
        None => Ok(bytes),
        Some(difference) => anyhow::bail!("decoded it is not what its bytes are: {difference}"),
    }
}

/// The server's objects of one kind at one time.
pub(crate) struct Fresh {
    objects: BTreeMap<String, Value>,
}

impl Fresh {
    pub(crate) async fn of(world: &World, kind: Kind) -> anyhow::Result<Self> {
        let (_, listed) = world.fresh(kind).await?;
        let resource = kind.resource();
        let objects = listed.into_iter().map(|mut object| {
            // The items of a list of a built-in kind do not say what they are.
            object["apiVersion"] = Value::from(resource.api_version());
            object["kind"] = Value::from(&*resource.kind);
            if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            (format!("{}/{}", text("namespace"), text("name")), object)
        });
        Ok(Self {
            objects: objects.collect(),
        })
    }

    /// Only the objects for which this holds.
    pub(crate) fn filtered(&self, keep: impl Fn(&Value) -> bool) -> Self {
        let kept = self.objects.iter().filter(|(_, object)| keep(object));
        Self {
            objects: kept
                .map(|(key, object)| (key.clone(), object.clone()))
                .collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The key and the resource version of each object.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        let version = |object: &Value| {
            object["metadata"]["resourceVersion"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        self.objects
            .iter()
            .map(|(key, object)| (key.clone(), version(object)))
            .collect()
    }

    /// The objects by their keys.
    pub(crate) fn objects(&self) -> &BTreeMap<String, Value> {
        &self.objects
    }

    /// Where a cache differs from the server: in its objects, or in its indexes.
    pub(crate) fn differences<K: Judged>(&self, cached: &Snapshot<K>) -> Vec<String> {
        let mut differences = Vec::new();
        for (key, whole) in &self.objects {
            match cached.get(key.as_str()).map(|object| object.json()) {
                None => differences.push(format!("{key} is on the server and not in the cache")),
                Some(Err(error)) => differences.push(format!("{key}: {error:#}")),
                Some(Ok(json)) => differences.extend(
                    difference("", &json, &K::of(whole)).map(|text| format!("{key}{text}")),
                ),
            }
        }
        let ghosts = cached
            .keys()
            .filter(|key| !self.objects.contains_key(key.as_str()));
        differences
            .extend(ghosts.map(|key| format!("{key} is in the cache and not on the server")));
        differences.extend(self.index_differences(cached, APP_INDEX, |object| {
            object["metadata"]["labels"]["app"]
                .as_str()
                .into_iter()
                .collect()
        }));
        differences.extend(self.index_differences(cached, TAG_INDEX, |object| {
            tags(object["metadata"]["annotations"][TAGS].as_str()).collect()
        }));
        differences.extend(self.index_differences(cached, NAMESPACE_INDEX, |object| {
            object["metadata"]["namespace"]
                .as_str()
                .into_iter()
                .collect()
        }));
        differences
    }

    /// Compares an index with one that is built anew from the server's objects.
    fn index_differences<K: Object>(
        &self,
        cached: &Snapshot<K>,
        index: &str,
        values: impl Fn(&Value) -> Vec<&str>,
    ) -> Vec<String> {
        let mut rebuilt: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (key, object) in &self.objects {
            for value in values(object) {
                rebuilt.entry(value.to_owned()).or_default().insert(key);
            }
        }
        let mut differences = Vec::new();
        let indexed: BTreeSet<String> = cached
            .list_index_values(index)
            .iter()
            .map(|v| v.to_string())
            .collect();
        for value in indexed.iter().filter(|value| !rebuilt.contains_key(*value)) {
            differences.push(format!(
                "index {index} has the value {value:?} that no object has"
            ));
        }
        for (value, keys) in rebuilt {
            let indexed = cached.index_keys(index, &value).unwrap_or_default();
            let indexed: BTreeSet<&str> = indexed.iter().map(ObjectKey::as_str).collect();
            if indexed != keys {
                differences.push(format!(
                    "index {index} at {value:?} has {indexed:?}, rebuilt {keys:?}"
                ));
            }
        }
        differences
    }
}

/// The indexes that [`Fresh::differences`] compares.
pub(crate) fn indexers<K: Object>() -> Indexers<K> {
    Indexers::new()
        .index(APP_INDEX, |object: &K, values: &mut IndexValues<'_>| {
            values.extend(object.label("app"));
        })
        .index(TAG_INDEX, |object: &K, values: &mut IndexValues<'_>| {
            values.extend(tags(object.annotation(TAGS)));
        })
}

fn tags(annotation: Option<&str>) -> impl Iterator<Item = &str> {
    annotation
        .unwrap_or_default()
        .split(',')
        .filter(|tag| !tag.is_empty())
}

/// The first place where two values differ. A null is as good as nothing: the server writes it in JSON for some empty
/// fields, which protobuf does not have, and every type reads both alike.
pub(crate) fn difference(at: &str, ours: &Value, servers: &Value) -> Option<String> {
    match (ours, servers) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let at = format!("{at}/{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => difference(&at, a, b),
                    (Some(Value::Null), None) | (None, Some(Value::Null)) => None,
                    (Some(a), None) => Some(format!("{at} is {a}, on the server absent")),
                    (None, b) => Some(format!(
                        "{at} is absent, on the server {}",
                        b.unwrap_or(&Value::Null)
                    )),
                }
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(index, (a, b))| difference(&format!("{at}/{index}"), a, b)),
        (a, b) if a == b => None,
        (a, b) => Some(format!("{at} is {a}, on the server {b}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_named_by_its_path() {
        let ours = json!({ "a": [1, { "b": "x" }], "c": null });
        assert_eq!(difference("", &ours, &ours), None);
        let told = |servers: Value| difference("", &ours, &servers).unwrap_or_default();
        assert_eq!(
            told(json!({ "a": [1, { "b": "y" }], "c": null })),
            r#"/a/1/b is "x", on the server "y""#
        );
        assert_eq!(told(json!({ "a": [1, { "b": "x" }] })), "");
        let without = json!({ "c": null });
        assert_eq!(
            difference("", &ours, &without).as_deref(),
            Some(r#"/a is [1,{"b":"x"}], on the server absent"#)
        );
        assert_eq!(
            told(json!({ "a": [1, { "b": "x" }], "c": null, "d": 2 })),
            "/d is absent, on the server 2"
        );
        assert!(told(json!({ "a": [1], "c": null })).starts_with("/a is "));
    }
}
