//! Deltas against a map: what handlers hear is decided by what is cached.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::notification::Audience;
use crate::testing::Item;

#[derive(Default)]
struct Map {
    objects: BTreeMap<ObjectKey, Arc<Item>>,
    stale: Vec<ObjectKey>,
}

impl Cache<Item> for Map {
    fn get(&self, key: &ObjectKey) -> Option<Arc<Item>> {
        self.objects.get(key).cloned()
    }

    fn put(&mut self, key: &ObjectKey, object: Arc<Item>) {
        self.objects.insert(key.clone(), object);
    }

    fn remove(&mut self, key: &ObjectKey, _: Option<&Arc<Item>>) {
        self.objects.remove(key);
    }

    fn mark_stale(&mut self, key: &ObjectKey) {
        self.stale.push(key.clone());
    }

    fn confirm(&mut self, key: &ObjectKey) {
        self.stale.retain(|stale| stale != key);
    }
}

fn item(uid: &str, version: u64) -> Arc<Item> {
    Arc::new(Item::new("a", uid, version))
}

fn text(notification: &Notification<Item>) -> String {
    let of = |item: &Arc<Item>| {
        format!(
            "{}@{}",
            item.uid.as_ref().unwrap(),
            item.version.as_ref().unwrap()
        )
    };
    let what = match &notification.delivery.event {
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
    match notification.audience {
        Audience::All => what,
        Audience::Resyncing => format!("({what})"),
    }
}

/// What handlers hear if `delta` meets this cached object.
fn told(cached: Option<&Arc<Item>>, delta: Delta<Item>) -> Vec<String> {
    told_as(cached, delta, RecreatedAs::DeletedAndAdded, false)
}

fn told_as(
    cached: Option<&Arc<Item>>,
    delta: Delta<Item>,
    recreated: RecreatedAs,
    initial: bool,
) -> Vec<String> {
    let mut map = Map::default();
    let key = ObjectKey::namespaced("ns", "a");
    map.objects
        .extend(cached.map(|object| (key.clone(), Arc::clone(object))));
    let mut applier = Applier::new(&mut map, recreated, initial);
    applier.apply(&key, delta);
    applier.notifications.iter().map(text).collect()
}

// INV-SHARED-6, client-go P1
#[test]
fn what_is_cached_decides_not_the_kind_of_the_delta() {
    let (old, new) = (item("u", 1), item("u", 2));
    let kinds: [fn(Arc<Item>) -> Delta<Item>; 3] = [Delta::Added, Delta::Updated, Delta::Replaced];
    for (kind, cause) in kinds.into_iter().zip(["watch", "watch", "relist"]) {
        assert_eq!(told(None, kind(Arc::clone(&new))), ["added u@2"]);
        let updated = told(Some(&old), kind(Arc::clone(&new)));
        assert_eq!(updated, [format!("updated u@1 u@2 {cause}")]);
    }
    let first = told_as(None, Delta::Replaced(new), RecreatedAs::default(), true);
    assert_eq!(first, ["added u@2 initial"]);
}

// INV-SHARED-9, client-go P4
#[test]
fn reminders_are_of_the_cached_object_and_bring_nothing_back() {
    let old = item("u", 1);
    assert_eq!(
        told(Some(&old), Delta::Replaced(item("u", 1))),
        ["(updated u@1 u@1 relist)"]
    );
    assert_eq!(
        told(Some(&old), Delta::Sync(item("u", 1))),
        ["(updated u@1 u@1 resync)"]
    );
    assert_eq!(
        told(Some(&item("u", 5)), Delta::Sync(old)),
        ["(updated u@5 u@5 resync)"]
    );
    assert!(told(None, Delta::Sync(item("u", 1))).is_empty());
}

#[test]
fn the_same_copy_from_a_watch_is_told_to_nobody() {
    assert!(told(Some(&item("u", 1)), Delta::Updated(item("u", 1))).is_empty());
}

// INV-FIFO-10: the version of the cached copy may have been given to another one since.
#[test]
fn in_a_rewind_an_equal_copy_replaces_the_cached_one() {
    let kinds: [fn(Arc<Item>) -> Delta<Item>; 2] = [Delta::Updated, Delta::Replaced];
    for (kind, cause) in kinds.into_iter().zip(["watch", "relist"]) {
        let (mut map, old, new) = (Map::default(), item("u", 5), item("u", 5));
        map.objects.insert(old.key(), Arc::clone(&old));
        let mut applier = Applier::new(&mut map, RecreatedAs::default(), false).rewind(true);
        applier.apply(&old.key(), kind(Arc::clone(&new)));
        let told: Vec<_> = applier.notifications.iter().map(text).collect();
        assert_eq!(told, [format!("updated u@5 u@5 {cause}")]);
        assert!(Arc::ptr_eq(&map.objects[&old.key()], &new));
    }
}

// INV-SHARED-7, client-go P7, protocol 3.3 (10)
#[test]
fn a_new_uid_under_an_old_name_is_a_deletion_and_an_addition() {
    let (old, new) = (item("u", 1), item("v", 2));
    let told_both = told(Some(&old), Delta::Updated(Arc::clone(&new)));
    assert_eq!(told_both, ["deleted u@1 unknown", "added v@2"]);
    let told_one = told_as(
        Some(&old),
        Delta::Updated(Arc::clone(&new)),
        RecreatedAs::Updated,
        false,
    );
    assert_eq!(told_one, ["updated u@1 v@2 watch"]);

    // The same where the queue has inferred the deletion from the new UID.
    let inferred = || {
        let gone = Delta::Deleted(Deleted::FinalStateUnknown(Arc::clone(&old)));
        [gone, Delta::Replaced(Arc::clone(&new))].into_iter()
    };
    for (how, expected) in [
        (
            RecreatedAs::DeletedAndAdded,
            &["deleted u@1 unknown", "added v@2"][..],
        ),
        (RecreatedAs::Updated, &["updated u@1 v@2 relist"][..]),
    ] {
        let mut map = Map::default();
        map.objects.insert(old.key(), Arc::clone(&old));
        let mut applier = Applier::new(&mut map, how, false);
        applier.apply_all(&old.key(), inferred());
        assert_eq!(
            applier.notifications.iter().map(text).collect::<Vec<_>>(),
            expected
        );
    }
}

// INV-SHARED-6; differs from client-go P2
#[test]
fn a_deletion_is_told_once_and_of_the_life_that_is_cached() {
    let old = item("u", 5);
    let last = |uid, version| Delta::Deleted(Deleted::LastState(item(uid, version)));
    assert_eq!(told(Some(&old), last("u", 6)), ["deleted u@6"]);
    assert!(told(None, last("u", 6)).is_empty());
    assert!(told(Some(&old), last("t", 4)).is_empty(), "an older life");
    assert_eq!(
        told(Some(&old), last("v", 9)),
        ["deleted u@5 unknown"],
        "a later life"
    );
    let unknown = Delta::Deleted(Deleted::FinalStateUnknown(Arc::clone(&old)));
    assert_eq!(told(Some(&old), unknown), ["deleted u@5 unknown"]);
}

#[test]
fn a_filter_is_told_the_state_that_was_cached_before_a_deletion() {
    let mut map = Map::default();
    let old = item("u", 5);
    map.objects.insert(old.key(), Arc::clone(&old));
    let mut applier = Applier::new(&mut map, RecreatedAs::default(), false);
    applier.apply(&old.key(), Delta::Deleted(Deleted::LastState(item("u", 6))));
    let known = applier.notifications[0].delivery.known.clone();
    assert!(known.is_some_and(|known| Arc::ptr_eq(&known, &old)));
}

#[test]
fn an_object_set_aside_stays_cached_and_stale() {
    let mut map = Map::default();
    let old = item("u", 5);
    map.objects.insert(old.key(), Arc::clone(&old));
    let mut applier = Applier::new(&mut map, RecreatedAs::default(), false);
    applier.apply(&old.key(), Delta::SetAside(Some(6.into())));
    assert!(applier.notifications.is_empty());
    assert_eq!(applier.counts.set_aside, 1);
    assert_eq!(map.stale, [old.key()]);
    assert_eq!(map.objects.len(), 1);
    // An old event that is told again says nothing; a list that holds the cached copy says that it is the newest.
    let mut applier = Applier::new(&mut map, RecreatedAs::default(), false);
    applier.apply(&old.key(), Delta::Updated(Arc::clone(&old)));
    assert_eq!(map.stale, [old.key()]);
    let mut applier = Applier::new(&mut map, RecreatedAs::default(), false);
    applier.apply(&old.key(), Delta::Replaced(Arc::clone(&old)));
    assert!(map.stale.is_empty());
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
            _ => Delta::SetAside(None),
        };
        (name, delta)
    });
    prop::collection::vec(delta, 0..60)
}

proptest! {
    // INV-SHARED-1: any deltas in any order, legal or not.
    #[test]
    fn handlers_hear_a_legal_history_that_ends_at_the_cache(
        deltas in deltas(),
        as_update in any::<bool>(),
    ) {
        let mut map = Map::default();
        let as_told = if as_update { RecreatedAs::Updated } else { RecreatedAs::DeletedAndAdded };
        let mut applier = Applier::new(&mut map, as_told, false);
        let given = deltas.len() as u64;
        for (name, delta) in deltas {
            applier.apply(&ObjectKey::namespaced("ns", &name.to_string()), delta);
        }
        let Counts { applied, without_effect, set_aside } = applier.counts;
        prop_assert_eq!(applied + without_effect + set_aside, given, "no delta is lost");
        let mut seen = BTreeMap::new();
        for Notification { key, delivery, audience } in applier.notifications {
            match delivery.event {
                Event::Added { object, .. } => {
                    prop_assert!(seen.insert(key, object).is_none());
                }
                Event::Updated { old, new, .. } => {
                    if audience == Audience::Resyncing { prop_assert!(Arc::ptr_eq(&old, &new)); }
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
        prop_assert_eq!(seen, map.objects);
    }
}
