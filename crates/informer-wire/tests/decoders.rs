//! What the decoders make of good, odd and broken answers.
#![allow(missing_docs, reason = "these are tests")]

use std::sync::Arc;

use informer_store::{Known, Object, ObjectKey};
use informer_wire::{
    Compact, DecodeError, DecodeOptions, Decoded, Dynamic, FromWire, Interner, Limits, ListDecoder,
    ListMeta, Metadata, ObjectMeta, ReadVerb, Resource, Scope, Status, StreamEnd, View,
    WatchDecoder, WatchEvent, WireFormat, decode_object,
};
use serde::Deserialize;
use serde_json::{Value, json};

fn options() -> DecodeOptions {
    DecodeOptions::default()
}

fn list_with<K: FromWire>(
    body: &str,
    options: DecodeOptions,
) -> (Vec<Decoded<K>>, Result<ListMeta, DecodeError>) {
    let mut decoder = ListDecoder::new(WireFormat::Json, options);
    decoder.push(body.as_bytes());
    let mut items = Vec::new();
    while let Some(item) = decoder.next() {
        match item {
            Ok(item) => items.push(item),
            Err(error) => {
                assert!(decoder.next().is_none(), "an error is final");
                assert_eq!(
                    decoder.finish(),
                    Err(error.clone()),
                    "no page ends well after an error"
                );
                return (items, Err(error));
            }
        }
    }
    (items, decoder.finish())
}

fn list<K: FromWire>(body: &str) -> (Vec<Decoded<K>>, Result<ListMeta, DecodeError>) {
    list_with(body, options())
}

fn objects<K>(items: Vec<Decoded<K>>) -> Vec<K> {
    let object = |item| match item {
        Decoded::Object(object) => object,
        Decoded::SetAside(aside) => panic!("set aside: {aside:?}"),
        _ => panic!("no object"),
    };
    items.into_iter().map(object).collect()
}

fn watch<K: FromWire>(body: &str) -> Vec<Result<WatchEvent<K>, DecodeError>> {
    let mut decoder = WatchDecoder::new(WireFormat::Json, options());
    decoder.push(body.as_bytes());
    std::iter::from_fn(|| decoder.next()).collect()
}

fn only_event<K: FromWire>(body: &str) -> Result<WatchEvent<K>, DecodeError> {
    let mut events = watch(body);
    assert_eq!(events.len(), 1, "{body}");
    events.remove(0)
}

const A: &str = r#"{"metadata":{"name":"a","namespace":"n","uid":"u1","resourceVersion":"5"}}"#;

mod lists {
    use super::*;

    // INV-WIRE-3
    #[test]
    fn either_order_of_the_members_is_read_alike() {
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
    fn items_that_are_null_or_absent_are_none() {
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
    fn odd_metadata_of_a_list_is_read() {
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
    fn a_page_counts_only_if_it_ended_well() {
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
    fn an_error_that_the_server_wrote_in_or_for_a_list_is_told() {
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
    fn what_is_no_list_is_refused() {
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
    fn items_that_do_not_say_who_they_are_refuse_the_page() {
        for item in [
            "null",
            "5",
            r#""x""#,
            "{}",
            r#"{"metadata":null}"#,
            r#"{"metadata":{}}"#,
            r#"{"metadata":{"name":""}}"#,
            r#"{"metadata":{"name":5}}"#,
            r#"{"metadata":{"name":"n/a"}}"#,
            r#"{"metadata":{"name":"a","namespace":"n/"}}"#,
            r#"{"metadata":[]}"#,
            "[{}]",
        ] {
            let body = format!(r#"{{"kind":"PodList","items":[{A},{item}],"metadata":{{}}}}"#);
            let (items, end) = list::<Value>(&body);
            assert_eq!(items.len(), 1, "{item}");
            assert!(
                matches!(
                    end,
                    Err(DecodeError::Unnamed { .. } | DecodeError::Malformed { .. })
                ),
                "{item}: {end:?}"
            );
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
        let body = r#"{"kind":"PodList","apiVersion":"v1","items":[{"kind":"X","metadata":{"name":"a"}}]}"#;
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
    fn a_copy_that_is_known_is_not_decoded() {
        let body = r#"{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[
            {"metadata":{"name":"same","namespace":"n","uid":"u","resourceVersion":"5"},"spec":5},
            {"metadata":{"name":"newer","namespace":"n","uid":"u","resourceVersion":"6"},"spec":5},
            {"metadata":{"name":"other","namespace":"n","uid":"v","resourceVersion":"5"},"spec":5},
            {"metadata":{"name":"bare","namespace":"n"},"spec":5},
            {"metadata":{"name":"new","namespace":"n","uid":"u","resourceVersion":"5"},"spec":5}]}"#;
        let known = |key: &ObjectKey| {
            assert_eq!(key.namespace(), Some("n"));
            (key.name() != "new").then(|| Known::new(Some("u".into()), Some("5".into())))
        };
        // Its body cannot be decoded, so that it is set aside wherever it is looked at.
        #[derive(Debug, Deserialize)]
        struct Strict {
            #[expect(dead_code, reason = "only read")]
            spec: String,
        }
        let mut decoder =
            ListDecoder::<Strict>::new(WireFormat::Json, options()).known(Arc::new(known));
        decoder.push(body.as_bytes());
        let mut told = Vec::new();
        while let Some(item) = decoder.next() {
            told.push(match item.expect("the list is good") {
                Decoded::Unchanged(key) => format!("={}", key.name()),
                Decoded::SetAside(aside) => aside.key.expect("a name").name().to_owned(),
                _ => panic!("decoded"),
            });
        }
        assert_eq!(told, ["=same", "newer", "other", "bare", "new"]);
    }

    // INV-WIRE-10
    #[test]
    fn an_object_that_cannot_be_decoded_is_set_aside_and_the_rest_flows() {
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
        let aside = |at: usize| match &items[at] {
            Decoded::SetAside(aside) => aside,
            other => panic!("{other:?}"),
        };
        assert!(matches!(items[0], Decoded::Object(_)) && matches!(items[4], Decoded::Object(_)));
        assert_eq!(aside(1).key, Some(ObjectKey::namespaced("n", "bad")));
        assert_eq!(aside(1).uid, Some("u2".into()));
        assert_eq!(aside(1).resource_version, Some("6".into()));
        let message = aside(1).error.to_string();
        assert!(
            message.contains(".size") && !message.contains("hunter2"),
            "{message}"
        );
        assert!(aside(2).error.to_string().contains("no valid JSON"));
        assert!(aside(3).error.to_string().contains("nested too deeply"));
    }

    #[test]
    fn limits_are_kept_however_the_bytes_arrive() {
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
                let mut decoder =
                    ListDecoder::<Value>::new(WireFormat::Json, options().limits(limits));
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
}

mod watches {
    use super::*;

    // INV-WIRE-3
    #[test]
    fn type_and_object_may_come_in_either_order() {
        for body in [
            format!(r#"{{"type":"ADDED","object":{A}}}"#),
            format!(r#"{{"object":{A},"extra":[1],"type":"ADDED"}}"#),
            format!("\n{{ \"object\" : {A} , \"t\\u0079pe\" : \"ADD\\u0045D\" }}\r\n"),
        ] {
            match only_event::<Compact<Value>>(&body) {
                Ok(WatchEvent::Added(Decoded::Object(object))) => assert_eq!(object.name(), "a"),
                other => panic!("{body}: {other:?}"),
            }
        }
    }

    #[test]
    fn frames_need_no_line_ends_and_stand_blank_lines() {
        let event = format!(r#"{{"type":"MODIFIED","object":{A}}}"#);
        for body in [
            format!("{event}{event}"),
            format!("{event}\n{event}\n"),
            format!("\r\n\r\n{event}\r\n\n \t{event}\r\n\r\n"),
        ] {
            assert_eq!(watch::<Value>(&body).len(), 2, "{body:?}");
        }
        let pretty =
            serde_json::from_str::<Value>(&event).and_then(|v| serde_json::to_string_pretty(&v));
        assert_eq!(watch::<Value>(&pretty.expect("it is JSON")).len(), 1);
    }

    #[test]
    fn a_frame_that_broke_off_is_thrown_away() {
        let event = format!(r#"{{"type":"ADDED","object":{A}}}"#);
        for end in 1..event.len() {
            let mut decoder = WatchDecoder::<Value>::new(WireFormat::Json, options());
            decoder.push(event.as_bytes());
            assert!(decoder.next().is_some());
            decoder.push(&event.as_bytes()[..end]);
            assert!(decoder.next().is_none());
            assert_eq!(decoder.finish(), StreamEnd::Truncated { discarded: end });
        }
        let mut decoder = WatchDecoder::<Value>::new(WireFormat::Json, options());
        decoder.push(format!("{event}\n\n").as_bytes());
        assert!(decoder.next().is_some() && decoder.next().is_none());
        assert_eq!(decoder.finish(), StreamEnd::Clean);
    }

    #[test]
    fn bookmarks_are_read_without_the_type() {
        #[derive(Debug, Deserialize)]
        struct Never {
            #[expect(dead_code, reason = "only read")]
            missing: String,
        }
        for (metadata, end) in [
            (r#"{"resourceVersion":"205"}"#, false),
            (
                r#"{"resourceVersion":"205","annotations":{"k8s.io/initial-events-end":"true"}}"#,
                true,
            ),
            (
                r#"{"annotations":{"a":"b","k8s.io/initial-events-end":"false"},"resourceVersion":"205"}"#,
                false,
            ),
            (
                r#"{"annotations":null,"resourceVersion":"205","creationTimestamp":null}"#,
                false,
            ),
        ] {
            let body = format!(
                r#"{{"type":"BOOKMARK","object":{{"kind":"Pod","metadata":{metadata},"spec":{{"containers":null}},"status":{{}}}}}}"#
            );
            match only_event::<Never>(&body) {
                Ok(WatchEvent::Bookmark {
                    resource_version,
                    initial_events_end,
                    ..
                }) => {
                    assert_eq!((resource_version, initial_events_end), ("205".into(), end));
                }
                other => panic!("{other:?}"),
            }
        }
        for object in ["null", "{}", r#"{"metadata":{"resourceVersion":""}}"#] {
            let body = format!(r#"{{"type":"BOOKMARK","object":{object}}}"#);
            assert!(matches!(
                only_event::<Never>(&body),
                Err(DecodeError::Malformed { .. })
            ));
        }
    }

    #[test]
    fn errors_are_told_whatever_they_hold() {
        let told = |body: &str| match only_event::<Value>(body) {
            Ok(WatchEvent::Error(status)) => status,
            other => panic!("{body}: {other:?}"),
        };
        let status = told(
            r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}}"#,
        );
        assert!(status.is_expired());
        assert!(told(r#"{"object":{"code":410},"type":"ERROR"}"#).is_expired());
        // Some servers write the error in place of the event.
        let bare = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}"#;
        assert!(told(bare).is_expired());
        for object in [
            "null",
            "5",
            "{}",
            r#"{"kind":"Pod","code":410}"#,
            r#"{"kind":"Status","code":"x"}"#,
            "[]",
        ] {
            let status = told(&format!(r#"{{"type":"ERROR","object":{object}}}"#));
            assert_eq!((status.code, status.is_expired()), (500, false), "{object}");
            assert!(!status.message.is_empty());
        }
        assert_eq!(told(r#"{"type":"ERROR"}"#).code, 500);
    }

    #[test]
    fn events_of_unknown_types_are_named() {
        let long = "Y".repeat(1000);
        for (name, told) in [
            ("REORDERED", "REORDERED"),
            ("", ""),
            ("added", "added"),
            (&long, &long[..64]),
        ] {
            match only_event::<Value>(&format!(r#"{{"type":"{name}","object":{A}}}"#)) {
                Ok(WatchEvent::Unknown(name)) => assert_eq!(name, told),
                other => panic!("{other:?}"),
            }
        }
    }

    // INV-WIRE-9
    #[test]
    fn objects_that_do_not_say_who_they_are_are_errors() {
        for kind in ["ADDED", "MODIFIED", "DELETED"] {
            for object in [
                "null",
                "{}",
                r#"{"metadata":null}"#,
                r#"{"metadata":{"name":null}}"#,
                "7",
            ] {
                let body = format!(r#"{{"type":"{kind}","object":{object}}}"#);
                let error =
                    only_event::<Value>(&body).expect_err("nobody can tell which object it is");
                assert!(matches!(
                    error,
                    DecodeError::Unnamed { .. } | DecodeError::Malformed { .. }
                ));
            }
            assert!(only_event::<Value>(&format!(r#"{{"type":"{kind}"}}"#)).is_err());
        }
        let table =
            r#"{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}}"#;
        assert!(matches!(
            only_event::<Value>(table),
            Err(DecodeError::UnexpectedKind { .. })
        ));
        for body in [r#"{"object":{}}"#, r#"{"type":5,"object":{}}"#, "{}"] {
            assert!(
                matches!(
                    only_event::<Value>(body),
                    Err(DecodeError::Malformed { .. })
                ),
                "{body}"
            );
        }
    }

    // INV-WIRE-10
    #[test]
    fn a_deletion_is_told_even_if_its_object_cannot_be_decoded() {
        #[derive(Debug, Deserialize)]
        struct Strict {
            #[expect(dead_code, reason = "only read")]
            size: u8,
        }
        let body = r#"{"type":"DELETED","object":{"size":-1,"metadata":{"name":"a","uid":"u","resourceVersion":"7"}}}"#;
        match only_event::<Strict>(body) {
            Ok(WatchEvent::Deleted(Decoded::SetAside(aside))) => {
                assert_eq!(aside.key, Some(ObjectKey::cluster_scoped("a")));
                assert_eq!(aside.resource_version, Some("7".into()));
            }
            other => panic!("{other:?}"),
        }
    }

    // INV-WIRE-5
    #[test]
    fn a_known_copy_is_unchanged_but_its_deletion_is_news() {
        let events = ["ADDED", "MODIFIED", "DELETED"]
            .map(|kind| format!(r#"{{"type":"{kind}","object":{A}}}"#));
        let known = |_: &ObjectKey| Some(Known::new(Some("u1".into()), Some("5".into())));
        let mut decoder =
            WatchDecoder::<Value>::new(WireFormat::Json, options()).known(Arc::new(known));
        decoder.push(events.concat().as_bytes());
        let mut next = || decoder.next().expect("an event").expect("a good one");
        assert!(matches!(next(), WatchEvent::Added(Decoded::Unchanged(_))));
        assert!(matches!(
            next(),
            WatchEvent::Modified(Decoded::Unchanged(_))
        ));
        assert!(matches!(next(), WatchEvent::Deleted(Decoded::Object(_))));
    }

    #[test]
    fn a_broken_stream_gives_one_error_and_nothing_more() {
        for (body, limits) in [
            ("<html>", Limits::default()),
            ("}", Limits::default()),
            ("[1]", Limits::default()),
            (
                &*format!(r#"{{"type":"{}"#, "x".repeat(200)),
                Limits::default().object_bytes(100),
            ),
            (r#"{"a":{"b":{"c":1}}}"#, Limits::default().depth(2)),
        ] {
            for chunk in [1, 3, 1000] {
                let mut decoder =
                    WatchDecoder::<Value>::new(WireFormat::Json, options().limits(limits));
                let mut errors = 0;
                for bytes in [body.as_bytes(), br#"{"type":"X"}"#].concat().chunks(chunk) {
                    decoder.push(bytes);
                    while let Some(event) = decoder.next() {
                        assert!(event.is_err());
                        errors += 1;
                    }
                }
                assert_eq!(errors, 1, "{body}");
            }
        }
    }
}

mod types {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Spec {
        spec: Option<u32>,
        kind: Option<String>,
    }

    #[test]
    fn a_view_holds_the_metadata_and_its_fields() -> Result<(), DecodeError> {
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
    fn metadata_says_the_kind_that_was_asked_for() -> Result<(), DecodeError> {
        let partial = br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}"#;
        let whole = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{}}"#;
        let asked = options().resource(Resource::core("v1", "Pod", "pods", Scope::Namespaced));
        for (json, options, types) in [
            (&partial[..], options(), ("", "")),
            (&whole[..], options(), ("v1", "Pod")),
            (&partial[..], asked.clone(), ("v1", "Pod")),
            (&whole[..], asked, ("v1", "Pod")),
        ] {
            let metadata: Metadata = decode_object(WireFormat::Json, json, &options)?;
            assert_eq!((metadata.api_version(), metadata.kind()), types);
            assert_eq!(Object::name(&metadata), "a");
        }
        Ok(())
    }

    #[test]
    fn metadata_is_asked_for_in_the_form_of_the_request() {
        assert!(Metadata::accept(ReadVerb::List).contains("as=PartialObjectMetadataList;"));
        assert!(Metadata::accept(ReadVerb::Watch).contains("as=PartialObjectMetadata;"));
        assert!(Metadata::accept(ReadVerb::Get).contains("as=PartialObjectMetadata;"));
        assert_eq!(Value::accept(ReadVerb::List), "application/json");
        assert_eq!(Dynamic::accept(ReadVerb::Watch), "application/json");
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
    fn a_compact_object_holds_no_more_than_its_bytes() -> Result<(), DecodeError> {
        let json = br#"{"kind":"A","apiVersion":"v1","metadata":{"name":"a","managedFields":[{"x":1}]},"spec":{"b":1}}"#;
        let object: Dynamic = decode_object(WireFormat::Json, json, &options())?;
        assert_eq!(object.raw(), br#"{"spec":{"b":1}}"#);
        assert_eq!(
            object.to_json(),
            br#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":{"b":1}}"#
        );
        assert!(!format!("{object:?}").contains("spec"));
        Ok(())
    }

    #[test]
    fn objects_of_one_interner_share_their_texts() -> Result<(), DecodeError> {
        let json = br#"{"metadata":{"name":"a","namespace":"n","labels":{"app":"shop"}}}"#;
        let decode = |options: &DecodeOptions| -> Result<Metadata, DecodeError> {
            decode_object(WireFormat::Json, json, options)
        };
        let address = |object: &Metadata| object.metadata().label("app").map(str::as_ptr);
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
    fn a_status_in_place_of_an_object_is_an_error() {
        let status = br#"{"kind":"Status","code":409,"reason":"Conflict","status":"Failure"}"#;
        let error =
            decode_object::<Value>(WireFormat::Json, status, &options()).expect_err("a status");
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
        let error =
            decode_object::<Value>(WireFormat::Json, A.as_bytes(), &options().limits(limits));
        assert!(matches!(error, Err(DecodeError::TooLarge { .. })));
    }
}
