//! Watches, event by event.

use super::*;

// INV-WIRE-3
#[test]
fn type_and_object_may_be_in_either_order() {
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
fn frames_need_no_line_ends_and_may_have_blank_lines() {
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
fn incomplete_frame_is_discarded() {
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
fn bookmark_is_read_whatever_the_type_requires() {
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
fn error_event_is_returned_whatever_it_holds() {
    let error_of = |body: &str| match only_event::<Value>(body) {
        Ok(WatchEvent::Error(status)) => status,
        other => panic!("{body}: {other:?}"),
    };
    let status = error_of(
        r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}}"#,
    );
    assert!(status.is_expired());
    assert!(error_of(r#"{"object":{"code":410},"type":"ERROR"}"#).is_expired());
    // Some servers write the error in place of the event.
    let bare =
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}"#;
    assert!(error_of(bare).is_expired());
    for object in [
        "null",
        "5",
        "{}",
        r#"{"kind":"Pod","code":410}"#,
        r#"{"kind":"Status","code":"x"}"#,
        "[]",
    ] {
        let status = error_of(&format!(r#"{{"type":"ERROR","object":{object}}}"#));
        assert_eq!((status.code, status.is_expired()), (500, false), "{object}");
        assert!(!status.message.is_empty());
    }
    assert_eq!(error_of(r#"{"type":"ERROR"}"#).code, 500);
}

#[test]
fn unknown_event_type_is_returned() {
    let long = "Y".repeat(1000);
    for (name, returned) in [
        ("REORDERED", "REORDERED"),
        ("", ""),
        ("added", "added"),
        (&long, &long[..64]),
    ] {
        match only_event::<Value>(&format!(r#"{{"type":"{name}","object":{A}}}"#)) {
            Ok(WatchEvent::Unknown(name)) => assert_eq!(name, returned),
            other => panic!("{other:?}"),
        }
    }
}

/// The object of the only event of a body.
fn only_object<K: FromWire + std::fmt::Debug>(body: &str) -> Decoded<K> {
    match only_event::<K>(body) {
        Ok(
            WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object),
        ) => object,
        other => panic!("{body}: {other:?}"),
    }
}

// INV-WIRE-9
#[test]
fn event_without_usable_key_is_undecodable_without_key() {
    let bodies = |kind: &str| {
        let objects = [
            "null",
            "{}",
            "7",
            "[]",
            r#""a""#,
            r#"{"metadata":null}"#,
            r#"{"metadata":{"name":null}}"#,
            r#"{"metadata":{"name":5}}"#,
            r#"{"metadata":{"name":"a/b"}}"#,
            r#"{"metadata":{"name":"a","namespace":"n/m"}}"#,
            r#"{"metadata":{},"metadata":{"name":"a"}}"#,
            r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}"#,
            r#"{"kind":"Status","code":"x"}"#,
        ];
        let with_object = move |object| format!(r#"{{"type":"{kind}","object":{object}}}"#);
        let mut bodies: Vec<String> = objects.map(with_object).into();
        bodies.push(format!(r#"{{"type":"{kind}"}}"#));
        bodies
    };
    for body in ["ADDED", "MODIFIED", "DELETED"]
        .into_iter()
        .flat_map(bodies)
    {
        match only_object::<Value>(&body) {
            Decoded::Undecodable(undecodable) => assert_eq!(undecodable.key, None, "{body}"),
            other => panic!("{body}: {other:?}"),
        }
    }
    let body = r#"{"type":"DELETED","object":{"metadata":{"uid":"u","resourceVersion":"7"}}}"#;
    let Decoded::Undecodable(undecodable) = only_object::<Value>(body) else {
        panic!("it has no name");
    };
    let version = ObjectVersion::new(Some("u".into()), Some("7".into()));
    assert_eq!(undecodable.version, version);
}

#[test]
fn event_without_type_or_with_status_as_object_is_an_error() {
    for body in [r#"{"object":{}}"#, r#"{"type":5,"object":{}}"#, "{}"] {
        assert!(
            matches!(
                only_event::<Value>(body),
                Err(DecodeError::Malformed { .. })
            ),
            "{body}"
        );
    }
    let body = r#"{"type":"ADDED","object":{"kind":"Status","reason":"Expired","code":410}}"#;
    assert!(matches!(
        only_event::<Value>(body),
        Err(DecodeError::Status(status)) if status.is_expired()
    ));
}

// INV-WIRE-10
#[test]
fn deletion_of_undecodable_object_has_its_key() {
    #[derive(Debug, Deserialize)]
    struct Strict {
        #[expect(dead_code, reason = "only read")]
        size: u8,
    }
    let body = r#"{"type":"DELETED","object":{"size":-1,"metadata":{"name":"a","uid":"u","resourceVersion":"7"}}}"#;
    match only_event::<Strict>(body) {
        Ok(WatchEvent::Deleted(Decoded::Undecodable(undecodable))) => {
            assert_eq!(undecodable.key, Some(ObjectKey::cluster_scoped("a")));
            assert_eq!(undecodable.version.resource_version, Some("7".into()));
        }
        other => panic!("{other:?}"),
    }
}

// INV-WIRE-5
#[test]
fn event_equal_to_stored_object_is_not_decoded_unless_deleted() {
    let events =
        ["ADDED", "MODIFIED", "DELETED"].map(|kind| format!(r#"{{"type":"{kind}","object":{A}}}"#));
    let object = stored::<Dynamic>(A);
    let newest = {
        let object = Arc::clone(&object);
        move |key: &ObjectKey| Some((key.clone(), Arc::clone(&object)))
    };
    let decoder = WatchDecoder::<Dynamic>::new(WireFormat::Json, options());
    let mut decoder = decoder.newest(Arc::new(newest));
    decoder.push(events.concat().as_bytes());
    let mut next = || decoder.next().expect("an event").expect("a good one");
    for _ in 0..2 {
        match next() {
            WatchEvent::Added(Decoded::Unchanged(key, unchanged))
            | WatchEvent::Modified(Decoded::Unchanged(key, unchanged)) => {
                assert_eq!(key, ObjectKey::namespaced("n", "a"));
                assert!(Arc::ptr_eq(&unchanged, &object));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(next(), WatchEvent::Deleted(Decoded::Object(_))));
}

// INV-WIRE-5
#[test]
fn every_object_behind_the_initial_events_is_decoded() {
    let object = stored::<Dynamic>(A);
    let newest = move |key: &ObjectKey| Some((key.clone(), Arc::clone(&object)));
    let decoder = WatchDecoder::<Dynamic>::new(WireFormat::Json, options());
    let mut decoder = decoder.newest(Arc::new(newest));
    let added = format!(r#"{{"type":"ADDED","object":{A}}}"#);
    let bookmark = |annotations: &str| {
        format!(
            r#"{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"7","annotations":{annotations}}}}}}}"#
        )
    };
    let end = bookmark(r#"{"k8s.io/initial-events-end":"true"}"#);
    let events = [&added, &bookmark("{}"), &added, &end, &added];
    for event in events {
        decoder.push(event.as_bytes());
    }
    let seen: Vec<_> = std::iter::from_fn(|| decoder.next())
        .map(|event| match event.expect("a good one") {
            WatchEvent::Added(Decoded::Unchanged(..)) => "unchanged",
            WatchEvent::Added(Decoded::Object(_)) => "decoded",
            _ => "bookmark",
        })
        .collect();
    assert_eq!(
        seen,
        ["unchanged", "bookmark", "unchanged", "bookmark", "decoded"]
    );
}

// INV-WIRE-2, INV-WIRE-3: events in the form that servers write are cut in one step if they are all there.
#[test]
fn usual_form_of_events_is_read_as_any_other() {
    let object =
        r#"{"kind":"Pod","metadata":{"name":"a","annotations":{"x":"}\\\"{"}},"spec":{"n":[1]}}"#;
    let deep = format!(
        r#"{{"metadata":{{"name":"a"}},"d":{}1{}}}"#,
        "[".repeat(6),
        "]".repeat(6)
    );
    let bodies = [
        format!(r#"{{"type":"ADDED","object":{object}}}"#),
        format!("{{\"type\":\"ADDED\",\"object\":{object} \n\t}}"),
        format!("{{\"type\":\"ADDED\",\"object\":{object}\u{c}}}"),
        format!(r#"{{"type":"ADDED","object":{object},"type":"DELETED"}}"#),
        format!(r#"{{"type":"ADDED","object":{object},"object":{{"metadata":{{"name":"b"}}}}}}"#),
        format!(r#"{{"type":"ADDED","object":{object}"x"}}"#),
        format!(r#"{{"type":"ADDED","object":{object}]"#),
        format!(r#"{{"type":"","object":{object}}}"#),
        format!(r#"{{"type":"Added","object":{object}}}"#),
        r#"{"type":"ADDED","object":{}}"#.to_owned(),
        r#"{"type":"ADDED","object":null}"#.to_owned(),
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"}]}"#.to_owned(),
        format!(r#"{{"type":"ADDED","object":{deep}}}"#),
    ];
    for depth in [5, 8, 9, 64] {
        for body in &bodies {
            let read = |chunk: usize| {
                let options = options().limits(Limits::default().depth(depth));
                let mut decoder = WatchDecoder::<Value>::new(WireFormat::Json, options);
                let mut seen = Vec::new();
                for bytes in [body.as_bytes(), b"\n", body.as_bytes()]
                    .concat()
                    .chunks(chunk)
                {
                    decoder.push(bytes);
                    seen.extend(
                        std::iter::from_fn(|| decoder.next()).map(|event| format!("{event:?}")),
                    );
                }
                seen.push(format!("{:?}", decoder.finish()));
                seen
            };
            // Byte by byte the form is not seen when the event begins.
            let expected = read(1);
            for chunk in [20, 40, 70, 10_000] {
                assert_eq!(read(chunk), expected, "{body} in chunks of {chunk}");
            }
        }
    }
}

#[test]
fn broken_stream_ends_with_one_error() {
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
