//! A naive model of the queue: three plain lists, searched from end to end, and the rules written down once more.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_delta_fifo::{Deleted, Delta};

use crate::common::{Thing, short_delta};

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

    fn judge(newest: Newest, object: &Thing) -> Verdict {
        match newest {
            Newest::Absent => Verdict::Take,
            Newest::Undone(known) if other_life(known.uid, object.uid) => Verdict::NewLife(known),
            Newest::Undone(_) => Verdict::Take,
            Newest::Gone(at) => match (object.version, at) {
                (Some(version), Some(at)) if version <= at => Verdict::Stale,
                _ => Verdict::Take,
            },
            Newest::Present(known) if same_copy(object, &known) => Verdict::Unchanged(known),
            Newest::Present(known) if newer(known.version, object.version) => Verdict::Stale,
            Newest::Present(known) if other_life(known.uid, object.uid) => Verdict::NewLife(known),
            Newest::Present(_) => Verdict::Take,
        }
    }

    pub(crate) fn upsert(&mut self, is_add: bool, object: &Arc<Thing>) {
        self.populate();
        let name = object.name.clone();
        let newest = self.newest(&name);
        let is_past = matches!(newest, Newest::Absent) && newer(self.complete, object.version);
        match Self::judge(newest, object) {
            _ if is_past => {}
            Verdict::Unchanged(_) | Verdict::Stale => {}
            Verdict::Take => {
                self.touch(&name, object.version);
                let object = Arc::clone(object);
                let delta = if is_add {
                    Delta::Added(object)
                } else {
                    Delta::Updated(object)
                };
                self.append(&name, vec![delta], None);
            }
            Verdict::NewLife(old) => {
                self.touch(&name, object.version);
                let ended = Delta::Deleted(Deleted::FinalStateUnknown(old));
                self.append(&name, vec![ended, Delta::Added(Arc::clone(object))], None);
            }
        }
        if !is_add || self.complete.is_some() || self.open > 0 {
            self.arrive(object.version);
        }
    }

    /// The deletion of `object`, of which the server sent the last state or not.
    pub(crate) fn delete(&mut self, object: &Arc<Thing>, with_state: bool) {
        self.populate();
        let name = object.name.clone();
        match self.newest(&name) {
            Newest::Absent => {}
            Newest::Gone(_) => {
                if let Some(last) = self.telling(&name).and_then(|entry| entry.chain.last_mut())
                    && let Delta::Deleted(Deleted::FinalStateUnknown(_)) = last.delta
                    && with_state
                {
                    last.delta = Delta::Deleted(Deleted::LastState(Arc::clone(object)));
                }
            }
            Newest::Undone(known) => {
                let deleted = if with_state && !other_life(known.uid, object.uid) {
                    Deleted::LastState(Arc::clone(object))
                } else {
                    Deleted::FinalStateUnknown(known)
                };
                self.touch(&name, object.version);
                self.append(&name, vec![Delta::Deleted(deleted)], object.version);
            }
            Newest::Present(known) => {
                let other = other_life(known.uid, object.uid);
                if newer(known.version, object.version)
                    || (other && !newer(object.version, known.version))
                {
                    // It tells of an older life, or of an older state of this one.
                } else {
                    let deleted = if with_state && !other {
                        Deleted::LastState(Arc::clone(object))
                    } else {
                        Deleted::FinalStateUnknown(known)
                    };
                    self.touch(&name, object.version);
                    self.append(&name, vec![Delta::Deleted(deleted)], object.version);
                }
            }
        }
        self.arrive(object.version);
    }

    pub(crate) fn set_aside(&mut self, name: &str, version: Version) {
        if matches!(self.newest(name), Newest::Present(_) | Newest::Undone(_)) {
            self.append(name, vec![Delta::SetAside(version.map(Into::into))], None);
        }
        self.arrive(version);
    }

    pub(crate) fn bookmark(&mut self, version: u64) {
        self.arrive(Some(version));
    }

    pub(crate) fn resync(&mut self) {
        for (name, object) in self.store.clone() {
            if self.entry(&name).is_none() && !self.is_flying(&name) {
                self.append(&name, vec![Delta::Sync(object)], None);
            }
        }
    }

    pub(crate) fn begin_replace(&mut self) -> OpenList {
        self.open += 1;
        self.tick += 1;
        OpenList {
            said: Vec::new(),
            opened: self.tick,
        }
    }

    pub(crate) fn abandon(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.touched.clear();
            let after = self.after_lists.take();
            self.arrive(after);
        }
    }

    pub(crate) fn finish(&mut self, open: OpenList, version: u64, rewind: bool) {
        let late = self
            .touched
            .iter()
            .filter(|(_, tick, _)| *tick > open.opened);
        let late: BTreeMap<String, Version> = late
            .map(|(name, _, version)| (name.clone(), *version))
            .collect();
        let meanwhile: Vec<String> = late.keys().cloned().collect();
        let behind = self
            .complete
            .filter(|&complete| complete > version && !rewind);
        let lost = self.lost(&open, version, rewind, &meanwhile);
        if self.in_order {
            self.finish_in_order(open, version, rewind, &late, behind, lost);
        } else {
            self.finish_by_key(open, version, rewind, &late, behind, lost);
        }
        if rewind {
            self.complete = None;
            self.after_lists = None;
            self.applied = None;
            self.rewound = true;
        }
        if !newer(self.complete, Some(version)) {
            self.complete = Some(version);
        }
        self.abandon();
        if !self.populated {
            self.populated = true;
            self.synced = self.depth() == 0 && self.flight.is_none();
            let last = self.line.last_mut().and_then(|unit| unit.replace.as_mut());
            if let Some(replace) = last.or(self.replace.as_mut()) {
                replace.completes_sync = !self.synced;
            }
        }
    }

    fn finish_by_key(
        &mut self,
        open: OpenList,
        version: u64,
        rewind: bool,
        late: &BTreeMap<String, Version>,
        behind: Version,
        lost: Vec<(String, Delta<Thing>)>,
    ) {
        for (name, deleted) in lost {
            self.append(&name, vec![deleted], Some(version));
        }
        let earlier = self.replace.take();
        if earlier.is_none() {
            let place = |(name, _): &(String, Said)| Entry {
                name: name.clone(),
                chain: vec![],
                deleted_at: None,
            };
            self.list = open.said.iter().map(place).collect();
        }
        for (name, said) in &open.said {
            let deltas = self.judge_item(name, said, rewind, late.get(name).copied(), behind);
            self.take_item(name, deltas);
        }
        let mut rest = std::mem::take(&mut self.rest);
        self.lead.append(&mut rest);
        self.replace = Some(Ended {
            version,
            rewind: rewind || earlier.as_ref().is_some_and(|earlier| earlier.rewind),
            completes_sync: earlier.is_some_and(|earlier| earlier.completes_sync),
        });
    }

    fn finish_in_order(
        &mut self,
        open: OpenList,
        version: u64,
        rewind: bool,
        late: &BTreeMap<String, Version>,
        behind: Version,
        lost: Vec<(String, Delta<Thing>)>,
    ) {
        let entry = |model: &mut Self, name: String, deltas: Vec<_>, deleted_at| Entry {
            name,
            chain: deltas.into_iter().map(|delta| model.stamp(delta)).collect(),
            deleted_at,
        };
        let lost: Vec<_> = lost
            .into_iter()
            .map(|(name, deleted)| entry(self, name, vec![deleted], Some(version)))
            .collect();
        let mut list = Vec::new();
        for (name, said) in &open.said {
            let deltas = self.judge_item(name, said, rewind, late.get(name).copied(), behind);
            list.push(entry(self, name.clone(), deltas, None));
        }
        self.line.push(Unit {
            lead: lost,
            list,
            replace: Some(Ended {
                version,
                rewind,
                completes_sync: false,
            }),
            before: self.complete,
        });
    }

    /// What is gone, since the list lacks it.
    fn lost(
        &mut self,
        open: &OpenList,
        version: u64,
        rewind: bool,
        meanwhile: &[String],
    ) -> Vec<(String, Delta<Thing>)> {
        let mut lost = Vec::new();
        let mut names: Vec<String> = self.queued().map(|entry| entry.name.clone()).collect();
        names.extend(self.flying().iter().map(|entry| entry.name.clone()));
        names.extend(self.store.keys().cloned());
        let mut seen = Vec::new();
        for name in names {
            if seen.contains(&name) || open.said.iter().any(|(listed, _)| *listed == name) {
                continue;
            }
            seen.push(name.clone());
            let newest = self.newest(&name);
            let undone = matches!(newest, Newest::Undone(_));
            let (Newest::Present(object) | Newest::Undone(object)) = newest else {
                continue;
            };
            let is_late = meanwhile.contains(&name);
            let outlives = match object.version {
                _ if rewind || undone => is_late,
                Some(own) => own > version,
                None => is_late,
            };
            if !outlives {
                lost.push((name, Delta::Deleted(Deleted::FinalStateUnknown(object))));
            }
        }
        lost
    }

    /// `late`: the key changed to this version while the list was under way. `behind`: the list is older than this.
    fn judge_item(
        &mut self,
        name: &str,
        said: &Said,
        rewind: bool,
        late: Option<Version>,
        behind: Version,
    ) -> Vec<Delta<Thing>> {
        let is_late = late.is_some();
        let newest = match self.newest(name) {
            Newest::Absent if late.is_some() => Newest::Gone(late.flatten()),
            Newest::Absent | Newest::Gone(_) if behind.is_some() && late.is_none() => {
                Newest::Gone(behind)
            }
            newest => newest,
        };
        match (said, newest) {
            (Said::Keep, Newest::Present(known) | Newest::Undone(known)) => {
                self.unchanged(name, known)
            }
            (Said::SetAside, Newest::Present(_) | Newest::Undone(_)) => vec![Delta::SetAside(None)],
            (Said::Keep | Said::SetAside, _) => vec![],
            (Said::Object(object), newest) => {
                let told = Delta::Replaced(Arc::clone(object));
                match Self::judge_listed(newest, object, rewind, is_late) {
                    Verdict::Unchanged(known) => self.unchanged(name, known),
                    Verdict::Stale => vec![],
                    Verdict::Take => vec![told],
                    Verdict::NewLife(old) => {
                        vec![Delta::Deleted(Deleted::FinalStateUnknown(old)), told]
                    }
                }
            }
        }
    }

    fn take_item(&mut self, name: &str, deltas: Vec<Delta<Thing>>) {
        if deltas.is_empty() {
            return;
        }
        if self.entry(name).is_none() {
            let stamped: Vec<_> = deltas.into_iter().map(|delta| self.stamp(delta)).collect();
            match self.list.iter_mut().find(|entry| entry.name == name) {
                Some(place) => (place.chain, place.deleted_at) = (stamped, None),
                None => {
                    let entry = Entry {
                        name: name.into(),
                        chain: stamped,
                        deleted_at: None,
                    };
                    self.list.push(entry);
                }
            }
            return;
        }
        self.append(name, deltas, None);
    }

    fn unchanged(&mut self, name: &str, known: Arc<Thing>) -> Vec<Delta<Thing>> {
        if self.entry(name).is_some() || self.is_flying(name) {
            return vec![];
        }
        vec![Delta::Replaced(known)]
    }

    fn judge_listed(newest: Newest, object: &Thing, rewind: bool, is_late: bool) -> Verdict {
        if !rewind && !is_late {
            return Self::judge(newest, object);
        }
        // Versions decide if they can; else whatever arrived last.
        let list_wins = |other: Version| match rewind {
            true => !is_late,
            false => newer(object.version, other),
        };
        match newest {
            Newest::Absent => Verdict::Take,
            Newest::Undone(known) if other_life(known.uid, object.uid) => Verdict::NewLife(known),
            Newest::Undone(_) => Verdict::Take,
            Newest::Gone(at) if list_wins(at) => Verdict::Take,
            Newest::Gone(_) => Verdict::Stale,
            Newest::Present(known) if !list_wins(known.version) => {
                if same_copy(object, &known) {
                    Verdict::Unchanged(known)
                } else {
                    Verdict::Stale
                }
            }
            Newest::Present(known) if other_life(known.uid, object.uid) => Verdict::NewLife(known),
            Newest::Present(_) => Verdict::Take,
        }
    }

    pub(crate) fn pop(&mut self, max: usize) -> Option<&Flight> {
        let has_news = self.complete.is_some() && self.complete != self.applied;
        let has_work = self.queued().next().is_some()
            || self.replace.is_some()
            || !self.line.is_empty()
            || has_news;
        if self.flight.is_some() || !has_work {
            return None;
        }
        let mut flight = if self.in_order {
            self.pop_in_order(max.max(1))
        } else {
            self.pop_by_key(max.max(1))
        };
        flight.is_initial = !self.synced;
        self.flight = Some(flight);
        self.flight.as_ref()
    }

    fn pop_by_key(&mut self, max: usize) -> Flight {
        let replace = self.replace.take();
        let lead = if replace.is_some() {
            std::mem::take(&mut self.lead)
        } else {
            self.rest.drain(..max.min(self.rest.len())).collect()
        };
        let left = self.rest.iter().flat_map(|entry| &entry.chain);
        let applied_up_to = match left.min_by_key(|queued| queued.arrival) {
            Some(oldest) => oldest.before,
            None => self.complete,
        };
        let list = std::mem::take(&mut self.list);
        Flight {
            lead,
            list,
            replace,
            is_initial: false,
            applied_up_to,
        }
    }

    fn pop_in_order(&mut self, max: usize) -> Flight {
        let mut flight = Flight {
            lead: vec![],
            list: vec![],
            replace: None,
            is_initial: false,
            applied_up_to: None,
        };
        while flight.lead.len() < max && flight.replace.is_none() && !self.line.is_empty() {
            let next = &self.line[0];
            let is_again = |entry: &Entry| flight.lead.iter().any(|f| f.name == entry.name);
            let is_apart = next.replace.is_some() || next.lead.iter().any(is_again);
            if is_apart && !flight.lead.is_empty() {
                break;
            }
            let unit = self.line.remove(0);
            flight.lead.extend(unit.lead);
            flight.list = unit.list;
            flight.replace = unit.replace;
        }
        flight.applied_up_to = match self.line.first() {
            Some(next) => next.before,
            None => self.complete,
        };
        flight
    }

    /// Applies what is out to the store, in its own way: the end of each chain.
    pub(crate) fn apply(&mut self, but: Option<&str>) {
        let flying: Vec<Entry> = self.flying().into_iter().cloned().collect();
        for entry in flying.into_iter().filter(|entry| Some(&*entry.name) != but) {
            match entry.newest() {
                Some(Newest::Present(object)) => {
                    self.store.insert(entry.name, object);
                }
                Some(_) => {
                    self.store.remove(&entry.name);
                }
                None => {}
            }
        }
    }

    pub(crate) fn ack(&mut self) {
        let Some(flight) = self.flight.take() else {
            return;
        };
        self.synced |= flight.replace.is_some_and(|replace| replace.completes_sync);
        if flight.applied_up_to.is_some() {
            self.applied = flight
                .applied_up_to
                .filter(|_| self.complete >= flight.applied_up_to);
        }
    }

    /// What is out was applied but for this name, which comes back.
    pub(crate) fn ack_except(&mut self, name: &str) {
        let mut back: Vec<Entry> = self.flying().into_iter().cloned().collect();
        back.retain(|entry| entry.name == name);
        let Some(mut entry) = back.pop() else {
            return self.ack();
        };
        let applied = self.applied;
        entry
            .chain
            .iter_mut()
            .for_each(|queued| queued.before = applied);
        let Some(flight) = self.flight.take() else {
            return;
        };
        self.synced |= flight.replace.is_some_and(|replace| replace.completes_sync);
        if self.in_order {
            self.line.insert(
                0,
                Unit {
                    lead: vec![entry],
                    list: vec![],
                    replace: None,
                    before: applied,
                },
            );
            return;
        }
        self.merge_newer(&mut entry);
        if self.replace.is_some() {
            self.lead.insert(0, entry);
        } else {
            self.rest.insert(0, entry);
        }
    }

    /// The batch comes back.
    pub(crate) fn give_back(&mut self) {
        let Some(mut flight) = self.flight.take() else {
            return;
        };
        if self.in_order {
            return self.give_back_in_order(flight);
        }
        for entry in flight.lead.iter_mut().chain(&mut flight.list) {
            if !entry.chain.is_empty() {
                self.merge_newer(entry);
            }
        }
        flight.lead.retain(|entry| !entry.chain.is_empty());
        match (flight.replace, &mut self.replace) {
            (None, None) => self.rest.splice(..0, flight.lead).for_each(drop),
            (None, Some(_)) => self.lead.splice(..0, flight.lead).for_each(drop),
            (Some(older), None) => {
                self.replace = Some(older);
                self.lead = flight.lead;
                self.list = flight.list;
            }
            (Some(older), Some(newer)) => {
                newer.rewind |= older.rewind;
                newer.completes_sync |= older.completes_sync;
                flight.list.retain(|entry| !entry.chain.is_empty());
                self.lead
                    .splice(..0, flight.lead.into_iter().chain(flight.list))
                    .for_each(drop);
            }
        }
    }

    fn give_back_in_order(&mut self, flight: Flight) {
        if flight.replace.is_none() {
            let unit = |entry: Entry| Unit {
                before: entry.chain[0].before,
                lead: vec![entry],
                list: vec![],
                replace: None,
            };
            self.line
                .splice(..0, flight.lead.into_iter().map(unit))
                .for_each(drop);
            return;
        }
        let entries = flight.lead.iter().chain(&flight.list);
        let first = entries.flat_map(|entry| &entry.chain).next();
        let before = first.map_or(self.complete, |queued| queued.before);
        let unit = Unit {
            lead: flight.lead,
            list: flight.list,
            replace: flight.replace,
            before,
        };
        self.line.insert(0, unit);
    }

    /// Takes the newer deltas of a key out of the queue and puts them behind the older ones.
    fn merge_newer(&mut self, older: &mut Entry) {
        let is_same = |entry: &Entry| entry.name == older.name && !entry.chain.is_empty();
        for part in [&mut self.lead, &mut self.rest] {
            if let Some(at) = part.iter().position(is_same) {
                let mut newer = part.remove(at);
                older.chain.append(&mut newer.chain);
                older.deleted_at = newer.deleted_at;
                return;
            }
        }
        // In the list its place stays.
        if let Some(newer) = self.list.iter_mut().find(|entry| is_same(entry)) {
            older.chain.append(&mut newer.chain);
            older.deleted_at = newer.deleted_at;
        }
    }
}
