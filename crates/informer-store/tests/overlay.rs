//! Overlays: objects written locally over those that were received, also against a naive model.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_store::{
    Deletion, DeltaSink, IndexValues, ListEnd, ObjectKey, ObjectList, Overlaid, ResourceVersion,
    Store,
};
use proptest::prelude::*;
use support::Thing;

fn words(thing: &Thing, values: &mut IndexValues<'_>) {
    values.extend(thing.words.iter().map(String::as_str));
}

fn store() -> Store<Thing> {
    let store = Store::new();
    store.add_index("words", words).expect("new");
    store
}

fn word(thing: &Arc<Thing>) -> &str {
    &thing.words[0]
}

// INV-STORE-10
#[test]
fn overlay_is_visible_to_readers_and_ignored_by_transactions() {
    let store = store();
    let now = Instant::now();
    store
        .add(Thing::new("a").version(3).words(["theirs"]))
        .expect("named");
    store
        .overlay(Thing::new("a").version(5).words(["mine"]), now)
        .expect("named");
    store
        .overlay(Thing::new("new").version(6).words(["mine"]), now)
        .expect("named");
    let snapshot = store.snapshot();
    assert_eq!(word(snapshot.get("a").expect("there")), "mine");
    assert_eq!(word(snapshot.observed("a").expect("there")), "theirs");
    assert!(snapshot.is_overlaid("a") && snapshot.is_overlaid("new"));
    assert!(snapshot.contains("new") && snapshot.observed("new").is_none());
    assert_eq!(store.by_index("words", "mine").expect("there").len(), 2);
    assert!(store.by_index("words", "theirs").expect("there").is_empty());
    assert_eq!(
        DeltaSink::newest(&store, &ObjectKey::cluster_scoped("new")),
        None
    );

    let mut transaction = store.transaction();
    assert_eq!(word(transaction.get("a").expect("there")), "theirs");
    let old = transaction
        .add(Thing::new("a").version(4).words(["older"]))
        .expect("named");
    assert_eq!(old.as_ref().map(word), Some("theirs"));
    let old = transaction
        .add(Thing::new("a").version(7).words(["newer"]))
        .expect("named");
    assert_eq!(old.as_ref().map(word), Some("older"));
    // To handlers the object is new.
    assert!(
        transaction
            .add(Thing::new("new").version(6).words(["received"]))
            .expect("named")
            .is_none()
    );
    transaction.commit();
    assert_eq!(word(&store.get("a").expect("there")), "newer");
    assert_eq!(word(&store.get("new").expect("there")), "received");
    assert!(!store.snapshot().is_overlaid("a"));
}

// INV-STORE-10
#[test]
fn list_without_an_overlaid_object_ends_the_overlay_unless_it_is_newer() {
    let now = Instant::now();
    let store = store();
    store
        .add(Thing::new("existing").uid("1").version(1))
        .expect("named");
    let mine = [
        ("listed", "9"),
        ("early", "4"),
        ("late", "9"),
        ("opaque", "x"),
        ("existing", "3"),
    ];
    for (name, version) in mine {
        let mine = Thing::new(name).uid("1").version(version).words(["mine"]);
        store.overlay(mine, now).expect("named");
    }
    let theirs = Thing::new("listed").uid("1").version(4).words(["theirs"]);
    let mut list = ObjectList::new();
    list.insert(ObjectKey::cluster_scoped("listed"), Arc::new(theirs));
    DeltaSink::replace(&store, list, ListEnd::new(ResourceVersion::from(5)));
    let mut mine = store.index_keys("words", "mine").expect("there");
    mine.sort();
    assert_eq!(mine, ["late", "listed"].map(ObjectKey::cluster_scoped));
    assert_eq!(store.len(), 2);
    // Once the store has reached our writes, the observed object is visible.
    store.bookmark(ResourceVersion::from(8));
    assert_eq!(word(&store.get("listed").expect("there")), "mine");
    store.bookmark(ResourceVersion::from(9));
    assert_eq!(word(&store.get("listed").expect("there")), "theirs");
    assert_eq!(store.by_index("words", "theirs").expect("there").len(), 1);
    assert_eq!(store.len(), 1);
}

// INV-STORE-10: of another UID than the one that the list lacks.
#[test]
fn overlay_of_a_newer_uid_survives_a_list_without_the_key() {
    let store = store();
    store
        .add(Thing::new("a").uid("1").version(3))
        .expect("named");
    let mine = Thing::new("a").uid("2").version(9).words(["mine"]);
    store.overlay(mine, Instant::now()).expect("named");
    let none: [Thing; 0] = [];
    store
        .replace(none, ResourceVersion::from(5))
        .expect("named");
    assert_eq!(word(&store.get("a").expect("there")), "mine");
    assert!(store.snapshot().observed("a").is_none());
}

// ST14, for a feeder that only removes the key.
#[test]
fn overlay_of_another_uid_survives_removal_unless_the_removed_one_is_newer() {
    for (mine, stays) in [(("2", 9), true), (("2", 2), false), (("1", 9), false)] {
        let store = store();
        let theirs = Thing::new("a").uid("1").version(3).words(["theirs"]);
        store.add(theirs).expect("named");
        let (uid, version) = mine;
        let mine = Thing::new("a").uid(uid).version(version).words(["mine"]);
        store.overlay(mine, Instant::now()).expect("named");
        let old = store.delete("a");
        assert_eq!(
            old.as_ref().map(word),
            Some("theirs"),
            "transactions ignore the overlay"
        );
        assert_eq!(store.contains("a"), stays, "{uid} at {version}");
        assert!(store.snapshot().observed("a").is_none());
    }
}

// INV-STORE-10
#[test]
fn end_list_removes_unlisted_overlays_that_are_not_newer() {
    let end = |version: u64| ListEnd::new(version.into());
    for (end, stays) in [
        (end(5), vec!["later", "listed"]),
        (end(9), vec!["listed"]),
        (ListEnd::new("".into()), vec!["listed"]),
        (end(5).rewind(true), vec![]),
    ] {
        let store = store();
        for (name, version) in [("listed", 9), ("later", 9), ("opaque", 0)] {
            let mine = Thing::new(name).uid("1").version(version).words(["mine"]);
            store.overlay(mine, Instant::now()).expect("named");
        }
        let mut transaction = store.transaction();
        transaction
            .add(Thing::new("listed").uid("1").version(4).words(["theirs"]))
            .expect("named");
        assert_eq!(transaction.end_list(&end), 3 - stays.len());
        transaction.commit();
        let mut mine = store.index_keys("words", "mine").expect("there");
        mine.sort();
        let stays: Vec<_> = stays.into_iter().map(ObjectKey::cluster_scoped).collect();
        assert_eq!(mine, stays, "after {end:?}");
        assert!(store.contains("listed"));
    }
}

// INV-STORE-9, INV-STORE-10
#[test]
fn stale_mark_of_the_observed_object_survives_its_overlay() {
    let store = store();
    let key = ObjectKey::cluster_scoped("a");
    let theirs = |version: u64| Thing::new("a").uid("1").version(version).words(["theirs"]);
    let mine = |version: u64| Thing::new("a").uid("1").version(version).words(["mine"]);
    let is_stale = || store.snapshot().is_stale("a");
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    store.add(theirs(1)).expect("named");
    store.undecodable(key.clone(), Some(2.into()));
    store.overlay(mine(5), now).expect("named");
    assert!(is_stale());
    assert_eq!(store.expire_overlay(later), 1);
    assert!(is_stale() && word(&store.get("a").expect("there")) == "theirs");
    // A decodable version below clears it.
    store.overlay(mine(6), now).expect("named");
    DeltaSink::update(&store, key.clone(), Arc::new(theirs(4)));
    assert!(!is_stale() && store.snapshot().is_overlaid("a"));
    // So does the deletion of the object below.
    store.undecodable(key, Some(5.into()));
    let next = Thing::new("a").uid("2").version(9).words(["mine"]);
    store.overlay(next, now).expect("named");
    assert!(is_stale());
    store.delete("a");
    assert!(!is_stale() && store.contains("a"));
}

#[test]
fn rewind_ends_all_overlays() {
    let store = store();
    store
        .replace([Thing::new("a").version(50)], ResourceVersion::from(50))
        .expect("named");
    store
        .overlay(Thing::new("a").version(60).words(["mine"]), Instant::now())
        .expect("named");
    let mut list = ObjectList::new();
    list.insert(
        ObjectKey::cluster_scoped("a"),
        Arc::new(Thing::new("a").version(7)),
    );
    DeltaSink::replace(
        &store,
        list,
        ListEnd::new(ResourceVersion::from(8)).rewind(true),
    );
    assert_eq!(
        store.get("a").expect("there").meta.version.as_deref(),
        Some("7")
    );
    assert!(!store.snapshot().is_overlaid("a"));
}

#[test]
fn oldest_overlays_are_removed_beyond_capacity_and_age() {
    let store = store();
    store.set_overlay_capacity(2);
    let start = Instant::now();
    let after = |seconds| start + Duration::from_secs(seconds);
    store
        .add(Thing::new("a").version(1).words(["theirs"]))
        .expect("named");
    for (at, name) in (0..).zip(["a", "b", "c"]) {
        let mine = Thing::new(name).version(10 + at).words(["mine"]);
        store.overlay(mine, after(at)).expect("named");
    }
    assert_eq!(word(&store.get("a").expect("there")), "theirs");
    assert!(store.contains("b") && store.contains("c"));
    assert_eq!(store.expire_overlay(after(2)), 1);
    assert!(!store.contains("b") && store.contains("c"));
}

#[test]
fn lower_capacity_removes_the_oldest_overlays_at_once_and_zero_refuses() {
    let store = store();
    let now = Instant::now();
    for (version, name) in (5u64..).zip(["a", "b", "c"]) {
        let mine = Thing::new(name).uid("1").version(version);
        store.overlay(mine, now).expect("named");
    }
    store.set_overlay_capacity(2);
    assert_eq!(
        store.keys(),
        ["c", "b"].map(ObjectKey::cluster_scoped),
        "the oldest is removed"
    );
    store.set_overlay_capacity(0);
    assert!(store.is_empty());
    let mine = Thing::new("d").uid("1").version(9);
    assert_eq!(store.overlay(mine.clone(), now), Ok(Overlaid::Refused));
    assert!(store.is_empty());
    store.set_overlay_capacity(usize::MAX);
    assert_eq!(store.overlay(mine, now), Ok(Overlaid::Visible));
}

// INV-STORE-10: of two UIDs, the versions decide; where they cannot be compared, only a deletion ends it.
#[test]
fn overlay_of_another_uid_ends_with_a_newer_object_only() {
    for (received, ends) in [
        (("1", "4"), false),
        (("1", "6"), true),
        (("1", "x"), false),
        (("2", "4"), false),
        (("2", "5"), true),
        (("2", "x"), true),
        (("", "4"), true),
    ] {
        let store = store();
        let theirs = Thing::new("a").uid("1").version(3).words(["theirs"]);
        store.add(theirs).expect("named");
        let mine = Thing::new("a").uid("2").version(5).words(["mine"]);
        store.overlay(mine, Instant::now()).expect("named");
        let mut object = Thing::new("a").version(received.1).words(["theirs"]);
        object.meta.uid = Some(received.0.into()).filter(|uid: &String| !uid.is_empty());
        let key = ObjectKey::cluster_scoped("a");
        DeltaSink::update(&store, key, Arc::new(object.clone()));
        assert_eq!(store.snapshot().is_overlaid("a"), !ends, "{received:?}");
        let observed = store.snapshot().observed("a").cloned();
        assert_eq!(observed.as_deref(), Some(&object), "{received:?}");
    }
}

proptest! {
    #[test]
    fn any_overlay_capacity_holds(
        capacities in prop::collection::vec(
            prop_oneof![0usize..5, Just(usize::MAX), any::<usize>()], 1..6,
        ),
        at_once in 0u64..8,
    ) {
        let store = store();
        let (now, mut version) = (Instant::now(), 1);
        for capacity in capacities {
            store.set_overlay_capacity(capacity);
            prop_assert!(store.len() <= capacity);
            for name in 0..at_once {
                version += 1;
                let mine = Thing::new(&name.to_string()).uid("1").version(version);
                let overlaid = store.overlay(mine, now).expect("named");
                let expected = if capacity == 0 { Overlaid::Refused } else { Overlaid::Visible };
                prop_assert_eq!(overlaid, expected);
                prop_assert_eq!(store.contains(&name.to_string()), capacity > 0);
                prop_assert!(store.len() <= capacity);
            }
        }
        prop_assert!(store.expire_overlay(now) == 0);
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// The server writes a key.
    Server(u8),
    ServerDeletes(u8),
    /// Somebody writes to the server, and overlays the response before the store receives it; or after.
    Mine {
        key: u8,
        late: usize,
    },
    /// The store receives that many of the server's events.
    Deliver(usize),
    Relist,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0u8..4).prop_map(Step::Server),
        2 => (0u8..4).prop_map(Step::ServerDeletes),
        3 => (0u8..4, 0usize..3).prop_map(|(key, late)| Step::Mine { key, late }),
        5 => (1usize..4).prop_map(Step::Deliver),
        1 => Just(Step::Relist),
    ]
}

/// A server with a history, and a store that lags behind it.
#[derive(Default)]
struct World {
    version: u64,
    uids: u64,
    server: BTreeMap<String, Arc<Thing>>,
    /// Events that the store has not received: the key, the object or its last state, whether it is written.
    pending: Vec<(String, Arc<Thing>, bool)>,
    /// Responses to our writes that are not overlaid yet.
    responses: Vec<(usize, Arc<Thing>)>,
    /// The server's state at the store's point in its history.
    received: BTreeMap<String, Arc<Thing>>,
}

impl World {
    fn write(&mut self, key: u8) -> Arc<Thing> {
        let name = key.to_string();
        self.version += 1;
        let uid = match self.server.get(&name) {
            Some(thing) => thing.meta.uid.clone().expect("all have one"),
            None => {
                self.uids += 1;
                self.uids.to_string()
            }
        };
        let text = format!("v{}", self.version % 3);
        let thing = Arc::new(
            Thing::new(&name)
                .uid(&uid)
                .version(self.version)
                .words([text]),
        );
        self.server.insert(name.clone(), Arc::clone(&thing));
        self.pending.push((name, Arc::clone(&thing), true));
        thing
    }

    fn delete(&mut self, key: u8) {
        let name = key.to_string();
        if let Some(thing) = self.server.remove(&name) {
            self.version += 1;
            let last = Arc::new((*thing).clone().version(self.version));
            self.pending.push((name, last, false));
        }
    }

    fn deliver(&mut self, store: &Store<Thing>, count: usize) {
        for (name, thing, writes) in self.pending.drain(..count.min(self.pending.len())) {
            let key = ObjectKey::cluster_scoped(&name);
            if writes {
                self.received.insert(name, Arc::clone(&thing));
                DeltaSink::update(store, key, thing);
            } else {
                self.received.remove(&name);
                DeltaSink::delete(store, key, Deletion::of(thing));
            }
        }
    }

    fn relist(&mut self, store: &Store<Thing>) {
        let mut list = ObjectList::new();
        for (name, thing) in &self.server {
            list.insert(ObjectKey::cluster_scoped(name), Arc::clone(thing));
        }
        self.received = self.server.clone();
        self.pending.clear();
        DeltaSink::replace(
            store,
            list,
            ListEnd::new(ResourceVersion::from(self.version.max(1))),
        );
    }

    fn overlay_due(&mut self, store: &Store<Thing>, now: Instant) {
        for (late, _) in &mut self.responses {
            *late = late.saturating_sub(1);
        }
        let due = self
            .responses
            .extract_if(.., |(late, _)| *late == 0)
            .collect::<Vec<_>>();
        for (_, response) in due {
            let version = response.meta.version.clone();
            let name = response.meta.name.clone();
            let overlaid = store.overlay(response, now).expect("named");
            // What was just overlaid is what is read; what is outdated is stored in a newer form or deleted.
            if overlaid == Overlaid::Visible {
                let read = store.get(name.as_str()).expect("it was overlaid");
                assert_eq!(read.meta.version, version);
            }
        }
    }
}

proptest! {
    // INV-STORE-10
    #[test]
    fn overlay_is_newer_than_observed_and_ends_with_it(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let store = store();
        let mut world = World::default();
        let now = Instant::now();
        for step in steps {
            match step {
                Step::Server(key) => drop(world.write(key)),
                Step::ServerDeletes(key) => world.delete(key),
                Step::Mine { key, late } => {
                    let response = world.write(key);
                    world.responses.push((late + 1, response));
                }
                Step::Deliver(count) => world.deliver(&store, count),
                Step::Relist => world.relist(&store),
            }
            world.overlay_due(&store, now);
            let snapshot = store.snapshot();
            for key in 0..4u8 {
                let name = key.to_string();
                let received = world.received.get(&name);
                // Observed and overlaid objects are never mixed.
                prop_assert_eq!(snapshot.observed(&name), received);
                if !snapshot.is_overlaid(&name) {
                    prop_assert_eq!(snapshot.get(&name), received);
                    continue;
                }
                // An overlaid object is newer than all that the store has received of the key.
                let shown = snapshot.get(&name).expect("overlaid");
                let number = |thing: &Arc<Thing>| thing.meta.version.as_ref().expect("all have one").parse::<u64>().expect("a number");
                prop_assert!(received.is_none_or(|received| number(received) < number(shown)));
            }
            // The index has what is read.
            for value in ["v0", "v1", "v2"] {
                let mut found: Vec<_> = store.index_keys("words", value).expect("there");
                let mut expected: Vec<_> = snapshot
                    .iter()
                    .filter(|(_, thing)| word(thing) == value)
                    .map(|(key, _)| key.clone())
                    .collect();
                found.sort();
                expected.sort();
                prop_assert_eq!(found, expected);
            }
        }
        // Once everything was received, no overlay is left.
        world.overlay_due(&store, now);
        world.deliver(&store, usize::MAX);
        let snapshot = store.snapshot();
        for key in 0..4u8 {
            let name = key.to_string();
            prop_assert!(!snapshot.is_overlaid(&name), "{name} is still overlaid");
            prop_assert_eq!(snapshot.get(&name), world.server.get(&name));
        }
    }
}
