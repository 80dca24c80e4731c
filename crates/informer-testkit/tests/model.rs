//! The model against a naive one: a list of complete snapshots, one a revision.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_testkit::model::{
    Cluster, ClusterOptions, ListOptions, Pull, StoredObject, WatchCursor, WatchEvent,
    WatchEventType, WatchRefusal, WriteOptions,
};
use informer_testkit::{DeleteOptions, Patch, ResourceType};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

/// Names that sort differently with and without the slash behind the namespace.
const NAMESPACES: [&str; 3] = ["a", "a-b", "ab"];
const NAMES: [&str; 4] = ["w", "x", "x.y", "z"];
const COLORS: [&str; 2] = ["red", "blue"];

#[derive(Clone, Debug)]
enum Op {
    Create(usize, usize, usize),
    Paint(usize, usize, usize),
    Delete(usize, usize),
    /// A write to another resource: the revision moves on.
    Other,
    Compact(u64),
    HistoryLimit(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = (0..NAMESPACES.len(), 0..NAMES.len());
    let colored = (0..NAMESPACES.len(), 0..NAMES.len(), 0..COLORS.len());
    let op = prop_oneof![
        6 => colored.clone().prop_map(|(ns, name, color)| Op::Create(ns, name, color)),
        6 => colored.prop_map(|(ns, name, color)| Op::Paint(ns, name, color)),
        4 => key.prop_map(|(ns, name)| Op::Delete(ns, name)),
        2 => Just(Op::Other),
        1 => (0..40_u64).prop_map(Op::Compact),
        1 => (0..20_usize).prop_map(Op::HistoryLimit),
    ];
    prop::collection::vec(op, 0..60)
}

/// What a watcher or lister looks at.
#[derive(Clone, Debug)]
struct View {
    namespace: &'static str,
    color: Option<&'static str>,
}

fn views() -> impl Strategy<Value = View> {
    let namespace = prop_oneof![Just(""), prop::sample::select(&NAMESPACES[..])];
    let color = prop::option::of(prop::sample::select(&COLORS[..]));
    (namespace, color).prop_map(|(namespace, color)| View { namespace, color })
}

/// Key to revision and color.
type State = BTreeMap<String, (u64, String)>;

struct World {
    cluster: Cluster,
    widgets: Arc<ResourceType>,
    /// The state after each revision that changed it, the oldest first.
    snapshots: Vec<(u64, State)>,
}

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

impl World {
    fn new() -> Self {
        let mut cluster = Cluster::new(&ClusterOptions::default(), NOW);
        let widgets =
            cluster.register(ResourceType::new("demo.example", "v1", "Widget", "widgets"));
        // Namespaces would otherwise take revisions in between.
        let namespaces = cluster.resource("namespaces").unwrap();
        for name in NAMESPACES {
            let namespace = json!({"metadata": {"name": name}});
            cluster
                .create(&namespaces, "", namespace, &WriteOptions::at(NOW))
                .unwrap();
        }
        Self {
            cluster,
            widgets,
            snapshots: vec![(0, State::new())],
        }
    }

    fn now(&self) -> &State {
        &self.snapshots.last().unwrap().1
    }

    fn at(&self, revision: u64) -> &State {
        let (_, state) = self
            .snapshots
            .iter()
            .rev()
            .find(|(at, _)| *at <= revision)
            .unwrap();
        state
    }

    fn apply(&mut self, op: &Op) {
        let options = WriteOptions::at(NOW);
        let mut next = self.now().clone();
        match *op {
            Op::Create(namespace, name, color) => {
                let (namespace, name, color) = (NAMESPACES[namespace], NAMES[name], COLORS[color]);
                let key = format!("{namespace}/{name}");
                let object = json!({"metadata": {"name": name, "labels": {"color": color}}});
                let created = self
                    .cluster
                    .create(&self.widgets, namespace, object, &options);
                assert_eq!(created.is_ok(), !next.contains_key(&key));
                let revision = self.cluster.revision();
                next.entry(key)
                    .or_insert_with(|| (revision, color.to_owned()));
            }
            Op::Paint(namespace, name, color) => {
                let (namespace, name, color) = (NAMESPACES[namespace], NAMES[name], COLORS[color]);
                let patch = Patch::Merge(json!({"metadata": {"labels": {"color": color}}}));
                let painted = self
                    .cluster
                    .patch(&self.widgets, namespace, name, &patch, &options);
                let known = next.get_mut(&format!("{namespace}/{name}"));
                assert_eq!(painted.is_ok(), known.is_some());
                // Painting in the same color changes nothing.
                if let Some(known) = known.filter(|known| known.1 != color) {
                    *known = (self.cluster.revision(), color.to_owned());
                }
            }
            Op::Delete(namespace, name) => {
                let (namespace, name) = (NAMESPACES[namespace], NAMES[name]);
                let any = DeleteOptions::default();
                let deleted = self
                    .cluster
                    .delete(&self.widgets, namespace, name, &any, &options);
                let known = next.remove(&format!("{namespace}/{name}"));
                assert_eq!(deleted.is_ok(), known.is_some());
            }
            Op::Other => {
                let pods = self.cluster.resource("pods").unwrap();
                let pod = json!({"metadata": {"generateName": "p-"}});
                self.cluster
                    .create(&pods, "default", pod, &options)
                    .unwrap();
            }
            Op::Compact(revision) => self.cluster.compact(revision),
            Op::HistoryLimit(limit) => self.cluster.set_history_limit(limit),
        }
        if next != *self.now() {
            self.snapshots.push((self.cluster.revision(), next));
        }
    }
}

impl View {
    fn options(&self) -> ListOptions {
        let mut options = ListOptions::new();
        if let Some(color) = self.color {
            options.label_selector = format!("color={color}");
        }
        options
    }

    fn of(&self, state: &State) -> State {
        let inside = |key: &str| {
            self.namespace.is_empty() || key.split_once('/').unwrap().0 == self.namespace
        };
        let wanted = |color: &str| self.color.is_none_or(|wanted| wanted == color);
        state
            .iter()
            .filter(|(key, (_, color))| inside(key) && wanted(color))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

fn seen(objects: &[Arc<StoredObject>]) -> State {
    let entry = |object: &Arc<StoredObject>| {
        let color = object.labels()["color"].clone();
        (object.key().to_owned(), (object.revision(), color))
    };
    assert!(
        objects.is_sorted_by(|a, b| a.key() < b.key()),
        "lists are sorted by key"
    );
    objects.iter().map(entry).collect()
}

/// What a client makes of the events: the state, and proof that each event made sense.
fn fold(state: &mut State, last: &mut u64, events: &[WatchEvent]) {
    for event in events {
        assert!(
            event.revision > *last,
            "events are in the order of revisions"
        );
        *last = event.revision;
        let key = event.object.key().to_owned();
        let color = event.object.labels()["color"].clone();
        let known = state.contains_key(&key);
        match event.event_type {
            WatchEventType::Added => assert!(!known, "{key} was added twice"),
            WatchEventType::Modified => assert!(known, "{key} was changed before it was added"),
            WatchEventType::Deleted => {
                let (_, before) = state.remove(&key).expect("deleted before it was added");
                assert_eq!(before, color, "a deletion shows what was last selected");
                continue;
            }
        }
        assert_eq!(event.object.revision(), event.revision);
        state.insert(key, (event.revision, color));
    }
}

fn pull(cluster: &Cluster, cursor: &mut WatchCursor, max: usize) -> Vec<WatchEvent> {
    match cluster.pull(cursor, max) {
        Pull::Events { events, .. } => events,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every revision inside the window can be listed exactly, and none outside it.
    #[test]
    fn an_exact_list_is_the_state_of_that_revision(ops in ops(), view in views()) {
        let mut world = World::new();
        ops.iter().for_each(|op| world.apply(op));
        let current = world.cluster.revision();
        let mut too_old = 0;
        for revision in 1..=current + 1 {
            let mut options = view.options();
            options.resource_version = revision.to_string();
            options.resource_version_match = "Exact".to_owned();
            match world.cluster.list(&world.widgets, view.namespace, &options) {
                Ok(page) => {
                    prop_assert!(revision <= current);
                    prop_assert_eq!(page.revision, revision);
                    prop_assert_eq!(seen(&page.items), view.of(world.at(revision)));
                }
                Err(status) if status.code == 410 => {
                    prop_assert_eq!(too_old, revision - 1, "what is too old is a beginning");
                    too_old = revision;
                }
                Err(status) => {
                    prop_assert_eq!(status.code, 504);
                    prop_assert_eq!(revision, current + 1);
                }
            }
        }
        // A new watch may begin exactly where an exact list may be asked for.
        for revision in 1..=current {
            let mut options = view.options();
            options.resource_version = revision.to_string();
            let watch = world.cluster.watch(&world.widgets, view.namespace, &options);
            let refused = matches!(watch, Err(WatchRefusal::ErrorEvent(ref s)) if s.code == 410);
            prop_assert_eq!(refused, revision <= too_old);
        }
    }

    /// Pages are cut from one snapshot, whatever is written between them.
    #[test]
    fn pages_together_are_the_snapshot_of_the_first(
        before in ops(), between in ops(), view in views(), limit in 1..5_u64,
    ) {
        let mut world = World::new();
        before.iter().for_each(|op| world.apply(op));
        let expected = view.of(world.now());
        let mut options = view.options();
        options.limit = limit;
        let first = world.cluster.list(&world.widgets, view.namespace, &options).unwrap();
        let mut items = first.items;
        let mut token = first.continue_token;
        let mut between = between.iter();
        while !token.is_empty() {
            if let Some(op) = between.next() {
                world.apply(op);
            }
            options.continue_token = token;
            let page = match world.cluster.list(&world.widgets, view.namespace, &options) {
                Ok(page) => page,
                Err(status) => {
                    // Only a shrinking window can break a list, and it offers the rest as it is.
                    prop_assert_eq!(status.code, 410);
                    options.continue_token = status.metadata.continue_token.unwrap_or_default().into();
                    let rest = world.cluster.list(&world.widgets, view.namespace, &options);
                    prop_assert_eq!(rest.unwrap().revision, world.cluster.revision());
                    return Ok(());
                }
            };
            prop_assert_eq!(page.revision, first.revision);
            prop_assert!(page.items.len() as u64 <= limit);
            if view.color.is_none() && !page.continue_token.is_empty() {
                let left = expected.len() - items.len() - page.items.len();
                prop_assert_eq!(page.remaining, Some(left as u64));
            }
            items.extend(page.items);
            token = page.continue_token;
        }
        prop_assert_eq!(seen(&items), expected);
    }

    /// The fold of a watch's events over the state where it began is the state at every position,
    /// however the events are pulled.
    #[test]
    fn a_watch_from_any_revision_leads_to_the_present(
        ops in ops(), view in views(), start in any::<prop::sample::Index>(), max in 1..4_usize,
    ) {
        let mut world = World::new();
        ops.iter().for_each(|op| world.apply(op));
        let start = start.index(world.cluster.revision() as usize) as u64 + 1;
        let mut options = view.options();
        options.resource_version = start.to_string();
        let Ok(watch) = world.cluster.watch(&world.widgets, view.namespace, &options) else {
            return Ok(());
        };
        prop_assert!(watch.initial.is_empty() && watch.initial_end.is_none());
        let mut cursor = watch.cursor;
        let (mut state, mut last) = (view.of(world.at(start)), start);
        while cursor.position() < world.cluster.revision() {
            fold(&mut state, &mut last, &pull(&world.cluster, &mut cursor, max));
            prop_assert_eq!(&state, &view.of(world.at(cursor.position())));
        }
        prop_assert_eq!(state, view.of(world.now()));
    }

    /// A watch that begins with the state, and goes on through changes, compactions and a shrinking
    /// window.
    #[test]
    fn an_open_watch_sees_every_change(before in ops(), after in ops(), view in views()) {
        let mut world = World::new();
        before.iter().for_each(|op| world.apply(op));
        let mut options = view.options();
        options.allow_watch_bookmarks = true;
        let watch = world.cluster.watch(&world.widgets, view.namespace, &options).unwrap();
        prop_assert_eq!(watch.initial_end, Some(world.cluster.revision()));
        let mut state = seen(&watch.initial);
        prop_assert_eq!(&state, &view.of(world.now()));
        let mut cursor = watch.cursor;
        let mut last = world.cluster.revision();
        for op in &after {
            world.apply(op);
            fold(&mut state, &mut last, &pull(&world.cluster, &mut cursor, usize::MAX));
            prop_assert_eq!(&state, &view.of(world.now()));
            prop_assert_eq!(cursor.bookmark(), Some(world.cluster.revision()));
        }
    }

    /// Two runs with one seed are the same to the last byte; UIDs of another seed differ.
    #[test]
    fn a_seed_repeats_exactly(ops in ops()) {
        let run = || {
            let mut world = World::new();
            ops.iter().for_each(|op| world.apply(op));
            let page = world.cluster.list(&world.widgets, "", &ListOptions::new()).unwrap();
            page.items.iter().map(|object| object.value(&world.widgets)).collect::<Vec<_>>()
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn watch_from_the_future_has_later_events_only() {
    let mut world = World::new();
    let future = world.cluster.revision() + 2;
    let mut options = ListOptions::new();
    options.resource_version = future.to_string();
    let mut cursor = world
        .cluster
        .watch(&world.widgets, "", &options)
        .unwrap()
        .cursor;
    assert_eq!(cursor.bookmark(), None);
    world.apply(&Op::Create(0, 0, 0));
    assert!(pull(&world.cluster, &mut cursor, 10).is_empty());
    assert_eq!(cursor.bookmark(), None);
    world.apply(&Op::Create(0, 1, 0));
    assert!(
        pull(&world.cluster, &mut cursor, 10).is_empty(),
        "the revision asked for is known"
    );
    world.apply(&Op::Create(0, 2, 0));
    let events = pull(&world.cluster, &mut cursor, 10);
    assert_eq!(
        events
            .iter()
            .map(|event| event.object.name())
            .collect::<Vec<_>>(),
        ["x.y"]
    );
}

#[test]
fn cursor_is_overtaken_when_its_changes_are_dropped() {
    let mut world = World::new();
    world.cluster.set_history_limit(0);
    let mut cursor = world
        .cluster
        .watch(&world.widgets, "", &ListOptions::new())
        .unwrap()
        .cursor;
    world.apply(&Op::Create(0, 0, 0));
    for at in 0..10_001 {
        world.apply(&Op::Paint(0, 0, 1 - at % 2));
    }
    assert!(world.cluster.is_behind(&cursor, 1000));
    assert!(matches!(
        world.cluster.pull(&mut cursor, 1),
        Pull::Overtaken
    ));
}
