//! What a real server's types leave out of an object: nulls, empty lists and empty maps.

use serde_json::Value;

use super::{Shape, TypeRef, Zero, type_of};
use crate::resource::ResourceType;

/// Drops fields with a type that are null.
pub(crate) fn drop_nulls(value: &mut Value, of: &TypeRef) {
    walk(value, of, false);
}

/// Drops what an object of a built-in kind does not hold: nulls, empty lists and maps.
pub(crate) fn drop_empty(resource: &ResourceType, object: &mut Value) {
    if !resource.custom {
        walk(object, &type_of(resource), true);
    }
}

fn walk(value: &mut Value, of: &TypeRef, empty_too: bool) {
    match of.view().shape_of(value) {
        Shape::Map(map, _) => {
            let Some(fields) = value.as_object_mut() else {
                return;
            };
            fields.retain(|name, value| {
                // An empty list of them means something.
                if name == "managedFields" {
                    return true;
                }
                let of = map.field(name);
                walk(value, &of, empty_too);
                let declared = map.fields.get(name);
                match value {
                    Value::Null => !of.is_declared(),
                    Value::Array(entries) => {
                        !(empty_too
                            && entries.is_empty()
                            && declared.is_some_and(|field| field.zero == Zero::Absent))
                    }
                    Value::Object(fields) => {
                        let is_map = declared.is_some_and(|field| {
                            let map = field.of.view().as_map();
                            field.zero == Zero::Absent
                                && field.of.is_declared()
                                && map
                                    .and_then(|map| map.values.as_ref())
                                    .is_some_and(TypeRef::is_declared)
                        });
                        !(empty_too && fields.is_empty() && is_map)
                    }
                    _ => true,
                }
            });
        }
        Shape::List(list) => {
            let entries = value.as_array_mut().into_iter().flatten();
            entries.for_each(|entry| walk(entry, &list.items, empty_too));
        }
        Shape::Scalar(_) | Shape::Unknown => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::Registry;

    #[test]
    fn empty_lists_and_maps_are_dropped_and_empty_structures_kept() {
        let pods = Registry::with_builtin().resolve("pods").unwrap();
        let mut pod = json!({
            "metadata": {"labels": {}, "annotations": {"a": ""}},
            "spec": {"containers": [{"name": "c", "env": [], "resources": {}, "args": null}],
                "nodeSelector": {}, "securityContext": {}},
        });
        drop_empty(&pods, &mut pod);
        assert_eq!(
            pod,
            json!({
                "metadata": {"annotations": {"a": ""}},
                "spec": {"containers": [{"name": "c", "resources": {}}], "securityContext": {}},
            })
        );
    }
}
