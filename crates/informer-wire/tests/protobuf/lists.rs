//! Lists in protobuf, item by item.

use super::*;
use std::sync::Arc;

use informer_store::ObjectKey;

/// What a page gave.
type Page<K> = (
    Vec<Result<Decoded<K>, DecodeError>>,
    Result<ListMeta, DecodeError>,
);

fn read<K: FromWire>(decoder: ListDecoder<K>, pushes: &[&[u8]]) -> Page<K> {
    let mut decoder = decoder;
    let mut items = Vec::new();
    for push in pushes {
        decoder.push(push);
        while let Some(item) = decoder.next() {
            items.push(item);
        }
    }
    (items, decoder.finish())
}

fn list<K: FromWire>(pushes: &[&[u8]]) -> Page<K> {
    read(ListDecoder::new(PROTOBUF, options()), pushes)
}

fn objects(page: Page<Value>) -> Vec<Value> {
    let object = |item| match item {
        Ok(Decoded::Object(object)) => object,
        other => panic!("{other:?}"),
    };
    page.1.expect("the page ended well");
    page.0.into_iter().map(object).collect()
}

fn field(no: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    protobuf::write_bytes(no, bytes, &mut out);
    out
}

fn item(object: &Value) -> Vec<u8> {
    field(2, &protobuf::message("v1", "Pod", object).unwrap())
}

fn meta() -> Vec<u8> {
    let meta = json!({"resourceVersion": "9", "continue": "token", "remainingItemCount": 3});
    let list = json!({"metadata": meta, "items": null});
    protobuf::message("v1", "PodList", &list).unwrap()
}

fn envelope(list: &[u8]) -> Vec<u8> {
    protobuf::envelope("v1", "PodList", list)
}

fn pods() -> Vec<u8> {
    envelope(&[meta(), item(&named("a")), item(&named("b"))].concat())
}

// INV-WIRE-2
#[test]
fn list_is_the_same_however_it_is_cut() {
    let body = pods();
    let whole = objects(list(&[&body]));
    assert_eq!(whole.len(), 2);
    assert_eq!(whole[1]["metadata"]["name"], "b");
    assert_eq!(
        (&whole[0]["kind"], &whole[0]["apiVersion"]),
        (&json!("Pod"), &json!("v1"))
    );
    for cut in 0..=body.len() {
        let (start, end) = body.split_at(cut);
        assert_eq!(objects(list(&[start, end])), whole, "{cut}");
    }
    let bytes: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(objects(list(&bytes)), whole);
}

// INV-WIRE-3
#[test]
fn list_metadata_may_stand_before_or_behind_items() {
    let expected = ListMeta::at("9".into()).continue_token("token");
    for parts in [[meta(), item(&pod())], [item(&pod()), meta()]] {
        let (items, end) = list::<Value>(&[&envelope(&parts.concat())]);
        assert_eq!(items.len(), 1);
        let end = end.unwrap();
        assert_eq!(
            (&end.resource_version, &end.continue_token),
            (&expected.resource_version, &expected.continue_token)
        );
        assert_eq!(end.remaining_item_count, Some(3));
    }
    let (items, end) = list::<Value>(&[&envelope(b"")]);
    assert_eq!((items.len(), end), (0, Ok(ListMeta::default())));
}

// INV-WIRE-4
#[test]
fn list_does_not_count_when_it_breaks_off() {
    let body = pods();
    // The last four bytes are the envelope's empty fields, without which the list is whole.
    for cut in 0..body.len() - 4 {
        let (_, end) = list::<Value>(&[&body[..cut]]);
        assert_eq!(end, Err(DecodeError::Truncated { what: "list" }), "{cut}");
    }
}

// INV-WIRE-4
#[test]
fn list_does_not_count_when_bytes_follow() {
    let body = pods();
    for more in [
        &b"x"[..],
        b"\n",
        b"\0",
        b"k8s\0",
        &body,
        &meta(),
        b"\x12\0",
        b"{}",
    ] {
        let (_, end) = list::<Value>(&[&body, more]);
        assert!(end.is_err(), "{more:?}");
    }
    // A field that a later version may add.
    let (_, end) = list::<Value>(&[&body, &[0x2a, 1, b'x']]);
    assert!(end.is_ok());
}

// INV-WIRE-4
#[test]
fn error_written_into_a_list_is_returned() {
    let status = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Timeout", "code": 504, "message": "slow"});
    let expected: Status = serde_json::from_value(status.clone()).unwrap();
    let json = br#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Timeout","code":504,"message":"slow"}"#;
    let body = pods();
    for written in [enveloped(&status), json.to_vec()] {
        // In place of a list, between two items, and behind a list.
        let items = body.len() - 4 - item(&named("b")).len();
        for start in [&b""[..], &body[..items], &body] {
            let (_, end) = list::<Value>(&[start, &written]);
            let error = end.expect_err("an error of the server");
            let status = error
                .status()
                .unwrap_or_else(|| panic!("{}: {error:?}", start.len()));
            assert_eq!((&status.reason, status.code), (&expected.reason, 504));
        }
        // Within an item, whose length covers a part of it. Were it as long as what is missing, nothing would show it.
        let cuts = items + 4..body.len();
        for cut in cuts.filter(|cut| body.len() - cut != written.len()) {
            let (_, end) = list::<Value>(&[&body[..cut], &written]);
            let error = end.expect_err("half an item");
            let status = error
                .status()
                .unwrap_or_else(|| panic!("{cut} of {}: {error:?}", body.len()));
            assert_eq!((&status.reason, status.code), (&expected.reason, 504));
        }
    }
}

// INV-WIRE-2, INV-WIRE-4
#[test]
fn error_written_into_a_broken_list_is_found_however_it_is_cut() {
    let status = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "no", "code": 500});
    let json = br#"{"kind":"Status","status":"Failure","message":"no","code":500}"#;
    let body = pods();
    // Anywhere, also within an item whose length covers a part of it, and a long while before the end.
    let tails = [vec![], vec![0x62; 100], vec![0; 70_000]];
    let length = body.len();
    let items = length - item(&named("a")).len() - item(&named("b")).len();
    let mut hidden = 0;
    for at in 4..length {
        for (written, tail) in [enveloped(&status), json.to_vec()]
            .iter()
            .flat_map(|written| tails.iter().map(move |tail| (written, tail)))
            .filter(|(_, tail)| tail.len() < 1_000 || at % 50 == 0)
        {
            let body = [&body[..at], written, tail].concat();
            let shown = |pushes: &[&[u8]]| {
                let (items, end) = list::<Value>(pushes);
                format!("{items:?} {end:?}")
            };
            let whole = shown(&[&body]);
            // Servers encode item by item. By chance a part of the error, or all of it, looks like a part of an item.
            let is_found = whole.contains("Status(");
            hidden += usize::from(tail.is_empty() && at >= items && !is_found);
            let ends = [at - 1, at, at + 1, at + 9, at + written.len(), at + 65_536];
            for end in ends.into_iter().filter(|&end| end < body.len()) {
                let (start, rest) = body.split_at(end);
                assert_eq!(shown(&[start, rest]), whole, "{at} {end}");
            }
        }
    }
    assert!(hidden < 20, "{hidden} of {}", 2 * (length - items));
}

#[test]
fn answer_that_is_no_list_is_refused() {
    for (bytes, kind) in [
        (enveloped(&pod()), "Pod"),
        (protobuf::envelope("", "", b""), ""),
    ] {
        let (items, end) = list::<Value>(&[&bytes]);
        assert!(items.len() <= 1);
        let expected = "a list";
        assert_eq!(
            end,
            Err(DecodeError::UnexpectedKind {
                expected,
                kind: kind.to_owned()
            })
        );
    }
    for bytes in [&b"{\"kind\":\"PodList\"}"[..], b"<html>", b"k8s\x01"] {
        assert!(
            matches!(
                list::<Value>(&[bytes]).1,
                Err(DecodeError::Malformed { .. })
            ),
            "{bytes:?}"
        );
    }
    let packed = [b"k8s\0".to_vec(), field(2, b""), field(3, b"gzip")].concat();
    assert!(matches!(
        list::<Value>(&[&packed]).1,
        Err(DecodeError::Malformed { .. })
    ));
}

// INV-WIRE-9
#[test]
fn list_items_without_usable_key_are_undecodable() {
    let nameless = [
        vec![],
        field(1, b""),
        field(1, &[0x0a, 3, b'a', b'/', b'b', 0x32, 1, b'3']),
    ];
    for bytes in nameless {
        let body = envelope(
            &[
                item(&named("a")),
                field(2, &bytes),
                item(&named("b")),
                meta(),
            ]
            .concat(),
        );
        let (mut items, end) = list::<Value>(&[&body]);
        assert!(end.is_ok());
        assert_eq!(items.len(), 3);
        let Ok(Decoded::Undecodable(undecodable)) = items.remove(1) else {
            panic!("not undecodable")
        };
        assert_eq!(undecodable.key, None);
        assert_eq!(
            undecodable.version.resource_version.is_some(),
            bytes.len() > 4
        );
    }
}

// INV-WIRE-10
#[test]
fn undecodable_list_item_has_its_key() {
    let broken = [
        protobuf::message("v1", "Pod", &pod()).unwrap(),
        field(2, &[0x52, 9]),
    ]
    .concat();
    let body = envelope(&[field(2, &broken), item(&named("b")), meta()].concat());
    let (mut items, end) = list::<Value>(&[&body]);
    assert!(end.is_ok() && items.len() == 2);
    let Ok(Decoded::Undecodable(undecodable)) = items.remove(0) else {
        panic!("not undecodable")
    };
    assert_eq!(undecodable.key, Some(ObjectKey::namespaced("n", "a")));
    assert_eq!(undecodable.version.resource_version, Some("7".into()));
    assert!(matches!(items.remove(0), Ok(Decoded::Object(_))));
    // Whoever reads no more than the metadata has no trouble.
    let (items, _) = list::<PartialObjectMetadata>(&[&body]);
    assert!(
        items
            .iter()
            .all(|item| matches!(item, Ok(Decoded::Object(_))))
    );
}

// INV-WIRE-5
#[test]
fn list_item_equal_to_stored_object_is_not_decoded() {
    let broken = [
        protobuf::message("v1", "Pod", &pod()).unwrap(),
        field(2, &[0x52, 9]),
    ]
    .concat();
    let body = envelope(&[field(2, &broken), item(&named("b")), meta()].concat());
    let object = Arc::new(decode::<Dynamic>(&enveloped(&pod())).unwrap());
    let newest = {
        let object = Arc::clone(&object);
        move |key: &ObjectKey| (key.name() == "a").then(|| (key.clone(), Arc::clone(&object)))
    };
    let decoder = ListDecoder::<Dynamic>::new(PROTOBUF, options()).newest(Arc::new(newest));
    let (items, end) = read(decoder, &[&body]);
    assert!(end.is_ok());
    let Ok(Decoded::Unchanged(key, unchanged)) = &items[0] else {
        panic!("{items:?}")
    };
    assert_eq!(key.name(), "a");
    assert!(Arc::ptr_eq(unchanged, &object));
    assert!(matches!(&items[1], Ok(Decoded::Object(_))));
}

// INV-WIRE-13
#[test]
fn length_beyond_a_limit_is_refused_before_it_is_held() {
    let limited = |limits: Limits, pushes: &[&[u8]]| {
        let decoder = ListDecoder::<Value>::new(PROTOBUF, options().limits(limits));
        read(decoder, pushes).1.expect_err("a limit is exceeded")
    };
    let error = |what, limit| DecodeError::TooLarge { what, limit };
    let body = pods();
    let limits = Limits::default();
    assert_eq!(
        limited(limits.object_bytes(100), &[&body]),
        error("list item", 100)
    );
    assert_eq!(
        limited(limits.page_bytes(100), &[&body]),
        error("list", 100)
    );
    // Lengths of 4 GB and more, of which nothing ever comes.
    let four_gb = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let big_item = [
        b"k8s\0\x12".as_slice(),
        &four_gb,
        b"\x12",
        &[0xf0, 0xff, 0xff, 0xff, 0x0f],
    ]
    .concat();
    assert_eq!(limited(limits, &[&big_item]), error("list item", 32 << 20));
    let big_page = [
        b"k8s\0\x12".as_slice(),
        &[0x80, 0x80, 0x80, 0x80, 0x80, 0x08],
    ]
    .concat();
    assert_eq!(limited(limits, &[&big_page]), error("list", 16 << 30));
    for head in [b"k8s\0\x0a".as_slice(), b"k8s\0\x2a", b"k8s\0\x1a"] {
        let big_head = [head, &four_gb].concat();
        assert_eq!(limited(limits, &[&big_head]), error("list's head", 1 << 20));
    }
}

#[test]
fn list_of_metadata_has_the_requested_type() {
    let meta = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "9"},
        "items": [{"metadata": pod()["metadata"]}]});
    let body = enveloped(&meta);
    let options = options().resource(Resource::builtin("pods").unwrap());
    let (mut items, end) = read(
        ListDecoder::<PartialObjectMetadata>::new(PROTOBUF, options),
        &[&body],
    );
    assert!(end.is_ok());
    let Ok(Decoded::Object(pod)) = items.remove(0) else {
        panic!("no object")
    };
    assert_eq!(
        (pod.kind(), pod.api_version(), pod.metadata().name()),
        ("Pod", "v1", "a")
    );
}
