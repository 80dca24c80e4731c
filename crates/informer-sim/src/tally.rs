//! How often each kind of trouble came, over many seeds.

use std::collections::BTreeMap;
use std::fmt;

use crate::row::{Place, Row};

/// Counts of what happened.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    rows: BTreeMap<(Row, Place), u64>,
    events: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub(crate) fn row(&mut self, row: Row, place: Place) {
        *self.rows.entry((row, place)).or_default() += 1;
    }

    pub(crate) fn event(&mut self, what: &'static str) {
        self.add_event(what, 1);
    }

    pub(crate) fn add_event(&mut self, what: &'static str, times: u64) {
        *self.events.entry(what).or_default() += times;
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        for (key, count) in &other.rows {
            *self.rows.entry(*key).or_default() += count;
        }
        for (key, count) in &other.events {
            *self.events.entry(key).or_default() += count;
        }
    }

    /// Trouble that never came anywhere, and other things that should happen and never did.
    #[must_use]
    pub fn never_came(&self) -> Vec<String> {
        let came = |row: &&Row| self.rows.keys().any(|(known, _)| known == *row);
        let rows = Row::ALL
            .iter()
            .filter(|row| !came(row))
            .map(|row| row.name().to_owned());
        let events = EVENTS
            .iter()
            .filter(|event| !self.events.contains_key(*event));
        rows.chain(events.map(|event| (*event).to_owned()))
            .collect()
    }

    /// The same, with each place where trouble can come on its own.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let rows = Row::ALL.iter().flat_map(|row| {
            let places = Place::ALL.iter().filter(|place| row.fits(**place));
            places.map(move |place| (*row, *place))
        });
        let rows = rows
            .filter(|cell| !self.rows.contains_key(cell))
            .map(|(row, place)| format!("{} at {}", row.name(), place.name()));
        let events = EVENTS
            .iter()
            .filter(|event| !self.events.contains_key(*event));
        rows.chain(events.map(|event| (*event).to_owned()))
            .collect()
    }
}

/// Events that must occur beside the rows of the error table.
const EVENTS: &[&str] = &[
    "a blocking handler",
    "a closure",
    "a factory lost an informer",
    "a factory replaced an informer",
    "a factory waited in vain",
    "a factory was in step",
    "a handler stopped the informer",
    "a stream",
    "added",
    "an async handler",
    "compaction",
    "deleted",
    "final state unknown",
    "functions",
    "handler failed",
    "handler hangs",
    "handler joined",
    "handler left",
    "handler panicked",
    "handler stalled",
    "no versions",
    "opaque versions",
    "initial",
    "informer restarted",
    "key failed",
    "outage",
    "reconnected after a silence",
    "relist",
    "replica behind",
    "replica restarted",
    "resync",
    "silence before bookmarks",
    "rewind recognised",
    "source panicked",
    "streaming lists given up",
    "undecodable object",
    "updated",
    "versions of two stores",
    "versions of values",
    "versions that a transform drops",
    "watch ended",
];

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<22}", "trouble")?;
        for place in Place::ALL {
            write!(f, "{:>14}", place.name())?;
        }
        writeln!(f)?;
        for row in Row::ALL {
            write!(f, "{:<22}", row.name())?;
            for place in Place::ALL {
                match (row.fits(*place), self.rows.get(&(*row, *place))) {
                    (false, _) => write!(f, "{:>14}", "")?,
                    (true, count) => write!(f, "{:>14}", count.copied().unwrap_or(0))?,
                }
            }
            writeln!(f)?;
        }
        writeln!(f)?;
        for (what, count) in &self.events {
            writeln!(f, "{what:<36}{count:>14}")?;
        }
        Ok(())
    }
}
