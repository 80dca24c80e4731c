//! Applies by several managers, without a server.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::resource::Registry;

fn resource(kind: &str) -> ResourceType {
    (*Registry::with_builtin().resolve(kind).unwrap()).clone()
}

fn by(manager: &str, second: i64) -> WriteOptions {
    let now = Timestamp::from_second(second).unwrap();
    let options = WriteOptions::at(now).part(Part::Main);
    options.manager(FieldManager::new(manager))
}

fn apply(live: Option<&Value>, manager: &str, force: bool, object: Value) -> Result<Value, Status> {
    let kind = object["kind"].as_str().unwrap_or_default();
    applied(&resource(kind), live, &object, force, &by(manager, 1))
}

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn update(live: &Value, manager: &str, mut new: Value) -> Value {
    let entries = written(&resource("ConfigMap"), Some(live), &new, &by(manager, 2));
    set_managed_fields(&mut new, entries);
    new
}

/// Manager, operation and fields of each entry.
fn owners(object: &Value) -> Vec<String> {
    let entries = managed_fields(object).as_array().unwrap();
    let text = |entry: &Value| {
        let part = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        format!(
            "{} {} {}",
            part("manager"),
            part("operation"),
            entry["fieldsV1"]
        )
    };
    entries.iter().map(text).collect()
}

#[test]
fn applier_owns_what_it_names_and_loses_what_it_does_not() {
    let first = apply(None, "a", false, map(json!({"k": "1", "l": "2"}))).unwrap();
    assert_eq!(
        owners(&first),
        [r#"a Apply {"f:data":{"f:k":{},"f:l":{}}}"#]
    );
    let second = apply(Some(&first), "a", false, map(json!({"k": "1"}))).unwrap();
    assert_eq!(second["data"], json!({"k": "1"}));
    assert_eq!(owners(&second), [r#"a Apply {"f:data":{"f:k":{}}}"#]);
}

#[test]
fn field_of_another_owner_stays_when_an_applier_drops_it() {
    let first = apply(None, "a", false, map(json!({"k": "1", "l": "2"}))).unwrap();
    let shared = apply(Some(&first), "b", false, map(json!({"k": "1"}))).unwrap();
    let left = apply(Some(&shared), "a", false, map(json!({}))).unwrap();
    assert_eq!(left["data"], json!({"k": "1"}));
}

#[test]
fn other_value_of_an_owned_field_conflicts_unless_forced() {
    let first = apply(None, "a", false, map(json!({"k": "1", "l": "1"}))).unwrap();
    let refused = apply(Some(&first), "b", false, map(json!({"k": "2"}))).unwrap_err();
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        refused.message,
        r#"Apply failed with 1 conflict: conflict with "a": .data.k"#
    );
    let cause = &refused.details.unwrap().causes[0];
    assert_eq!(
        (cause.field.as_str(), cause.reason.as_str()),
        (".data.k", "FieldManagerConflict")
    );
    let both = map(json!({"k": "2", "l": "2"}));
    let refused = apply(Some(&first), "b", false, both).unwrap_err();
    assert_eq!(
        refused.message,
        "Apply failed with 2 conflicts: conflicts with \"a\":\n- .data.k\n- .data.l"
    );
    let forced = apply(Some(&first), "b", true, map(json!({"k": "2"}))).unwrap();
    assert_eq!(forced["data"], json!({"k": "2", "l": "1"}));
    assert_eq!(
        owners(&forced),
        [
            r#"a Apply {"f:data":{"f:l":{}}}"#,
            r#"b Apply {"f:data":{"f:k":{}}}"#
        ]
    );
}

#[test]
fn other_writes_take_what_they_change() {
    let first = apply(None, "a", false, map(json!({"k": "1", "l": "1"}))).unwrap();
    let written = update(&first, "u", map(json!({"k": "2", "l": "1"})));
    assert_eq!(
        owners(&written),
        [
            r#"a Apply {"f:data":{"f:l":{}}}"#,
            r#"u Update {"f:data":{"f:k":{}}}"#
        ]
    );
    let refused = apply(Some(&written), "a", false, map(json!({"k": "1"}))).unwrap_err();
    assert!(
        refused
            .message
            .ends_with(r#"conflict with "u" using v1: .data.k"#)
    );
    let mut reset = map(json!({"k": "3"}));
    reset["metadata"]["managedFields"] = json!([{}]);
    assert!(
        update(&written, "u", reset)["metadata"]
            .get("managedFields")
            .is_none()
    );
}

#[test]
fn first_apply_to_an_untracked_object_names_who_was_before() {
    let live = map(json!({"k": "1"}));
    let refused = apply(Some(&live), "a", false, map(json!({"k": "2"}))).unwrap_err();
    assert!(
        refused
            .message
            .contains(r#"conflict with "before-first-apply" using v1: .data.k"#)
    );
}

#[test]
fn direct_write_is_tracked_once_the_object_was_applied_to() {
    let config_maps = resource("ConfigMap");
    let options = WriteOptions::at(Timestamp::UNIX_EPOCH);
    let live = map(json!({"k": "1"}));
    let new = map(json!({"k": "2"}));
    assert_eq!(written(&config_maps, Some(&live), &new, &options), None);
    let live = apply(None, "a", false, live).unwrap();
    let entries = written(&config_maps, Some(&live), &new, &options).unwrap();
    assert_eq!(entries[0]["manager"], "informer-testkit");
}

#[test]
fn lists_are_merged_by_the_keys_of_their_type() {
    let deployment = |containers: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"template": {"spec": {"containers": containers}}}})
    };
    let env = |name: &str| json!({"name": name, "value": "1"});
    let first = json!([{"name": "c", "image": "i", "args": ["x"], "env": [env("A"), env("B")]}]);
    let first = apply(None, "a", false, deployment(first)).unwrap();
    let other = json!([{"name": "c", "env": [env("C"), env("A")],
        "ports": [{"containerPort": 80}]}]);
    let both = apply(Some(&first), "b", false, deployment(other)).unwrap();
    let container = &both["spec"]["template"]["spec"]["containers"][0];
    // Entries that both have decide the order.
    assert_eq!(container["env"], json!([env("C"), env("A"), env("B")]));
    // The protocol of a port counts though it is absent.
    let fields = managed_fields(&both)[1]["fieldsV1"].to_string();
    assert!(fields.contains(r#"k:{\"containerPort\":80,\"protocol\":\"TCP\"}"#));
    let args = json!([{"name": "c", "args": ["x", "y"]}]);
    let refused = apply(Some(&both), "b", false, deployment(args)).unwrap_err();
    assert!(
        refused
            .message
            .ends_with(r#".spec.template.spec.containers[name="c"].args"#)
    );
}

#[test]
fn object_that_cannot_be_applied_is_refused() {
    let with = |field: &str, value: Value| {
        let mut object = map(json!({}));
        object[field] = value;
        object
    };
    for (object, code, message) in [
        (
            with("metadata", json!({"managedFields": []})),
            400,
            "metadata.managedFields must be nil",
        ),
        (
            with("apiVersion", "v2".into()),
            400,
            "invalid object type: /v2, Kind=ConfigMap",
        ),
        (
            with("daat", json!({})),
            500,
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .daat: field not declared in schema",
        ),
        (
            with("immutable", "no".into()),
            500,
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .immutable: expected boolean, got &{no}",
        ),
    ] {
        let refused = apply(None, "a", false, object).unwrap_err();
        assert_eq!((refused.code, refused.message.as_str()), (code, message));
    }
}

#[test]
fn only_the_ten_newest_updates_are_told_apart() {
    let mut live = apply(None, "a", false, map(json!({"k": "1"}))).unwrap();
    for number in 0..13 {
        let mut new = live.clone();
        new["data"][format!("k{number}")] = "1".into();
        let options = by(&format!("u{number:02}"), 10 + number);
        let entries = written(&resource("ConfigMap"), Some(&live), &new, &options);
        set_managed_fields(&mut new, entries);
        live = new;
    }
    let owners = owners(&live);
    assert_eq!(owners.len(), 11);
    assert!(owners[0].starts_with("a Apply") && owners[10].starts_with("u12 Update"));
    assert!(
        owners[1].starts_with("ancient-changes Update"),
        "{owners:?}"
    );
}

/// A custom resource with a list of each type.
fn charms() -> ResourceType {
    let mut charms = ResourceType::new("demo.example", "v1", "Charm", "charms");
    let parts = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}});
    charms.fields = Some(crate::fields::custom(
        &json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {
            "size": {"type": "integer"}, "parts": parts,
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "args": {"type": "array", "items": {"type": "string"}},
        }}}}),
    ));
    charms
}

/// An applied object; each manager has names and fields of its own, so that none meet.
fn charm(own: &'static str) -> impl Strategy<Value = Value> {
    let parts = prop::collection::btree_map("[a-c]", prop::option::of(0..3), 0..3);
    let tags = prop::collection::btree_set("[a-c]", 0..3);
    let labels = prop::collection::btree_map("[a-c]", "[12]", 0..3);
    (parts, tags, labels).prop_map(move |(parts, tags, labels)| {
        let parts: Vec<Value> = parts
            .into_iter()
            .map(|(name, size)| match size {
                Some(size) => json!({"name": format!("{own}{name}"), "size": size}),
                None => json!({"name": format!("{own}{name}")}),
            })
            .collect();
        let tags: Vec<String> = tags.into_iter().map(|tag| format!("{own}{tag}")).collect();
        let labels: serde_json::Map<String, Value> = labels
            .into_iter()
            .map(|(name, value)| (format!("{own}{name}"), value.into()))
            .collect();
        json!({"apiVersion": "demo.example/v1", "kind": "Charm",
            "metadata": {"name": "x", "labels": labels}, "spec": {"parts": parts, "tags": tags}})
    })
}

/// What was applied of an object.
fn content(object: &Value) -> Value {
    unordered(&json!({"spec": object["spec"], "labels": object["metadata"]["labels"]}))
}

/// A value without the order of its lists, and without what is empty.
fn unordered(value: &Value) -> Value {
    match value {
        Value::Array(entries) => {
            let mut entries: Vec<Value> = entries.iter().map(unordered).collect();
            entries.sort_by_key(ToString::to_string);
            entries.into()
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), unordered(value)));
            let empty = [json!({}), json!([]), Value::Null];
            Value::Object(fields.filter(|(_, value)| !empty.contains(value)).collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn applying_the_same_again_changes_nothing(first in charm("p"), second in charm("q")) {
        let charms = charms();
        let live = applied(&charms, None, &first, false, &by("a", 1)).unwrap();
        let live = applied(&charms, Some(&live), &second, false, &by("b", 2)).unwrap();
        let again = applied(&charms, Some(&live), &second, false, &by("b", 3)).unwrap();
        prop_assert_eq!(again, live);
    }

    #[test]
    fn disjoint_appliers_commute(first in charm("p"), second in charm("q")) {
        let charms = charms();
        let both = |one: &Value, a: &str, other: &Value, b: &str| {
            let live = applied(&charms, None, one, false, &by(a, 1)).unwrap();
            applied(&charms, Some(&live), other, false, &by(b, 1)).unwrap()
        };
        let ab = both(&first, "a", &second, "b");
        let ba = both(&second, "b", &first, "a");
        prop_assert_eq!(content(&ab), content(&ba));
    }

    #[test]
    fn what_an_applier_drops_leaves_the_others_alone(first in charm("p"), second in charm("q"), third in charm("p")) {
        let charms = charms();
        let live = applied(&charms, None, &first, false, &by("a", 1)).unwrap();
        let live = applied(&charms, Some(&live), &second, false, &by("b", 1)).unwrap();
        let live = applied(&charms, Some(&live), &third, true, &by("a", 1)).unwrap();
        let fresh = applied(&charms, None, &third, false, &by("a", 1)).unwrap();
        let fresh = applied(&charms, Some(&fresh), &second, false, &by("b", 1)).unwrap();
        prop_assert_eq!(content(&live), content(&fresh));
    }
}
