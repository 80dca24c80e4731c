//! The `fieldsV1` of a managed fields entry: which fields of an object somebody owns.

use serde_json::{Map, Value, json};

/// What list entries are told apart by, the first that an entry has.
const LIST_KEYS: [&str; 6] = ["containerPort", "ip", "mountPath", "name", "type", "uid"];

/// The field set of a value: each field that is there, down to lists without keys.
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

/// `None` when the entries have no key, so that the list is owned as a whole.
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
    fn lists_with_keys_are_entered_and_others_are_not() {
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
