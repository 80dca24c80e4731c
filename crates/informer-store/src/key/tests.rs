//! Keys: their parts, their texts, their hashes.

use proptest::prelude::*;

use super::*;

#[test]
fn key_parts_match_its_text() {
    for (text, cluster, namespace, name) in [
        ("node-a", None, None, "node-a"),
        ("shop/cart-1", None, Some("shop"), "cart-1"),
        ("west//shop/cart-1", Some("west"), Some("shop"), "cart-1"),
        ("west//node-a", Some("west"), None, "node-a"),
        // Names of roles, and of clusters, may hold much.
        ("west|node:a", None, None, "west|node:a"),
        (
            "https://west/x///a/b",
            Some("https://west/x/"),
            Some("a"),
            "b",
        ),
    ] {
        let key: ObjectKey = text.parse().expect(text);
        assert_eq!(
            (key.cluster(), key.namespace(), key.name()),
            (cluster, namespace, name)
        );
        assert_eq!(key.to_string(), text);
        assert_eq!(format!("{key:?}"), format!("ObjectKey({text})"));
    }
}

// ST17
#[test]
fn invalid_key_text_is_refused_with_the_text() {
    for text in [
        "", "/", "a/", "/a", "a/b/c", "//a", "c//", "c//a/", "c///", "c//a/b/c",
    ] {
        let error = text.parse::<ObjectKey>().expect_err(text);
        assert_eq!(error.text(), text);
        assert!(error.to_string().contains("namespace/name"));
    }
}

#[test]
fn overlong_key_text_is_a_name() {
    let namespace = "ä".repeat(40_000);
    let key = ObjectKey::namespaced(&namespace, "name");
    assert_eq!(key.name(), key.as_str());
    assert_eq!((key.namespace(), key.cluster()), (None, None));
    let fits = "x".repeat(60_000);
    assert_eq!(
        ObjectKey::namespaced(&fits, "name").namespace(),
        Some(&*fits)
    );
}

#[test]
fn key_hashes_spread_evenly_over_similar_names() {
    let mut buckets = [0u32; 1024];
    let mut tags = [0u32; 256];
    for i in 0..102_400 {
        let hash = hash_text(&format!("ns-{:02}/app-{i:05}", i % 20));
        buckets[hash as usize % 1024] += 1;
        tags[(hash >> 24) as usize] += 1;
    }
    // 100 a bucket and 400 a tag on average; ten standard deviations are room enough for any seed.
    assert!(buckets.iter().all(|n| (1..200).contains(n)), "{buckets:?}");
    assert!(tags.iter().all(|n| (200..600).contains(n)), "{tags:?}");
}

proptest! {
    #[test]
    fn key_equals_and_hashes_as_its_text(
        cluster in prop::option::of("[a-z:/|.]{0,8}"),
        namespace in "([a-z0-9-]{1,250})?",
        name in "[a-zA-Z0-9:|._ä-]{1,12}",
    ) {
        let mut key = ObjectKey::namespaced(&namespace, &name);
        if let Some(cluster) = &cluster {
            key = key.in_cluster(cluster);
        }
        let text = key.as_str().to_owned();
        prop_assert_eq!(key.name(), &name);
        prop_assert_eq!(key.namespace(), Some(&*namespace).filter(|n| !n.is_empty()));
        let cluster = cluster.as_deref().filter(|cluster| !cluster.is_empty());
        prop_assert_eq!(key.cluster(), cluster);
        prop_assert_eq!(short_hash(&key), short_hash(&text));
        let mut buffer = KeyBuffer::new();
        let built = KeyText::new(cluster, &namespace, &name, &mut buffer);
        prop_assert_eq!(short_hash(&built), short_hash(&key));
        prop_assert_eq!(built.to_key(), key.clone());
        prop_assert_eq!(text.parse::<ObjectKey>(), Ok(key.clone()));
        let set = std::collections::HashSet::from([key]);
        prop_assert!(set.contains(text.as_str()));
    }

    #[test]
    fn keys_sort_as_their_texts(a in "[a-c/|]{0,4}", b in "[a-c/|]{0,4}") {
        let (one, two) = (ObjectKey::cluster_scoped(&a), ObjectKey::cluster_scoped(&b));
        prop_assert_eq!(one.cmp(&two), a.cmp(&b));
        prop_assert_eq!(one == two, a == b);
    }
}
