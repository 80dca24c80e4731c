//! Lists that are sets or maps hold each item, or each key, once.

use serde_json::{Map, Value};

use super::error::{FieldError, Path};
use super::go;
use super::node::{ListType, Node};

/// Returns what is double in an object's lists.
pub(crate) fn check(value: &Value, node: &Node, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(value, node, path, &mut errors);
    errors
}

fn walk(value: &Value, node: &Node, path: &Path, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(property) = node.properties.get(name) {
                    walk(value, property, &path.child(name), errors);
                } else if let Some(additional) = node.field(name) {
                    walk(value, additional, &path.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match node.list_type {
                ListType::Atomic => {}
                ListType::Set => {
                    let keys: Vec<Value> = items.clone();
                    for at in doubles(&keys) {
                        errors.push(FieldError::duplicate(&path.index(at), &keys[at]));
                    }
                }
                ListType::Map => check_map(items, node, path, errors),
            }
            if let Some(node) = node.items.as_deref() {
                for (at, item) in items.iter().enumerate() {
                    walk(item, node, &path.index(at), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_map(items: &[Value], node: &Node, path: &Path, errors: &mut Vec<FieldError>) {
    let odd = items
        .iter()
        .position(|item| !item.is_object() && !item.is_null());
    if let Some(at) = odd {
        let why = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(&path.index(at), &items[at], why));
        return;
    }
    let keys: Vec<Value> = items.iter().map(|item| key(item, node)).collect();
    for at in doubles(&keys) {
        errors.push(FieldError::duplicate(&path.index(at), &keys[at]));
    }
}

/// Returns the key fields of an item of a list that is a map.
pub(crate) fn key(item: &Value, node: &Node) -> Value {
    let fields = node.map_keys.iter();
    let fields: Map<String, Value> = fields
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect();
    fields.into()
}

/// Returns where a value stands the second time; a third time is not reported.
fn doubles(values: &[Value]) -> Vec<usize> {
    let mut seen: Vec<(&Value, usize)> = Vec::new();
    let mut doubles = Vec::new();
    for (at, value) in values.iter().enumerate() {
        match seen.iter_mut().find(|(known, _)| go::same(known, value)) {
            Some((_, times)) => {
                *times += 1;
                if *times == 2 {
                    doubles.push(at);
                }
            }
            None => seen.push((value, 1)),
        }
    }
    doubles
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn doubles_of_sets_and_maps_are_told_once() {
        let node = Node::read(&json!({"type": "object", "properties": {
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
            "plain": {"type": "array", "items": {"type": "string"}},
        }}));
        let object = json!({"set": ["a", "b", "a", "a"], "map": [{"k": "x"}, {"k": "x"}, {}], "plain": ["a", "a"]});
        let texts: Vec<String> = check(&object, &node, &Path::default())
            .iter()
            .map(FieldError::text)
            .collect();
        assert_eq!(
            texts,
            [
                "map[1]: Duplicate value: {\"k\":\"x\"}",
                "set[2]: Duplicate value: \"a\""
            ]
        );
    }
}
