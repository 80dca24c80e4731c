//! Deltas against a store: what it holds decides which events handlers receive.

use std::collections::BTreeMap;

use informer_store::Store;
use proptest::prelude::*;

use super::*;
use crate::testing::Item;

fn item(uid: &str, version: u64) -> Arc<Item> {
    Arc::new(Item::new("a", uid, version))
}

fn text((_, delivery): &Notification<Item>) -> String {
    let of = |item: &Arc<Item>| {
        let uid = item
            .uid
            .as_ref()
            .map_or_else(|| "-".to_owned(), ToString::to_string);
        let version = item
            .version
            .as_ref()
            .map_or_else(|| "-".to_owned(), ToString::to_string);
        format!("{uid}@{version}")
    };
    let what = match &delivery.event {
        Event::Added { object, initial } => {
            format!(
                "added {}{}",
                of(object),
                if *initial { " initial" } else { "" }
            )
        }
        Event::Updated { old, new, cause } => format!("updated {} {} {cause}", of(old), of(new)),
        Event::Deleted {
            object,
            final_state_unknown,
        } => {
            format!(
                "deleted {}{}",
                of(object),
                if *final_state_unknown { " unknown" } else { "" }
            )
        }
    };
    match (delivery.is_for(false, false), delivery.is_for(true, false)) {
        (true, _) => what,
        (false, true) => format!("({what})"),
        (false, false) => format!("(({what}))"),
    }
}

/// A store that holds this object, if any.
fn store_with(object: Option<&Arc<Item>>) -> Store<Item> {
    let store = Store::new();
    if let Some(object) = object {
        store.add(Arc::clone(object)).expect("it has a name");
    }
    store
}

/// Applies the deltas of the one key.
fn apply(store: &Store<Item>, rules: Rules, deltas: &[Delta<Item>]) -> (Vec<String>, Counts) {
    let mut transaction = store.transaction();
    let mut applier = Applier::new(&mut transaction, rules);
    applier.apply(&ObjectKey::namespaced("ns", "a"), deltas);
    let (sent, counts) = (
        applier.notifications.iter().map(text).collect(),
        applier.counts,
    );
    transaction.commit();
    (sent, counts)
}

const RULES: Rules = Rules {
    recreated: RecreatedAs::DeletedAndAdded,
    initial: false,
    rewind: false,
    unchanged: true,
};

/// What handlers receive if `delta` is applied to a store with this object.
fn sent(stored: Option<&Arc<Item>>, delta: Delta<Item>) -> Vec<String> {
    sent_by(RULES, stored, delta)
}

fn sent_by(rules: Rules, stored: Option<&Arc<Item>>, delta: Delta<Item>) -> Vec<String> {
    apply(&store_with(stored), rules, &[delta]).0
}

// INV-SHARED-6, client-go P1
#[test]
fn stored_object_decides_and_not_the_type_of_the_delta() {
    let (old, new) = (item("u", 1), item("u", 2));
    let types: [fn(Arc<Item>) -> Delta<Item>; 3] = [Delta::Added, Delta::Updated, Delta::Replaced];
    for (delta, cause) in types.into_iter().zip(["watch", "watch", "relist"]) {
        assert_eq!(sent(None, delta(Arc::clone(&new))), ["added u@2"]);
        let updated = sent(Some(&old), delta(Arc::clone(&new)));
        assert_eq!(updated, [format!("updated u@1 u@2 {cause}")]);
    }
    let initial = Rules {
        initial: true,
        ..RULES
    };
    assert_eq!(
        sent_by(initial, None, Delta::Replaced(new)),
        ["added u@2 initial"]
    );
}

// INV-SHARED-6: which of two is newer was decided by the queue.
#[test]
fn object_that_the_queue_accepted_is_applied_whatever_its_version() {
    let old = item("u", 5);
    assert_eq!(
        sent(Some(&old), Delta::Updated(item("u", 3))),
        ["updated u@5 u@3 watch"]
    );
    let unversioned = Arc::new(Item {
        uid: None,
        version: None,
        ..Item::new("a", "", 0)
    });
    let received = sent(
        Some(&unversioned),
        Delta::Updated(Arc::new(Item::clone(&unversioned))),
    );
    assert_eq!(received, ["updated -@- -@- watch"]);
}

// INV-SHARED-9, client-go P4
#[test]
fn unchanged_objects_are_sent_as_stored_and_bring_nothing_back() {
    let old = item("u", 1);
    assert_eq!(
        sent(Some(&old), Delta::Replaced(item("u", 1))),
        ["(updated u@1 u@1 relist)"]
    );
    assert_eq!(
        sent(Some(&old), Delta::Sync(item("u", 1))),
        ["((updated u@1 u@1 resync))"]
    );
    assert_eq!(
        sent(Some(&item("u", 5)), Delta::Sync(old)),
        ["((updated u@5 u@5 resync))"]
    );
    assert!(sent(None, Delta::Sync(item("u", 1))).is_empty());
    let nobody = Rules {
        unchanged: false,
        ..RULES
    };
    let stored = item("u", 1);
    assert!(sent_by(nobody, Some(&stored), Delta::Replaced(item("u", 1))).is_empty());
    assert!(sent_by(nobody, Some(&stored), Delta::Sync(item("u", 1))).is_empty());
}

#[test]
fn same_version_from_a_watch_is_sent_to_nobody() {
    assert!(sent(Some(&item("u", 1)), Delta::Updated(item("u", 1))).is_empty());
}

// INV-FIFO-10: after a rewind, the version of the stored object may be another object's.
#[test]
fn rewind_replaces_an_object_of_the_same_version() {
    let types: [fn(Arc<Item>) -> Delta<Item>; 2] = [Delta::Updated, Delta::Replaced];
    let rules = Rules {
        rewind: true,
        ..RULES
    };
    for (delta, cause) in types.into_iter().zip(["watch", "relist"]) {
        let new = item("u", 5);
        let store = store_with(Some(&item("u", 5)));
        let (sent, _) = apply(&store, rules, &[delta(Arc::clone(&new))]);
        assert_eq!(sent, [format!("updated u@5 u@5 {cause}")]);
        assert!(Arc::ptr_eq(&store.get("ns/a").expect("it is stored"), &new));
    }
}

// INV-SHARED-7, client-go P7, protocol 3.3 (10)
#[test]
fn new_uid_is_a_deletion_and_an_addition_or_an_update() {
    let (old, new) = (item("u", 1), item("v", 2));
    let as_update = Rules {
        recreated: RecreatedAs::Updated,
        ..RULES
    };
    let both = &["deleted u@1 unknown", "added v@2"][..];
    assert_eq!(sent(Some(&old), Delta::Updated(Arc::clone(&new))), both);
    let one = sent_by(as_update, Some(&old), Delta::Updated(Arc::clone(&new)));
    assert_eq!(one, ["updated u@1 v@2 watch"]);

    // The same where the queue has inferred the deletion from the new UID.
    let inferred = [
        Delta::Deleted(Deleted::FinalStateUnknown(Arc::clone(&old))),
        Delta::Replaced(Arc::clone(&new)),
    ];
    let (sent, _) = apply(&store_with(Some(&old)), RULES, &inferred);
    assert_eq!(sent, both);
    let (sent, _) = apply(&store_with(Some(&old)), as_update, &inferred);
    assert_eq!(sent, ["updated u@1 v@2 relist"]);
}

// INV-SHARED-6; differs from client-go P2
#[test]
fn deletion_is_sent_once_and_of_the_stored_uid() {
    let old = item("u", 5);
    let last = |uid, version| Delta::Deleted(Deleted::LastState(item(uid, version)));
    assert_eq!(sent(Some(&old), last("u", 6)), ["deleted u@6"]);
    assert_eq!(
        sent(Some(&old), last("u", 4)),
        ["deleted u@4"],
        "a UID never returns, whatever the version"
    );
    assert!(sent(None, last("u", 6)).is_empty());
    assert!(sent(Some(&old), last("t", 4)).is_empty(), "an older UID");
    assert_eq!(
        sent(Some(&old), last("v", 9)),
        ["deleted u@5 unknown"],
        "a later UID"
    );
    let unknown = Delta::Deleted(Deleted::FinalStateUnknown(Arc::clone(&old)));
    assert_eq!(sent(Some(&old), unknown), ["deleted u@5 unknown"]);
}

#[test]
fn deletion_carries_the_object_that_was_stored_before() {
    let old = item("u", 5);
    let store = store_with(Some(&old));
    let mut transaction = store.transaction();
    let mut applier = Applier::new(&mut transaction, RULES);
    let deleted = Delta::Deleted(Deleted::LastState(item("u", 6)));
    applier.apply(&old.key(), &[deleted]);
    let before = applier.notifications[0].1.before.clone();
    assert!(before.is_some_and(|before| Arc::ptr_eq(&before, &old)));
}

#[test]
fn undecodable_object_stays_stored_and_stale() {
    let old = item("u", 5);
    let store = store_with(Some(&old));
    let is_stale = || store.snapshot().is_stale("ns/a");
    let undecodable = Delta::Undecodable(Some(Box::new(6.into())));
    let (sent, counts) = apply(&store, RULES, &[undecodable]);
    assert!(sent.is_empty() && is_stale() && store.len() == 1);
    assert_eq!(counts.undecodable, 1);
    // A repeated event proves nothing; a list that holds the stored object says that it is the newest.
    apply(&store, RULES, &[Delta::Updated(Arc::clone(&old))]);
    assert!(is_stale());
    apply(&store, RULES, &[Delta::Replaced(Arc::clone(&old))]);
    assert!(!is_stale());
}

fn deltas() -> impl Strategy<Value = Vec<(u8, Delta<Item>)>> {
    let object = (0..3_u8, 0..3_u8, 1..20_u64).prop_map(|(name, uid, version)| {
        (
            name,
            Arc::new(Item::new(&name.to_string(), &uid.to_string(), version)),
        )
    });
    let delta = (object, 0..7_u8).prop_map(|((name, object), kind)| {
        let delta = match kind {
            0 => Delta::Added(object),
            1 => Delta::Updated(object),
            2 => Delta::Replaced(object),
            3 => Delta::Sync(object),
            4 => Delta::Deleted(Deleted::LastState(object)),
            5 => Delta::Deleted(Deleted::FinalStateUnknown(object)),
            _ => Delta::Undecodable(None),
        };
        (name, delta)
    });
    prop::collection::vec(delta, 0..60)
}

proptest! {
    // INV-SHARED-1: any deltas in any order, legal or not.
    #[test]
    fn handlers_receive_a_legal_history_that_ends_at_the_store(
        deltas in deltas(),
        as_update in any::<bool>(),
        rewind in any::<bool>(),
    ) {
        let recreated = if as_update { RecreatedAs::Updated } else { RecreatedAs::DeletedAndAdded };
        let rules = Rules { recreated, rewind, ..RULES };
        let store = Store::new();
        let mut transaction = store.transaction();
        let mut applier = Applier::new(&mut transaction, rules);
        let given = deltas.len() as u64;
        for (name, delta) in deltas {
            applier.apply(&ObjectKey::namespaced("ns", &name.to_string()), &[delta]);
        }
        let Counts { applied, without_effect, undecodable } = applier.counts;
        prop_assert_eq!(applied + without_effect + undecodable, given, "no delta is lost");
        let mut seen = BTreeMap::new();
        for (key, delivery) in applier.notifications {
            let is_change = delivery.is_for(false, false);
            match delivery.event {
                Event::Added { object, .. } => {
                    prop_assert!(seen.insert(key, object).is_none());
                }
                Event::Updated { old, new, .. } => {
                    if !is_change { prop_assert!(Arc::ptr_eq(&old, &new)); }
                    if !as_update { prop_assert_eq!(&old.uid, &new.uid); }
                    let before = seen.insert(key, new);
                    prop_assert!(before.is_some_and(|before| Arc::ptr_eq(&before, &old)));
                }
                Event::Deleted { object, .. } => {
                    let before = seen.remove(&key);
                    prop_assert!(before.is_some_and(|before| before.uid == object.uid || as_update));
                }
            }
        }
        transaction.commit();
        let snapshot = store.snapshot();
        let stored: BTreeMap<_, _> = snapshot.iter().map(|(k, o)| (k.clone(), Arc::clone(o))).collect();
        prop_assert_eq!(seen, stored);
    }
}
