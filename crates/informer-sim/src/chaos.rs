//! Chooses what goes wrong with each request.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use informer_testkit::{ApiServer, Fault, RequestRecord, Verb};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::row::{Place, Row};
use crate::tally::Tally;
use crate::trace::{Trace, note};

/// How the weather is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    Calm,
    /// So many of a thousand requests are hit, each by another row.
    Storm(u32),
    /// Every request is hit by this row, where it fits.
    Outage(Row),
}

/// What goes wrong. Clones share it.
#[derive(Clone)]
pub(crate) struct Chaos(Arc<Mutex<State>>);

struct State {
    rng: Rng,
    rows: Vec<Row>,
    weather: Weather,
    tally: Tally,
    /// Until then the server asks for no request.
    not_before: Option<Instant>,
    trace: Trace,
    /// The next request to the source panics.
    panic_next: bool,
}

impl Chaos {
    pub(crate) fn new(rng: Rng, rows: Vec<Row>, trace: Trace) -> Self {
        Self(Arc::new(Mutex::new(State {
            rng,
            rows,
            weather: Weather::Calm,
            tally: Tally::default(),
            not_before: None,
            trace,
            panic_next: false,
        })))
    }

    /// Meets every request to this server.
    pub(crate) fn rule(&self, server: &Arc<ApiServer>) {
        let (chaos, weak) = (self.clone(), Arc::downgrade(server));
        server.fault_source(move |request| {
            let revision = weak.upgrade().map_or(0, |server| server.resource_version());
            chaos.decide(request, revision)
        });
    }

    pub(crate) fn set(&self, weather: Weather) {
        let mut state = self.0.lock();
        note!(state.trace, "weather {weather:?}");
        state.weather = weather;
        state.panic_next &= weather != Weather::Calm;
    }

    pub(crate) fn weather(&self) -> Weather {
        self.0.lock().weather
    }

    pub(crate) fn tally<R>(&self, change: impl FnOnce(&mut Tally) -> R) -> R {
        change(&mut self.0.lock().tally)
    }

    /// Returns and clears until when the server asks for no request.
    pub(crate) fn take_not_before(&self) -> Option<Instant> {
        self.0.lock().not_before.take()
    }

    /// Whether the source panics instead of sending the request.
    pub(crate) fn panics(&self, place: Place) -> bool {
        let mut state = self.0.lock();
        let panics = std::mem::take(&mut state.panic_next);
        if panics {
            state.tally.row(Row::SourcePanics, place);
            state.tally.event("source panicked");
        }
        panics
    }

    /// A row that can end an open stream, from the rows of this run.
    pub(crate) fn row_within(&self, place: Place) -> Option<Row> {
        let mut state = self.0.lock();
        let fitting: Vec<Row> = state
            .rows
            .iter()
            .copied()
            .filter(|row| row.fits(place))
            .collect();
        let row = fitting
            .get(state.rng.usize(0..fitting.len().max(1)))
            .copied()?;
        state.tally.row(row, place);
        Some(row)
    }

    fn decide(&self, request: &RequestRecord, revision: u64) -> Option<Fault> {
        let place = place_of(request)?;
        let mut state = self.0.lock();
        let State {
            rng,
            rows,
            weather,
            tally,
            ..
        } = &mut *state;
        let lingers = place == Place::Stream && rng.u8(0..4) == 0;
        let row = match *weather {
            Weather::Calm => return None,
            Weather::Outage(row) => row,
            // Of those that can strike here: one that comes at a single place would be rare otherwise.
            Weather::Storm(per_mille) if rng.u32(0..1000) < per_mille => {
                let fitting: Vec<Row> =
                    rows.iter().copied().filter(|row| row.fits(place)).collect();
                fitting.get(rng.usize(0..fitting.len().max(1))).copied()?
            }
            // So that there is time for trouble within it.
            Weather::Storm(_) if lingers => Row::SlowBody,
            Weather::Storm(_) => return None,
        };
        if !row.fits(place) {
            return None;
        }
        if row == Row::SourcePanics {
            state.panic_next = true;
            return None;
        }
        tally.row(row, place);
        let asked = request.query_value("resourceVersion");
        let asked = asked.and_then(|version| version.parse().ok()).unwrap_or(0);
        let fault = row.fault(place, revision, asked, rng);
        // A version that is too large is left at once, whatever the server asks.
        let at_once = matches!(row, Row::TooLarge | Row::TooLargeInWords);
        if let Some(wait) = Row::asked_to_wait(&fault).filter(|_| !at_once) {
            state.not_before = Some(Instant::now() + wait.min(Duration::from_secs(300)));
        }
        note!(state.trace, "{} meets {}", place.name(), row.name());
        Some(fault)
    }
}

fn place_of(request: &RequestRecord) -> Option<Place> {
    Some(match request.verb {
        Verb::List if request.query_value("continue").is_some() => Place::NextPage,
        Verb::List => Place::List,
        Verb::Watch if request.query_value("sendInitialEvents").is_some() => Place::Stream,
        Verb::Watch => Place::Watch,
        _ => return None,
    })
}
