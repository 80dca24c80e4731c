//! Pruning: fields that a schema does not know are dropped, and nulls that it does not allow.

use serde_json::Value;

use super::node::{Additional, Node};

/// The fields of every resource, which a schema need not name.
pub(crate) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops what a resource's schema does not know, and returns the paths of it, sorted.
pub(crate) fn prune(object: &mut Value, root: &Node) -> Vec<String> {
    let mut pruning = Pruning::default();
    pruning.walk(object, Some(root));
    pruning.unknown.sort();
    pruning.unknown
}

/// A walk along an object: where it is, and what it dropped.
#[derive(Debug, Default)]
struct Pruning {
    path: String,
    unknown: Vec<String>,
}

impl Pruning {
    fn walk(&mut self, value: &mut Value, node: Option<&Node>) {
        let preserve = node.is_some_and(|node| node.preserve);
        match value {
            Value::Object(fields) => fields.retain(|name, value| {
                if node.is_some_and(|node| node.embedded) && META_FIELDS.contains(&name.as_str()) {
                    return true;
                }
                let inner = match node.map(|node| (node.properties.get(name), &node.additional)) {
                    Some((Some(property), _)) => Some(property),
                    Some((None, Additional::Node(node))) => Some(&**node),
                    Some((None, Additional::Bool(_))) => None,
                    _ if preserve => return true,
                    _ => {
                        self.unknown.push(self.child(name));
                        return false;
                    }
                };
                self.descend(|path| path.push_key(name), value, inner);
                true
            }),
            Value::Array(items) => {
                let inner = node.and_then(|node| node.items.as_deref());
                for (at, item) in items.iter_mut().enumerate() {
                    if preserve {
                        self.skip(at, item, inner);
                    } else {
                        self.descend(|path| path.push_index(at), item, inner);
                    }
                }
            }
            _ => {}
        }
    }

    /// Goes on in an item of a list that preserves what it does not know: its items do so too.
    fn skip(&mut self, at: usize, item: &mut Value, node: Option<&Node>) {
        let Some(node) = node else { return };
        let preserving = Node {
            preserve: true,
            ..node.clone()
        };
        self.descend(|path| path.push_index(at), item, Some(&preserving));
    }

    fn descend(&mut self, enter: impl FnOnce(&mut Self), value: &mut Value, node: Option<&Node>) {
        if !value.is_object() && !value.is_array() {
            return;
        }
        let length = self.path.len();
        enter(self);
        self.walk(value, node);
        self.path.truncate(length);
    }

    fn push_key(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    fn push_index(&mut self, at: usize) {
        self.path.push_str(&format!("[{at}]"));
    }

    fn child(&self, name: &str) -> String {
        if self.path.is_empty() {
            return name.to_owned();
        }
        format!("{}.{name}", self.path)
    }
}

/// Drops the nulls that a schema neither allows nor replaces by a default.
pub(crate) fn prune_nulls(value: &mut Value, node: Option<&Node>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let inner = node.and_then(|node| node.field(name));
            let stray = |node: &Node| !node.nullable && node.default.is_none();
            if value.is_null() && inner.is_some_and(stray) {
                return false;
            }
            prune_nulls(value, inner);
            true
        }),
        Value::Array(items) => {
            let inner = node.and_then(|node| node.items.as_deref());
            items.iter_mut().for_each(|item| prune_nulls(item, inner));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pruned(schema: &Value, mut object: Value) -> (Value, Vec<String>) {
        let unknown = prune(&mut object, &Node::read(schema));
        (object, unknown)
    }

    #[test]
    fn unknown_fields_are_dropped_and_named() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"known": {"type": "object"}}},
            "free": {"type": "object", "additionalProperties": true},
        }}}});
        let (object, unknown) = pruned(
            &schema,
            json!({
                "apiVersion": "v1", "metadata": {"name": "x", "odd": 1}, "top": 1,
                "spec": {"nope": 1, "list": [{"a": "1", "b": 2}, 3], "map": {"k": {"b": 1}},
                         "any": {"x": {"y": 1}, "known": {"z": 1}}, "free": {"a": 1, "b": {"c": 1}}},
            }),
        );
        assert_eq!(
            object,
            json!({
                "apiVersion": "v1", "metadata": {"name": "x", "odd": 1},
                "spec": {"list": [{"a": "1"}, 3], "map": {"k": {}}, "any": {"x": {"y": 1}, "known": {}},
                         "free": {"a": 1, "b": {}}},
            })
        );
        assert_eq!(
            unknown,
            [
                "spec.any.known.z",
                "spec.free.b.c",
                "spec.list[0].b",
                "spec.map.k.b",
                "spec.nope",
                "top"
            ]
        );
    }

    #[test]
    fn embedded_resource_keeps_its_own_metadata() {
        let schema = json!({"type": "object", "properties": {"template": {
            "type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}}});
        let template = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"a": 1}, "b": 1});
        let (object, unknown) = pruned(&schema, json!({ "template": template }));
        assert_eq!(
            object["template"],
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}})
        );
        assert_eq!(unknown, ["template.b", "template.spec.a"]);
    }

    #[test]
    fn null_is_dropped_unless_it_is_allowed_or_has_a_default() {
        let schema = Node::read(&json!({"type": "object", "properties": {
            "a": {"type": "string"}, "b": {"type": "string", "nullable": true},
            "c": {"type": "string", "default": "x"}}}));
        let mut object = json!({"a": null, "b": null, "c": null, "unknown": null});
        prune_nulls(&mut object, Some(&schema));
        assert_eq!(object, json!({"b": null, "c": null, "unknown": null}));
    }
}
