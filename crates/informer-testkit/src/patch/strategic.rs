//! Strategic merge patch: maps merge as in a merge patch, known lists merge by a key.
//!
//! A real server takes the merge keys from its Go types, path by path. Here they hang on the
//! field's name, which for the built-in kinds says nearly the same.

use serde_json::{Map, Value};

/// The field of a list, and the keys that identify its entries; the first key that an entry has counts.
const MERGE_KEYS: &[(&str, &[&str])] = &[
    ("addresses", &["type"]),
    ("conditions", &["type"]),
    ("containerStatuses", &["name"]),
    ("containers", &["name"]),
    ("env", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("hostAliases", &["ip"]),
    ("hostIPs", &["ip"]),
    ("imagePullSecrets", &["name"]),
    ("initContainers", &["name"]),
    ("managedFields", &[]),
    ("ownerReferences", &["uid"]),
    ("podIPs", &["ip"]),
    ("ports", &["containerPort", "port"]),
    ("resourceClaims", &["name"]),
    ("schedulingGates", &["name"]),
    ("secrets", &["name"]),
    ("taints", &["key"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("volumeDevices", &["devicePath"]),
    ("volumeMounts", &["mountPath"]),
    ("volumes", &["name"]),
    ("webhooks", &["name"]),
];

/// Lists of plain values that are united instead of replaced.
const MERGED_SETS: &[&str] = &["finalizers"];

/// Deeper than any Kubernetes object; JSON itself is read to a depth of 128.
const DEPTH_LIMIT: usize = 128;

/// Merges a patch into an object. The error is the message for the client.
pub(super) fn merge(target: &mut Value, patch: &Value) -> Result<(), String> {
    merge_value(target, patch, DEPTH_LIMIT)
}

fn merge_value(target: &mut Value, patch: &Value, depth: usize) -> Result<(), String> {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return Ok(());
    };
    if depth == 0 {
        return Err("the patch is nested too deeply".to_owned());
    }
    match directive(patch)? {
        Directive::Merge => {}
        Directive::Delete => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Directive::Replace => *target = Value::Object(Map::new()),
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else {
        return Ok(());
    };
    retain_keys(fields, patch)?;
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            delete_from_list(fields, list, value)?;
        } else if !key.starts_with('$') {
            merge_field(fields, key, value, depth - 1)?;
        }
    }
    Ok(())
}

fn merge_field(
    fields: &mut Map<String, Value>,
    key: &str,
    patch: &Value,
    depth: usize,
) -> Result<(), String> {
    match patch {
        Value::Null => {
            fields.remove(key);
            Ok(())
        }
        Value::Object(map) if matches!(directive(map)?, Directive::Delete) => {
            fields.remove(key);
            Ok(())
        }
        Value::Object(_) => merge_value(fields.entry(key).or_insert(Value::Null), patch, depth),
        Value::Array(entries) => {
            let target = fields
                .entry(key)
                .or_insert_with(|| Value::Array(Vec::new()));
            merge_list(target, key, entries, depth)
        }
        plain => {
            fields.insert(key.to_owned(), plain.clone());
            Ok(())
        }
    }
}

fn merge_list(
    target: &mut Value,
    field: &str,
    entries: &[Value],
    depth: usize,
) -> Result<(), String> {
    let replaces = |entry: &Value| entry["$patch"] == "replace";
    let Some(present) = target
        .as_array_mut()
        .filter(|_| !entries.iter().any(replaces))
    else {
        let kept = entries.iter().filter(|entry| entry.get("$patch").is_none());
        *target = Value::Array(kept.cloned().collect());
        return Ok(());
    };
    if MERGED_SETS.contains(&field) {
        let fresh: Vec<Value> = entries
            .iter()
            .filter(|entry| !present.contains(entry))
            .cloned()
            .collect();
        present.extend(fresh);
        return Ok(());
    }
    let Some(merge_key) = merge_key(field, entries) else {
        *present = entries.to_vec();
        return Ok(());
    };
    for entry in entries {
        let id = entry.get(merge_key).ok_or_else(|| {
            format!("map: {entry} does not contain declared merge key: {merge_key}")
        })?;
        let place = present
            .iter()
            .position(|known| known.get(merge_key) == Some(id));
        if entry["$patch"] == "delete" {
            if let Some(place) = place {
                present.remove(place);
            }
            continue;
        }
        let place = place.unwrap_or_else(|| {
            present.push(Value::Object(Map::new()));
            present.len() - 1
        });
        merge_value(&mut present[place], entry, depth)?;
    }
    Ok(())
}

/// Returns the merge key of a list; `None` if the list is replaced as a whole.
fn merge_key(field: &str, entries: &[Value]) -> Option<&'static str> {
    let (_, keys) = MERGE_KEYS.iter().find(|(name, _)| *name == field)?;
    if !entries.iter().all(Value::is_object) {
        return None;
    }
    let usable = |key: &&&str| entries.iter().any(|entry| entry.get(**key).is_some());
    keys.iter().find(usable).or_else(|| keys.first()).copied()
}

enum Directive {
    Merge,
    Replace,
    Delete,
}

fn directive(patch: &Map<String, Value>) -> Result<Directive, String> {
    match patch
        .get("$patch")
        .map(|directive| directive.as_str().unwrap_or_default())
    {
        None | Some("merge") => Ok(Directive::Merge),
        Some("replace") => Ok(Directive::Replace),
        Some("delete") => Ok(Directive::Delete),
        Some(other) => Err(format!("unknown patch type found: {other:?}")),
    }
}

fn retain_keys(fields: &mut Map<String, Value>, patch: &Map<String, Value>) -> Result<(), String> {
    let Some(kept) = patch.get("$retainKeys") else {
        return Ok(());
    };
    let Some(kept) = kept.as_array() else {
        return Err("$retainKeys is not a list".to_owned());
    };
    fields.retain(|key, _| kept.iter().any(|kept| kept == key.as_str()));
    Ok(())
}

fn delete_from_list(
    fields: &mut Map<String, Value>,
    list: &str,
    values: &Value,
) -> Result<(), String> {
    let Some(values) = values.as_array() else {
        return Err(format!("$deleteFromPrimitiveList/{list} is not a list"));
    };
    if let Some(present) = fields.get_mut(list).and_then(Value::as_array_mut) {
        present.retain(|entry| !values.contains(entry));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(mut target: Value, patch: Value) -> Value {
        merge(&mut target, &patch).unwrap();
        target
    }

    #[test]
    fn known_list_is_merged_by_key_and_another_is_replaced() {
        let pod =
            json!({"containers": [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b"}]});
        let patch = json!({"containers": [
            {"name": "a", "image": "2", "args": ["y"]},
            {"name": "c"},
            {"name": "b", "$patch": "delete"},
        ], "$setElementOrder/containers": [{"name": "a"}, {"name": "c"}]});
        assert_eq!(
            merged(pod, patch),
            json!({"containers": [{"name": "a", "image": "2", "args": ["y"]}, {"name": "c"}]})
        );
    }

    #[test]
    fn ports_have_two_merge_keys() {
        let service = json!({"ports": [{"port": 80, "name": "http"}]});
        assert_eq!(
            merged(service, json!({"ports": [{"port": 80, "name": "web"}]})),
            json!({"ports": [{"port": 80, "name": "web"}]})
        );
        let container = json!({"ports": [{"containerPort": 80}]});
        assert_eq!(
            merged(container, json!({"ports": [{"containerPort": 81}]})),
            json!({"ports": [{"containerPort": 80}, {"containerPort": 81}]})
        );
    }

    #[test]
    fn directives_replace_and_delete() {
        let object =
            json!({"a": {"x": 1, "y": 2}, "volumes": [{"name": "v"}], "finalizers": ["f", "g"]});
        assert_eq!(
            merged(object.clone(), json!({"a": {"$patch": "replace", "z": 3}}))["a"],
            json!({"z": 3})
        );
        assert_eq!(
            merged(object.clone(), json!({"a": {"$patch": "delete"}})).get("a"),
            None
        );
        assert_eq!(
            merged(object.clone(), json!({"a": {"$retainKeys": ["x"], "x": 5}}))["a"],
            json!({"x": 5})
        );
        assert_eq!(merged(object.clone(), json!({"a": null})).get("a"), None);
        let replaced = json!({"volumes": [{"$patch": "replace"}, {"name": "w"}]});
        assert_eq!(
            merged(object.clone(), replaced)["volumes"],
            json!([{"name": "w"}])
        );
        let set = json!({"finalizers": ["g", "h"], "$deleteFromPrimitiveList/finalizers": ["f"]});
        assert_eq!(merged(object, set)["finalizers"], json!(["g", "h"]));
    }

    #[test]
    fn invalid_patch_is_refused() {
        for patch in [
            json!({"a": {"$patch": "explode"}}),
            json!({"volumes": [{"image": "no name"}]}),
            json!({"a": {"$retainKeys": "x"}}),
        ] {
            assert!(
                merge(&mut json!({"volumes": [{"name": "v"}]}), &patch).is_err(),
                "{patch}"
            );
        }
    }
}
