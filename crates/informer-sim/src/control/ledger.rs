//! What the judges know of each process, and the judges of single steps: who may write, which reconciles may begin, how many.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Uri};
use informer_testkit::ApiServer;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::count::Counts;
use super::plan::Plan;
use crate::trace::{Trace, holds, note};

/// Requests of one process in a minute, at most.
const REQUESTS_A_MINUTE: usize = 600;
/// Reconciles of one process in a minute, at most.
const RECONCILES_A_MINUTE: usize = 600;
const MINUTE: Duration = Duration::from_secs(60);

pub(super) struct Ledger {
    server: Arc<ApiServer>,
    trace: Trace,
    plan: Plan,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    processes: BTreeMap<String, Process>,
    tampered: Option<Instant>,
    counts: Counts,
    is_quiet: bool,
}

/// What is known of one process, in its present term as a leader.
#[derive(Default)]
struct Process {
    term: u64,
    /// Running ones for which an event was received since they began.
    again: BTreeSet<String>,
    running: BTreeSet<String>,
    failing: BTreeSet<String>,
    /// When a key may be reconciled again without an event, and its failure asked for so.
    not_before: BTreeMap<String, Instant>,
    /// The versions of confirmed writes, by kind and name.
    confirmed: BTreeMap<(&'static str, String), u64>,
    panics: u64,
    requests: VecDeque<Instant>,
    reconciles: VecDeque<Instant>,
}

/// How a reconcile ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Success,
    After(Duration),
    Failure,
    FailureAfter(Duration),
    Dropped,
}

impl Ledger {
    pub(super) fn new(server: Arc<ApiServer>, trace: Trace, plan: Plan) -> Self {
        Self {
            server,
            trace,
            plan,
            state: Mutex::default(),
        }
    }

    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    pub(super) fn count(&self, what: &'static str) {
        self.state.lock().counts.add(what, 1);
    }

    pub(super) fn counts(&self) -> Counts {
        self.state.lock().counts.clone()
    }

    /// From now on nothing is to be written.
    pub(super) fn quiet(&self, is_quiet: bool) {
        self.state.lock().is_quiet = is_quiet;
    }

    /// Somebody else wrote the lease.
    pub(super) fn tampered(&self) {
        self.state.lock().tampered = Some(Instant::now());
    }

    pub(super) fn since_tampered(&self) -> Option<Duration> {
        self.state.lock().tampered.map(|at| at.elapsed())
    }

    /// The holder of the lease, as the server has it.
    pub(super) fn holder(&self) -> String {
        let lease = self.server.get("leases", super::NAMESPACE, super::LEASE);
        let holder = lease
            .ok()
            .and_then(|lease| lease["spec"]["holderIdentity"].as_str().map(str::to_owned));
        holder.unwrap_or_default()
    }

    /// A request is handed to the connection.
    pub(super) fn request(&self, process: &str, method: &Method, uri: &Uri, is_lease: bool) {
        note!(self.trace, "{process} {method} {uri}");
        if method != Method::GET && !is_lease {
            self.judge_writer(process, uri.path());
        }
        let mut state = self.state.lock();
        let known = state.processes.entry(process.to_owned()).or_default();
        let many = rate(&mut known.requests);
        let what = "the most requests a minute";
        state.counts.most(what, many as u64);
        holds!(
            self.trace,
            many <= REQUESTS_A_MINUTE,
            "{process}: {many} requests in a minute"
        );
    }

    /// A write begins only while its sender holds the lease: nobody else does then. If others wrote the lease, its holder
    /// learns of it with its next renewal.
    fn judge_writer(&self, process: &str, path: &str) {
        let holder = self.holder();
        let excuse = self.plan.lease + self.plan.renew;
        let is_excused = self.since_tampered().is_some_and(|since| since <= excuse);
        if is_excused && holder != process {
            self.count("write under a lease that others wrote");
        }
        holds!(
            self.trace,
            holder == process || is_excused,
            "{process} begins a write of {path} while {holder:?} holds the lease"
        );
        self.count("writes");
        let is_quiet = self.state.lock().is_quiet;
        holds!(
            self.trace,
            !is_quiet,
            "{process} writes {path} though all is at rest"
        );
    }

    pub(super) fn answered(&self, process: &str, method: &Method, path: &str, code: u16) {
        note!(self.trace, "{process} {method} {path}: {code}");
    }

    /// A new term begins: nothing is known of the reconciles of an earlier controller.
    pub(super) fn begin_term(&self, process: &str) -> u64 {
        let mut state = self.state.lock();
        let known = state.processes.entry(process.to_owned()).or_default();
        let term = known.term + 1;
        *known = Process {
            term,
            requests: std::mem::take(&mut known.requests),
            reconciles: std::mem::take(&mut known.reconciles),
            ..Process::default()
        };
        state.counts.add("terms", 1);
        term
    }

    /// An event of a source is for a key.
    pub(super) fn event(&self, process: &str, key: &str) {
        let mut state = self.state.lock();
        if let Some(known) = state.processes.get_mut(process) {
            known.not_before.remove(key);
            if known.running.contains(key) {
                known.again.insert(key.to_owned());
            }
        }
    }

    pub(super) fn source_panics(&self, process: &str) {
        let mut state = self.state.lock();
        state.counts.add("source panics", 1);
        state
            .processes
            .entry(process.to_owned())
            .or_default()
            .panics += 1;
    }

    /// A write was confirmed, through the handle of a reconcile.
    pub(super) fn confirmed(&self, process: &str, kind: &'static str, name: &str, version: u64) {
        let mut state = self.state.lock();
        let known = state.processes.entry(process.to_owned()).or_default();
        known.confirmed.insert((kind, name.to_owned()), version);
    }

    /// A reconcile begins, with these versions in the caches: of the object, and of the whole cache.
    pub(super) fn begin(&self, process: &str, key: &str, seen: &[(&'static str, u64)]) {
        let mut state = self.state.lock();
        let known = state.processes.entry(process.to_owned()).or_default();
        holds!(
            self.trace,
            known.running.insert(key.to_owned()),
            "{process}: {key} is reconciled twice at once"
        );
        for (kind, version) in seen {
            let wrote = known.confirmed.get(&(*kind, key.to_owned()));
            let wrote = wrote.copied().unwrap_or_default();
            holds!(
                self.trace,
                *version >= wrote,
                "{process}: {key} is reconciled on {kind} at {version}, written at {wrote}"
            );
        }
        if let Some(at) = known.not_before.remove(key) {
            let now = Instant::now();
            holds!(
                self.trace,
                now >= at,
                "{process}: {key} is reconciled {:?} too early",
                at.saturating_duration_since(now)
            );
        }
        let many = rate(&mut known.reconciles);
        state
            .counts
            .most("the most reconciles a minute", many as u64);
        state.counts.add("reconciles", 1);
        holds!(
            self.trace,
            many <= RECONCILES_A_MINUTE,
            "{process}: {many} reconciles in a minute"
        );
    }

    /// A reconcile of a term ended. Without an event since it began, none follows before the time that it asked for.
    pub(super) fn end(&self, process: &str, term: u64, key: &str, end: End) {
        note!(self.trace, "{process} {key}: {end:?}");
        let mut state = self.state.lock();
        let known = state.processes.entry(process.to_owned()).or_default();
        if known.term != term {
            return;
        }
        known.running.remove(key);
        known.failing.remove(key);
        let had_event = known.again.remove(key);
        let delay = match end {
            End::Success => None,
            End::After(delay) => Some(delay),
            End::Failure | End::FailureAfter(_) | End::Dropped => {
                known.failing.insert(key.to_owned());
                match end {
                    End::FailureAfter(delay) => Some(delay),
                    _ => None,
                }
            }
        };
        if let Some(delay) = delay.filter(|_| !had_event) {
            known
                .not_before
                .insert(key.to_owned(), Instant::now() + delay);
        }
    }

    /// Compares a controller's status with what happened in it.
    pub(super) fn judge_status(
        &self,
        process: &str,
        running: &BTreeSet<String>,
        failing: &BTreeSet<String>,
        panics: u64,
    ) {
        let state = self.state.lock();
        let Some(known) = state.processes.get(process) else {
            return;
        };
        holds!(
            self.trace,
            known.running == *running,
            "{process}: {:?} are reconciled, the status has {running:?}",
            known.running
        );
        // One that runs again keeps its failure until it ends.
        let without = |keys: &BTreeSet<String>| -> BTreeSet<String> {
            keys.difference(running).cloned().collect()
        };
        let (really, shown) = (without(&known.failing), without(failing));
        holds!(
            self.trace,
            really == shown,
            "{process}: {really:?} fail, the status has {shown:?}"
        );
        holds!(
            self.trace,
            known.panics == panics,
            "{process}: sources panicked {} times, the status has {panics}",
            known.panics
        );
    }
}

/// Counts one more, and returns how many there were in a minute.
fn rate(times: &mut VecDeque<Instant>) -> usize {
    times.push_back(Instant::now());
    while times.front().is_some_and(|first| first.elapsed() >= MINUTE) {
        times.pop_front();
    }
    times.len()
}
