//! Watches, event by event.

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
    let bare =
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}"#;
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
            let error = only_event::<Value>(&body).expect_err("nobody can tell which object it is");
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
    let events =
        ["ADDED", "MODIFIED", "DELETED"].map(|kind| format!(r#"{{"type":"{kind}","object":{A}}}"#));
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

// INV-WIRE-5: what is known says nothing of the changes behind the first state.
#[test]
fn behind_the_first_state_every_object_is_decoded() {
    let known = |_: &ObjectKey| Some(Known::new(Some("u1".into()), Some("5".into())));
    let mut decoder =
        WatchDecoder::<Value>::new(WireFormat::Json, options()).known(Arc::new(known));
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
            WatchEvent::Added(Decoded::Unchanged(_)) => "unchanged",
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
fn the_usual_form_of_events_is_read_as_any_other() {
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
