//! Plays a seed: writes objects, makes trouble, and judges all the time; then lets everything come to rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use informer_controller::ControllerPhase;
use informer_testkit::{Actors, ApiServer, ResourceType, TestClock};
use jiff::SignedDuration;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::NAMESPACE;
use super::chaos::Chaos;
use super::count::Counts;
use super::ledger::Ledger;
use super::plan::Plan;
use super::process::{Kit, Process};
use crate::trace::{Trace, holds, note};

/// How often all is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(500);

pub(super) struct World {
    pub(super) kit: Kit,
    pub(super) plan: Plan,
    pub(super) trace: Trace,
    pub(super) rng: fastrand::Rng,
    /// One for each slot; `None` while it does not run.
    pub(super) processes: Vec<Option<Process>>,
    started: Vec<u32>,
    pub(super) clocks: Vec<TestClock>,
    /// When those thaw that are frozen.
    pub(super) thaw: BTreeMap<usize, Instant>,
    /// Since when nobody leads.
    leaderless: Option<Instant>,
}

impl World {
    pub(super) fn new(seed: u64, trace: Trace) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed_c0de);
        let plan = Plan::draw(&mut rng);
        let noon = "2026-06-01T12:00:00Z".parse().expect("a time");
        let clock = TestClock::starting_at(noon);
        let server = ApiServer::builder()
            .seed(seed)
            .clock(&clock)
            .create_namespaces(true)
            .actors(Actors::default().collect_garbage(Duration::from_secs(5)))
            .resource(ResourceType::new("demo.example", "v1", "Widget", "widgets"))
            .resource(ResourceType::new("demo.example", "v1", "Part", "parts"))
            .in_memory();
        let server = Arc::new(server);
        let _ = server.create("namespaces", json!({"metadata": {"name": NAMESPACE}}));
        let ledger = Arc::new(Ledger::new(
            Arc::clone(&server),
            trace.clone(),
            plan.clone(),
        ));
        let chaos = Chaos::new(Arc::clone(&ledger), plan.clone(), seed ^ 0xc4a0);
        let faults = chaos.clone();
        server.fault_source(move |request| faults.fault(request));
        note!(trace, "{plan:?}");
        let clocks = (0..plan.replicas).map(|_| {
            let apart = SignedDuration::from_secs(rng.i64(-300..300));
            let clock = TestClock::starting_at(noon);
            clock.jump(apart);
            clock
        });
        Self {
            clocks: clocks.collect(),
            processes: (0..plan.replicas).map(|_| None).collect(),
            started: vec![0; plan.replicas],
            kit: Kit {
                server,
                ledger,
                chaos,
                plan: plan.clone(),
            },
            plan,
            trace,
            rng,
            thaw: BTreeMap::new(),
            leaderless: None,
        }
    }

    pub(super) async fn play(mut self) -> Counts {
        for slot in 0..self.plan.replicas {
            self.start(slot);
        }
        for _ in 0..self.plan.steps {
            self.step().await;
            let pause = self.rng.u32(0..8);
            self.pass(LOOK * pause).await;
        }
        self.settle().await;
        self.kit.ledger.counts()
    }

    pub(super) fn count(&self, what: &'static str) {
        self.kit.ledger.count(what);
    }

    pub(super) fn start(&mut self, slot: usize) {
        let number = self.started[slot];
        self.started[slot] += 1;
        let name = match self.plan.same_identity {
            true => format!("r{slot}"),
            false => format!("r{slot}-{number}"),
        };
        note!(self.trace, "START {name}");
        let seed = self.rng.u64(..);
        self.processes[slot] = Some(Process::start(&self.kit, name, &self.clocks[slot], seed));
    }

    /// Lets time pass, and looks.
    pub(super) async fn pass(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            sleep(LOOK).await;
            let due = self.thaw.iter().filter(|(_, at)| **at <= Instant::now());
            for slot in due.map(|(slot, _)| *slot).collect::<Vec<_>>() {
                self.thaw(slot);
            }
            self.look();
        }
    }

    pub(super) fn thaw(&mut self, slot: usize) {
        self.thaw.remove(&slot);
        let reversed = self.rng.bool();
        if let Some(process) = &mut self.processes[slot] {
            note!(self.trace, "THAW {}", process.name);
            process.since = Instant::now();
            process.freeze.thaw(reversed);
        }
    }

    pub(super) fn thaw_all(&mut self) {
        for slot in 0..self.plan.replicas {
            self.thaw(slot);
        }
    }

    /// Judges what can be judged at any time.
    pub(super) fn look(&mut self) {
        for slot in 0..self.plan.replicas {
            if self.processes[slot]
                .as_ref()
                .is_some_and(|process| process.task.is_finished())
            {
                let process = self.processes[slot].take();
                let ended = process.is_some_and(|process| process.stop.is_cancelled());
                holds!(self.trace, ended, "a process ended by itself");
            }
        }
        for process in self.processes.iter().flatten() {
            if !process.freeze.is_frozen() {
                self.judge_controller(process);
                self.judge_outage(process);
            }
        }
        self.judge_hand_over();
    }

    fn judge_controller(&self, process: &Process) {
        let window = process.window.lock();
        let Some(status) = window
            .controller
            .as_ref()
            .map(|status| status.borrow().clone())
        else {
            return;
        };
        if status.phase != ControllerPhase::Reconciling {
            return;
        }
        let names = |keys: &mut dyn Iterator<Item = &str>| -> BTreeSet<String> {
            keys.map(str::to_owned).collect()
        };
        let running = names(&mut status.running.iter().map(|run| run.key.name()));
        let failing = names(&mut status.failing.iter().map(|failing| failing.key.name()));
        let ledger = &self.kit.ledger;
        ledger.judge_status(&process.name, &running, &failing, status.source_panics);
    }

    /// One whose requests for the lease all fail does not lead, and says so.
    fn judge_outage(&self, process: &Process) {
        let Some(outage) = self.kit.chaos.outage() else {
            return;
        };
        let limit = self.plan.lease + self.plan.renew + self.plan.retry * 3;
        let is_cut_off = outage.process == process.name
            && outage.since.elapsed() > limit
            && process.since.elapsed() > limit
            && !process.stop.is_cancelled();
        let window = process.window.lock();
        let Some(elector) = window.elector.as_ref().filter(|_| is_cut_off) else {
            return;
        };
        let status = elector.status();
        holds!(
            self.trace,
            !status.is_leader(),
            "{}: leads without its lease",
            process.name
        );
        holds!(
            self.trace,
            status.last_error.is_some() && status.failed_attempts > 0,
            "{}: is cut off, and its status does not say so: {status:?}",
            process.name
        );
        self.count("outage seen in the status");
    }

    /// Somebody leads within the lease and the time of a try, if somebody can.
    fn judge_hand_over(&mut self) {
        if self.processes.iter().flatten().any(Process::is_leader) {
            self.leaderless = None;
            return;
        }
        let nobody = self.leaderless.get_or_insert_with(Instant::now).elapsed();
        let plan = &self.plan;
        // A try, with its jitter, and one that another came before.
        let limit =
            plan.lease + plan.retry.mul_f64(2.2 * 2.0) + plan.renew / 2 + Duration::from_secs(2);
        let able = self
            .processes
            .iter()
            .flatten()
            .filter(|process| !process.freeze.is_frozen() && !process.stop.is_cancelled());
        let able = able.map(|process| process.since.elapsed()).max();
        let ledger = &self.kit.ledger;
        let calm = [
            Some(nobody),
            able.or(Some(Duration::ZERO)),
            ledger.since_tampered(),
            Some(self.kit.chaos.since_lease_trouble()),
        ];
        let calm = calm.into_iter().flatten().min().unwrap_or_default();
        holds!(
            self.trace,
            calm <= limit,
            "nobody leads for {calm:?}, though {:?} holds the lease at most",
            ledger.holder()
        );
    }
}
