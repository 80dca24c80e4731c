//! What single objects in protobuf become, as each type.

use super::encodings::nest;
use super::*;

use informer_wire::Interner;
use k8s_openapi::api::core::v1::Pod;

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Fields {
    spec: Spec,
    status: Option<Phase>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Phase {
    phase: Option<String>,
}

fn from_json<K: FromWire>(object: &Value) -> K {
    decode_object(WireFormat::Json, object.to_string().as_bytes(), &options()).expect("it is JSON")
}

fn from_protobuf<K: FromWire>(object: &Value) -> K {
    decode(&enveloped(object)).unwrap_or_else(|error| panic!("{error}"))
}

// INV-WIRE-15
#[test]
fn every_type_is_equal_from_both_formats() {
    // As a server would write it, with all that it fills in.
    let pod: Value = decode_object(
        PROTOBUF,
        &enveloped(&pod()),
        &options().keep_managed_fields(true),
    )
    .unwrap();
    assert_eq!(from_protobuf::<Value>(&pod), lean(pod.clone()));
    assert_eq!(from_protobuf::<Pod>(&pod), from_json::<Pod>(&pod));
    assert!(from_protobuf::<Pod>(&pod).metadata.managed_fields.is_none());
    assert_eq!(from_protobuf::<Fields>(&pod), from_json::<Fields>(&pod));
    assert_eq!(
        from_protobuf::<View<Fields>>(&pod),
        from_json::<View<Fields>>(&pod)
    );
    assert_eq!(
        from_protobuf::<PartialObjectMetadata>(&pod),
        from_json::<PartialObjectMetadata>(&pod)
    );
    let [protobuf, json] = [
        from_protobuf::<Compact<Pod>>(&pod),
        from_json::<Compact<Pod>>(&pod),
    ];
    assert_eq!(protobuf.metadata(), json.metadata());
    assert_eq!(protobuf.decode(), json.decode());
    assert_eq!(protobuf.format(), PROTOBUF);
    assert!(protobuf.raw().len() < json.raw().len());
}

// INV-WIRE-7
#[test]
fn compact_object_returns_all_that_it_holds() {
    let pod: Value = decode_object(PROTOBUF, &enveloped(&pod()), &options()).unwrap();
    let compact: Dynamic = from_protobuf(&pod);
    assert_eq!((compact.api_version(), compact.kind()), ("v1", "Pod"));
    assert_eq!(compact.decode().unwrap(), pod);
    assert_eq!(
        serde_json::from_slice::<Value>(&compact.to_json().unwrap()).unwrap(),
        pod
    );
    assert_eq!(serde_json::to_value(&compact).unwrap(), pod);
    assert!(!format!("{compact:?}").contains("node"));
    let again = Compact::<Compact<Pod>>::decode(&from_protobuf(&pod)).unwrap();
    assert_eq!(again.decode().unwrap(), from_json::<Pod>(&pod));
}

#[test]
fn single_fields_are_read_by_their_path() {
    let pod: Dynamic = from_protobuf(&pod());
    let text = |path: &str| pod.field::<String>(path).unwrap();
    assert_eq!(text("/spec/nodeName").as_deref(), Some("node"));
    assert_eq!(text("/spec/containers/1/name").as_deref(), Some("d"));
    assert_eq!(
        text("/spec/containers/0/resources/limits/cpu").as_deref(),
        Some("100m")
    );
    assert_eq!(
        text("/spec/containers/1/livenessProbe/httpGet/port").as_deref(),
        Some("http")
    );
    assert_eq!(
        pod.field::<u16>("/spec/containers/0/livenessProbe/httpGet/port")
            .unwrap(),
        Some(80)
    );
    assert_eq!(
        text("/status/startTime").as_deref(),
        Some("2026-11-29T15:33:38Z")
    );
    assert_eq!(
        pod.field::<Vec<Value>>("/spec/containers")
            .unwrap()
            .map(|all| all.len()),
        Some(2)
    );
    // A field of a message that is inlined.
    assert_eq!(
        pod.field::<Value>("/spec/volumes/0/emptyDir").unwrap(),
        Some(json!({}))
    );
    assert_eq!(
        pod.field::<Value>("").unwrap().unwrap()["status"]["phase"],
        "Running"
    );
    for absent in [
        "/spec/x",
        "/spec/nodeName/x",
        "/spec/containers/2",
        "/spec/containers/x",
        "/status/message",
        "/metadata",
    ] {
        assert_eq!(pod.field::<Value>(absent).unwrap(), None, "{absent}");
    }
    let error = pod.field::<u8>("/spec/nodeName").expect_err("no number");
    assert!(error.to_string().contains("/spec/nodeName"), "{error}");
    assert!(!error.to_string().contains("\"node\""), "{error}");
}

#[test]
fn fields_within_raw_json_are_read_by_their_path() {
    let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"},
        "data": {"spec": {"list": [1, {"b": 2}]}}, "revision": 1});
    let revision: Dynamic = from_protobuf(&revision);
    assert_eq!(
        revision.field::<u8>("/data/spec/list/1/b").unwrap(),
        Some(2)
    );
    assert_eq!(revision.field::<u8>("/data/spec/x").unwrap(), None);
    assert_eq!(revision.field::<u8>("/revision").unwrap(), Some(1));
}

#[test]
fn metadata_is_read_and_written_as_on_the_server() {
    let pod: PartialObjectMetadata = from_protobuf(&pod());
    let meta = pod.metadata();
    assert_eq!((meta.namespace(), meta.name()), (Some("n"), "a"));
    assert_eq!(meta.label("app"), Some("shop"));
    assert_eq!(meta.label("tier"), Some(""));
    assert_eq!(meta.annotation("note"), Some("é ✓"));
    assert_eq!(meta.generation(), Some(2));
    assert_eq!(
        meta.creation_timestamp()
            .map(|time| time.to_string())
            .as_deref(),
        Some("2026-11-29T15:33:37Z")
    );
    assert_eq!(meta.owner_references().count(), 1);
    assert_eq!(meta.finalizers().collect::<Vec<_>>(), ["a/b"]);
    assert_eq!(
        serde_json::to_value(meta).unwrap(),
        lean(super::pod())["metadata"]
    );
}

#[test]
fn objects_of_one_interner_share_their_texts() {
    let shared = options().interner(Interner::default());
    let address = || {
        let pod: PartialObjectMetadata =
            decode_object(PROTOBUF, &enveloped(&pod()), &shared).unwrap();
        pod.metadata().label("app").map(str::as_ptr)
    };
    assert_eq!(address(), address());
}

/// Shapes that users' types have, beyond what k8s-openapi's have.
#[test]
fn types_of_every_shape_read_protobuf_as_json() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Newtype(String);
    #[derive(Debug, PartialEq, Deserialize)]
    enum Policy {
        Always,
        Never,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Handler {
        HttpGet(Value),
        Exec { command: Vec<String> },
        TcpSocket,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Port {
        Number(u16),
        Name(String),
    }
    #[derive(Debug, Deserialize)]
    struct Shapes {
        kind: Newtype,
        spec: ShapesSpec,
        #[serde(flatten)]
        rest: serde_json::Map<String, Value>,
    }
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ShapesSpec {
        restart_policy: Policy,
        init_containers: Option<Vec<Value>>,
        #[serde(default)]
        volumes: Vec<Value>,
        containers: (Container,),
        node_selector: std::collections::HashMap<u32, Newtype>,
        affinity: Option<()>,
        dns_config: Box<serde_json::value::RawValue>,
        active_deadline_seconds: f64,
    }
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Container {
        ports: [PortField; 1],
        lifecycle: std::collections::BTreeMap<String, Handler>,
        liveness_probe: Probe,
    }
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PortField {
        container_port: u16,
    }
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Probe {
        http_get: Get,
    }
    #[derive(Debug, Deserialize)]
    struct Get {
        port: Port,
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {
            "restartPolicy": "Never", "activeDeadlineSeconds": 5, "nodeSelector": {"7": "x"}, "dnsConfig": {"searches": ["s"]},
            "containers": [{
                "name": "c", "ports": [{"containerPort": 80}],
                "lifecycle": {"postStart": {"exec": {"command": ["a", "b"]}}, "preStop": {"httpGet": {"port": 1}}},
                "livenessProbe": {"httpGet": {"port": "name"}}
            }]
        }
    });
    let shapes: Shapes = from_protobuf(&pod);
    assert_eq!(shapes.kind, Newtype("Pod".to_owned()));
    assert_eq!(shapes.rest["metadata"]["name"], "a");
    let spec = shapes.spec;
    assert_eq!(
        (spec.restart_policy, spec.init_containers, spec.affinity),
        (Policy::Never, None, None)
    );
    assert!(spec.volumes.is_empty());
    assert_eq!(spec.node_selector[&7], Newtype("x".to_owned()));
    assert_eq!(spec.dns_config.get(), r#"{"searches":["s"]}"#);
    assert_eq!(spec.active_deadline_seconds, 5.0);
    let container = spec.containers.0;
    assert_eq!(container.ports[0].container_port, 80);
    assert_eq!(
        container.lifecycle["postStart"],
        Handler::Exec {
            command: vec!["a".to_owned(), "b".to_owned()]
        }
    );
    assert!(matches!(
        container.lifecycle["preStop"],
        Handler::HttpGet(_)
    ));
    assert_eq!(
        container.liveness_probe.http_get.port,
        Port::Name("name".to_owned())
    );
}

#[test]
fn absent_required_list_is_empty() {
    #[derive(Debug, Deserialize)]
    struct Role {
        rules: Vec<Value>,
    }
    #[derive(Debug, Deserialize)]
    struct Lenient {
        #[serde(default)]
        rules: Vec<Value>,
    }
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"}, "rules": null});
    assert!(from_protobuf::<Role>(&role).rules.is_empty());
    assert!(from_protobuf::<Lenient>(&role).rules.is_empty());
    assert_eq!(from_protobuf::<Value>(&role), role);
}

#[test]
fn nested_object_may_have_an_envelope() {
    let inner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"x": "y"}});
    let mut raw = Vec::new();
    protobuf::write_bytes(1, &enveloped(&inner), &mut raw);
    let bytes = nest("apps/v1", "ControllerRevision", &["data"], &raw);
    let revision: Value = decode(&bytes).unwrap();
    assert_eq!(revision["data"], inner);
    // Of a kind that nobody knows, as JSON; without end.
    let mut nested = enveloped(&inner);
    for _ in 0..200 {
        let mut raw = Vec::new();
        protobuf::write_bytes(1, &nested, &mut raw);
        nested = nest("apps/v1", "ControllerRevision", &["data"], &raw);
    }
    assert!(
        matches!(decode::<Value>(&nested), Err(DecodeError::TooDeep { .. })),
        "too deep"
    );
    let limits = Limits::default().depth(3);
    let error = decode_object::<Value>(PROTOBUF, &enveloped(&pod()), &options().limits(limits));
    assert_eq!(
        error,
        Err(DecodeError::TooDeep {
            what: "object",
            limit: 3
        })
    );
}

// INV-WIRE-10
#[test]
fn protobuf_error_names_its_place_and_quotes_nothing() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only decoded")]
    struct Wrong {
        spec: WrongSpec,
    }
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only decoded")]
    struct WrongSpec {
        containers: Vec<WrongContainer>,
    }
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is only decoded")]
    struct WrongContainer {
        name: u8,
    }
    let mut pod = pod();
    pod["spec"]["containers"][1]["name"] = "secret".into();
    pod["spec"]["containers"][0]["name"] = "secret".into();
    let error = decode::<Wrong>(&enveloped(&pod))
        .expect_err("a name is no number")
        .to_string();
    assert!(error.contains(".spec.containers[0].name"), "{error}");
    assert!(!error.contains("secret"), "{error}");
    // A field of another type, as a later version might have it.
    let error =
        decode::<Value>(&nest("v1", "Pod", &["spec"], &[0x50, 1])).expect_err("nodeName is a text");
    assert!(
        error
            .to_string()
            .contains("encoded as another type than it has at .spec.nodeName"),
        "{error}"
    );
    let error =
        decode::<Value>(&nest("v1", "Pod", &["spec"], &[0x52, 200, 1])).expect_err("a length lies");
    assert!(
        error
            .to_string()
            .contains("length exceeds the bytes at .spec"),
        "{error}"
    );
    let mut revision = Vec::new();
    protobuf::write_bytes(1, br#"{"secret":"#, &mut revision);
    let error = decode::<Value>(&nest("apps/v1", "ControllerRevision", &["data"], &revision))
        .expect_err("no JSON");
    assert!(
        error
            .to_string()
            .contains("invalid JSON within protobuf at .data"),
        "{error}"
    );
}

#[test]
fn unknown_kind_has_metadata_only() {
    let mut message = Vec::new();
    protobuf::write_bytes(1, &[0x0a, 1, b'a'], &mut message);
    let bytes = protobuf::envelope("demo.example/v1", "Widget", &message);
    assert_eq!(
        decode::<PartialObjectMetadata>(&bytes)
            .unwrap()
            .metadata()
            .name(),
        "a"
    );
    let widget: Dynamic = decode(&bytes).unwrap();
    assert_eq!(widget.kind(), "Widget");
    for error in [
        decode::<Value>(&bytes).expect_err("no table"),
        widget.decode().expect_err("no table"),
    ] {
        assert!(error.to_string().contains("unknown kind"), "{error}");
    }
    assert!(widget.field::<Value>("/spec").is_err());
    assert!(widget.to_json().is_err());
    assert!(serde_json::to_string(&widget).is_err());
}

#[test]
fn status_in_place_of_an_object_is_an_error() {
    let status = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": "no", "reason": "Forbidden",
        "details": {"name": "a", "kind": "pods", "retryAfterSeconds": 3, "causes": [{"reason": "r", "message": "m", "field": "f"}]}, "code": 403});
    let bytes = enveloped(&status);
    let error = decode::<Pod>(&bytes).expect_err("it is an error");
    let read = error.status().expect("it holds the status");
    assert_eq!(read, &from_status(&status));
    assert!(read.is_forbidden());
    assert_eq!(read.retry_after().map(|wait| wait.as_secs()), Some(3));
    // INV-WIRE-11
    let answer = Status::from_response(403, Some("application/vnd.kubernetes.protobuf"), &bytes);
    assert_eq!(answer, from_status(&status));
}

fn from_status(status: &Value) -> Status {
    serde_json::from_value(status.clone()).expect("it is a status")
}

// INV-WIRE-13
#[test]
fn broken_bytes_are_errors() {
    let bytes = enveloped(&pod());
    for cut in 0..bytes.len() - 4 {
        let error = decode::<Value>(&bytes[..cut]).err();
        assert!(error.is_some(), "{cut}");
    }
    for bytes in [
        &b""[..],
        b"{}",
        b"k8s",
        b"k8s\0",
        b"k8s\0\x12\xff\xff\xff\xff\x0f",
        b"k8s\0\x1a\x04gzip\x12\0",
    ] {
        assert!(decode::<Value>(bytes).is_err(), "{bytes:?}");
    }
    let limits = options().limits(Limits::default().object_bytes(10));
    let error = decode_object::<Value>(PROTOBUF, &enveloped(&pod()), &limits);
    assert_eq!(
        error,
        Err(DecodeError::TooLarge {
            what: "object",
            limit: 10
        })
    );
    // An envelope around JSON.
    let mut json = protobuf::envelope("", "", br#"{"kind":"Pod","metadata":{"name":"a"}}"#);
    json.truncate(json.len() - 2);
    protobuf::write_bytes(4, b"application/json", &mut json);
    assert_eq!(decode::<Value>(&json).unwrap()["kind"], "Pod");
}

#[test]
fn metadata_may_be_in_parts() {
    let mut message = Vec::new();
    protobuf::write_bytes(1, &[0x0a, 1, b'a'], &mut message);
    message.extend(protobuf::message("v1", "Pod", &json!({"spec": {"nodeName": "x"}})).unwrap());
    let mut rest = Vec::new();
    protobuf::write_bytes(1, &[0x1a, 1, b'n', 0x0a, 1, b'b'], &mut rest);
    message.extend(rest);
    let bytes = protobuf::envelope("v1", "Pod", &message);
    let meta: PartialObjectMetadata = decode(&bytes).unwrap();
    assert_eq!(
        (meta.metadata().namespace(), meta.metadata().name()),
        (Some("n"), "b")
    );
    let compact: Dynamic = decode(&bytes).unwrap();
    assert_eq!(compact.decode().unwrap()["metadata"]["name"], "b");
    assert_eq!(
        decode::<Value>(&bytes).unwrap()["metadata"]["namespace"],
        "n"
    );
    assert_eq!(
        compact
            .field::<String>("/spec/nodeName")
            .unwrap()
            .as_deref(),
        Some("x")
    );
}

#[test]
fn table_lists_resources_with_protobuf() {
    for name in [
        "pods",
        "deployments",
        "leases",
        "events.events.k8s.io",
        "ingresses",
    ] {
        assert!(Resource::builtin(name).unwrap().has_protobuf(), "{name}");
    }
    // Their protobuf is in none of the modules that the table is made from.
    assert!(!Resource::builtin("crd").unwrap().has_protobuf());
    let meta: ObjectMeta = serde_json::from_value(pod()["metadata"].clone()).unwrap();
    assert_eq!(
        &meta,
        from_protobuf::<PartialObjectMetadata>(&pod()).metadata()
    );
}

// INV-WIRE-18
#[test]
fn chosen_paths_and_annotations_are_dropped_from_both_formats_alike() {
    let mut pod: Value = decode_object(PROTOBUF, &enveloped(&pod()), &options()).unwrap();
    let dropped = options()
        .drop_annotation("note")
        .drop_path("/metadata/finalizers")
        .drop_path("/metadata/name")
        .drop_path("/spec/containers/*/resources")
        .drop_path("/spec/containers/0/livenessProbe/httpGet/path")
        .drop_path("/spec/volumes/0/emptyDir")
        .drop_path("/spec/absent/x")
        .drop_path("/status/startTime");
    let read = |format, bytes: &[u8]| {
        let value: Value = decode_object(format, bytes, &dropped).unwrap();
        let compact: Dynamic = decode_object(format, bytes, &dropped).unwrap();
        let meta: PartialObjectMetadata = decode_object(format, bytes, &dropped).unwrap();
        let view: View<Value> = decode_object(format, bytes, &dropped).unwrap();
        assert_eq!(compact.decode().unwrap(), value);
        assert_eq!(view.metadata, *meta.metadata());
        assert_eq!(meta.metadata().annotation("note"), None);
        value
    };
    let protobuf = read(PROTOBUF, &enveloped(&pod));
    assert_eq!(read(WireFormat::Json, pod.to_string().as_bytes()), protobuf);
    let metadata = pod["metadata"].as_object_mut().unwrap();
    metadata.remove("annotations");
    metadata.remove("finalizers");
    for container in pod["spec"]["containers"].as_array_mut().unwrap() {
        container.as_object_mut().unwrap().remove("resources");
    }
    let get = &mut pod["spec"]["containers"][0]["livenessProbe"]["httpGet"];
    get.as_object_mut().unwrap().remove("path");
    pod["spec"]["volumes"][0]
        .as_object_mut()
        .unwrap()
        .remove("emptyDir");
    pod["status"].as_object_mut().unwrap().remove("startTime");
    assert_eq!(protobuf, pod);
}

// INV-WIRE-18
#[test]
fn emptied_values_are_as_a_server_writes_them_in_both_formats() {
    let pod: Value = decode_object(PROTOBUF, &enveloped(&json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "labels": {"l": "1"}, "finalizers": ["f"]},
        "spec": {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "k"}], "containers": [{"name": "c",
            "resources": {"limits": {"cpu": "1"}}, "env": [{"name": "E"}]}],
            "volumes": [{"name": "v", "configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}}]}})), &options())
    .unwrap();
    let dropped = options()
        .drop_path("/metadata/labels/l")
        .drop_path("/metadata/finalizers/*")
        .drop_path("/spec/nodeSelector/*")
        .drop_path("/spec/tolerations/0")
        .drop_path("/spec/containers/*/env/*")
        .drop_path("/spec/containers/0/resources/limits/cpu")
        .drop_path("/spec/volumes/0/configMap/items/*");
    let read = |format, bytes: &[u8]| decode_object::<Value>(format, bytes, &dropped).unwrap();
    let protobuf = read(PROTOBUF, &enveloped(&pod));
    assert_eq!(read(WireFormat::Json, pod.to_string().as_bytes()), protobuf);
    assert_eq!(protobuf["metadata"], json!({"name": "a"}));
    assert_eq!(protobuf["spec"]["nodeSelector"], Value::Null);
    // An object stays.
    assert_eq!(
        protobuf["spec"]["containers"],
        json!([{"name": "c", "resources": {}}])
    );
    // A list that servers show as null when there is none.
    let all = options().drop_path("/spec/containers/*");
    let protobuf: Value = decode_object(PROTOBUF, &enveloped(&pod), &all).unwrap();
    let json: Value = decode_object(WireFormat::Json, pod.to_string().as_bytes(), &all).unwrap();
    assert_eq!(json, protobuf);
    assert!(json["spec"].as_object().unwrap()["containers"].is_null());
}

// INV-WIRE-18
#[test]
fn elements_of_the_lists_in_a_map_are_dropped_from_both_formats_alike() {
    let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": "a"}, "spec": {"request": "AA==", "signerName": "s", "usages": ["client auth"],
            "extra": {"a": ["1", "2"], "b": ["3", "4"], "c": ["5"]}}, "status": {}});
    let dropped = options()
        .drop_path("/spec/extra/a/0")
        .drop_path("/spec/extra/b/*");
    let read = |format, bytes: &[u8]| decode_object::<Value>(format, bytes, &dropped).unwrap();
    let protobuf = read(PROTOBUF, &enveloped(&request));
    let json = read(WireFormat::Json, request.to_string().as_bytes());
    assert_eq!(json, protobuf);
    assert_eq!(
        json["spec"]["extra"],
        json!({"a": ["2"], "b": [], "c": ["5"]})
    );
}

#[test]
fn paths_lead_into_raw_json_and_maps() {
    let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "a"},
        "data": {"spec": {"a": 1, "b": [1, {"c": 2, "d": 3}]}}, "revision": 1});
    let dropped = options()
        .drop_path("/data/spec/a")
        .drop_path("/data/spec/b/*/c");
    let read: Value = decode_object(PROTOBUF, &enveloped(&revision), &dropped).unwrap();
    assert_eq!(read["data"], json!({"spec": {"b": [1, {"d": 3}]}}));
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "a"},
        "spec": {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "x", "capacity": {"mem": {"value": "1Gi"}, "cpu": {"value": "2"}}}]}});
    let dropped = options().drop_path("/spec/devices/*/capacity/mem");
    let read: Value = decode_object(PROTOBUF, &enveloped(&claim), &dropped).unwrap();
    assert_eq!(
        read["spec"]["devices"][0]["capacity"],
        json!({"cpu": {"value": "2"}})
    );
    // Of a kind that the table does not have, the metadata.
    let metadata = [
        0x0a, 1, b'a', 0x62, 8, 0x0a, 4, b'n', b'o', b't', b'e', 0x12, 0,
    ];
    let mut message = Vec::new();
    protobuf::write_bytes(1, &metadata, &mut message);
    let widget = protobuf::envelope("demo.example/v1", "Widget", &message);
    let read: PartialObjectMetadata =
        decode_object(PROTOBUF, &widget, &options().drop_annotation("note")).unwrap();
    assert_eq!(
        (read.metadata().name(), read.metadata().annotations().len()),
        ("a", 0)
    );
}
