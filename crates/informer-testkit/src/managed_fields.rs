//! The `fieldsV1` of a managed fields entry: the fields of an object that a manager owns.

use serde_json::{Map, Value, json};

/// The keys that identify list entries; the first that an entry has counts.
const LIST_KEYS: [&str; 6] = ["containerPort", "ip", "mountPath", "name", "type", "uid"];

/// Returns the field set of a value: each of its fields, down to lists without keys.
pub(crate) fn fields_v1(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let fields = object
                .iter()
                .map(|(key, value)| (format!("f:{key}"), fields_v1(value)));
            Value::Object(fields.collect())
        }
        Value::Array(entries) => list_fields(entries).unwrap_or_else(|| json!({})),
        _ => json!({}),
    }
}

/// Returns the field set of a list; `None` if its entries have no key, so that the list is owned as a whole.
fn list_fields(entries: &[Value]) -> Option<Value> {
    let key = LIST_KEYS
        .iter()
        .find(|key| entries.iter().all(|e| e.get(**key).is_some()))?;
    let mut fields = Map::new();
    for entry in entries {
        let mut owned = fields_v1(entry);
        if let Some(owned) = owned.as_object_mut() {
            owned.insert(".".to_owned(), json!({}));
        }
        fields.insert(format!("k:{}", json!({ *key: entry[*key] })), owned);
    }
    Some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_set_enters_lists_with_keys_only() {
        let object = json!({"spec": {
            "containers": [{"name": "a", "args": ["x", "y"]}],
            "tolerations": [{"operator": "Exists"}],
        }});
        assert_eq!(
            fields_v1(&object),
            json!({"f:spec": {
                "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:args": {}, "f:name": {}}},
                "f:tolerations": {},
            }})
        );
    }
}
