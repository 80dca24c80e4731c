//! Whole lists, as the model takes them in.

use std::collections::BTreeMap;
use std::sync::Arc;

use informer_delta_fifo::{Deleted, Delta};

use super::{
    Ended, Entry, Model, Newest, OpenList, Said, Unit, Verdict, Version, newer, other_life,
    same_copy,
};
use crate::common::Thing;

impl Model {
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
}
