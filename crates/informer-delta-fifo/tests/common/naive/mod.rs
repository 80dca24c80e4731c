//! A naive model of the queue: three plain lists, searched from end to end, and the rules written down once more.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_delta_fifo::Delta;

use crate::common::{Thing, short_delta};

mod batches;
mod events;
mod lists;

type Version = Option<u64>;

/// A delta, and what had arrived before it.
#[derive(Debug, Clone)]
struct Queued {
    delta: Delta<Thing>,
    arrival: u64,
    before: Version,
}

/// A key and its deltas. In `list` one without deltas holds the place of a key that is told elsewhere.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    chain: Vec<Queued>,
    deleted_at: Version,
}

#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) version: u64,
    pub(crate) rewind: bool,
    completes_sync: bool,
}

/// What was taken out.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    lead: Vec<Entry>,
    list: Vec<Entry>,
    pub(crate) replace: Option<Ended>,
    pub(crate) is_initial: bool,
    pub(crate) applied_up_to: Version,
}

impl Flight {
    pub(crate) fn short(&self) -> Vec<String> {
        let told = self
            .lead
            .iter()
            .chain(&self.list)
            .filter(|entry| !entry.chain.is_empty());
        told.map(|entry| {
            let all: Vec<_> = entry
                .chain
                .iter()
                .map(|queued| short_delta(&queued.delta))
                .collect();
            format!("{}: {}", entry.name, all.join(", "))
        })
        .collect()
    }
}

/// A change or a list in the strict order.
#[derive(Debug, Clone)]
struct Unit {
    lead: Vec<Entry>,
    list: Vec<Entry>,
    replace: Option<Ended>,
    before: Version,
}

/// What a list says of a name.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    Object(Arc<Thing>),
    Keep,
    SetAside,
}

/// A list under way.
#[derive(Debug, Default)]
pub(crate) struct OpenList {
    said: Vec<(String, Said)>,
    opened: u64,
}

impl OpenList {
    pub(crate) fn say(&mut self, name: &str, said: Said) {
        match self.said.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = said,
            None => self.said.push((name.into(), said)),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.said.retain(|(n, _)| n != name);
    }
}

#[derive(Debug, Clone)]
enum Newest {
    Present(Arc<Thing>),
    /// Of a time that the server went back from.
    Undone(Arc<Thing>),
    Gone(Version),
    Absent,
}

enum Verdict {
    Unchanged(Arc<Thing>),
    Stale,
    Take,
    NewLife(Arc<Thing>),
}

/// The model.
#[derive(Debug, Default)]
pub(crate) struct Model {
    lead: Vec<Entry>,
    list: Vec<Entry>,
    rest: Vec<Entry>,
    replace: Option<Ended>,
    /// With this, everything that waits is in `line`.
    in_order: bool,
    line: Vec<Unit>,
    pub(crate) flight: Option<Flight>,
    pub(crate) store: BTreeMap<String, Arc<Thing>>,
    populated: bool,
    pub(crate) synced: bool,
    complete: Version,
    after_lists: Version,
    applied: Version,
    rewound: bool,
    open: usize,
    tick: u64,
    touched: Vec<(String, u64, Version)>,
}

fn newer(a: Version, b: Version) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a > b)
}

fn same_copy(a: &Thing, b: &Thing) -> bool {
    a.uid.is_some() && a.version.is_some() && a.uid == b.uid && a.version == b.version
}

fn other_life(a: Option<u32>, b: Option<u32>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a != b)
}

impl Entry {
    fn newest(&self) -> Option<Newest> {
        self.chain
            .iter()
            .rev()
            .find_map(|queued| match &queued.delta {
                Delta::SetAside(_) => None,
                Delta::Deleted(_) => Some(Newest::Gone(self.deleted_at)),
                other => other
                    .object()
                    .map(|object| Newest::Present(Arc::clone(object))),
            })
    }
}

impl Model {
    pub(crate) fn in_order() -> Self {
        Self {
            in_order: true,
            ..Self::default()
        }
    }

    fn queued(&mut self) -> impl Iterator<Item = &mut Entry> {
        let in_line = self
            .line
            .iter_mut()
            .flat_map(|unit| unit.lead.iter_mut().chain(&mut unit.list));
        let all = self
            .lead
            .iter_mut()
            .chain(&mut self.list)
            .chain(&mut self.rest)
            .chain(in_line);
        all.filter(|entry| !entry.chain.is_empty())
    }

    fn entry(&mut self, name: &str) -> Option<&mut Entry> {
        self.queued().find(|entry| entry.name == name)
    }

    /// The entry that says what is newest of the object.
    fn telling(&mut self, name: &str) -> Option<&mut Entry> {
        let all: Vec<_> = self.queued().collect();
        let mut of_name = all.into_iter().rev().filter(|entry| entry.name == name);
        of_name.find(|entry| entry.newest().is_some())
    }

    fn flying(&self) -> Vec<&Entry> {
        let entries = self
            .flight
            .iter()
            .flat_map(|flight| flight.lead.iter().chain(&flight.list));
        entries.filter(|entry| !entry.chain.is_empty()).collect()
    }

    fn is_flying(&self, name: &str) -> bool {
        self.flying().iter().any(|entry| entry.name == name)
    }

    /// After a rewind, older deletions lie in a future that never came: they hide nothing.
    fn newest(&mut self, name: &str) -> Newest {
        let arrived = self.complete.max(self.after_lists);
        match self.newest_told(name) {
            Newest::Gone(at) if at > arrived => Newest::Gone(None),
            Newest::Present(object) if self.rewound && object.version > arrived => {
                Newest::Undone(object)
            }
            newest => newest,
        }
    }

    fn newest_told(&mut self, name: &str) -> Newest {
        if let Some(newest) = self.telling(name).and_then(|entry| entry.newest()) {
            return newest;
        }
        let flying = self.flying().into_iter().find(|entry| entry.name == name);
        if let Some(newest) = flying.and_then(Entry::newest) {
            return newest;
        }
        match self.store.get(name) {
            Some(object) => Newest::Present(Arc::clone(object)),
            None => Newest::Absent,
        }
    }

    pub(crate) fn known(&mut self, name: &str) -> Option<(Option<u32>, Version)> {
        match self.newest(name) {
            Newest::Present(object) => Some((object.uid, object.version)),
            _ => None,
        }
    }

    pub(crate) fn depth(&mut self) -> usize {
        self.queued().count()
    }

    fn stamp(&mut self, delta: Delta<Thing>) -> Queued {
        self.tick += 1;
        Queued {
            delta,
            arrival: self.tick,
            before: self.complete,
        }
    }

    fn append(&mut self, name: &str, deltas: Vec<Delta<Thing>>, deleted_at: Version) {
        let mut chain: Vec<_> = deltas.into_iter().map(|delta| self.stamp(delta)).collect();
        if !self.in_order
            && let Some(entry) = self.entry(name)
        {
            entry.chain.append(&mut chain);
            entry.deleted_at = deleted_at;
            return;
        }
        let before = chain[0].before;
        let entry = Entry {
            name: name.into(),
            chain,
            deleted_at,
        };
        if self.in_order {
            self.line.push(Unit {
                lead: vec![entry],
                list: vec![],
                replace: None,
                before,
            });
        } else {
            self.rest.push(entry);
        }
    }

    fn arrive(&mut self, version: Version) {
        let mark = if self.open > 0 {
            &mut self.after_lists
        } else {
            &mut self.complete
        };
        if version.is_some() && !newer(*mark, version) {
            *mark = version;
        }
    }

    fn populate(&mut self) {
        if !self.populated && self.open == 0 {
            self.populated = true;
            self.synced = true;
        }
    }

    fn touch(&mut self, name: &str, version: Version) {
        if self.open > 0 {
            self.tick += 1;
            self.touched.push((name.into(), self.tick, version));
        }
    }
}
