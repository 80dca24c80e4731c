//! Every recorded JSON answer of a real API server is understood, however its bytes are cut.
#![allow(missing_docs, reason = "these are tests")]

mod common;

use std::fmt::Debug;

use common::Recording;
use informer_store::ObjectKey;
use informer_wire::json::{FrameSplitter, ListSplitter, ListText};
use informer_wire::{
    Compact, DecodeError, DecodeOptions, Decoded, FromWire, Limits, ListDecoder, ListMeta,
    ObjectMeta, PartialObjectMetadata, Resource, Scope, Status, StreamEnd, View, WatchDecoder,
    WatchEvent, WireFormat,
};
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::Value;

/// An object of which the metadata alone is read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Meta {
    metadata: ObjectMeta,
}

/// Two fields beside the metadata.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Phase {
    status: Option<PhaseStatus>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct PhaseStatus {
    phase: Option<String>,
}

/// What a page of a list gave.
type Page<K> = (Vec<Item<K>>, Result<ListMeta, DecodeError>);

#[derive(Debug, PartialEq)]
enum Item<K> {
    Object(K),
    Unchanged(ObjectKey),
    Undecodable(Option<ObjectKey>, DecodeError),
    Failed(DecodeError),
}

fn item<K>(decoded: Decoded<K>) -> Item<K> {
    match decoded {
        Decoded::Object(object) => Item::Object(object),
        Decoded::Unchanged(key, _) => Item::Unchanged(key),
        Decoded::Undecodable(undecodable) => Item::Undecodable(undecodable.key, undecodable.error),
        other => panic!("unknown: {:?}", std::mem::discriminant(&other)),
    }
}

fn list<'a, K: FromWire>(pushes: impl IntoIterator<Item = &'a [u8]>) -> Page<K> {
    let mut decoder = ListDecoder::<K>::new(WireFormat::Json, options());
    let mut items = Vec::new();
    for push in pushes {
        decoder.push(push);
        while let Some(next) = decoder.next() {
            items.push(next.map_or_else(Item::Failed, item));
        }
    }
    (items, decoder.finish())
}

#[derive(Debug, PartialEq)]
enum Event<K> {
    Added(Item<K>),
    Modified(Item<K>),
    Deleted(Item<K>),
    Bookmark(String, bool),
    Error(Status),
    Failed(DecodeError),
}

fn watch<'a, K: FromWire>(
    pushes: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Event<K>>, StreamEnd) {
    let mut decoder = WatchDecoder::<K>::new(WireFormat::Json, options());
    let mut events = Vec::new();
    for push in pushes {
        decoder.push(push);
        while let Some(next) = decoder.next() {
            events.push(match next {
                Ok(WatchEvent::Added(object)) => Event::Added(item(object)),
                Ok(WatchEvent::Modified(object)) => Event::Modified(item(object)),
                Ok(WatchEvent::Deleted(object)) => Event::Deleted(item(object)),
                Ok(WatchEvent::Bookmark {
                    resource_version,
                    initial_events_end,
                    ..
                }) => Event::Bookmark(resource_version.to_string(), initial_events_end),
                Ok(WatchEvent::Error(status)) => Event::Error(status),
                Ok(other) => panic!("unknown: {:?}", std::mem::discriminant(&other)),
                Err(error) => Event::Failed(error),
            });
        }
    }
    (events, decoder.finish())
}

/// The kind is left open: some of the recordings are of custom resources.
fn options() -> DecodeOptions {
    DecodeOptions::default().resource(Resource::core("v1", "", "pods", Scope::Namespaced))
}

/// Bodies up to this size are cut in two at every byte, larger ones at fewer places: what that takes grows with the
/// square of the size.
const SMALL: usize = 4096;
/// The size of the pieces that a body is cut into for each offset, so that it is cut at every byte.
const PIECE: usize = 61;

/// At how many places a body is cut in two where that takes long.
fn some_places(body: &[u8]) -> usize {
    (400_000 / (body.len() + 1)).clamp(2, 24)
}

/// Replays `body` whole, byte by byte, and cut in two at a number of places.
fn same_in_two_pieces<T: Debug + PartialEq>(
    name: &str,
    body: &[u8],
    places: usize,
    replay: impl Fn(&mut dyn Iterator<Item = &[u8]>) -> T,
) {
    let whole = replay(&mut [body].into_iter());
    assert_eq!(replay(&mut body.chunks(1)), whole, "{name} byte by byte");
    // Odd, so that the cuts fall on every place within a word.
    let step = if places < body.len() {
        (body.len() / places) | 1
    } else {
        1
    };
    for cut in (0..body.len()).step_by(step) {
        let (head, tail) = body.split_at(cut);
        let in_two = replay(&mut [head, tail].into_iter());
        assert!(in_two == whole, "{name} cut at {cut}: {in_two:?}");
    }
}

/// Replays `body` cut at every byte.
fn same_for_every_cut<T: Debug + PartialEq>(
    name: &str,
    body: &[u8],
    replay: impl Fn(&mut dyn Iterator<Item = &[u8]>) -> T,
) {
    let places = if body.len() <= SMALL {
        SMALL
    } else {
        5 * some_places(body)
    };
    same_in_two_pieces(name, body, places, &replay);
    let whole = replay(&mut [body].into_iter());
    for offset in 0..PIECE.min(body.len()) {
        let (head, tail) = body.split_at(offset);
        let pieces = replay(&mut std::iter::once(head).chain(tail.chunks(PIECE)));
        assert!(pieces == whole, "{name} cut from {offset} on: {pieces:?}");
    }
}

/// The texts that a splitter finds, and how the body ended.
type Texts<E> = (Vec<Result<Vec<u8>, DecodeError>>, E);

fn split_list(pushes: &mut dyn Iterator<Item = &[u8]>) -> Texts<Result<ListText, DecodeError>> {
    let mut splitter = ListSplitter::new(Limits::default());
    let mut texts = Vec::new();
    for push in pushes {
        splitter.push(push);
        while let Some(text) = splitter.next_item() {
            texts.push(text.map(<[u8]>::to_vec));
        }
    }
    (texts, splitter.finish())
}

fn split_watch(pushes: &mut dyn Iterator<Item = &[u8]>) -> Texts<StreamEnd> {
    let mut splitter = FrameSplitter::new(Limits::default());
    let mut texts = Vec::new();
    for push in pushes {
        splitter.push(push);
        while let Some(text) = splitter.next_frame() {
            texts.push(text.map(<[u8]>::to_vec));
        }
    }
    (texts, splitter.finish())
}

fn json_recordings(prefixes: &[&str]) -> Vec<(String, Recording)> {
    common::names()
        .into_iter()
        .filter(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
        .map(|name| (name.clone(), Recording::load(&name)))
        .filter(|(_, recording)| recording.is_json() && recording.code == 200)
        .collect()
}

fn lists() -> Vec<(String, Recording)> {
    json_recordings(&["list", "cr-list"])
}

fn watches() -> Vec<(String, Recording)> {
    json_recordings(&["watch", "cr-watch"])
}

// INV-WIRE-2
#[test]
fn every_list_is_the_same_however_it_is_cut() {
    let lists = lists();
    assert_eq!(lists.len(), 12);
    for (name, Recording { body, .. }) in lists {
        same_for_every_cut(&name, &body, |pushes| split_list(pushes));
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            list::<Compact<Pod>>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            list::<Value>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            list::<Meta>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            list::<PartialObjectMetadata>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            list::<View<Phase>>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            list::<Pod>(pushes)
        });
    }
}

// INV-WIRE-2
#[test]
fn every_watch_is_the_same_however_it_is_cut() {
    let watches = watches();
    assert_eq!(watches.len(), 12);
    for (name, Recording { body, .. }) in watches {
        same_for_every_cut(&name, &body, |pushes| split_watch(pushes));
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            watch::<Compact<Pod>>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            watch::<Value>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            watch::<Meta>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            watch::<PartialObjectMetadata>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            watch::<View<Phase>>(pushes)
        });
        same_in_two_pieces(&name, &body, some_places(&body), |pushes| {
            watch::<Pod>(pushes)
        });
    }
}

/// The names and resource versions of the objects that could be decoded.
fn versions<K>(items: &[Item<K>], metadata: impl Fn(&K) -> &ObjectMeta) -> Vec<String> {
    let shown = |item: &Item<K>| {
        let Item::Object(object) = item else {
            return "?".to_owned();
        };
        let metadata = metadata(object);
        let version = metadata.resource_version().map(ToString::to_string);
        format!("{}@{}", metadata.name(), version.unwrap_or_default())
    };
    items.iter().map(shown).collect()
}

fn whole_list<K: FromWire>(name: &str) -> Page<K> {
    list([&*Recording::load(name).body])
}

fn page(name: &str) -> (Vec<String>, Result<ListMeta, DecodeError>) {
    let (items, end) = whole_list::<Compact<Pod>>(name);
    (versions(&items, Compact::metadata), end)
}

#[test]
fn lists_hold_the_recorded_objects_and_versions() -> Result<(), DecodeError> {
    let all = [
        "pod-0@100674",
        "pod-1@100675",
        "pod-2@100676",
        "pod-3@100677",
        "pod-4@100678",
        "pod-5@100679",
        "pod-6@100680",
    ];
    let (items, end) = page("list-json");
    assert_eq!(items, all);
    assert_eq!(end?, ListMeta::at("100680".into()));
    assert_eq!(page("list-json-rv0"), page("list-json"));
    assert_eq!(
        versions(
            &whole_list::<PartialObjectMetadata>("list-metadata-json").0,
            PartialObjectMetadata::metadata
        ),
        all
    );

    let pages = ["list-page1", "list-page2", "list-page3"].map(page);
    let items: Vec<String> = pages.iter().flat_map(|(items, _)| items.clone()).collect();
    assert_eq!(items, all);
    let [first, second, third] = pages.map(|(_, end)| end);
    let (first, second, third) = (first?, second?, third?);
    assert_eq!(first.resource_version, Some("100680".into()));
    assert_eq!(second.resource_version, first.resource_version);
    assert_eq!(first.remaining_item_count, Some(4));
    assert!(first.continue_token.is_some() && first.continue_token != second.continue_token);
    assert_eq!(third, ListMeta::at("100680".into()));

    let (items, end) = page("list-empty");
    assert!(items.is_empty() && end?.resource_version.is_some());

    let (items, end) = page("list-gzip");
    assert_eq!(items.len(), 60);
    assert!(end?.continue_token.is_some());
    Ok(())
}

#[test]
fn custom_resource_list_with_metadata_last_is_read() -> Result<(), DecodeError> {
    let (items, end) = page("cr-list");
    assert_eq!(items, ["w-0@100698", "w-1@100699", "w-2@100700"]);
    assert_eq!(end?.resource_version, Some("100700".into()));
    assert_eq!(page("cr-list-protobuf-or-json").0, items);
    let (items, end) = page("cr-list-page1");
    assert_eq!(items, ["w-0@100698", "w-1@100699"]);
    assert_eq!(end?.remaining_item_count, Some(1));
    Ok(())
}

#[test]
fn table_is_refused() {
    let expected = DecodeError::UnexpectedKind {
        expected: "a list",
        kind: "Table".to_owned(),
    };
    let (items, end) = whole_list::<Value>("list-table");
    assert_eq!(items, [Item::Failed(expected.clone())]);
    assert_eq!(end, Err(expected));
}

/// Type, object and version of each event.
fn events(name: &str) -> Vec<String> {
    let (events, end) = watch::<Compact<Pod>>([&*Recording::load(name).body]);
    assert_eq!(end, StreamEnd::Clean);
    let one = |item: &Item<Compact<Pod>>| {
        versions(std::slice::from_ref(item), Compact::metadata)
            .pop()
            .unwrap_or_default()
    };
    let shown = |event: &Event<Compact<Pod>>| match event {
        Event::Added(object) => format!("+{}", one(object)),
        Event::Modified(object) => format!("~{}", one(object)),
        Event::Deleted(object) => format!("-{}", one(object)),
        Event::Bookmark(version, false) => format!("={version}"),
        Event::Bookmark(version, true) => format!("=={version}"),
        Event::Error(status) => format!("!{} {}", status.code, status.reason),
        Event::Failed(error) => panic!("{error}"),
    };
    events.iter().map(shown).collect()
}

#[test]
fn watches_hold_the_recorded_changes() {
    let changes = [
        "~pod-0@100685",
        "+pod-7@100686",
        "~pod-1@100687",
        "~pod-2@100688",
        "-pod-2@100689",
        "~pod-1@100691",
    ];
    let selected = [
        "~pod-0@100685",
        "+pod-7@100686",
        "-pod-1@100687",
        "~pod-2@100688",
        "-pod-2@100689",
        "+pod-1@100691",
    ];
    let without_bookmarks = |name: &str| {
        let mut events = events(name);
        events.retain(|event| !event.starts_with('='));
        events
    };
    assert_eq!(without_bookmarks("watch-json"), changes);
    assert_eq!(without_bookmarks("watch-metadata-json"), changes);
    assert_eq!(without_bookmarks("watch-selector-json"), selected);

    for name in ["watchlist-json", "watch-rv0", "watch-gzip"] {
        let all = events(name);
        assert!(
            all[..7].iter().all(|event| event.starts_with("+pod-")),
            "{name}: {all:?}"
        );
        assert_eq!(all[7], "==100684", "{name}");
        assert_eq!(all[8..14], changes, "{name}");
    }
    assert_eq!(without_bookmarks("watch-rv-unset")[7..], changes);
    assert_eq!(events("watch-rv-future-silent"), [""; 0]);
    assert!(events("watch-bookmarks-150s").len() > 9);
}

#[test]
fn error_within_a_watch_is_returned() {
    assert_eq!(events("watch-410"), ["!410 Expired"]);
    let (events, _) = watch::<Pod>([&*Recording::load("watchlist-rv-too-large").body]);
    let [Event::Error(status)] = &*events else {
        panic!("{events:?}")
    };
    assert!(status.is_resource_version_too_large());
    assert_eq!(status.retry_after().map(|after| after.as_secs()), Some(1));
}

#[test]
fn error_answer_is_returned() {
    let mut seen = 0;
    for name in common::names() {
        let recording = Recording::load(&name);
        if recording.code == 200 || !recording.is_json() {
            continue;
        }
        seen += 1;
        let status = Status::from_response(
            recording.code,
            Some(&recording.content_type),
            &recording.body,
        );
        assert_eq!(status.code, recording.code, "{name}");
        assert!(
            !status.reason.is_empty() && !status.message.is_empty(),
            "{name}: {status:?}"
        );
        let expected = match &*name {
            "list-401" => status.is_unauthorized(),
            "list-403" | "watch-403" => status.is_forbidden(),
            "list-404" => status.is_not_found(),
            "list-406" => status.is_not_acceptable(),
            "list-exact-410" => status.is_expired() && status.metadata.continue_token.is_none(),
            "list-continue-expired-410" => {
                status.is_expired() && status.metadata.continue_token.is_some()
            }
            "list-rv-too-large-504" => status.is_resource_version_too_large(),
            "list-continue-with-match-422" | "watch-sendinitial-422" => status.is_invalid(),
            "watch-bad-rv" => status.code == 500,
            _ => status.code == 400,
        };
        assert!(expected, "{name}: {status:?}");
    }
    assert_eq!(seen, 16);
}

// INV-WIRE-6
#[test]
fn object_is_equal_from_recorded_list_and_watch() {
    let body = Recording::load("list-json").body;
    let stream = Recording::load("watchlist-json").body;
    fn same<K: FromWire + PartialEq + Debug>(list_body: &[u8], stream: &[u8]) {
        let (items, _) = list::<K>([list_body]);
        let (events, _) = watch::<K>([stream]);
        let added = events.into_iter().map_while(|event| match event {
            Event::Added(object) => Some(object),
            _ => None,
        });
        // Some were changed between the two recordings' starts.
        let same = items.iter().zip(added).filter(|(a, b)| *a == b).count();
        assert_eq!(same, 7, "{}", std::any::type_name::<K>());
    }
    same::<Pod>(&body, &stream);
    same::<Value>(&body, &stream);
    same::<Compact<Pod>>(&body, &stream);
    same::<PartialObjectMetadata>(&body, &stream);
}

// INV-WIRE-7
#[test]
fn compact_object_decodes_to_its_bytes() {
    for (name, Recording { body, .. }) in lists().iter().filter(|(name, _)| name != "list-table") {
        let (compact, _) = list::<Compact<Value>>([&**body]);
        let (direct, _) = list::<Value>([&**body]);
        assert_eq!(compact.len(), direct.len(), "{name}");
        for (compact, direct) in compact.iter().zip(&direct) {
            let (Item::Object(compact), Item::Object(direct)) = (compact, direct) else {
                panic!("{name}")
            };
            assert_eq!(compact.decode().as_ref(), Ok(direct), "{name}");
            assert_eq!(
                serde_json::to_value(compact).ok().as_ref(),
                Some(direct),
                "{name}"
            );
        }
    }
    let (compact, _) = whole_list::<Compact<Pod>>("list-json");
    let (direct, _) = whole_list::<Pod>("list-json");
    for (compact, direct) in compact.iter().zip(&direct) {
        let (Item::Object(compact), Item::Object(direct)) = (compact, direct) else {
            panic!()
        };
        assert_eq!(compact.decode().as_ref(), Ok(direct));
        assert_eq!(
            compact
                .field::<String>("/status/phase")
                .ok()
                .flatten()
                .as_deref(),
            Some("Pending")
        );
    }
}

// INV-WIRE-8
#[test]
fn managed_fields_are_dropped_unless_kept() {
    let body = Recording::load("list-json").body;
    for keep in [false, true] {
        let mut decoder =
            ListDecoder::<Pod>::new(WireFormat::Json, options().keep_managed_fields(keep));
        decoder.push(&body);
        let mut count = 0;
        while let Some(Ok(Decoded::Object(pod))) = decoder.next() {
            assert_eq!(pod.metadata.managed_fields.is_some(), keep);
            assert_eq!(
                pod.metadata.resource_version,
                Some(format!("{}", 100_674 + count))
            );
            count += 1;
        }
        assert_eq!(count, 7);
    }
}
