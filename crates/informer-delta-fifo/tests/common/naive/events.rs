//! What a watch says, as the model takes it in.

use std::sync::Arc;

use informer_delta_fifo::{Deleted, Delta};

use super::{Model, Newest, Verdict, Version, newer, other_life, same_copy};
use crate::common::Thing;

impl Model {
    pub(super) fn judge(newest: Newest, object: &Thing) -> Verdict {
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
}
