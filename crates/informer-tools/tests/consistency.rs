//! The check of a store against a list of its resource version.

mod support;

use informer_reflector::ListWatchError;
use informer_store::{DeltaSink as _, Object as _, ObjectKey, ObjectVersion, Store};
use informer_tools::{Consistency, ConsistencyError, check_consistency};
use informer_wire::{
    DecodeError, Decoded, ListMeta, ListOptions, ResourceVersionMatch, Undecodable,
};
use k8s_openapi::api::core::v1::ConfigMap;
use std::time::Instant;
use support::*;

fn store(version: u64, objects: Vec<ConfigMap>) -> Store<ConfigMap> {
    let store = Store::new();
    store
        .replace(objects, version.into())
        .expect("they have names");
    store
}

async fn check(script: &Script, store: &Store<ConfigMap>) -> Result<Consistency, ConsistencyError> {
    check_consistency(script, &store.snapshot(), ListOptions::default()).await
}

fn names(keys: &[ObjectKey]) -> Vec<&str> {
    keys.iter().map(ObjectKey::name).collect()
}

/// WL14, CD2
#[tokio::test]
async fn check_lists_exact_version_and_reports_each_difference() {
    let store = store(10, vec![object("a", 1), object("b", 2), object("c", 3)]);
    let mut recreated = object("a", 1);
    recreated.metadata.uid = Some("2".into());
    let script = Script::new([list(10, vec![recreated, object("b", 4), object("d", 5)])]);

    let found = check(&script, &store).await.expect("it can be listed");
    let options = &script.requests()[0].options;
    assert_eq!(options.resource_version, Some(10.into()));
    assert_eq!(
        options.resource_version_match,
        Some(ResourceVersionMatch::Exact)
    );

    assert!(!found.is_consistent());
    assert_eq!(found.listed, 3);
    assert_eq!(names(&found.missing), ["d"]);
    assert_eq!(names(&found.unlisted), ["c"]);
    let different: Vec<_> = found
        .different
        .iter()
        .map(|found| found.key.name())
        .collect();
    assert_eq!(different, ["a", "b"]);
    assert_eq!(
        found.different[1].stored,
        ObjectVersion::of(&object("b", 2))
    );
    assert_eq!(
        found.different[1].listed,
        ObjectVersion::of(&object("b", 4))
    );
    let text = "store differs from a list of resource version 10; missing: shop/d; \
        not listed: shop/c; in another version: shop/a, shop/b";
    assert_eq!(found.to_string(), text);
}

#[tokio::test]
async fn long_differences_are_displayed_in_part() {
    let objects = (0..9).map(|n| object(&n.to_string(), n + 1)).collect();
    let script = Script::new([list(10, Vec::new())]);
    let found = check(&script, &store(10, objects))
        .await
        .expect("it can be listed");
    let text = "store differs from a list of resource version 10; \
        not listed: shop/0, shop/1, shop/2, shop/3, shop/4 and 4 more";
    assert_eq!(found.to_string(), text);
}

/// CD2
#[tokio::test]
async fn equal_list_in_other_order_is_consistent() {
    let store = store(10, vec![object("a", 1), object("b", 2)]);
    let script = Script::new([list(10, vec![object("b", 2), object("a", 1)])]);
    let found = check(&script, &store).await.expect("it can be listed");
    assert!(found.is_consistent());
    assert_eq!(found.to_string(), "2 objects agree at resource version 10");
}

#[tokio::test]
async fn pages_are_followed_to_the_end_without_version_beside_token() {
    let store = store(10, vec![object("a", 1), object("b", 2), object("c", 3)]);
    let script = Script::new([
        page(
            vec![object("a", 1)],
            ListMeta::at(10.into()).continue_token("one"),
        ),
        page(
            vec![object("b", 2)],
            ListMeta::at(10.into()).continue_token("two"),
        ),
        list(10, vec![object("c", 3)]),
    ]);
    let options = ListOptions::default().limit(1).label_selector("app=shop");
    let found = check_consistency(&script, &store.snapshot(), options).await;
    assert!(found.expect("it can be listed").is_consistent());
    assert_eq!(script.log(), ["list@10", "list+one", "list+two"]);
    for request in script.requests() {
        let options = request.options;
        assert_eq!(
            (options.limit, options.label_selector.as_deref()),
            (Some(1), Some("app=shop"))
        );
        let version_or_token =
            options.resource_version.is_some() != options.continue_token.is_some();
        assert!(version_or_token);
        assert_eq!(
            options.resource_version_match.is_some(),
            options.resource_version.is_some()
        );
    }
}

#[tokio::test]
async fn repeated_token_is_an_error() {
    let again = || page(vec![], ListMeta::at(10.into()).continue_token("same"));
    let script = Script::new([again(), again(), again()]);
    let failed = check(&script, &store(10, vec![])).await;
    assert!(matches!(
        failed,
        Err(ConsistencyError::List(ListWatchError::Protocol(_)))
    ));
}

#[tokio::test]
async fn failed_lists_are_errors_that_say_what_to_do() {
    let stored = || store(10, vec![object("a", 1)]);
    let expired = check(&Script::new([refusal(410, "Expired")]), &stored())
        .await
        .unwrap_err();
    assert!(
        matches!(expired, ConsistencyError::Expired { .. }),
        "{expired}"
    );
    let text = "resource version 10 is too old to list; check a newer snapshot";
    assert_eq!(expired.to_string(), text);

    let expired = Script::new([
        page(vec![], ListMeta::at(10.into()).continue_token("next")),
        refusal(410, "Expired"),
    ]);
    let expired = check(&expired, &stored()).await.unwrap_err();
    assert!(
        matches!(expired, ConsistencyError::Expired { .. }),
        "{expired}"
    );

    let refused = check(&Script::new([refusal(500, "InternalError")]), &stored()).await;
    assert!(matches!(refused, Err(ConsistencyError::List(_))));
    let cut = Script::new([Answer::List(vec![Beat::Item(Decoded::Object(object(
        "a", 1,
    )))])]);
    assert!(matches!(
        check(&cut, &stored()).await,
        Err(ConsistencyError::List(_))
    ));
    let other = Script::new([list(11, vec![object("a", 1)])]);
    let other = check(&other, &stored()).await;
    assert!(matches!(other, Err(ConsistencyError::OtherVersion { .. })));
    let script = Script::new([]);
    let empty = check(&script, &Store::new()).await;
    assert!(matches!(empty, Err(ConsistencyError::NotSynced)));
    assert!(script.log().is_empty());
}

#[tokio::test]
async fn versions_ahead_of_the_snapshot_are_no_difference() {
    // The store has applied a change and an addition before it moved its version on.
    let store = store(10, vec![object("a", 11), object("b", 12)]);
    let script = Script::new([list(10, vec![object("a", 1)])]);
    let found = check(&script, &store).await.expect("it can be listed");
    assert!(found.is_consistent(), "{found}");
}

#[tokio::test]
async fn undecodable_objects_are_no_difference_but_must_be_listed() {
    let undecodable = |name: &str| {
        let key = ObjectKey::namespaced("shop", name);
        let error = DecodeError::Malformed {
            what: "ConfigMap",
            reason: "bad data".to_owned(),
        };
        Undecodable::new(
            Some(key),
            ObjectVersion::new(Some("1".into()), Some(9.into())),
            error,
        )
    };
    let objects = vec![object("stale", 1), object("gone", 1)];
    let store = store(8, objects);
    store.undecodable(ObjectKey::namespaced("shop", "stale"), Some(9.into()));
    store.undecodable(ObjectKey::namespaced("shop", "gone"), Some(9.into()));
    store.bookmark(10.into());
    let items =
        ["stale", "never-stored"].map(|name| Beat::Item(Decoded::Undecodable(undecodable(name))));
    let items = items
        .into_iter()
        .chain([Beat::PageEnd(ListMeta::at(10.into()))]);
    let script = Script::new([
        Answer::List(items.collect()),
        list(10, vec![object("stale", 9)]),
    ]);
    for _ in 0..2 {
        let found = check(&script, &store).await.expect("it can be listed");
        assert_eq!(
            (names(&found.unlisted), found.missing.len()),
            (vec!["gone"], 0),
            "{found}"
        );
        assert!(found.different.is_empty(), "{found}");
    }
}

#[tokio::test]
async fn objects_written_locally_are_compared_as_observed() {
    let store = store(10, vec![object("a", 1)]);
    let now = Instant::now();
    store.overlay(object("a", 12), now).expect("it has a name");
    store.overlay(object("b", 13), now).expect("it has a name");
    let script = Script::new([
        list(10, vec![object("a", 1)]),
        list(10, vec![object("a", 2)]),
    ]);
    assert!(
        check(&script, &store)
            .await
            .expect("it can be listed")
            .is_consistent()
    );
    let found = check(&script, &store).await.expect("it can be listed");
    assert_eq!(
        found.different[0].stored.resource_version,
        object("a", 1).resource_version()
    );
}
