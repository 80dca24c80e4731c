//! The history of a server, and what a sink was fed of it.

use std::sync::Arc;

use informer_store::Object;

/// One change on the server.
#[derive(Debug)]
pub(super) struct Change<K> {
    /// When it was, in the order of all changes.
    pub(super) at: u64,
    pub(super) name: u8,
    pub(super) after: Option<Arc<K>>,
    /// The sink was not fed with it, as the object could not be decoded.
    pub(super) is_hidden: bool,
    /// No change, but what a list fed at this moment.
    pub(super) is_fed: bool,
}

impl<K> Clone for Change<K> {
    fn clone(&self) -> Self {
        Self {
            after: self.after.clone(),
            ..*self
        }
    }
}

/// All changes.
#[derive(Debug)]
pub(super) struct Timeline<K> {
    pub(super) changes: Vec<Change<K>>,
    pub(super) head: u64,
}

impl<K> Clone for Timeline<K> {
    fn clone(&self) -> Self {
        Self {
            changes: self.changes.clone(),
            head: self.head,
        }
    }
}

impl<K: Object + PartialEq> Timeline<K> {
    pub(super) fn push(&mut self, name: u8, after: Option<Arc<K>>) {
        self.changes.push(Change {
            at: self.head,
            name,
            after,
            is_hidden: false,
            is_fed: false,
        });
    }

    fn of(&self, name: u8) -> impl Iterator<Item = &Change<K>> {
        self.changes
            .iter()
            .filter(move |change| change.name == name)
    }

    /// Returns the state on the server at a moment.
    pub(super) fn state_at(&self, name: u8, at: u64) -> Option<&Arc<K>> {
        let changes = self.of(name).filter(|change| !change.is_fed);
        let until = changes.take_while(|change| change.at <= at);
        until.last()?.after.as_ref()
    }

    /// Returns the state that a sink has which was fed with everything until a moment.
    pub(super) fn fed_at(&self, name: u8, at: u64) -> Option<&Arc<K>> {
        let changes = self.of(name).filter(|change| !change.is_hidden);
        let until = changes.take_while(|change| change.at <= at);
        until.last()?.after.as_ref()
    }

    /// A list feeds a state at a moment, if the sink does not have it.
    pub(super) fn feed(&mut self, name: u8, at: u64, state: Option<Arc<K>>) {
        if self.fed_at(name, at) == state.as_ref() {
            return;
        }
        let place = self.changes.iter().take_while(|change| change.at <= at);
        let change = Change {
            at,
            name,
            after: state,
            is_hidden: false,
            is_fed: true,
        };
        let place = place.count();
        self.changes.insert(place, change);
    }

    /// The sink is not fed with what happened to a name after one moment and until another.
    pub(super) fn hide(&mut self, name: u8, after: u64, until: u64) {
        for change in &mut self.changes {
            change.is_hidden |= change.name == name && change.at > after && change.at <= until;
        }
    }

    /// Returns the change of a moment.
    pub(super) fn change(&self, at: u64) -> Option<&Change<K>> {
        self.changes
            .iter()
            .find(|change| change.at == at && !change.is_fed)
    }

    /// Returns `true` if an object may be held in this state by one who claims to have everything up to a moment: if it was so then or
    /// later.
    ///
    /// What only a list fed need not be held at the list's version: an event may have had the same.
    pub(super) fn allows(&self, name: u8, state: Option<&Arc<K>>, claimed: u64) -> bool {
        let fed = self.of(name).filter(|change| !change.is_hidden);
        let is_due = |c: &&Change<K>| c.at < claimed || c.at == claimed && !c.is_fed;
        let (before, after): (Vec<_>, Vec<_>) = fed.partition(is_due);
        let due = before.last().and_then(|change| change.after.as_ref());
        due == state || after.iter().any(|change| change.after.as_ref() == state)
    }
}
