//! Watches in protobuf, event by event.

use super::*;

fn watch<K: FromWire>(pushes: &[&[u8]]) -> (Vec<Result<WatchEvent<K>, DecodeError>>, StreamEnd) {
    let mut decoder = WatchDecoder::new(PROTOBUF, options());
    let mut events = Vec::new();
    for push in pushes {
        decoder.push(push);
        while let Some(event) = decoder.next() {
            events.push(event);
        }
    }
    (events, decoder.finish())
}

fn event(event_type: &str, object: &Value) -> Vec<u8> {
    protobuf::watch_event(event_type, &enveloped(object))
}

fn shown(events: &[Result<WatchEvent<Value>, DecodeError>]) -> Vec<String> {
    events.iter().map(|event| format!("{event:?}")).collect()
}

fn bookmark() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}})
}

// INV-WIRE-2
#[test]
fn events_are_the_same_however_they_are_cut() {
    let body = [
        event("ADDED", &pod()),
        event("DELETED", &named("b")),
        event("BOOKMARK", &bookmark()),
    ]
    .concat();
    let (whole, end) = watch::<Value>(&[&body]);
    assert_eq!((whole.len(), end), (3, StreamEnd::Clean));
    let Ok(WatchEvent::Added(Decoded::Object(added))) = &whole[0] else {
        panic!("{whole:?}")
    };
    assert_eq!(added["spec"]["nodeName"], "node");
    assert_eq!(
        (&added["kind"], &added["apiVersion"]),
        (&json!("Pod"), &json!("v1"))
    );
    assert!(
        matches!(&whole[1], Ok(WatchEvent::Deleted(Decoded::Object(pod))) if pod["metadata"]["name"] == "b")
    );
    let Ok(WatchEvent::Bookmark {
        resource_version,
        initial_events_end,
    }) = &whole[2]
    else {
        panic!("{whole:?}")
    };
    assert_eq!((resource_version, *initial_events_end), (&"9".into(), true));
    for cut in 0..=body.len() {
        let (start, end) = body.split_at(cut);
        assert_eq!(shown(&watch(&[start, end]).0), shown(&whole), "{cut}");
    }
}

#[test]
fn incomplete_event_is_discarded() {
    let whole = event("ADDED", &pod());
    for cut in 1..whole.len() {
        let (events, end) = watch::<Value>(&[&whole, &whole[..cut]]);
        assert_eq!(
            (events.len(), end),
            (1, StreamEnd::Truncated { discarded: cut })
        );
    }
}

#[test]
fn error_event_is_read_in_each_encoding() {
    let status = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "message": "too old"});
    let json = br#"{"kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"too old"}"#;
    let bare = enveloped(&status);
    let bare = [&(bare.len() as u32).to_be_bytes()[..], &bare].concat();
    for frame in [
        event("ERROR", &status),
        protobuf::watch_event("ERROR", json),
        bare,
    ] {
        let (mut events, _) = watch::<Value>(&[&frame]);
        let Ok(WatchEvent::Error(status)) = events.remove(0) else {
            panic!("no error")
        };
        assert!(status.is_expired());
        assert_eq!(status.message, "too old");
    }
    for frame in [event("ERROR", &pod()), protobuf::watch_event("ERROR", b"")] {
        let (mut events, _) = watch::<Value>(&[&frame]);
        assert!(matches!(events.remove(0), Ok(WatchEvent::Error(status)) if status.code == 500));
    }
}

#[test]
fn event_may_hold_json_or_an_envelope() {
    let frame = protobuf::watch_event(
        "ADDED",
        br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#,
    );
    let (events, _) = watch::<Value>(&[&frame]);
    assert!(
        matches!(&events[0], Ok(WatchEvent::Added(Decoded::Object(pod))) if pod["metadata"]["name"] == "a")
    );
    let event = event("ADDED", &pod());
    let enveloped = protobuf::envelope("v1", "WatchEvent", &event[4..]);
    let frame = [&(enveloped.len() as u32).to_be_bytes()[..], &enveloped].concat();
    let (events, _) = watch::<Value>(&[&frame]);
    assert!(matches!(
        &events[0],
        Ok(WatchEvent::Added(Decoded::Object(_)))
    ));
}

#[test]
fn unknown_event_type_is_returned() {
    let (events, _) = watch::<Value>(&[&event("SPLIT", &pod())]);
    assert!(matches!(&events[0], Ok(WatchEvent::Unknown(kind)) if kind == "SPLIT"));
}

// INV-WIRE-9
#[test]
fn event_without_usable_key_is_undecodable_without_key() {
    let nameless = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
    for frame in [
        event("DELETED", &nameless),
        protobuf::watch_event("DELETED", b""),
        protobuf::watch_event("DELETED", b"{}"),
        protobuf::watch_event("DELETED", br#"{"metadata":{},"metadata":{}}"#),
    ] {
        let (mut events, _) = watch::<Value>(&[&frame]);
        match events.remove(0) {
            Ok(WatchEvent::Deleted(Decoded::Undecodable(undecodable))) => {
                assert_eq!(undecodable.key, None);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn event_that_is_no_protobuf_is_an_error() {
    for frame in [
        event(
            "BOOKMARK",
            &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}}),
        ),
        protobuf::watch_event("", &enveloped(&pod())),
        protobuf::watch_event("ADDED", b"k8s"),
        protobuf::watch_event("ADDED", &protobuf::envelope("v1", "Pod", &[0x0a, 9])),
        vec![0, 0, 0, 0],
        vec![0, 0, 0, 1, 0xff],
    ] {
        let (events, _) = watch::<Value>(&[&frame]);
        assert!(events[0].is_err(), "{frame:?}");
    }
}

// INV-WIRE-13
#[test]
fn length_of_four_gigabytes_is_refused() {
    let (events, _) = watch::<Value>(&[&[0xff; 4], &event("ADDED", &pod())]);
    let error = DecodeError::TooLarge {
        what: "watch event",
        limit: 32 << 20,
    };
    assert_eq!(events.len(), 1, "the error is final");
    assert!(matches!(&events[0], Err(found) if *found == error));
}

// INV-WIRE-6
#[test]
fn object_is_equal_from_list_and_watch() {
    let mut list = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [pod()]});
    list["items"][0]
        .as_object_mut()
        .unwrap()
        .retain(|key, _| key != "kind" && key != "apiVersion");
    fn both<K: FromWire + PartialEq + std::fmt::Debug>(list: &Value) {
        let mut decoder = ListDecoder::<K>::new(PROTOBUF, options());
        decoder.push(&enveloped(list));
        let Some(Ok(Decoded::Object(listed))) = decoder.next() else {
            panic!("no item")
        };
        let (mut events, _) = watch::<K>(&[&event("ADDED", &pod())]);
        let Ok(WatchEvent::Added(Decoded::Object(watched))) = events.remove(0) else {
            panic!("no event")
        };
        assert_eq!(listed, watched);
    }
    both::<Value>(&list);
    both::<Dynamic>(&list);
    both::<PartialObjectMetadata>(&list);
    both::<View<Value>>(&list);
    both::<k8s_openapi::api::core::v1::Pod>(&list);
}
