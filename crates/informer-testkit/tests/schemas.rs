//! Schemas of custom resources, unknown fields and versions, over HTTP.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use http::Method;
use informer_testkit::ApiServer;
use serde_json::{Value, json};

use self::common::{Answer, Next, Watch, delete, get, patch, post, put, send};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const V1: &str = "/apis/demo.example/v1/namespaces/default/widgets";
const V2: &str = "/apis/demo.example/v2/namespaces/default/widgets";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn version(name: &str, storage: bool, spec: Value) -> Value {
    let status = json!({"type": "object", "properties": {"phase": {"type": "string", "enum": ["Ready", "Busy"]}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema}})
}

fn definition() -> Value {
    let v1 = json!({"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1},
        "mode": {"type": "string", "default": "auto"},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    }});
    let v2 = json!({"type": "object", "properties": {
        "size": {"type": "integer"},
        "mode": {"type": "string"},
        "colour": {"type": "string", "default": "red"},
    }});
    json!({
        "metadata": {"name": "widgets.demo.example"},
        "spec": {
            "group": "demo.example", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [version("v1", true, v1), version("v2", false, v2)],
        },
    })
}

async fn server() -> ApiServer {
    let server = ApiServer::start().await.unwrap();
    assert_eq!(post(&server, DEFINITIONS, definition()).await.code, 201);
    server
}

fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "demo.example/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

fn in_version(version: &str, mut object: Value) -> Value {
    object["apiVersion"] = format!("demo.example/{version}").into();
    object
}

fn warnings(answer: &Answer) -> Vec<&str> {
    let texts = answer.headers.get_all("warning").iter();
    texts.map(|text| text.to_str().unwrap()).collect()
}

#[tokio::test]
async fn unknown_fields_are_warned_of_refused_or_dropped_in_silence() {
    let server = server().await;
    let odd = |name: &str| widget(name, json!({"size": 1, "nope": {"a": 1}}));
    let warned = post(&server, V1, odd("a")).await;
    assert_eq!(warned.code, 201);
    assert_eq!(
        warnings(&warned),
        [r#"299 - "unknown field \"spec.nope\"""#]
    );
    assert_eq!(warned.json()["spec"], json!({"size": 1, "mode": "auto"}));
    let strict = post(&server, &format!("{V1}?fieldValidation=Strict"), odd("b")).await;
    assert_eq!(strict.code, 400);
    assert_eq!(
        strict.json()["message"],
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"spec.nope\""
    );
    let silent = post(&server, &format!("{V1}?fieldValidation=Ignore"), odd("b")).await;
    assert_eq!((silent.code.as_u16(), warnings(&silent).len()), (201, 0));
    let nonsense = post(&server, &format!("{V1}?fieldValidation=No"), odd("c")).await;
    assert_eq!(nonsense.code, 422);
    let path = format!("{V1}/b?fieldValidation=Strict");
    let patched = patch(&server, &path, "merge", json!({"spec": {"nope": 1}})).await;
    assert_eq!(patched.code, 422);
    assert!(
        patched
            .text()
            .contains("strict decoding error: unknown field")
    );
}

#[tokio::test]
async fn fields_of_built_in_kinds_are_checked_too() {
    let server = server().await;
    let containers = json!([{"name": "c", "image": "i", "imag": "j"}]);
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": containers}});
    let created = post(&server, PODS, pod).await;
    let unknown = r#"299 - "unknown field \"spec.containers[0].imag\"""#;
    assert_eq!(warnings(&created), [unknown]);
    assert_eq!(
        created.json()["spec"]["containers"],
        json!([{"name": "c", "image": "i"}])
    );
    let twice = r#"{"metadata":{"name":"b","name":"b"},"spec":{"hostNetwork":"yes"}}"#;
    let headers = [("content-type", "application/json")];
    let wrong = send(&server, Method::POST, PODS, &headers, twice).await;
    assert_eq!(
        wrong.json()["message"],
        "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field \
         PodSpec.spec.hostNetwork of type bool"
    );
    let twice = r#"{"metadata":{"name":"b","name":"b"},"spec":{}}"#;
    let path = format!("{PODS}?fieldValidation=Strict");
    let refused = send(&server, Method::POST, &path, &headers, twice).await;
    assert!(
        refused
            .text()
            .contains(r#"duplicate field \"metadata.name\""#)
    );
    // A method that is no request writes whatever it is given.
    let whole = json!({"metadata": {"name": "w"}, "spec": {"nope": 1}});
    assert_eq!(server.create("pods", whole).unwrap()["spec"]["nope"], 1);
}

#[tokio::test]
async fn invalid_object_is_refused_with_its_causes() {
    let server = server().await;
    let odd = widget("a", json!({"size": 0, "tags": ["x", "x"], "mode": 5}));
    let refused = post(&server, V1, odd).await;
    assert_eq!(refused.code, 422);
    let status = refused.json();
    let causes = &status["details"]["causes"];
    assert_eq!(
        causes[0],
        json!({"reason": "FieldValueTypeInvalid", "field": "spec.mode",
            "message": "Invalid value: \"integer\": spec.mode in body must be of type string: \"integer\""})
    );
    assert_eq!(
        causes[1]["message"],
        "Invalid value: 0: spec.size in body should be greater than or equal to 1"
    );
    assert_eq!(causes[2]["message"], "Duplicate value: \"x\"");
    let missing = post(&server, V1, widget("a", json!({}))).await;
    assert_eq!(
        missing.json()["message"],
        "Widget.demo.example \"a\" is invalid: spec.size: Required value"
    );
    assert!(server.create("widgets", widget("a", json!({}))).is_err());
}

#[tokio::test]
async fn status_is_checked_by_its_own_schema() {
    let server = server().await;
    post(&server, V1, widget("a", json!({"size": 1}))).await;
    let path = format!("{V1}/a/status");
    let odd = patch(&server, &path, "merge", json!({"status": {"phase": "Odd"}})).await;
    assert_eq!(
        odd.json()["message"],
        "Widget.demo.example \"a\" is invalid: status.phase: Unsupported value: \"Odd\": supported values: \"Ready\", \"Busy\""
    );
    let good = json!({"status": {"phase": "Busy", "nope": 1}});
    let good = patch(&server, &path, "merge", good).await;
    assert_eq!(good.json()["status"], json!({"phase": "Busy"}));
}

#[tokio::test]
async fn each_version_shows_the_stored_object_in_its_shape() {
    let server = server().await;
    let spec = json!({"size": 3, "colour": "blue"});
    let created = post(&server, V2, in_version("v2", widget("a", spec))).await;
    assert_eq!(created.code, 201);
    // Only what the stored version knows was stored, and its defaults are filled in when it is read.
    assert_eq!(created.json()["spec"], json!({"size": 3, "mode": "auto"}));
    let first = get(&server, &format!("{V1}/a")).await.json();
    assert_eq!(first["apiVersion"], "demo.example/v1");
    assert_eq!(first["spec"], json!({"size": 3, "mode": "auto"}));
    post(&server, V1, widget("b", json!({"size": 1, "tags": ["x"]}))).await;
    let list = get(&server, V2).await.json();
    assert_eq!(list["items"][1]["spec"], json!({"size": 1, "mode": "auto"}));
    let revision = server.resource_version();
    let path = format!("{V2}?watch=1&resourceVersion={revision}");
    let mut watch = Watch::open(&server, &path).await;
    patch(
        &server,
        &format!("{V1}/b"),
        "merge",
        json!({"spec": {"size": 2}}),
    )
    .await;
    let Next::Event(event) = watch.next().await else {
        panic!("the watch ended");
    };
    assert_eq!(event["object"]["apiVersion"], "demo.example/v2");
    assert_eq!(event["object"]["spec"], json!({"size": 2, "mode": "auto"}));
    // It has the other version's tags still.
    let second = get(&server, &format!("{V1}/b")).await.json();
    assert_eq!(second["spec"]["tags"], json!(["x"]));
}

#[tokio::test]
async fn changed_schema_shows_in_stored_objects_at_once() {
    let server = server().await;
    post(&server, V1, widget("a", json!({"size": 1, "tags": ["x"]}))).await;
    let before = get(&server, &format!("{V1}/a")).await.json();
    let mut changed = definition();
    let properties = &mut changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    properties["spec"]["properties"]["level"] = json!({"type": "integer", "default": 7});
    properties["spec"]["properties"]
        .as_object_mut()
        .unwrap()
        .remove("tags");
    let path = format!("{DEFINITIONS}/widgets.demo.example");
    let current = get(&server, &path).await.json();
    changed["metadata"] = current["metadata"].clone();
    assert_eq!(put(&server, &path, changed).await.code, 200);
    let after = get(&server, &format!("{V1}/a")).await.json();
    assert_eq!(
        after["spec"],
        json!({"size": 1, "mode": "auto", "level": 7})
    );
    assert_eq!(
        after["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
    // What was invalid before may stay so while it is not changed.
    let path = format!("{DEFINITIONS}/widgets.demo.example");
    let stricter = json!([{"op": "replace", "value": 5,
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/minimum"}]);
    assert_eq!(patch(&server, &path, "json", stricter).await.code, 200);
    let annotated = json!({"metadata": {"annotations": {"a": "b"}}});
    let widget = format!("{V1}/a");
    assert_eq!(patch(&server, &widget, "merge", annotated).await.code, 200);
    let smaller = json!({"spec": {"size": 2}});
    assert_eq!(patch(&server, &widget, "merge", smaller).await.code, 422);
}

#[tokio::test]
async fn definition_is_checked_and_its_names_are_accepted_once() {
    let server = server().await;
    let mut open = definition();
    open["metadata"]["name"] = "gears.demo.example".into();
    open["spec"]["names"] = json!({"kind": "Gear", "plural": "gears"});
    let mut untyped = open.clone();
    untyped["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        ["size"] = json!({"minimum": 1});
    let refused = post(&server, DEFINITIONS, untyped).await;
    assert_eq!(refused.code, 422);
    assert!(refused.text().contains(
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].type: Required value: must not be \
         empty for specified object fields"
    ));
    let mut webhook = open.clone();
    webhook["spec"]["conversion"] = json!({"strategy": "Webhook"});
    let refused = post(&server, DEFINITIONS, webhook).await;
    assert!(refused.text().contains("this server calls no webhooks"));
    open["spec"]["names"]["kind"] = "Widget".into();
    let taken = post(&server, DEFINITIONS, open).await;
    assert_eq!(taken.code, 201);
    let conditions = taken.json()["status"]["conditions"].clone();
    assert_eq!(conditions[0]["reason"], "ListKindConflict");
    assert_eq!(conditions[1]["status"], "False");
    assert_eq!(get(&server, "/apis/demo.example/v1/gears").await.code, 404);
    let path = format!("{DEFINITIONS}/widgets.demo.example");
    let renamed = json!({"spec": {"scope": "Cluster"}});
    assert_eq!(patch(&server, &path, "merge", renamed).await.code, 422);
    let gone = json!([{"op": "remove", "path": "/spec/versions/1"}]);
    assert_eq!(patch(&server, &path, "json", gone).await.code, 200);
    assert_eq!(get(&server, V2).await.code, 404);
    let stored = json!([{"op": "replace", "path": "/spec/versions/0/name", "value": "v3"}]);
    let refused = patch(&server, &path, "json", stored).await;
    assert!(refused.text().contains("status.storedVersions[0]"));
    assert_eq!(delete(&server, &path).await.code, 200);
    assert_eq!(get(&server, V1).await.code, 404);
}
