//! The end of the demo: compares a fresh list of the server with the cache, its index and the handlers' events.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use informer::client::http::Method;
use informer::store::Snapshot;
use informer::{Client, Object, ObjectKey, ResourceVersion, StaticResource};
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use super::CachedPod;
use super::handlers::Seen;

/// The most that the list of the demo's server may take.
const LIST_LIMIT: usize = 4 << 30;
/// How many differences are printed.
const PRINTED: usize = 5;

/// The server's objects, as plain JSON without managed fields.
pub(crate) type Listed = BTreeMap<ObjectKey, Value>;

/// The result of the comparison.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    compared: usize,
    handlers: usize,
    index_values: usize,
    differences: Vec<String>,
}

impl Comparison {
    /// Returns `true` if nothing differed.
    pub(crate) fn agrees(&self) -> bool {
        self.differences.is_empty()
    }

    /// Returns the result, for people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "consistency: {} objects of the server compared with the cache, {} index values, {} handlers: {}",
            self.compared,
            self.index_values,
            self.handlers,
            match self.differences.len() {
                0 => "all agree".to_owned(),
                differences => format!("{differences} differences"),
            },
        )];
        lines.extend(
            self.differences
                .iter()
                .take(PRINTED)
                .map(|difference| format!("  {difference}")),
        );
        lines
    }
}

/// Lists all pods beside the informer, and decodes the response as plain JSON.
pub(crate) async fn fresh_list(client: &Client) -> anyhow::Result<Listed> {
    let path = Pod::resource().path(None, None)?;
    let response = client
        .request(Method::GET, &path)
        .send()
        .await?
        .error_for_status()
        .await?;
    let body = response.bytes(LIST_LIMIT).await?;
    let mut list: Value = serde_json::from_slice(&body).context("the server's list is not JSON")?;
    let items = list["items"]
        .as_array_mut()
        .context("the server's list has no items")?;
    items.drain(..).map(keyed).collect()
}

fn keyed(mut item: Value) -> anyhow::Result<(ObjectKey, Value)> {
    let metadata = item["metadata"]
        .as_object_mut()
        .context("an item has no metadata")?;
    metadata.remove("managedFields");
    let text = |field: &str| {
        metadata
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let key = ObjectKey::namespaced(text("namespace"), text("name"));
    Ok((key, item))
}

/// Compares the server's list with the cache (whole objects), an index (rebuilt from the list) and the handlers.
pub(crate) fn compare(
    listed: &Listed,
    cached: &Snapshot<CachedPod>,
    index: &str,
    handlers: &[&Seen],
) -> Comparison {
    let mut comparison = Comparison {
        compared: listed.len(),
        handlers: handlers.len(),
        ..Comparison::default()
    };
    compare_objects(listed, cached, &mut comparison);
    compare_index(listed, cached, index, &mut comparison);
    let versions: BTreeMap<ObjectKey, Option<ResourceVersion>> = cached
        .iter()
        .map(|(key, pod)| (key.clone(), pod.resource_version()))
        .collect();
    for (number, seen) in handlers.iter().enumerate() {
        let (state, breaches) = seen.outcome();
        comparison.differences.extend(breaches);
        if state != versions {
            comparison.differences.push(format!(
                "the events of handler {number} do not add up to the cache"
            ));
        }
    }
    comparison
}

fn compare_objects(listed: &Listed, cached: &Snapshot<CachedPod>, comparison: &mut Comparison) {
    for (key, expected) in listed {
        let Some(pod) = cached.get(key) else {
            comparison
                .differences
                .push(format!("{key} is on the server and not in the cache"));
            continue;
        };
        let decoded = pod.decode().map(|pod: Pod| serde_json::to_value(pod));
        let whole: Result<Pod, _> = serde_json::from_value(expected.clone());
        match (decoded, whole.map(serde_json::to_value)) {
            (Ok(Ok(is)), Ok(Ok(should))) if is == should => {}
            _ => comparison
                .differences
                .push(format!("{key} differs from the server's")),
        }
    }
    for (key, _) in cached.iter().filter(|(key, _)| !listed.contains_key(*key)) {
        comparison
            .differences
            .push(format!("{key} is in the cache and not on the server"));
    }
}

fn compare_index(
    listed: &Listed,
    cached: &Snapshot<CachedPod>,
    index: &str,
    comparison: &mut Comparison,
) {
    let mut expected: BTreeMap<&str, BTreeSet<&ObjectKey>> = BTreeMap::new();
    for (key, pod) in listed {
        if let Some(value) = pod["metadata"]["labels"][index].as_str() {
            expected.entry(value).or_default().insert(key);
        }
    }
    comparison.index_values = expected.len();
    let values: BTreeSet<_> = cached.list_index_values(index).into_iter().collect();
    if !values
        .iter()
        .map(|value| value.as_str())
        .eq(expected.keys().copied())
    {
        comparison.differences.push(format!(
            "the index {index} has other values than the server's pods"
        ));
    }
    for (value, keys) in expected {
        let indexed = cached.index_keys(index, value).unwrap_or_default();
        let indexed: BTreeSet<&ObjectKey> = indexed.iter().collect();
        if indexed != keys {
            comparison
                .differences
                .push(format!("the index {index} is wrong at {value}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use informer::Store;
    use informer::wire::{DecodeOptions, WireFormat, decode_object};
    use serde_json::json;
    use std::sync::Arc;

    fn pod(name: &str, app: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "namespace": "ns", "name": name, "resourceVersion": "7", "labels": { "app": app } },
            "spec": { "containers": [] },
        })
    }

    fn store(pods: &[Value]) -> Store<CachedPod> {
        let store = Store::new();
        store
            .add_index(
                "app",
                |pod: &CachedPod, values: &mut informer::IndexValues<'_>| {
                    values.extend(pod.label("app"));
                },
            )
            .unwrap();
        for pod in pods {
            let bytes = serde_json::to_vec(pod).unwrap();
            let options = DecodeOptions::default();
            let pod: CachedPod = decode_object(WireFormat::Json, &bytes, &options).unwrap();
            store.add(Arc::new(pod)).unwrap();
        }
        store
    }

    fn listed(pods: &[Value]) -> Listed {
        pods.iter()
            .cloned()
            .map(|pod| keyed(pod).unwrap())
            .collect()
    }

    #[test]
    fn equal_states_agree_and_differences_are_found() {
        let pods = [pod("a", "x"), pod("b", "y")];
        let same = compare(&listed(&pods), &store(&pods).snapshot(), "app", &[]);
        assert!(same.agrees(), "{same:?}");

        let missing = compare(&listed(&pods), &store(&pods[..1]).snapshot(), "app", &[]);
        assert!(!missing.agrees());
        let ghost = compare(&listed(&pods[..1]), &store(&pods).snapshot(), "app", &[]);
        assert!(!ghost.agrees());
        let changed = [pod("a", "x"), pod("b", "z")];
        let stale = compare(&listed(&changed), &store(&pods).snapshot(), "app", &[]);
        assert!(!stale.agrees());
        let unseen = compare(
            &listed(&pods),
            &store(&pods).snapshot(),
            "app",
            &[&Seen::default()],
        );
        assert!(!unseen.agrees());
    }
}
