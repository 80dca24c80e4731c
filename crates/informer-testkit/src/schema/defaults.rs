//! Defaulting: fields that are absent, or null where null is not allowed, get their schema's default.

use serde_json::Value;

use super::node::{Additional, Node};

/// Fills in the defaults of a schema.
pub(crate) fn fill(value: &mut Value, node: &Node) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &node.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                let current = fields.get(name);
                if current.is_none_or(|value| value.is_null() && !property.nullable) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                if let Some(property) = node.properties.get(name) {
                    fill(value, property);
                } else if let Additional::Node(additional) = &node.additional {
                    replace_null(value, additional);
                    fill(value, additional);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = node.items.as_deref() else {
                return;
            };
            for item in list {
                replace_null(item, items);
                fill(item, items);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, node: &Node) {
    if let Some(default) = node
        .default
        .as_ref()
        .filter(|_| value.is_null() && !node.nullable)
    {
        *value = default.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn defaults_fill_what_is_absent_or_null() {
        let node = Node::read(&json!({"type": "object", "properties": {
            "a": {"type": "string", "default": "x"},
            "b": {"type": "string", "default": "x", "nullable": true},
            "deep": {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 3}}},
            "left": {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}},
            "map": {"type": "object", "additionalProperties": {"type": "integer", "default": 7}},
        }}));
        let mut object = json!({"a": null, "b": null, "list": [{}, {"n": 2}], "map": {"k": null}});
        fill(&mut object, &node);
        let filled = json!({"a": "x", "b": null, "deep": {"n": 3}, "list": [{"n": 1}, {"n": 2}], "map": {"k": 7}});
        assert_eq!(object, filled);
        fill(&mut object, &node);
        assert_eq!(object, filled);
    }
}
