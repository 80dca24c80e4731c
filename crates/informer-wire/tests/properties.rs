//! Properties of the decoders over arbitrary JSON and arbitrary bytes.
#![allow(missing_docs, reason = "these are tests")]

use std::time::Duration;

use informer_wire::json::{FrameSplitter, ListSplitter, ListText, StreamEnd};
use informer_wire::{
    Compact, DecodeError, DecodeOptions, Decoded, DeleteOptions, FromWire, Limits, ListDecoder,
    ListOptions, ObjectMeta, Status, WatchDecoder, WatchEvent, WireFormat, decode_object,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// Texts with all that is special in JSON.
fn text() -> impl Strategy<Value = String> {
    let special = select(vec![
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\n",
        "\u{0}",
        "ü",
        "✓",
        "\u{1f600}",
        "a",
    ]);
    proptest::collection::vec(special, 0..12).prop_map(|parts| parts.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Metadata as a server may write it, with a name.
fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let texts = || prop_oneof![Just(Value::Null), text().prop_map(Value::from)];
    let map = || {
        let some = proptest::collection::btree_map(text(), text(), 0..4);
        prop_oneof![Just(Value::Null), some.prop_map(|map| json!(map))]
    };
    let time = select(vec![
        json!("2026-11-29T15:33:37Z"),
        json!("1969-12-31T23:59:59Z"),
        Value::Null,
    ]);
    let owner = (text(), any::<Option<bool>>(), any::<Option<bool>>()).prop_map(|(name, controller, block)| {
        let mut owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "cd3cdf97-5367-4e01-a4f6-76b8fc75a236"});
        for (key, flag) in [("controller", controller), ("blockOwnerDeletion", block)] {
            if let Some(flag) = flag {
                owner[key] = json!(flag);
            }
        }
        owner
    });
    let owners = proptest::collection::vec(owner, 1..3).prop_map(Value::from);
    let finalizers = proptest::collection::vec(text(), 1..3).prop_map(|all| json!(all));
    let number = || any::<i64>().prop_map(Value::from);
    let fields = [
        ("namespace", texts().boxed()),
        ("uid", texts().boxed()),
        ("resourceVersion", texts().boxed()),
        ("generateName", texts().boxed()),
        ("generation", number().boxed()),
        ("creationTimestamp", time.clone().boxed()),
        ("deletionTimestamp", time.boxed()),
        ("deletionGracePeriodSeconds", number().boxed()),
        ("labels", map().boxed()),
        ("annotations", map().boxed()),
        ("ownerReferences", owners.boxed()),
        ("finalizers", finalizers.boxed()),
    ];
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            proptest::option::of(value)
                .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    (fields, text()).prop_map(|(fields, name)| {
        let mut all: Map<String, Value> = fields.into_iter().flatten().collect();
        all.insert("name".to_owned(), json!(format!("n{name}")));
        all
    })
}

/// Writes an object's members in an order of their own, with white space between.
fn write(members: &[(String, Value)], order: &[Index], space: &str) -> String {
    let mut left: Vec<_> = members.iter().collect();
    let mut parts = Vec::new();
    let mut order = order.iter().cycle();
    while !left.is_empty() {
        let at = order.next().map_or(0, |index| index.index(left.len()));
        let (key, value) = left.remove(at);
        parts.push(format!(
            "{space}{}{space}:{space}{value}{space}",
            json!(key)
        ));
    }
    format!("{{{}}}", parts.join(","))
}

/// An object's text in some order of its members, and the object without managed fields.
fn object() -> impl Strategy<Value = (String, Value)> {
    let others = proptest::collection::btree_map("[a-z]{1,3}", value(), 0..4);
    let managed = proptest::option::of(value());
    let order = proptest::collection::vec(any::<Index>(), 1..20);
    (
        metadata(),
        managed,
        others,
        order,
        select(vec!["", " ", "\r\n\t"]),
    )
        .prop_map(|(metadata, managed, others, order, space)| {
            let mut inner: Vec<(String, Value)> = metadata.clone().into_iter().collect();
            inner.extend(managed.map(|value| ("managedFields".to_owned(), value)));
            let inner = write(&inner, &order, space);
            let mut whole = others;
            whole.insert("kind".to_owned(), json!("Pod"));
            whole.insert("apiVersion".to_owned(), json!("v1"));
            let mut members: Vec<(String, Value)> = whole.clone().into_iter().collect();
            members.push(("metadata".to_owned(), json!("@")));
            let text = write(&members, &order, space).replacen("\"@\"", &inner, 1);
            whole.insert("metadata".to_owned(), Value::Object(metadata));
            (text, json!(whole))
        })
}

/// Cuts bytes into pieces at these places.
fn cut<'a>(bytes: &'a [u8], cuts: &[Index]) -> Vec<&'a [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn cuts() -> impl Strategy<Value = Vec<Index>> {
    proptest::collection::vec(any::<Index>(), 0..6)
}

fn frames(pushes: &[&[u8]], limits: Limits) -> (Vec<Result<Vec<u8>, DecodeError>>, StreamEnd) {
    let mut splitter = FrameSplitter::new(limits);
    let mut frames = Vec::new();
    for push in pushes {
        splitter.push(push);
        while let Some(frame) = splitter.next_frame() {
            frames.push(frame.map(<[u8]>::to_vec));
        }
    }
    (frames, splitter.finish())
}

type Items = (
    Vec<Result<Vec<u8>, DecodeError>>,
    Result<ListText, DecodeError>,
);

fn items(pushes: &[&[u8]], limits: Limits) -> Items {
    let mut splitter = ListSplitter::new(limits);
    let mut items = Vec::new();
    for push in pushes {
        splitter.push(push);
        while let Some(item) = splitter.next_item() {
            items.push(item.map(<[u8]>::to_vec));
        }
    }
    (items, splitter.finish())
}

/// The objects of a list, and whether it ended well.
fn listed<K: FromWire>(pushes: &[&[u8]]) -> (Vec<K>, bool) {
    let mut decoder = ListDecoder::new(WireFormat::Json, DecodeOptions::default());
    let mut objects = Vec::new();
    for push in pushes {
        decoder.push(push);
        while let Some(Ok(Decoded::Object(object))) = decoder.next() {
            objects.push(object);
        }
    }
    (objects, decoder.finish().is_ok())
}

fn watched(pushes: &[&[u8]]) -> Vec<Value> {
    let mut decoder = WatchDecoder::new(WireFormat::Json, DecodeOptions::default());
    let mut objects = Vec::new();
    for push in pushes {
        decoder.push(push);
        while let Some(event) = decoder.next() {
            if let Ok(WatchEvent::Modified(Decoded::Object(object))) = event {
                objects.push(object);
            }
        }
    }
    objects
}

/// All events, in words.
fn events(pushes: &[&[u8]], limits: Limits) -> Vec<String> {
    let options = DecodeOptions::default().limits(limits);
    let mut decoder = WatchDecoder::<Value>::new(WireFormat::Json, options);
    let mut events = Vec::new();
    for push in pushes {
        decoder.push(push);
        events.extend(std::iter::from_fn(|| decoder.next()).map(|event| format!("{event:?}")));
    }
    events.push(format!("{:?}", decoder.finish()));
    events
}

/// Bytes that look like lists and events, whole and broken.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let parts = select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        " ",
        "\n",
        "null",
        "true",
        "-1.5e999",
        "x",
        "\u{fc}",
        "\"kind\":\"PodList\"",
        "\"items\":[",
        "\"items\":null",
        "\"metadata\":{",
        "\"name\":\"a\"",
        "\"type\":\"ADDED\"",
        "\"object\":",
        "\"type\":\"ERROR\"",
        "\"managedFields\":[",
        "{\"kind\":\"Status\",\"code\":500}",
        "{\"metadata\":{\"name\":\"a\"}}",
        "\"\\ud800\"",
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\"}",
        "{\"type\":\"ERROR\",\"object\":{",
    ]);
    let text =
        proptest::collection::vec(parts, 0..40).prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![4 => text, 1 => proptest::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    // INV-WIRE-2
    #[test]
    fn frames_do_not_depend_on_cuts(
        values in proptest::collection::vec(proptest::collection::btree_map(text(), value(), 0..4), 0..5),
        gap in select(vec!["", "\n", "\r\n \t\n"]),
        cuts in cuts(),
    ) {
        let texts: Vec<String> = values.iter().map(|value| json!(value).to_string()).collect();
        let stream = texts.join(gap).into_bytes();
        let (found, end) = frames(&cut(&stream, &cuts), Limits::default());
        let found: Vec<_> = found.into_iter().map(|frame| frame.map(String::from_utf8)).collect();
        prop_assert_eq!(found, texts.into_iter().map(|text| Ok(Ok(text))).collect::<Vec<_>>());
        prop_assert_eq!(end, StreamEnd::Clean);
    }

    // INV-WIRE-2
    #[test]
    fn decoded_objects_do_not_depend_on_cuts(
        objects in proptest::collection::vec(object(), 0..4),
        metadata_first in any::<bool>(),
        cuts in cuts(),
    ) {
        let (texts, expected): (Vec<String>, Vec<Value>) = objects.into_iter().unzip();
        let items = format!(r#""items":[{}]"#, texts.join(","));
        let metadata = r#""kind":"PodList","metadata":{"resourceVersion":"7"}"#;
        let list = if metadata_first { format!("{{{metadata},{items}}}") } else { format!("{{{items},{metadata}}}") };
        prop_assert_eq!(listed(&cut(list.as_bytes(), &cuts)), (expected.clone(), true));

        let events: String = texts.iter().map(|text| format!(r#"{{"type":"MODIFIED","object":{text}}}"#)).collect();
        prop_assert_eq!(watched(&cut(events.as_bytes(), &cuts)), expected);
    }

    // INV-WIRE-2, INV-WIRE-13
    #[test]
    fn errors_of_broken_bytes_do_not_depend_on_cuts(
        bytes in hostile(),
        cuts in cuts(),
        object_bytes in 1usize..80,
        page_bytes in 1u64..200,
        depth in 1u32..6,
    ) {
        for limits in [Limits::default(), Limits::default().object_bytes(object_bytes).page_bytes(page_bytes).depth(depth)] {
            let pieces = cut(&bytes, &cuts);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            let (whole_frames, frames_end) = frames(&[&bytes], limits);
            let whole_events = events(&[&bytes], limits);
            for pieces in [&pieces, &single] {
                prop_assert_eq!(items(pieces, limits), items(&[&bytes], limits));
                let (found, end) = frames(pieces, limits);
                prop_assert_eq!(&found, &whole_frames);
                prop_assert_eq!(end, frames_end);
                prop_assert_eq!(&events(pieces, limits), &whole_events);
            }
        }
        // Nothing panics, whatever is made of the bytes.
        let _ = listed::<Compact<Value>>(&[&bytes]);
        let _ = watched(&[&bytes]);
        let _ = decode_object::<ObjectMetaOnly>(WireFormat::Json, &bytes, &DecodeOptions::default());
        let _ = Status::from_response(500, None, &bytes);
    }

    /// Zero and endless limits too: what is within them is decoded, all else refused.
    // INV-WIRE-13
    #[test]
    fn limits_of_any_size_are_kept(
        bytes in hostile(),
        objects in proptest::collection::vec(object(), 0..4),
        object_bytes in prop_oneof![Just(0), Just(1), Just(usize::MAX), any::<usize>(), 0usize..500],
        page_bytes in prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>(), 0u64..500],
        depth in prop_oneof![Just(0), Just(1), Just(u32::MAX), any::<u32>(), 0u32..10],
        cuts in cuts(),
    ) {
        let limits = Limits::default().object_bytes(object_bytes).page_bytes(page_bytes).depth(depth);
        let texts: Vec<String> = objects.into_iter().map(|(text, _)| text).collect();
        let list = format!(r#"{{"kind":"PodList","metadata":{{}},"items":[{}]}}"#, texts.join(",")).into_bytes();
        let largest = texts.iter().map(String::len).max().unwrap_or_default();
        let fits = object_bytes >= largest && page_bytes >= list.len() as u64 && depth > 100;
        for format in [WireFormat::Json, WireFormat::Protobuf] {
            let options = DecodeOptions::default().limits(limits);
            let _ = decode_object::<Value>(format, &bytes, &options);
            for body in [&bytes, &list] {
                let mut decoder = ListDecoder::<Value>::new(format, options.clone());
                let mut watch = WatchDecoder::<Value>::new(format, options.clone());
                let mut items = 0;
                for piece in cut(body, &cuts) {
                    decoder.push(piece);
                    watch.push(piece);
                    items += std::iter::from_fn(|| decoder.next()).filter(Result::is_ok).count();
                    let _ = std::iter::from_fn(|| watch.next()).count();
                }
                let ended_well = decoder.finish().is_ok();
                if format == WireFormat::Json && std::ptr::eq(body, &list) {
                    prop_assert!(!fits || ended_well);
                    // An object beyond its limit never counts.
                    prop_assert!(!ended_well || (items == texts.len() && object_bytes >= largest));
                }
            }
        }
    }

    /// Options of requests hold any number and any text.
    #[test]
    fn options_of_any_value_are_written(
        text in text(),
        limit: u32,
        timeout in prop_oneof![Just(Duration::ZERO), Just(Duration::MAX), any::<Duration>()],
        seconds: u64,
        retry: u32,
    ) {
        let options = ListOptions::default().label_selector(&text).field_selector(&text).continue_token(&text)
            .limit(limit).timeout(timeout).send_initial_events(true).allow_watch_bookmarks(true);
        let pairs = options.query_pairs();
        let value = |key| pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
        let seconds_of_watch: u64 = value("timeoutSeconds").expect("it is set").parse().expect("a number");
        prop_assert!((1..=365 * 24 * 3600).contains(&seconds_of_watch));
        prop_assert_eq!(value("limit"), (limit > 0).then(|| limit.to_string()));
        let delete = DeleteOptions::default().grace_period_seconds(seconds).only_uid(&text).dry_run(true);
        let written = serde_json::to_string(&delete).expect("plain data");
        let read: DeleteOptions = serde_json::from_str(&written).expect("its own text");
        prop_assert_eq!(&read, &delete);
        let status = Status::failure(418, &text, &text).with_retry_after(retry);
        let written = serde_json::to_string(&status).expect("plain data");
        prop_assert_eq!(serde_json::from_str::<Status>(&written).expect("its own text"), status);
    }

    // INV-WIRE-7
    #[test]
    fn compact_object_decodes_as_directly((text, whole) in object()) {
        let options = DecodeOptions::default();
        let direct: Value = decode_object(WireFormat::Json, text.as_bytes(), &options).expect("an object");
        prop_assert_eq!(&direct, &whole);
        let compact: Compact<Value> = decode_object(WireFormat::Json, text.as_bytes(), &options).expect("an object");
        let decoded = compact.decode().expect("an object");
        // Empty values are not written: null, empty texts, empty maps.
        let mut expected = whole;
        if let Some(metadata) = expected["metadata"].as_object_mut() {
            metadata.retain(|_, value| !matches!(value, Value::Null) && value != "" && value != &json!({}));
        }
        prop_assert_eq!(&decoded, &expected);
        prop_assert_eq!(serde_json::from_slice::<Value>(&compact.to_json().expect("it is JSON")).ok(), Some(expected.clone()));
        prop_assert_eq!(serde_json::to_value(&compact).ok(), Some(expected));
        let body: Value = serde_json::from_slice(compact.raw()).expect("the body is an object");
        prop_assert!(body.get("metadata").is_none());
    }

    // INV-WIRE-7
    #[test]
    fn metadata_reads_and_writes_as_k8s_openapi(metadata in metadata()) {
        use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta as Theirs;
        let text = Value::Object(metadata).to_string();
        let ours: ObjectMeta = serde_json::from_str(&text).expect("it is metadata");
        let mut theirs: Theirs = serde_json::from_str(&text).expect("it is metadata");
        for text in [&mut theirs.namespace, &mut theirs.uid, &mut theirs.resource_version, &mut theirs.generate_name] {
            *text = text.take().filter(|text| !text.is_empty());
        }
        theirs.labels = theirs.labels.filter(|map| !map.is_empty());
        theirs.annotations = theirs.annotations.filter(|map| !map.is_empty());
        prop_assert_eq!(serde_json::to_value(&ours).ok(), serde_json::to_value(&theirs).ok());
        let again: ObjectMeta = serde_json::from_value(json!(ours)).expect("it is metadata");
        prop_assert_eq!(again, ours);
    }
}

#[derive(serde::Deserialize)]
struct ObjectMetaOnly {
    #[expect(dead_code, reason = "only read")]
    metadata: ObjectMeta,
}

// INV-WIRE-13
#[test]
fn endless_input_of_any_shape_ends_in_an_error_and_little_memory() {
    let limits = Limits::default().object_bytes(64 << 10);
    let starts = [
        "",
        "{",
        "{\"",
        "{\"kind\":\"PodList\",\"items\":[",
        "{\"kind\":\"PodList\",\"items\":[{\"a\":\"",
        "{\"kind\":\"PodList\"}",
    ];
    let repeats = [
        "[",
        "{\"a\":",
        "\"",
        "x",
        "1",
        "\\",
        "a,",
        "\u{fc}",
        "{\"x\":[\"",
        "null ",
    ];
    for start in starts {
        for repeat in repeats {
            let mut lists = ListSplitter::new(limits);
            let mut frames = FrameSplitter::new(limits);
            lists.push(start.as_bytes());
            frames.push(start.as_bytes());
            let chunk = repeat.repeat(4096);
            let mut failed = (false, false);
            for _ in 0..512 {
                lists.push(chunk.as_bytes());
                frames.push(chunk.as_bytes());
                while let Some(item) = lists.next_item() {
                    failed.0 |= item.is_err();
                }
                while let Some(frame) = frames.next_frame() {
                    failed.1 |= frame.is_err();
                }
                assert!(
                    lists.buffered_capacity() < 8 << 20 && frames.buffered_capacity() < 1 << 20
                );
            }
            assert_eq!(failed, (true, true), "{start} {repeat}");
        }
    }
}

// RF25, INV-WIRE-14
#[test]
fn items_do_not_keep_their_page_alive() {
    let mut decoder =
        ListDecoder::<Compact<Value>>::new(WireFormat::Json, DecodeOptions::default());
    let mut splitter = ListSplitter::new(Limits::default());
    let start = br#"{"kind":"PodList","items":["#;
    decoder.push(start);
    splitter.push(start);
    let mut kept = Vec::new();
    for n in 0..2000 {
        let item = format!(
            r#"{{"metadata":{{"name":"p{n}"}},"spec":"{}"}},"#,
            "x".repeat(5000)
        );
        decoder.push(item.as_bytes());
        splitter.push(item.as_bytes());
        while let Some(Ok(Decoded::Object(object))) = decoder.next() {
            assert_eq!(object.raw().len(), 5011);
            kept.push(object);
        }
        while splitter.next_item().is_some() {}
        assert!(splitter.buffered_capacity() < 64 << 10);
    }
    assert_eq!(kept.len(), 2000);

    // One huge item does not cost its size for ever.
    splitter.push(format!(r#"{{"spec":"{}"}},"#, "x".repeat(8 << 20)).as_bytes());
    assert!(splitter.next_item().is_some_and(|item| item.is_ok()));
    assert!(splitter.next_item().is_none());
    splitter.push(b"{}");
    assert!(splitter.next_item().is_some());
    splitter.push(b",{}");
    assert!(splitter.buffered_capacity() < 1 << 20);
}
