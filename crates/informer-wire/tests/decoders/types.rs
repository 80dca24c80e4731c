//! What the types make of an object.

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
struct Spec {
    spec: Option<u32>,
    kind: Option<String>,
}

#[test]
fn view_holds_metadata_and_fields() -> Result<(), DecodeError> {
    for json in [
        r#"{"kind":"A","spec":3,"metadata":{"name":"a","managedFields":[1]},"status":{}}"#,
        r#"{"metadata":{"name":"a"},"spec":3,"kind":"A"}"#,
    ] {
        let view: View<Spec> = decode_object(WireFormat::Json, json.as_bytes(), &options())?;
        assert_eq!(view.metadata, ObjectMeta::new(None, "a"));
        assert_eq!(
            view.fields,
            Spec {
                spec: Some(3),
                kind: Some("A".into())
            }
        );
        assert_eq!(Object::name(&view), "a");
    }
    let json = br#"{"metadata":{"name":"a"}}"#;
    let view: View<Spec> = decode_object(WireFormat::Json, json, &options())?;
    assert_eq!(view.spec, None);
    Ok(())
}

#[test]
fn metadata_has_the_requested_kind() -> Result<(), DecodeError> {
    let partial = br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#;
    let whole = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{}}"#;
    let asked = options().resource(Resource::core("v1", "Pod", "pods", Scope::Namespaced));
    for (json, options, types) in [
        (&partial[..], options(), ("", "")),
        (&whole[..], options(), ("v1", "Pod")),
        (&partial[..], asked.clone(), ("v1", "Pod")),
        (&whole[..], asked, ("v1", "Pod")),
    ] {
        let metadata: PartialObjectMetadata = decode_object(WireFormat::Json, json, &options)?;
        assert_eq!((metadata.api_version(), metadata.kind()), types);
        assert_eq!(Object::name(&metadata), "a");
    }
    Ok(())
}

/// INV-REFL-6
#[test]
fn versions_that_a_transform_drops_can_be_restored() -> Result<(), DecodeError> {
    fn check<K: Object + FromWire>() -> Result<(), DecodeError> {
        let json = br#"{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}}"#;
        let mut object: K = decode_object(WireFormat::Json, json, &options())?;
        let version = ObjectVersion::of(&object);
        assert!(object.restore_version(&ObjectVersion::new(None, None)));
        assert_eq!((object.uid(), object.resource_version()), (None, None));
        assert!(object.restore_version(&version));
        let uid = Some(Uid::new("1"));
        assert_eq!(
            (object.uid(), object.resource_version()),
            (uid, Some(7.into()))
        );
        Ok(())
    }
    check::<View<Spec>>()?;
    check::<Compact<Spec>>()?;
    check::<PartialObjectMetadata>()
}

#[test]
fn metadata_is_requested_in_the_form_of_the_verb() {
    let json = [WireFormat::Json];
    let accept = |verb| PartialObjectMetadata::form().accept(verb, &json);
    assert!(accept(ReadVerb::List).contains("as=PartialObjectMetadataList;"));
    assert!(accept(ReadVerb::Watch).contains("as=PartialObjectMetadata;"));
    assert!(accept(ReadVerb::Get).contains("as=PartialObjectMetadata;"));
    // Whole objects are better than none.
    assert!(accept(ReadVerb::List).ends_with(",application/json"));
    assert_eq!(
        Value::form().accept(ReadVerb::List, &json),
        "application/json"
    );
    assert_eq!(Dynamic::form(), ObjectForm::Whole);
}

#[cfg(feature = "k8s-openapi")]
#[test]
fn types_of_k8s_openapi_know_their_resource_in_static_form() {
    use informer_wire::StaticResource;
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};
    assert_eq!(
        Some(Compact::<Deployment>::resource()),
        Resource::builtin("deployments")
    );
    assert_eq!(Some(View::<Node>::resource()), Resource::builtin("nodes"));
}

#[test]
fn odd_metadata_is_read() -> Result<(), serde_json::Error> {
    let meta: ObjectMeta = serde_json::from_str(
        r#"{"name":"a","labels":{"b":"1","a":"2","b":"3","c":null},"annotations":null,"finalizers":null,
            "ownerReferences":null,"creationTimestamp":"2026-11-29T16:33:37.9+01:00","generation":null,
            "selfLink":"/x","managedFields":[{"a":1}],"uid":"","later":{"x":[1]}}"#,
    )?;
    // Of a key that comes twice the last counts.
    assert!(meta.labels().eq([("a", "2"), ("b", "3"), ("c", "")]));
    assert_eq!((meta.label("b"), meta.label("d")), (Some("3"), None));
    assert_eq!(meta.uid(), None);
    assert_eq!(
        serde_json::to_string(&meta)?,
        r#"{"name":"a","creationTimestamp":"2026-11-29T15:33:37Z","labels":{"a":"2","b":"3","c":""}}"#
    );
    for bad in [
        r#"{"name":5}"#,
        r#"{"creationTimestamp":"yesterday"}"#,
        r#"{"labels":{"a":5}}"#,
        r#"{"labels":[]}"#,
        "[]",
        "null",
    ] {
        assert!(serde_json::from_str::<ObjectMeta>(bad).is_err(), "{bad}");
    }
    Ok(())
}

#[test]
fn single_fields_of_a_compact_object_are_read_by_path() -> Result<(), DecodeError> {
    let json =
        br#"{"metadata":{"name":"a"},"spec":{"a/b":[{"c~":1},{"c~":"two"}],"n":null},"x":[]}"#;
    let object: Dynamic = decode_object(WireFormat::Json, json, &options())?;
    assert_eq!(object.field::<u8>("/spec/a~1b/0/c~0")?, Some(1));
    assert_eq!(
        object.field::<String>("/spec/a~1b/1/c~0")?.as_deref(),
        Some("two")
    );
    for absent in [
        "/spec/n",
        "/spec/m",
        "/spec/a~1b/2",
        "/spec/a~1b/x",
        "/x/0",
        "/spec/n/o",
        "/metadata/name",
    ] {
        assert_eq!(object.field::<Value>(absent)?, None, "{absent}");
    }
    let error = object
        .field::<u8>("/spec/a~1b/1/c~0")
        .expect_err("no number");
    assert!(!error.to_string().contains("two"), "{error}");
    Ok(())
}

#[test]
fn compact_object_holds_no_more_than_its_bytes() -> Result<(), DecodeError> {
    let json = br#"{"kind":"A","apiVersion":"v1","metadata":{"name":"a","managedFields":[{"x":1}]},"spec":{"b":1}}"#;
    let object: Dynamic = decode_object(WireFormat::Json, json, &options())?;
    assert_eq!(object.raw(), br#"{"spec":{"b":1}}"#);
    assert_eq!(
        object.to_json()?,
        br#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":{"b":1}}"#
    );
    assert!(!format!("{object:?}").contains("spec"));
    Ok(())
}

#[test]
fn objects_of_one_interner_share_their_texts() -> Result<(), DecodeError> {
    let json = br#"{"metadata":{"name":"a","namespace":"n","labels":{"app":"shop"}}}"#;
    let decode = |options: &DecodeOptions| -> Result<PartialObjectMetadata, DecodeError> {
        decode_object(WireFormat::Json, json, options)
    };
    let address = |object: &PartialObjectMetadata| object.metadata().label("app").map(str::as_ptr);
    let shared = options().interner(Interner::default());
    assert_eq!(
        address(&decode(&shared)?),
        address(&decode(&shared.clone())?)
    );
    let (one, other) = (decode(&options())?, decode(&options())?);
    assert_ne!(address(&one), address(&other));
    Ok(())
}

#[test]
fn status_in_place_of_an_object_is_an_error() {
    let status = br#"{"kind":"Status","code":409,"reason":"Conflict","status":"Failure"}"#;
    let error = decode_object::<Value>(WireFormat::Json, status, &options()).expect_err("a status");
    assert!(error.status().is_some_and(Status::is_conflict));
    for bad in ["", "null", "[]", "{", r#"{"metadata":{"name":"a"}} x"#] {
        assert!(decode_object::<Value>(WireFormat::Json, bad.as_bytes(), &options()).is_err());
    }
    // A review has no name; what it says is its status.
    let review = br#"{"kind":"SubjectAccessReview","metadata":{},"status":{"allowed":true}}"#;
    let review = decode_object::<Value>(WireFormat::Json, review, &options());
    assert_eq!(review.expect("a review")["status"]["allowed"], true);
    let table = br#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}"#;
    let table = decode_object::<Value>(WireFormat::Json, table, &options());
    assert!(matches!(table, Err(DecodeError::UnexpectedKind { .. })));
    let limits = Limits::default().object_bytes(5);
    let error = decode_object::<Value>(WireFormat::Json, A.as_bytes(), &options().limits(limits));
    assert!(matches!(error, Err(DecodeError::TooLarge { .. })));
}

// RF5: an object of another kind is no object of this resource, in either format's forms.
#[test]
fn object_of_another_kind_is_undecodable_without_key() {
    let pods = Resource::new("", "v1", "Pod", "pods", Scope::Namespaced);
    let asked = || options().resource(pods.clone());
    let secret = A.replacen('{', r#"{"apiVersion":"v1","kind":"Secret","#, 1);
    let pod = A.replacen('{', r#"{"apiVersion":"v1","kind":"Pod","#, 1);
    let metadata = r#"{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","#;
    let metadata = A.replacen('{', metadata, 1);

    let body = format!(
        r#"{{"kind":"List","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{secret},{pod},{A},{metadata}]}}"#
    );
    let (mut items, end) = list_with::<Compact<Value>>(&body, asked());
    assert_eq!(end, Ok(ListMeta::at("7".into())));
    assert_foreign(items.remove(0));
    assert_eq!(objects(items).len(), 3);

    let mut decoder = WatchDecoder::<Compact<Value>>::new(WireFormat::Json, asked());
    for object in [&secret, &pod] {
        decoder.push(format!(r#"{{"type":"MODIFIED","object":{object}}}"#).as_bytes());
    }
    match decoder.next() {
        Some(Ok(WatchEvent::Modified(item))) => assert_foreign(item),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        decoder.next(),
        Some(Ok(WatchEvent::Modified(Decoded::Object(_))))
    ));
}

fn assert_foreign<K: std::fmt::Debug>(item: Decoded<K>) {
    let Decoded::Undecodable(undecodable) = item else {
        panic!("taken: {item:?}");
    };
    assert_eq!(undecodable.key, None);
    match undecodable.error {
        DecodeError::UnexpectedKind { kind, .. } => assert_eq!(kind, "Secret"),
        other => panic!("{other:?}"),
    }
}
