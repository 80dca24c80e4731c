//! A server with a history, and the feeder of a sink that follows it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use informer_store::{
    Deletion, DeltaSink, ListEnd, Object, ObjectKey, ObjectList, ObjectVersion, ResourceVersion,
    Uid,
};

use super::Violation;
use super::objects::Objects;
use super::steps::{NAMES, Step};
use super::timeline::{Change, Timeline};

/// The resource version of the server before its first change: above those of the low name.
const FIRST: u64 = 1000;

/// The name whose objects have versions of their own, lower than all others, as of a collection that several stores are gathered in.
/// Their deletions carry the version of the last change.
const LOW: u8 = NAMES - 1;

/// A server with a history, and how far a sink was fed with it.
///
/// [`perform`](Self::perform) feeds any [`DeltaSink`] as a reflector would, and [`check`](Self::check) tells what a consumer may have at each
/// moment. One world feeds one sink.
#[derive(Debug)]
pub struct World<K: Object> {
    objects: Objects<K>,
    now: Timeline<K>,
    /// What was, before each rewind.
    past: Vec<Timeline<K>>,
    uids: u64,
    /// Objects that exist and do not match the selector.
    unmatched: BTreeMap<u8, Uid>,
    /// The last version of the low name.
    low: u64,
    /// Up to where the sink was fed.
    seen: u64,
    /// The last change that the watch sent, if nothing was listed since.
    last: Option<u64>,
    is_listed: bool,
    open: Option<OpenList<K>>,
}

/// A list that is being received.
#[derive(Debug)]
struct OpenList<K> {
    list: ObjectList<K>,
    at: u64,
    /// Names that could not be decoded, and until when the sink is not fed with their changes.
    hidden: Vec<(u8, u64)>,
}

impl<K: Object + Clone + fmt::Debug + PartialEq> World<K> {
    /// Makes an empty server of such objects.
    #[must_use]
    pub const fn new(objects: Objects<K>) -> Self {
        Self {
            objects,
            now: Timeline {
                changes: Vec::new(),
                head: FIRST,
            },
            past: Vec::new(),
            uids: 0,
            unmatched: BTreeMap::new(),
            low: 0,
            seen: FIRST,
            last: None,
            is_listed: false,
            open: None,
        }
    }

    /// Performs a step on the server or on this sink. What a sink is fed first is a list.
    pub fn perform<S: DeltaSink<K>>(&mut self, step: &Step<K>, sink: &S) {
        match step {
            Step::Change { name, content } => self.put(*name, content),
            Step::Delete { name } => drop(self.remove(*name)),
            Step::Recreate { name, content } => {
                self.remove(*name);
                self.put(*name, content);
            }
            Step::Unmatch { name } => {
                let uid = self.remove(*name).and_then(|object| object.uid());
                self.unmatched.extend(uid.map(|uid| (*name, uid)));
            }
            Step::Watch(count) => (0..*count).for_each(|_| self.watch(sink, false)),
            Step::WatchUndecodable => self.watch(sink, true),
            Step::Repeat => {
                if let Some(change) = self.last.and_then(|at| self.now.change(at)).cloned() {
                    self.send(&change, sink);
                }
            }
            Step::BeginList { lag, undecodable } => self.begin_list(*lag, *undecodable, sink),
            Step::EndList => self.end_list(sink),
            Step::AbandonList => self.open = None,
            Step::Rewind {
                changes,
                undecodable,
            } => self.rewind(*changes, *undecodable, sink),
            Step::Bookmark if self.is_listed && self.open.is_none() => {
                sink.bookmark(self.seen.into());
            }
            Step::Resync if self.is_listed => sink.resync(),
            Step::Bookmark | Step::Resync => {}
            Step::Consume(_) | Step::Fail(_) | Step::Requeue(_) | Step::Close => {}
        }
    }

    /// Feeds a last list of all that exists now.
    pub fn finish<S: DeltaSink<K>>(&mut self, sink: &S) {
        self.begin_list(0, None, sink);
        self.end_list(sink);
    }

    /// Checks what is held by one who claims to have everything up to a version: each object in a state that the sink was fed with, and that
    /// it had at that version or later.
    ///
    /// # Errors
    /// If that is not so.
    pub fn check(
        &self,
        held: impl IntoIterator<Item = Arc<K>>,
        up_to: Option<&ResourceVersion>,
    ) -> Result<(), Violation> {
        let held = by_key(held)?;
        let claimed = up_to.and_then(ResourceVersion::as_u64).unwrap_or(0);
        // Versions do not tell in which time a consumer is; without one it may be in several, as when some keys of a rewind failed.
        let all = || [&self.now].into_iter().chain(&self.past);
        let is_in = |timeline: &Timeline<K>, name| {
            claimed <= timeline.head && timeline.allows(name, held.get(&key(name)), claimed)
        };
        let names = 0..NAMES;
        let wrong = if claimed == 0 {
            names
                .clone()
                .find(|name| !all().any(|timeline| is_in(timeline, *name)))
        } else {
            let wrong = |timeline| names.clone().find(|name| !is_in(timeline, *name));
            let first = wrong(&self.now);
            first.filter(|_| !self.past.iter().any(|timeline| wrong(timeline).is_none()))
        };
        let Some(name) = wrong else {
            return Ok(());
        };
        let (key, state) = (key(name), held.get(&key(name)));
        let text = format!(
            "{key} is {state:?}, and was not so at {claimed} or later, or the server is not there"
        );
        Err(Violation(text))
    }

    /// Checks that what is held is what the server has: after [`finish`](Self::finish), once all is consumed.
    ///
    /// # Errors
    /// If that is not so.
    pub fn check_finished(&self, held: impl IntoIterator<Item = Arc<K>>) -> Result<(), Violation> {
        let held = by_key(held)?;
        let state = |name| Some((key(name), Arc::clone(self.state(name, self.now.head)?)));
        let objects: BTreeMap<_, _> = (0..NAMES).filter_map(state).collect();
        if held == objects {
            return Ok(());
        }
        let text = format!("at the end there is {held:?}, but on the server {objects:?}");
        Err(Violation(text))
    }

    fn state(&self, name: u8, at: u64) -> Option<&Arc<K>> {
        self.now.state_at(name, at)
    }

    fn put(&mut self, name: u8, content: &K) {
        let unmatched = self.unmatched.remove(&name);
        let uid = self.state(name, self.now.head).and_then(|old| old.uid());
        let uid = uid.or(unmatched);
        self.now.head += 1;
        let uid = uid.unwrap_or_else(|| {
            self.uids += 1;
            Uid::new(&format!("00000000-0000-4000-8000-{:012}", self.uids))
        });
        let version = if name == LOW {
            self.low += 1;
            self.low
        } else {
            self.now.head
        };
        let version = ObjectVersion::new(Some(uid), Some(version.into()));
        let object = self.objects.make(content, &key(name), &version);
        self.now.push(name, Some(object));
    }

    fn remove(&mut self, name: u8) -> Option<Arc<K>> {
        self.unmatched.remove(&name);
        let object = Arc::clone(self.state(name, self.now.head)?);
        self.now.head += 1;
        self.now.push(name, None);
        Some(object)
    }

    fn watch<S: DeltaSink<K>>(&mut self, sink: &S, is_undecodable: bool) {
        let from = self.open.as_ref().map_or(self.seen, |open| open.at);
        let Some(change) = self.now.change(from + 1).cloned() else {
            return;
        };
        let (name, at) = (change.name, change.at);
        if let Some(open) = &mut self.open {
            open.at = at;
            match change.after {
                None => drop(open.list.remove(&key(name))),
                Some(_) if is_undecodable => {
                    open.list.insert_undecodable(key(name));
                    open.hidden.push((name, at));
                }
                Some(object) => insert(&mut open.list, name, &object, sink),
            }
        } else if self.is_listed {
            self.seen = at;
            self.last = (!is_undecodable).then_some(at);
            match (&change.after, is_undecodable) {
                (Some(object), true) => {
                    self.now.hide(name, at - 1, at);
                    sink.undecodable(key(name), object.resource_version());
                }
                (None, true) => {
                    let version = self.deletion(name, at).version;
                    sink.delete(key(name), Deletion::without_object(version));
                }
                (_, false) => self.send(&change, sink),
            }
        }
    }

    fn send<S: DeltaSink<K>>(&self, change: &Change<K>, sink: &S) {
        let (name, at) = (change.name, change.at);
        match (self.state(name, at - 1), &change.after) {
            (None, Some(object)) => sink.add(key(name), Arc::clone(object)),
            (Some(_), Some(object)) => sink.update(key(name), Arc::clone(object)),
            (_, None) => sink.delete(key(name), self.deletion(name, at)),
        }
    }

    fn deletion(&self, name: u8, at: u64) -> Deletion<K> {
        let last = self.state(name, at - 1).expect("it existed");
        let mut version = ObjectVersion::of(&**last);
        if name != LOW {
            version.resource_version = Some(at.into());
        }
        Deletion::of(self.objects.make(last, &key(name), &version))
    }

    fn begin_list<S: DeltaSink<K>>(&mut self, lag: u64, undecodable: Option<u8>, sink: &S) {
        let at = self.seen.max(self.now.head.saturating_sub(lag));
        let (mut list, mut hidden) = (ObjectList::new(), Vec::new());
        for name in 0..NAMES {
            match self.state(name, at) {
                Some(_) if undecodable == Some(name) => {
                    list.insert_undecodable(key(name));
                    hidden.push((name, at));
                }
                Some(object) => insert(&mut list, name, object, sink),
                None => {}
            }
        }
        self.open = Some(OpenList { list, at, hidden });
    }

    fn end_list<S: DeltaSink<K>>(&mut self, sink: &S) {
        let Some(OpenList { list, at, hidden }) = self.open.take() else {
            return;
        };
        for (name, until) in hidden {
            self.now.hide(name, self.seen, until);
        }
        for name in 0..NAMES {
            let listed = list.iter().find(|(listed, _)| **listed == key(name));
            if !matches!(listed, Some((_, None))) {
                let state = self.state(name, at).cloned();
                self.now.feed(name, at, state);
            }
        }
        sink.replace(list, ListEnd::new(at.into()));
        (self.seen, self.last, self.is_listed) = (at, None, true);
    }

    fn rewind<S: DeltaSink<K>>(&mut self, changes: u64, undecodable: Option<u8>, sink: &S) {
        let at = self.now.head.saturating_sub(changes).max(FIRST);
        let before = self.now.clone();
        self.now.changes.retain(|change| change.at <= at);
        self.unmatched.clear();
        self.now.head = at;
        let mut list = ObjectList::new();
        for name in 0..NAMES {
            let state = self.state(name, at).cloned();
            if state.is_some() && undecodable == Some(name) && name != LOW {
                list.insert_undecodable(key(name));
                let newest = before.fed_at(name, self.seen).cloned();
                let kept = newest.filter(|newest| number(&**newest) <= Some(at));
                self.now.feed(name, at, kept);
                continue;
            }
            if let Some(object) = &state {
                // Nothing is compared: equal versions need not be equal objects.
                list.insert(key(name), Arc::new(K::clone(object)));
            }
            self.now.feed(name, at, state);
        }
        self.past.push(before);
        self.open = None;
        sink.replace(list, ListEnd::new(at.into()).rewind(true));
        (self.seen, self.last, self.is_listed) = (at, None, true);
    }
}

/// Inserts an object as a decoder does: the one that the sink has, if it is unchanged.
fn insert<K: Object, S: DeltaSink<K>>(
    list: &mut ObjectList<K>,
    name: u8,
    object: &Arc<K>,
    sink: &S,
) {
    let version = ObjectVersion::of(&**object);
    match sink.newest(&key(name)) {
        Some((key, newest)) if ObjectVersion::of(&*newest) == version => list.insert(key, newest),
        _ => list.insert(key(name), Arc::clone(object)),
    }
}

fn number<K: Object>(object: &K) -> Option<u64> {
    object.resource_version()?.as_u64()
}

fn key(name: u8) -> ObjectKey {
    ObjectKey::namespaced("tests", &format!("object-{name}"))
}

fn by_key<K: Object + fmt::Debug>(
    held: impl IntoIterator<Item = Arc<K>>,
) -> Result<BTreeMap<ObjectKey, Arc<K>>, Violation> {
    let mut all = BTreeMap::new();
    for object in held {
        let key = ObjectKey::of(&*object);
        if all.insert(key.clone(), object).is_some() {
            return Err(Violation(format!("{key} is held twice")));
        }
    }
    Ok(all)
}
