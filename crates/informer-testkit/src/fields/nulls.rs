//! Nulls, which a real server's types leave out of an object.

use serde_json::Value;

use super::{Shape, TypeRef};

/// Drops fields with a type that are null.
pub(crate) fn drop_nulls(value: &mut Value, of: &TypeRef) {
    match of.view().shape_of(value) {
        Shape::Map(map, _) => {
            let Some(fields) = value.as_object_mut() else {
                return;
            };
            fields.retain(|name, value| {
                let of = map.field(name);
                drop_nulls(value, &of);
                !value.is_null() || !of.is_declared()
            });
        }
        Shape::List(list) => {
            let entries = value.as_array_mut().into_iter().flatten();
            entries.for_each(|entry| drop_nulls(entry, &list.items));
        }
        Shape::Scalar(_) | Shape::Unknown => {}
    }
}
