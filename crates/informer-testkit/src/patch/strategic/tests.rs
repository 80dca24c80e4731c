//! Patches of pods and services, whose lists merge by keys.

use serde_json::json;

use super::*;
use crate::fields::type_of;
use crate::resource::Registry;

fn patched(kind: &str, mut object: Value, patch: Value) -> Result<Value, Status> {
    let of = type_of(&Registry::with_builtin().resolve(kind).unwrap());
    merge(&mut object, &patch, &of)?;
    Ok(object)
}

fn pod(spec: Value, patch: Value) -> Value {
    let object = json!({ "spec": spec });
    patched("pods", object, json!({ "spec": patch })).unwrap()["spec"].take()
}

#[test]
fn known_list_is_merged_by_key_and_another_is_replaced() {
    let spec = json!({"containers": [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b"}]});
    let patch = json!({"containers": [
        {"name": "a", "image": "2", "args": ["y"]},
        {"name": "c"},
        {"name": "b", "$patch": "delete"},
    ], "$setElementOrder/containers": [{"name": "a"}, {"name": "c"}]});
    let wanted = json!({"containers": [{"name": "a", "image": "2", "args": ["y"]}, {"name": "c"}]});
    assert_eq!(pod(spec, patch), wanted);
}

#[test]
fn merge_key_is_that_of_the_type() {
    let service = |ports: Value| json!({"spec": {"ports": ports}});
    assert_eq!(
        patched(
            "services",
            service(json!([{"port": 80, "name": "http"}])),
            service(json!([{"port": 80, "name": "web"}]))
        )
        .unwrap(),
        service(json!([{"port": 80, "name": "web"}]))
    );
    let container = |ports: Value| json!({"containers": [{"name": "a", "ports": ports}]});
    assert_eq!(
        pod(
            container(json!([{"containerPort": 80}])),
            container(json!([{"containerPort": 81}]))
        ),
        // New entries are before those that the patch does not name.
        container(json!([{"containerPort": 81}, {"containerPort": 80}]))
    );
}

#[test]
fn order_of_the_patch_decides_among_its_entries() {
    let names =
        |names: &[&str]| -> Value { names.iter().map(|name| json!({"name": name})).collect() };
    let spec = json!({"volumes": names(&["a", "b", "c"])});
    let patch = json!({"$setElementOrder/volumes": names(&["c", "a"])});
    assert_eq!(pod(spec, patch)["volumes"], names(&["b", "c", "a"]));
}

#[test]
fn directives_replace_delete_and_retain() {
    let spec = json!({
        "securityContext": {"runAsUser": 1, "runAsGroup": 2},
        "volumes": [{"name": "v"}],
    });
    let context = |patch: Value| pod(spec.clone(), json!({"securityContext": patch}));
    assert_eq!(
        context(json!({"$patch": "replace", "fsGroup": 3}))["securityContext"],
        json!({"fsGroup": 3})
    );
    assert_eq!(
        context(json!({"$patch": "delete"}))["securityContext"],
        json!({})
    );
    assert_eq!(
        context(json!({"$retainKeys": ["runAsUser"], "runAsUser": 5}))["securityContext"],
        json!({"runAsUser": 5})
    );
    assert_eq!(context(Value::Null).get("securityContext"), None);
    let replaced = json!({"volumes": [{"$patch": "replace"}, {"name": "w"}]});
    assert_eq!(
        pod(spec.clone(), replaced)["volumes"],
        json!([{"name": "w"}])
    );
    let object = json!({"metadata": {"finalizers": ["f", "g"]}});
    let patch = json!({"metadata": {"finalizers": ["g", "h"], "$deleteFromPrimitiveList/finalizers": ["f"]}});
    let finalizers = patched("pods", object, patch).unwrap();
    assert_eq!(finalizers["metadata"]["finalizers"], json!(["g", "h"]));
}

#[test]
fn invalid_patch_is_refused_in_the_words_of_a_real_server() {
    let spec = json!({"securityContext": {}, "volumes": [{"name": "v"}]});
    for (patch, code, message) in [
        (
            json!({"securityContext": {"$patch": "explode"}}),
            500,
            "unknown patch type: explode in map: map[$patch:explode]",
        ),
        (
            json!({"volumes": [{"emptyDir": {}}]}),
            500,
            "map: map[emptyDir:map[]] does not contain declared merge key: name",
        ),
        (
            json!({"securityContext": {"$retainKeys": "x"}}),
            400,
            "invalid patch format of retainKeys",
        ),
        (
            json!({"$setElementOrder/volumes": [{"name": "a"}], "volumes": [{"name": "b"}]}),
            500,
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
    ] {
        let object = json!({ "spec": spec });
        let refused = patched("pods", object, json!({ "spec": patch })).unwrap_err();
        assert_eq!((refused.code, refused.message.as_str()), (code, message));
    }
}
