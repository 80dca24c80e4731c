//! JSON patches as kube-apiserver applies them, which is more lenient than RFC 6902 in what lies at the end of a path:
//! `replace` adds a missing field, `test` takes a missing field for `null`, `copy` copies a missing field as `null`,
//! and an index below zero counts from the end.

use informer_wire::{Status, StatusDetails};
use json_patch::jsonptr::{Pointer, PointerBuf};
use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::Value;

use crate::status;

/// Applies a patch. After an error the object is as the operations before the failing one left it.
pub(super) fn apply(patch: &Value, object: &mut Value) -> Result<(), Status> {
    let Patch(operations) = serde_json::from_value(patch.clone())
        .map_err(|error| status::bad_request(format!("error decoding patch: {error}")))?;
    for operation in operations {
        let Some(operation) = strict(operation, object) else {
            continue;
        };
        // A real server does not say more either.
        json_patch::patch(object, &[operation]).map_err(|_| {
            let message = "the server rejected our request due to an error in our request";
            Status::failure(422, "Invalid", message).with_details(StatusDetails::default())
        })?;
    }
    Ok(())
}

/// The operation of RFC 6902 that does to this object what kube-apiserver does; none if that is nothing.
fn strict(mut operation: PatchOperation, object: &Value) -> Option<PatchOperation> {
    match &mut operation {
        PatchOperation::Add(add) => count_from_the_end(&mut add.path, object, 1),
        PatchOperation::Remove(remove) => count_from_the_end(&mut remove.path, object, 0),
        PatchOperation::Move(moved) => count_from_the_end(&mut moved.from, object, 0),
        PatchOperation::Replace(replace) => {
            count_from_the_end(&mut replace.path, object, 0);
            if lacks(object, &replace.path) {
                return Some(PatchOperation::Add(AddOperation {
                    path: replace.path.clone(),
                    value: replace.value.take(),
                }));
            }
        }
        PatchOperation::Test(test) => {
            count_from_the_end(&mut test.path, object, 0);
            if test.value.is_null() && lacks(object, &test.path) {
                return None;
            }
        }
        PatchOperation::Copy(copy) => {
            count_from_the_end(&mut copy.from, object, 0);
            if lacks(object, &copy.from) {
                return Some(PatchOperation::Add(AddOperation {
                    path: copy.path.clone(),
                    value: Value::Null,
                }));
            }
        }
    }
    Some(operation)
}

/// Whether the path ends in a field that its object does not have.
fn lacks(object: &Value, path: &Pointer) -> bool {
    let Some((parent, last)) = path.split_back() else {
        return false;
    };
    let parent = object.pointer(parent.as_str()).and_then(Value::as_object);
    parent.is_some_and(|fields| !fields.contains_key(last.decoded().as_ref()))
}

/// Replaces an index below zero at the end of a path; an added element may also go behind the last one.
fn count_from_the_end(path: &mut PointerBuf, object: &Value, behind: i64) {
    let index = path.split_back().and_then(|(parent, last)| {
        let elements = object.pointer(parent.as_str())?.as_array()?;
        let index: i64 = last.decoded().parse().ok()?;
        let len = i64::try_from(elements.len()).ok()?;
        (index < 0).then(|| index + len + behind)
    });
    if let Some(index) = index {
        path.pop_back();
        path.push_back(index.to_string());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(operation: Value) -> Result<Value, i32> {
        let mut object = json!({ "metadata": { "name": "a", "none": null }, "list": [1, 2] });
        apply(&json!([operation]), &mut object)
            .map(|()| object)
            .map_err(|status| i32::from(status.code))
    }

    #[test]
    fn a_missing_field_equals_null() {
        for path in ["/metadata/finalizers", "/metadata/none"] {
            let test = json!({ "op": "test", "path": path, "value": null });
            assert!(applied(test).is_ok(), "{path}");
        }
        for (path, value) in [
            ("/metadata/name", json!(null)),
            ("/metadata/finalizers", json!([])),
            ("/missing/finalizers", json!(null)),
            ("/list/2", json!(null)),
        ] {
            let test = json!({ "op": "test", "path": path, "value": value });
            assert_eq!(applied(test), Err(422), "{path}");
        }
    }

    #[test]
    fn replacing_a_missing_field_adds_it() {
        let replace = |path| applied(json!({ "op": "replace", "path": path, "value": 7 }));
        assert_eq!(replace("/metadata/new").unwrap()["metadata"]["new"], 7);
        assert_eq!(replace("/missing/new"), Err(422));
        assert_eq!(replace("/list/2"), Err(422));
    }

    #[test]
    fn copying_a_missing_field_copies_null() {
        let copy = |from| applied(json!({ "op": "copy", "from": from, "path": "/metadata/name" }));
        assert_eq!(
            copy("/metadata/new").unwrap()["metadata"]["name"],
            json!(null)
        );
        assert_eq!(copy("/missing/new"), Err(422));
    }

    #[test]
    fn an_index_below_zero_counts_from_the_end() {
        let add = |index: i64| {
            let path = format!("/list/{index}");
            applied(json!({ "op": "add", "path": path, "value": 9 }))
                .map(|object| object["list"].clone())
        };
        assert_eq!(add(-1), Ok(json!([1, 2, 9])));
        assert_eq!(add(-3), Ok(json!([9, 1, 2])));
        assert_eq!(add(-4), Err(422));
        let remove = |path| applied(json!({ "op": "remove", "path": path }));
        assert_eq!(remove("/list/-1").unwrap()["list"], json!([1]));
        assert_eq!(remove("/list/-3"), Err(422));
        assert_eq!(remove("/metadata/new"), Err(422));
    }
}
