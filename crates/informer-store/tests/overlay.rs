//! Objects added by hand over what the server says, against a naive model.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use informer_store::{
    Deletion, DeltaSink, IndexValues, ObjectKey, Overlaid, Replace, ReplaceEnd, ResourceVersion,
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
fn readers_see_what_is_overlaid_and_batches_decide_without_it() {
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
    assert_eq!(word(snapshot.base("a").expect("there")), "theirs");
    assert!(snapshot.is_overlaid("a") && snapshot.is_overlaid("new"));
    assert!(snapshot.contains("new") && snapshot.base("new").is_none());
    assert_eq!(store.by_index("words", "mine").expect("there").len(), 2);
    assert!(store.by_index("words", "theirs").expect("there").is_empty());
    assert_eq!(
        DeltaSink::known(&store, &ObjectKey::cluster_scoped("new")),
        None
    );

    let mut batch = store.begin_batch();
    assert_eq!(word(batch.get("a").expect("there")), "theirs");
    let old = batch
        .add(Thing::new("a").version(4).words(["older"]))
        .expect("named");
    assert_eq!(old.as_ref().map(word), Some("theirs"));
    let old = batch
        .add(Thing::new("a").version(7).words(["newer"]))
        .expect("named");
    assert_eq!(old.as_ref().map(word), Some("older"));
    // To those who are told of events the object is new.
    assert!(
        batch
            .add(Thing::new("new").version(6).words(["came"]))
            .expect("named")
            .is_none()
    );
    batch.commit();
    assert_eq!(word(&store.get("a").expect("there")), "newer");
    assert_eq!(word(&store.get("new").expect("there")), "came");
    assert!(!store.snapshot().is_overlaid("a"));
}

// INV-STORE-10
#[test]
fn a_list_without_the_object_takes_it_away_unless_the_object_is_newer() {
    let now = Instant::now();
    let store = store();
    store
        .add(Thing::new("was there").uid("1").version(1))
        .expect("named");
    let mine = [
        ("listed", "9"),
        ("early", "4"),
        ("late", "9"),
        ("opaque", "x"),
        ("was there", "3"),
    ];
    for (name, version) in mine {
        let mine = Thing::new(name).uid("1").version(version).words(["mine"]);
        store.overlay(mine, now).expect("named");
    }
    let theirs = Thing::new("listed").uid("1").version(4).words(["theirs"]);
    let mut list = store.begin_replace();
    list.insert(ObjectKey::cluster_scoped("listed"), Arc::new(theirs));
    list.finish(ReplaceEnd::new(ResourceVersion::from(5)));
    let mut mine = store.index_keys("words", "mine").expect("there");
    mine.sort();
    assert_eq!(mine, ["late", "listed"].map(ObjectKey::cluster_scoped));
    assert_eq!(store.len(), 2);
    // Once the store has come as far as our writes, what the server said holds.
    store.bookmark(ResourceVersion::from(8));
    assert_eq!(word(&store.get("listed").expect("there")), "mine");
    store.bookmark(ResourceVersion::from(9));
    assert_eq!(word(&store.get("listed").expect("there")), "theirs");
    assert_eq!(store.by_index("words", "theirs").expect("there").len(), 1);
    assert_eq!(store.len(), 1);
}

// INV-STORE-10: of a later life than the one that the list lacks.
#[test]
fn a_newer_life_outlives_a_list_that_lacks_the_older_one() {
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
    assert!(store.snapshot().base("a").is_none());
}

// ST14, for a feeder that only says that the object is gone.
#[test]
fn an_overlaid_object_of_a_later_life_outlives_the_earlier_one() {
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
            "events are decided without it"
        );
        assert_eq!(store.contains("a"), stays, "{uid} at {version}");
        assert!(store.snapshot().base("a").is_none());
    }
}

// INV-STORE-10
#[test]
fn a_feeder_with_a_queue_says_what_a_list_ended_with() {
    let end = |version: u64| ReplaceEnd::new(version.into());
    for (end, stays) in [
        (end(5), vec!["later", "listed"]),
        (end(9), vec!["listed"]),
        (ReplaceEnd::new("".into()), vec!["listed"]),
        (end(5).rewind(true), vec![]),
    ] {
        let store = store();
        for (name, version) in [("listed", 9), ("later", 9), ("opaque", 0)] {
            let mine = Thing::new(name).version(version).words(["mine"]);
            store.overlay(mine, Instant::now()).expect("named");
        }
        let mut batch = store.begin_batch();
        batch
            .add(Thing::new("listed").version(4).words(["theirs"]))
            .expect("named");
        assert_eq!(batch.end_list(&end), 3 - stays.len());
        batch.commit();
        let mut mine = store.index_keys("words", "mine").expect("there");
        mine.sort();
        let stays: Vec<_> = stays.into_iter().map(ObjectKey::cluster_scoped).collect();
        assert_eq!(mine, stays, "after {end:?}");
        assert!(store.contains("listed"));
    }
}

// INV-STORE-9, INV-STORE-10
#[test]
fn whether_the_servers_word_is_out_of_date_does_not_depend_on_what_lies_over_it() {
    let store = store();
    let key = ObjectKey::cluster_scoped("a");
    let theirs = |version: u64| Thing::new("a").uid("1").version(version).words(["theirs"]);
    let mine = |version: u64| Thing::new("a").uid("1").version(version).words(["mine"]);
    let is_stale = || store.snapshot().is_stale("a");
    let now = Instant::now();
    let later = now + Duration::from_secs(1);
    store.add(theirs(1)).expect("named");
    store.set_aside(key.clone(), Some(2.into()));
    store.overlay(mine(5), now).expect("named");
    assert!(is_stale());
    assert_eq!(store.expire_overlay(later), 1);
    assert!(is_stale() && word(&store.get("a").expect("there")) == "theirs");
    // A good copy below ends it.
    store.overlay(mine(6), now).expect("named");
    DeltaSink::update(&store, key.clone(), Arc::new(theirs(4)));
    assert!(!is_stale() && store.snapshot().is_overlaid("a"));
    // So does the end of the life below.
    store.set_aside(key, Some(5.into()));
    let next = Thing::new("a").uid("2").version(9).words(["mine"]);
    store.overlay(next, now).expect("named");
    assert!(is_stale());
    store.delete("a");
    assert!(!is_stale() && store.contains("a"));
}

#[test]
fn a_rewind_takes_everything_overlaid_away() {
    let store = store();
    store
        .replace([Thing::new("a").version(50)], ResourceVersion::from(50))
        .expect("named");
    store
        .overlay(Thing::new("a").version(60).words(["mine"]), Instant::now())
        .expect("named");
    let mut list = store.begin_replace();
    list.insert(
        ObjectKey::cluster_scoped("a"),
        Arc::new(Thing::new("a").version(7)),
    );
    list.finish(ReplaceEnd::new(ResourceVersion::from(8)).rewind(true));
    assert_eq!(
        store.get("a").expect("there").meta.version.as_deref(),
        Some("7")
    );
    assert!(!store.snapshot().is_overlaid("a"));
}

#[test]
fn the_oldest_go_when_there_are_too_many_or_they_are_too_old() {
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

#[derive(Debug, Clone)]
enum Step {
    /// The server writes a key.
    Server(u8),
    ServerDeletes(u8),
    /// Somebody writes to the server, and overlays the answer before the store hears of it; or after.
    Mine {
        key: u8,
        late: usize,
    },
    /// The store hears of that many of the server's events.
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
    lives: u64,
    server: BTreeMap<String, Arc<Thing>>,
    /// What the store has not heard yet: the key, and the object or its last state.
    pending: Vec<(String, Arc<Thing>, bool)>,
    /// Answers to our writes that are not overlaid yet.
    answers: Vec<(usize, Arc<Thing>)>,
    /// What the server had said up to the store's point in its history.
    heard: BTreeMap<String, Arc<Thing>>,
}

impl World {
    fn write(&mut self, key: u8) -> Arc<Thing> {
        let name = key.to_string();
        self.version += 1;
        let uid = match self.server.get(&name) {
            Some(thing) => thing.meta.uid.clone().expect("all have one"),
            None => {
                self.lives += 1;
                self.lives.to_string()
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
                self.heard.insert(name, Arc::clone(&thing));
                DeltaSink::update(store, key, thing);
            } else {
                self.heard.remove(&name);
                DeltaSink::delete(store, key, Deletion::of(thing));
            }
        }
    }

    fn relist(&mut self, store: &Store<Thing>) {
        let mut list = store.begin_replace();
        for (name, thing) in &self.server {
            list.insert(ObjectKey::cluster_scoped(name), Arc::clone(thing));
        }
        self.heard = self.server.clone();
        self.pending.clear();
        list.finish(ReplaceEnd::new(ResourceVersion::from(self.version.max(1))));
    }

    fn overlay_due(&mut self, store: &Store<Thing>, now: Instant) {
        for (late, _) in &mut self.answers {
            *late = late.saturating_sub(1);
        }
        let due = self
            .answers
            .extract_if(.., |(late, _)| *late == 0)
            .collect::<Vec<_>>();
        for (_, answer) in due {
            let version = answer.meta.version.clone();
            let name = answer.meta.name.clone();
            let overlaid = store.overlay(answer, now).expect("named");
            // What was just overlaid is what is read; what is refused is here in a newer form or gone again.
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
    fn an_overlay_is_ahead_of_the_server_s_word_and_never_outlives_it(
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
                    let answer = world.write(key);
                    world.answers.push((late + 1, answer));
                }
                Step::Deliver(count) => world.deliver(&store, count),
                Step::Relist => world.relist(&store),
            }
            world.overlay_due(&store, now);
            let snapshot = store.snapshot();
            for key in 0..4u8 {
                let name = key.to_string();
                let heard = world.heard.get(&name);
                // What the server said is never mixed with what was added by hand.
                prop_assert_eq!(snapshot.base(&name), heard);
                if !snapshot.is_overlaid(&name) {
                    prop_assert_eq!(snapshot.get(&name), heard);
                    continue;
                }
                // What is overlaid is ahead of all that the store has heard of the key.
                let shown = snapshot.get(&name).expect("overlaid");
                let number = |thing: &Arc<Thing>| thing.meta.version.as_ref().expect("all have one").parse::<u64>().expect("a number");
                prop_assert!(heard.is_none_or(|heard| number(heard) < number(shown)));
            }
            // The index speaks of what is read.
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
        // Once everything was heard, nothing by hand is left.
        world.overlay_due(&store, now);
        world.deliver(&store, usize::MAX);
        let snapshot = store.snapshot();
        for key in 0..4u8 {
            let name = key.to_string();
            prop_assert!(!snapshot.is_overlaid(&name), "{name} outlived the server's word");
            prop_assert_eq!(snapshot.get(&name), world.server.get(&name));
        }
    }
}
