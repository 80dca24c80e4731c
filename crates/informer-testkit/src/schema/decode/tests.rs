//! Decoding of Kubernetes' own kinds.

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

fn read(api_version: &str, kind: &str, text: &str) -> (Value, Report) {
    let target = Target::of_kind(api_version, kind).expect("a kind of the table");
    decode(&mut serde_json::Deserializer::from_str(text), target, "").expect("JSON")
}

#[test]
fn unknown_and_double_fields_are_named_in_their_order() {
    let text = r#"{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","labels":{"x":"1","x":"2"},"odd":1},
        "spec":{"replicas":1,"replicas":2,"nope":{"a":1,"a":2},"template":{"spec":{"containers":[{"name":"c","nam":1}]}}},"top":1}"#;
    let (value, report) = read("apps/v1", "Deployment", text);
    assert_eq!(
        report.strict,
        [
            r#"duplicate field "metadata.labels.x""#,
            r#"unknown field "metadata.odd""#,
            r#"duplicate field "spec.replicas""#,
            r#"unknown field "spec.nope""#,
            r#"unknown field "spec.template.spec.containers[0].nam""#,
            r#"unknown field "top""#,
        ]
    );
    assert_eq!(report.wrong, None);
    assert_eq!(
        value["spec"],
        json!({"replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}})
    );
}

#[test]
fn first_value_of_another_type_is_told_in_the_words_of_go() {
    for (text, wrong) in [
        (
            r#"{"spec":{"replicas":"3","paused":1}}"#,
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#"{"spec":{"replicas":3.5}}"#,
            "number 3.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#"{"metadata":{"labels":{"a":1}}}"#,
            "number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            r#"{"spec":[]}"#,
            "array into Go struct field Deployment.spec of type v1.DeploymentSpec",
        ),
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"name":1}]}}}}"#,
            "number into Go struct field Container.spec.template.spec.containers.name of type string",
        ),
    ] {
        let (_, report) = read("apps/v1", "Deployment", text);
        assert_eq!(
            report.wrong.unwrap_or_default(),
            format!("json: cannot unmarshal {wrong}")
        );
    }
}

#[test]
fn what_go_leaves_out_is_left_out() {
    let text = r#"{"metadata":{"name":"a","labels":{},"annotations":null,"generation":0},"data":{"k":null},"immutable":false}"#;
    let (value, report) = read("v1", "ConfigMap", text);
    assert_eq!(
        value,
        json!({"metadata": {"name": "a"}, "data": {"k": ""}, "immutable": false})
    );
    assert!(report.strict.is_empty() && report.wrong.is_none());
}

#[test]
fn decoding_again_changes_nothing() {
    let text = r#"{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":1}},"ports":[]}],"nope":1}}"#;
    let (once, _) = read("v1", "Pod", text);
    let (twice, report) = read("v1", "Pod", &once.to_string());
    assert_eq!(once, twice);
    assert!(report.strict.is_empty());
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z0-9]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let key = prop_oneof![
            "spec",
            "metadata",
            "labels",
            "containers",
            "template",
            "name",
            "a"
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..4)
                .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn any_value_is_decoded_once(value in json_value()) {
        for (api_version, kind) in [("v1", "Pod"), ("apps/v1", "Deployment")] {
            let (once, _) = read(api_version, kind, &value.to_string());
            let (twice, report) = read(api_version, kind, &once.to_string());
            prop_assert_eq!(&once, &twice);
            prop_assert!(report.strict.is_empty());
        }
    }
}
