//! Tests of request bodies: what a real server says, and ways through protobuf.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use fastrand::Rng;
use informer_wire::schema::{Field, Form, Scalar};
use proptest::prelude::*;
use serde_json::{Map, json};

use informer_wire::{DeleteOptions, Propagation};

use super::*;
use crate::protobuf as encode;
use crate::request::RequestRecord;
use crate::resource::Registry;

const PROTOBUF: &str = crate::protobuf::MEDIA_TYPE;

fn builtin(name: &str) -> std::sync::Arc<ResourceType> {
    Registry::with_builtin().resolve(name).unwrap()
}

fn refused(media_type: &str, body: &[u8], resource: &ResourceType) -> (u16, String) {
    let status = object(media_type, body, resource, true).unwrap_err();
    let reason = if status.code == 415 {
        "UnsupportedMediaType"
    } else {
        "BadRequest"
    };
    assert!(status.code == 422 || status.reason == reason, "{status:?}");
    (status.code, status.message)
}

/// The answers of a real server.
#[test]
fn unreadable_object_is_refused_in_a_real_servers_words() {
    let maps = builtin("configmaps");
    let json = "application/json";
    let nothing = "json: cannot unmarshal array into Go value of type struct { APIVersion string \
                   \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let meta = encode::envelope("v1", "ConfigMap", b"\x08\x01");
    let broken = encode::envelope("v1", "ConfigMap", b"\xff");
    let secret = encode::envelope("v1", "Secret", b"");
    let group = encode::envelope("v1", "ConfigMap", b"\x7c");
    for (media_type, body, message) in [
        (
            json,
            &b"{"[..],
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({)",
        ),
        (
            json,
            b"",
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
        ),
        (
            json,
            b"[]",
            &format!(
                "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: {nothing} (5b5d)"
            ),
        ),
        (
            json,
            br#"{"apiVersion":"a/b/c","kind":"ConfigMap"}"#,
            r#"the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)"#,
        ),
        (
            json,
            br#"{"kind":1}"#,
            r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"kind":1})"#,
        ),
        (
            json,
            br#"{"kind":"Nonsense","apiVersion":"v1"}"#,
            r#"Nonsense in version "v1" cannot be handled as a ConfigMap: no kind "Nonsense" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#,
        ),
        (
            json,
            br#"{"kind":"Secret"}"#,
            r#"Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion"#,
        ),
        (
            json,
            br#"{"apiVersion":"v2"}"#,
            r#"ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111""#,
        ),
        (
            json,
            br#"{"kind":"Status","apiVersion":"v1"}"#,
            r#"Status in version "v1" cannot be handled as a ConfigMap: converting (v1.Status) to (core.ConfigMap): unknown conversion"#,
        ),
        (
            json,
            br#"{"metadata":1}"#,
            r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.metadata of type v1.ObjectMeta"#,
        ),
        (
            json,
            br#"{"metadata":{"labels":{"a":1}}}"#,
            r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"#,
        ),
        (
            PROTOBUF,
            b"",
            "the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)",
        ),
        (
            PROTOBUF,
            b"abc",
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (616263)",
        ),
        (
            PROTOBUF,
            b"k8s\0",
            "the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)",
        ),
        (
            PROTOBUF,
            b"k8s\0\x0a\xff",
            "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000aff)",
        ),
        (
            PROTOBUF,
            &secret,
            r#"Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion"#,
        ),
        (
            PROTOBUF,
            &broken,
            r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF"#,
        ),
        (
            PROTOBUF,
            &meta,
            r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field ObjectMeta"#,
        ),
        (
            PROTOBUF,
            &group,
            r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: ConfigMap: wiretype end group for non-group"#,
        ),
    ] {
        assert_eq!(refused(media_type, body, &maps), (400, message.to_owned()));
    }
    let message = "the body of the request was in an unknown format - accepted media types include: application/json, \
                   application/yaml, application/vnd.kubernetes.protobuf";
    assert_eq!(
        refused("text/plain", b"{}", &maps),
        (415, message.to_owned())
    );
    let scaler = builtin("autoscaling/v2/horizontalpodautoscalers");
    let message = "the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)";
    let body = br#"{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v1"}"#;
    assert_eq!(refused(json, body, &scaler), (400, message.to_owned()));
}

/// The answers of a real server, but for protobuf, at which it drops the connection.
#[test]
fn custom_resource_needs_its_type() {
    let widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets");
    let mismatch = "does not match the expected API version (demo.example/v1)";
    for (body, code, message) in [
        (r#"{"metadata":{"name":"w"}}"#, 400, r#"the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in '{"metadata":{"name":"w"}}' ({"metadata":{"name":"w"}})"#.to_owned()),
        ("null", 400, "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in 'null' (6e756c6c)".to_owned()),
        (r#"{"kind":"Widget"}"#, 400, format!("the API version in the data () {mismatch}")),
        (r#"{"apiVersion":"v1","kind":"ConfigMap"}"#, 400, format!("the API version in the data (v1) {mismatch}")),
        (r#"{"apiVersion":"demo.example/v1","kind":"Wodget","metadata":{"name":"w"}}"#, 422, r#"Wodget.demo.example "w" is invalid: kind: Invalid value: "Wodget": must be Widget"#.to_owned()),
        (r#"{"apiVersion":"demo.example/v1","kind":"Widget","metadata":[]}"#, 400, r#"Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal array into Go value of type v1.ObjectMeta"#.to_owned()),
        (r#"{"apiVersion":"demo.example/v1","kind":"Widget","metadata":{"name":1}}"#, 400, r#"Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"#.to_owned()),
    ] {
        assert_eq!(refused("", body.as_bytes(), &widgets), (code, message));
    }
    assert_eq!(refused(PROTOBUF, b"k8s\0", &widgets).0, 415);
}

#[test]
fn object_is_read_in_every_format_and_gets_its_type() {
    let maps = builtin("configmaps");
    let expected = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let bytes = encode::object(&expected).unwrap();
    let untyped = encode::message("v1", "ConfigMap", &expected).unwrap();
    for (media_type, body) in [
        (
            "application/json; charset=utf-8",
            &br#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#[..],
        ),
        (
            "",
            br#"{"kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#,
        ),
        ("application/yaml", b"metadata:\n  name: a\ndata:\n  k: v\n"),
        (PROTOBUF, &bytes),
        (PROTOBUF, &encode::envelope("", "", &untyped)),
    ] {
        assert_eq!(
            object(media_type, body, &maps, true).unwrap(),
            expected,
            "{media_type}"
        );
    }
    // What is not known is passed over, groups too.
    let unknown = [&untyped[..], b"\x78\x01\x7b\x08\x01\x7c"].concat();
    let body = encode::envelope("v1", "ConfigMap", &unknown);
    assert_eq!(object(PROTOBUF, &body, &maps, true).unwrap(), expected);
}

#[test]
fn zero_is_kept_where_it_is_not_the_same_as_absent() {
    let deployments = builtin("deployments");
    let sent = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 0, "paused": false}});
    let body = encode::object(&sent).unwrap();
    let read = object(PROTOBUF, &body, &deployments, true).unwrap();
    assert_eq!(read["spec"]["replicas"], 0);
    assert!(read["spec"].get("paused").is_none(), "{read}");
}

#[test]
fn delete_options_are_read_in_every_format() {
    let record = RequestRecord::parse("DELETE", "/api/v1/namespaces/n/pods/a", "dryRun=All");
    let read = |media_type: &str, body: &[u8]| {
        delete_options(&record, media_type, body, true)
            .map(|wish| wish.how)
            .map_err(|status| (status.code, status.message))
    };
    let expected = DeleteOptions::default()
        .grace_period_seconds(3)
        .only_uid("u");
    let json = json!({"gracePeriodSeconds": 3, "preconditions": {"uid": "u"}});
    let message = encode::message("v1", "DeleteOptions", &json).unwrap();
    for (media_type, body) in [
        ("application/json", json.to_string().into_bytes()),
        (
            "application/yaml",
            b"gracePeriodSeconds: 3\npreconditions: {uid: u}".to_vec(),
        ),
        (PROTOBUF, encode::envelope("v1", "DeleteOptions", &message)),
        (
            PROTOBUF,
            encode::envelope("apps/v1", "DeleteOptions", &message),
        ),
    ] {
        assert_eq!(
            read(media_type, &body),
            Ok(expected.clone()),
            "{media_type}"
        );
    }
    assert!(read("", b"").unwrap().dry_run);
    let orphan = read("", br#"{"orphanDependents":true}"#).unwrap();
    assert_eq!(
        orphan,
        DeleteOptions::default().propagation(Propagation::Orphan)
    );
    let unregistered = r#"no kind "ConfigMap" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#;
    for (media_type, body, message) in [
        (
            "",
            &b"{"[..],
            "couldn't get version/kind; json parse error: unexpected end of JSON input",
        ),
        (
            "",
            br#"{"kind":"ConfigMap","apiVersion":"v1"}"#,
            unregistered,
        ),
        (
            "",
            br#"{"dryRun":"All"}"#,
            "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string",
        ),
        (
            PROTOBUF,
            b"abc",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (PROTOBUF, b"k8s\0\xff", "unexpected EOF"),
        (
            PROTOBUF,
            &encode::envelope("v1", "ConfigMap", b""),
            unregistered,
        ),
        (
            PROTOBUF,
            &encode::envelope("v1", "DeleteOptions", b"\xff"),
            "unexpected EOF",
        ),
    ] {
        assert_eq!(read(media_type, body), Err((400, message.to_owned())));
    }
}

/// An object of a message, whose fields are absent or not zero.
fn random_object(message: Message, rng: &mut Rng, depth: u32) -> Value {
    let mut object = Map::new();
    for (_, field) in message.fields() {
        if let (true, Scalar::Message(inner)) = (field.is_inline(), field.scalar()) {
            if let Value::Object(fields) = random_object(inner, rng, depth) {
                object.extend(fields);
            }
        } else if rng.u32(..10) < depth {
            object.insert(field.name().to_owned(), random_field(field, rng, depth - 1));
        }
    }
    object.into()
}

fn random_field(field: Field, rng: &mut Rng, depth: u32) -> Value {
    let mut one = || random_value(field.scalar(), &mut *rng, depth);
    if field.is_map() {
        return json!({ "a": one(), "b": one() });
    }
    if field.is_repeated() {
        return json!([one(), one()]);
    }
    one()
}

fn random_value(scalar: Scalar, rng: &mut Rng, depth: u32) -> Value {
    match scalar {
        Scalar::String => format!("text{}", rng.u8(..)).into(),
        Scalar::Bytes => ["AAEC", "eA=="][rng.usize(..2)].into(),
        Scalar::Bool => true.into(),
        Scalar::Int32 => rng.i32(..0).into(),
        Scalar::Int64 => rng.i64(1..).into(),
        Scalar::Uint32 => rng.u32(1..).into(),
        Scalar::Uint64 => rng.u64(1..).into(),
        Scalar::Float64 => (f64::from(rng.i32(1..)) / 8.0).into(),
        Scalar::Message(message) => match message.form() {
            Form::Object => random_object(message, rng, depth),
            Form::List => match message.field(1) {
                Some(element) => json!([random_value(element.scalar(), rng, depth)]),
                None => json!([]),
            },
            Form::Time => "2026-01-02T03:04:05Z".into(),
            Form::MicroTime => "2026-01-02T03:04:05.000678Z".into(),
            Form::Quantity => ["100m", "1Gi"][rng.usize(..2)].into(),
            Form::IntOrString => [json!("50%"), json!(rng.i32(..))][rng.usize(..2)].clone(),
            Form::FieldsV1 | Form::RawExtension => json!({ "f:x": {} }),
        },
    }
}

/// Whether the second is the first with fields that have zero values.
fn is_filled(from: &Value, into: &Value) -> bool {
    match (from, into) {
        (Value::Object(from), Value::Object(into)) => {
            into.iter().all(|(key, value)| match from.get(key) {
                Some(from) => is_filled(from, value),
                None => is_zero(value),
            }) && from.keys().all(|key| into.contains_key(key))
        }
        (Value::Array(from), Value::Array(into)) => {
            from.len() == into.len()
                && from
                    .iter()
                    .zip(into)
                    .all(|(from, into)| is_filled(from, into))
        }
        _ => from == into,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().all(is_zero),
        Value::Array(_) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty() || text == "0",
        value => value.is_null() || *value == false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_built_in_kind_is_the_same_after_a_way_through_protobuf(seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let registry = Registry::with_builtin();
        let mut kinds = 0;
        for resource in registry.iter() {
            let (version, kind) = (resource.api_version(), &resource.kind);
            let Some(message) = Message::of_kind(&version, kind) else {
                prop_assert!(["APIService", "CustomResourceDefinition"].contains(&kind.as_str()));
                continue;
            };
            let mut sent = random_object(message, &mut rng, 9);
            name(&mut sent, &version, kind);
            if !sent["metadata"].is_object() {
                sent["metadata"] = json!({ "generateName": "a-" });
            }
            let bytes = encode::object(&sent).unwrap();
            let read = object(PROTOBUF, &bytes, resource, true).unwrap();
            prop_assert!(is_filled(&sent, &read), "{kind}: {sent} {read}");
            let again = encode::object(&read).unwrap();
            prop_assert_eq!(object(PROTOBUF, &again, resource, true).unwrap(), read);
            // Whatever is cut off or changed is no panic.
            let _ = object(PROTOBUF, &bytes[..rng.usize(..bytes.len())], resource, true);
            let mut changed = bytes;
            let at = rng.usize(..changed.len());
            changed[at] = rng.u8(..);
            let _ = object(PROTOBUF, &changed, resource, true);
            kinds += 1;
        }
        prop_assert!(kinds > 40);
    }
}
