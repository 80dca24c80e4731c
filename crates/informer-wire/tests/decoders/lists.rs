//! Lists, item by item.

use super::*;

// INV-WIRE-3
#[test]
fn list_members_may_be_in_either_order() {
    let bodies = [
        format!(
            r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{A}]}}"#
        ),
        format!(
            r#"{{"apiVersion":"v1","items":[{A}],"kind":"PodList","metadata":{{"resourceVersion":"7"}}}}"#
        ),
        format!(
            "\r\n {{ \"items\" : [ {A} ] ,\n\"metadata\":{{\"resourceVersion\":\"7\"}},\"kind\":\"PodList\"}}\n\n"
        ),
    ];
    for body in bodies {
        let (items, end) = list::<Compact<Value>>(&body);
        assert_eq!(end, Ok(ListMeta::at("7".into())), "{body}");
        let objects = objects(items);
        assert_eq!(objects.len(), 1, "{body}");
        assert_eq!(ObjectKey::of(&objects[0]), ObjectKey::namespaced("n", "a"));
    }
}

#[test]
fn null_or_absent_items_are_an_empty_list() {
    for body in [
        r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":null}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":"7"}}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]}"#,
    ] {
        let (items, end) = list::<Value>(body);
        assert!(items.is_empty());
        assert_eq!(end, Ok(ListMeta::at("7".into())), "{body}");
    }
}

#[test]
fn odd_list_metadata_is_read() {
    for (metadata, version, token, remaining) in [
        (
            r#"{"resourceVersion":"7","continue":"","selfLink":"/x"}"#,
            Some("7"),
            None,
            None,
        ),
        (
            r#"{"resourceVersion":"","continue":"t","remainingItemCount":3}"#,
            None,
            Some("t"),
            Some(3),
        ),
        (
            r#"{"resourceVersion":null,"continue":null,"remainingItemCount":null}"#,
            None,
            None,
            None,
        ),
        (
            r#"{"remainingItemCount":-1,"shardInfo":{"selector":"s"}}"#,
            None,
            None,
            None,
        ),
        ("null", None, None, None),
    ] {
        let (_, end) = list::<Value>(&format!(r#"{{"kind":"PodList","metadata":{metadata}}}"#));
        let mut expected = version.map_or_else(ListMeta::default, |v| ListMeta::at(v.into()));
        if let Some(token) = token {
            expected = expected.continue_token(token);
        }
        expected.remaining_item_count = remaining;
        assert_eq!(end, Ok(expected), "{metadata}");
    }
    let (_, end) = list::<Value>(r#"{"kind":"PodList","metadata":{"resourceVersion":7}}"#);
    assert!(matches!(end, Err(DecodeError::Malformed { .. })));
}

// INV-WIRE-4
#[test]
fn page_counts_only_if_it_ended_well() {
    let whole =
        format!(r#"{{"kind":"PodList","metadata":{{"resourceVersion":"7"}},"items":[{A}]}}"#);
    for end in 0..whole.len() {
        let (_, end) = list::<Value>(&whole[..end]);
        assert_eq!(end, Err(DecodeError::Truncated { what: "list" }));
    }
    for rest in ["x", "{}", "]", "null", r#""""#, &whole] {
        let (items, end) = list::<Value>(&format!("{whole} {rest}"));
        assert_eq!(items.len(), 1);
        assert!(
            matches!(end, Err(DecodeError::Malformed { .. })),
            "{rest}: {end:?}"
        );
    }
    assert!(list::<Value>(&format!("{whole} \r\n\t")).1.is_ok());
}

// INV-WIRE-4
#[test]
fn error_written_into_or_instead_of_a_list_is_returned() {
    let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"etcd is gone","reason":"InternalError","code":500}"#;
    let start = r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":["#;
    for body in [
        status.to_owned(),
        format!("{start}{A}]}}{status}"),
        format!("{start}{A}]}}\n{status}\n"),
        format!("{start}{A}{status}"),
        format!("{start}{A},{status}"),
        format!("{start}{status}"),
        format!(r#"{start}{A},{{"metadata":{{"name":"b"{status}"#),
        format!(r#"{start}{A},{{"metadata":{{"name":"b","lab{status}"#),
    ] {
        let (_, end) = list::<Value>(&body);
        let status = end.as_ref().err().and_then(DecodeError::status);
        assert_eq!(
            status.map(|status| status.code),
            Some(500),
            "{body}: {end:?}"
        );
    }
}

#[test]
fn answer_that_is_no_list_is_refused() {
    for (body, kind) in [
        (
            r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}"#,
            "Table",
        ),
        (r#"{"kind":"Pod","metadata":{}}"#, "Pod"),
        // An answer of `{}` must not empty a cache.
        ("{}", ""),
        (r#"{"items":[]}"#, ""),
        // What discovery answers, as behind a wrong prefix.
        (
            r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods"}]}"#,
            "APIResourceList",
        ),
        (
            r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[]}"#,
            "APIGroupList",
        ),
        (r#"{"kind":null,"items":[]}"#, ""),
        // An object in place of a list.
        (
            r#"{"apiVersion":"demo.example/v1","kind":"Widget","metadata":{"name":"a"},"items":[]}"#,
            "Widget",
        ),
        (
            r#"{"apiVersion":"demo.example/v1","kind":"Widget","metadata":{},"spec":{}}"#,
            "Widget",
        ),
        (
            r#"{"apiVersion":"demo.example/v1","kind":"Widget","items":[]}"#,
            "Widget",
        ),
        (r#"{"kind":"Widgets","metadata":{},"items":[]}"#, "Widgets"),
        (
            r#"{"apiVersion":"v1","kind":"Pods","metadata":{},"items":[]}"#,
            "Pods",
        ),
    ] {
        let (_, end) = list::<Value>(body);
        let kind = kind.to_owned();
        assert_eq!(
            end,
            Err(DecodeError::UnexpectedKind {
                expected: "a list",
                kind
            }),
            "{body}"
        );
    }
    for body in [
        "<html>no</html>",
        "[]",
        "null",
        "\"x\"",
        r#"{"kind":"PodList","items":{}}"#,
        r#"{"kind":"PodList","items":5}"#,
        r#"{"kind":"PodList",}"#,
        r#"{"kind":"PodList","items":[],"items":[]}"#,
        r#"{kind:"PodList"}"#,
    ] {
        let (_, end) = list::<Value>(body);
        assert!(
            matches!(end, Err(DecodeError::Malformed { .. })),
            "{body}: {end:?}"
        );
    }
    assert_eq!(
        list::<Value>("").1,
        Err(DecodeError::Truncated { what: "list" })
    );
}

// INV-WIRE-9
#[test]
fn page_is_refused_when_an_item_is_no_object() {
    for item in ["null", "5", r#""x""#, "[{}]"] {
        let body = format!(r#"{{"kind":"PodList","items":[{A},{item}],"metadata":{{}}}}"#);
        let (items, end) = list::<Value>(&body);
        assert_eq!(items.len(), 1, "{item}");
        assert!(
            matches!(end, Err(DecodeError::Malformed { .. })),
            "{item}: {end:?}"
        );
    }
}

// INV-WIRE-9
#[test]
fn list_items_without_usable_key_are_undecodable() {
    for item in [
        "{}",
        r#"{"metadata":null}"#,
        r#"{"metadata":{"resourceVersion":"3"}}"#,
        r#"{"metadata":{"name":""}}"#,
        r#"{"metadata":{"name":5}}"#,
        r#"{"metadata":{"name":"n/a"}}"#,
        r#"{"metadata":{"name":"a","namespace":"n/"}}"#,
        r#"{"metadata":[]}"#,
    ] {
        let body = format!(r#"{{"kind":"PodList","items":[{A},{item},{A}],"metadata":{{}}}}"#);
        let (mut items, end) = list::<Value>(&body);
        assert_eq!(end, Ok(ListMeta::default()), "{item}");
        assert_eq!(items.len(), 3, "{item}");
        let Decoded::Undecodable(undecodable) = items.remove(1) else {
            panic!("{item} is not undecodable");
        };
        assert_eq!(undecodable.key, None, "{item}");
        assert!(
            matches!(undecodable.error, DecodeError::Unnamed { .. }),
            "{item}"
        );
        let version = item.contains("3").then(|| "3".into());
        assert_eq!(undecodable.version.resource_version, version, "{item}");
    }
}

/// `spec.names.listKind` of a custom resource may be any name but the kind's.
#[test]
fn list_of_a_custom_resource_may_have_any_kind() {
    for body in [
        r#"{"apiVersion":"demo.example/v1","items":[{"kind":"Widget","metadata":{"name":"a"}}],"kind":"WidgetCollection","metadata":{"resourceVersion":"7"}}"#,
        r#"{"kind":"WidgetCollection","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}}],"apiVersion":"demo.example/v1"}"#,
    ] {
        let (items, end) = list::<Dynamic>(body);
        assert_eq!(end, Ok(ListMeta::at("7".into())));
        assert_eq!(objects(items)[0].name(), "a");
    }
}

// INV-WIRE-6
#[test]
fn items_take_the_type_of_their_list() {
    let types = |body: &str, options| {
        let (items, _) = list_with::<Value>(body, options);
        let object = objects(items).remove(0);
        (object["apiVersion"].clone(), object["kind"].clone())
    };
    let typed = |list: &str| types(&format!(r#"{{{list}"items":[{A}]}}"#), options());
    assert_eq!(
        typed(r#""kind":"PodList","apiVersion":"v1","#),
        (json!("v1"), json!("Pod"))
    );
    // Nothing is made up where nothing is said.
    assert_eq!(typed(""), (Value::Null, Value::Null));
    assert_eq!(
        typed(r#""kind":"List","apiVersion":"v1","#),
        (Value::Null, Value::Null)
    );
    // An item's own type holds.
    let body =
        r#"{"kind":"PodList","apiVersion":"v1","items":[{"kind":"X","metadata":{"name":"a"}}]}"#;
    assert_eq!(types(body, options()), (json!("v1"), json!("X")));
    // Where the list says its kind too late, the request's counts.
    let body = format!(r#"{{"apiVersion":"v1","items":[{A}],"kind":"PodList"}}"#);
    let pods = Resource::core("v1", "Pod", "pods", Scope::Namespaced);
    assert_eq!(
        types(&body, options().resource(pods)),
        (json!("v1"), json!("Pod"))
    );
}

// INV-WIRE-5
#[test]
fn list_item_equal_to_stored_object_is_not_decoded() {
    #[derive(Debug, Deserialize)]
    struct Strict {
        #[expect(dead_code, reason = "only read")]
        spec: String,
    }
    let body = r#"{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[
        {"metadata":{"name":"same","namespace":"n","uid":"u","resourceVersion":"5"},"spec":5},
        {"metadata":{"name":"newer","namespace":"n","uid":"u","resourceVersion":"6"},"spec":5},
        {"metadata":{"name":"older","namespace":"n","uid":"u","resourceVersion":"4"},"spec":5},
        {"metadata":{"name":"recreated","namespace":"n","uid":"v","resourceVersion":"5"},"spec":5},
        {"metadata":{"name":"no-uid","namespace":"n","resourceVersion":"5"},"spec":5},
        {"metadata":{"name":"no-version","namespace":"n","uid":"u"},"spec":5},
        {"metadata":{"name":"new","namespace":"n","uid":"u","resourceVersion":"5"},"spec":5}]}"#;
    let object = stored::<View<Strict>>(
        r#"{"metadata":{"name":"x","uid":"u","resourceVersion":"5"},"spec":""}"#,
    );
    // The store's own key, which it shares with its indexes.
    let key = ObjectKey::namespaced("stored", "x");
    let newest = {
        let stored = (key.clone(), Arc::clone(&object));
        move |key: &ObjectKey| {
            assert_eq!(key.namespace(), Some("n"));
            (key.name() != "new").then(|| stored.clone())
        }
    };
    let decoder = ListDecoder::<View<Strict>>::new(WireFormat::Json, options());
    let mut decoder = decoder.newest(Arc::new(newest));
    decoder.push(body.as_bytes());
    let Some(Ok(Decoded::Unchanged(found, unchanged))) = decoder.next() else {
        panic!("the first item is the stored object");
    };
    assert_eq!(found, key);
    assert!(Arc::ptr_eq(&unchanged, &object));
    let mut decoded = Vec::new();
    while let Some(item) = decoder.next() {
        match item.expect("the list is good") {
            Decoded::Undecodable(undecodable) => decoded.push(undecodable.key.expect("a name")),
            other => panic!("{other:?}"),
        }
    }
    let names: Vec<_> = decoded.iter().map(ObjectKey::name).collect();
    let expected = ["newer", "older", "recreated", "no-uid", "no-version", "new"];
    assert_eq!(names, expected);
}

// INV-WIRE-10
#[test]
fn undecodable_list_item_does_not_stop_the_others() {
    #[derive(Debug, Deserialize)]
    struct Widget {
        #[expect(dead_code, reason = "only read")]
        size: Option<u8>,
        #[expect(dead_code, reason = "only read")]
        tree: Option<Value>,
    }
    let deep = format!(
        r#"{{"metadata":{{"name":"deep"}},"tree":{}1{}}}"#,
        "[".repeat(400),
        "]".repeat(400)
    );
    let body = format!(
        r#"{{"kind":"WidgetList","metadata":{{"resourceVersion":"9"}},"items":[
        {{"metadata":{{"name":"good","namespace":"n","uid":"u","resourceVersion":"5"}}}},
        {{"size":"hunter2","metadata":{{"labels":7,"name":"bad","namespace":"n","uid":"u2","resourceVersion":"6"}}}},
        {{"metadata":{{"name":"broken"}},"size":tru}},{deep},
        {{"metadata":{{"name":"last"}},"size":3}}]}}"#
    );
    let (items, end) = list::<Widget>(&body);
    assert_eq!(end, Ok(ListMeta::at("9".into())));
    assert_eq!(items.len(), 5);
    let undecodable = |at: usize| match &items[at] {
        Decoded::Undecodable(undecodable) => undecodable,
        other => panic!("{other:?}"),
    };
    assert!(matches!(items[0], Decoded::Object(_)) && matches!(items[4], Decoded::Object(_)));
    assert_eq!(undecodable(1).key, Some(ObjectKey::namespaced("n", "bad")));
    assert_eq!(undecodable(1).version.uid, Some("u2".into()));
    assert_eq!(undecodable(1).version.resource_version, Some("6".into()));
    let message = undecodable(1).error.to_string();
    assert!(
        message.contains(".size") && !message.contains("hunter2"),
        "{message}"
    );
    assert!(undecodable(2).error.to_string().contains("no valid JSON"));
    assert!(
        undecodable(3)
            .error
            .to_string()
            .contains("nested too deeply")
    );
}

#[test]
fn limits_hold_however_bytes_are_cut() {
    let long = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "x".repeat(500));
    let body = format!(r#"{{"kind":"PodList","items":[{A},{long}]}}"#);
    let cases = [
        (
            Limits::default().object_bytes(400),
            DecodeError::TooLarge {
                what: "list item",
                limit: 400,
            },
        ),
        (
            Limits::default().page_bytes(300),
            DecodeError::TooLarge {
                what: "list",
                limit: 300,
            },
        ),
        (
            Limits::default().depth(1),
            DecodeError::TooDeep {
                what: "list item",
                limit: 1,
            },
        ),
    ];
    for (limits, expected) in cases {
        for chunk in [1, 7, 64, 10_000] {
            let mut decoder = ListDecoder::<Value>::new(WireFormat::Json, options().limits(limits));
            for bytes in body.as_bytes().chunks(chunk) {
                decoder.push(bytes);
                while decoder.next().is_some() {}
            }
            assert_eq!(
                decoder.finish(),
                Err(expected.clone()),
                "in pieces of {chunk}"
            );
        }
    }
    let exact = Limits::default()
        .object_bytes(long.len())
        .page_bytes(body.len() as u64);
    let (items, end) = list_with::<Value>(&body, options().limits(exact));
    assert_eq!((items.len(), end), (2, Ok(ListMeta::default())));
    let head = format!(
        r#"{{"kind":"PodList","metadata":{{"x":"{}"#,
        "y".repeat(2 << 20)
    );
    assert!(matches!(
        list::<Value>(&head).1,
        Err(DecodeError::TooLarge {
            what: "list's head",
            ..
        })
    ));
    let tail = format!(r#"{{"kind":"PodList"}}{}"#, "y".repeat(2 << 20));
    assert!(matches!(
        list::<Value>(&tail).1,
        Err(DecodeError::Malformed { .. })
    ));
}
