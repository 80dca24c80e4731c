//! One run: a server, a client, steps that trouble both; then rest, and the judgement.

mod client;
mod rest;
mod steps;

use std::sync::Arc;

use fastrand::Rng;
use informer_reflector::Report;
use informer_shared::QueueOrder;
use informer_store::ResourceVersion;
use informer_testkit::ApiServer;
use parking_lot::Mutex;

use self::client::Client;
use crate::chaos::Chaos;
use crate::checked::Checked;
use crate::handlers::Surroundings;
use crate::object::{self, Item};
use crate::oracle::Oracle;
use crate::plan::Plan;
use crate::tally::Tally;
use crate::trace::{Trace, holds, note};
use crate::versions::{VersionKind, Versions};
use crate::workload::Workload;

pub(crate) struct World {
    plan: Plan,
    rng: Rng,
    seed: u64,
    server: Arc<ApiServer>,
    oracle: Arc<Mutex<Oracle>>,
    workload: Workload,
    versions: Versions,
    chaos: Chaos,
    trace: Trace,
    checked: Checked,
    client: Client,
    around: Surroundings,
    joined: u32,
    /// The resume version and the rewinds at the last look.
    last_resume: Option<u64>,
    last_rewinds: u64,
    was_synced: bool,
}

impl World {
    pub(crate) fn new(seed: u64, trace: Trace) -> Self {
        let mut rng = Rng::with_seed(seed);
        let plan = Plan::draw(&mut rng);
        note!(trace, "{plan:?}");
        let server = ApiServer::builder()
            .seed(seed)
            .streaming_lists(plan.streaming)
            .bookmark_period(plan.bookmark_period)
            .history_limit(plan.history_limit)
            .in_memory();
        let server = Arc::new(server);
        let versions = Versions::new(plan.versions);
        let oracle = Oracle::new(plan.selector, versions.clone());
        let oracle = Arc::new(Mutex::new(oracle));
        let chaos = Chaos::new(rng.fork(), plan.rows.clone(), trace.clone());
        chaos.rule(&server);
        chaos.tally(|tally| tally.event(plan.versions.name()));
        let workload = Workload {
            server: Arc::clone(&server),
            oracle: Arc::clone(&oracle),
            trace: trace.clone(),
            plural: if plan.cached { "configmaps" } else { "events" },
            names: plan.names,
            undecodable: plan.undecodable,
            versions: versions.clone(),
            written: 0,
        };
        let checked = Self::connect(&server, &plan, &versions, &chaos, &trace);
        let around = Surroundings {
            oracle: Arc::clone(&oracle),
            chaos: chaos.clone(),
            trace: trace.clone(),
            calm: Arc::default(),
            recreated_as_update: plan.recreated_as_update,
            resyncs: plan.resync.is_some(),
            fatal: Arc::default(),
            alive: Arc::default(),
        };
        let client = Client::start(&plan, seed, &checked, &around);
        Self {
            plan,
            rng,
            seed,
            server,
            oracle,
            workload,
            versions,
            chaos,
            trace,
            checked,
            client,
            around,
            joined: 0,
            last_resume: None,
            last_rewinds: 0,
            was_synced: false,
        }
    }

    fn connect(
        server: &Arc<ApiServer>,
        plan: &Plan,
        versions: &Versions,
        chaos: &Chaos,
        trace: &Trace,
    ) -> Checked {
        let inner = server.lister_watcher::<Item>(&object::resource(plan.cached), None);
        let selector = plan.selector.then_some("shown=yes");
        Checked::new(
            inner,
            versions.clone(),
            chaos.clone(),
            trace.clone(),
            selector,
        )
    }

    /// Plays everything. The trace says whether all promises were kept.
    pub(crate) async fn play(mut self) -> Tally {
        for _ in 0..self.plan.steps {
            self.step().await;
            self.replace_stopped().await;
            self.look();
            if self.trace.verdict().is_err() {
                return self.tally();
            }
        }
        self.come_to_rest().await;
        self.tally()
    }

    fn tally(&self) -> Tally {
        self.chaos.tally(|tally| tally.clone())
    }

    /// Judges what must hold at every moment.
    fn look(&mut self) {
        let trace = self.trace.clone();
        let snapshot = self.client.snapshot();
        let status = self.client.reflector_status();
        self.oracle
            .lock()
            .judge(&snapshot, self.client.is_drained(), &trace);
        self.client
            .look(&snapshot, self.plan.names as usize, &trace);

        let revision = |version: &ResourceVersion| self.versions.revision(version);
        let resume = status.resource_version.as_ref().and_then(revision);
        let back = resume < self.last_resume && self.last_resume.is_some();
        let may = status.rewinds > self.last_rewinds || resume.is_none();
        holds!(
            trace,
            !back || may,
            "resumes from {resume:?}, before from {:?}",
            self.last_resume
        );
        (self.last_resume, self.last_rewinds) = (resume, status.rewinds);

        let applied = snapshot.resource_version().and_then(revision);
        holds!(
            trace,
            applied <= resume || may,
            "applied up to {applied:?}, received up to {resume:?}"
        );

        let synced = self.client.is_synced();
        holds!(trace, synced || !self.was_synced, "no longer synced");
        holds!(
            trace,
            !synced
                || snapshot.resource_version().is_some()
                || self.plan.versions == VersionKind::Absent
                || !self.client.applies_lists_whole(),
            "synced without a list"
        );
        self.was_synced = synced;

        let queue = self.client.queue();
        let fits = match self.plan.order {
            QueueOrder::ByKey => queue.queued_keys <= 2 * self.plan.names as usize + 4,
            // INV-FIFO-16: each change is queued by itself.
            _ => queue.coalesced == 0,
        };
        holds!(trace, fits, "{:?}: {queue:?}", self.plan.order);
    }

    pub(crate) fn report(chaos: &Chaos, trace: &Trace, report: &Report) {
        note!(trace, "report {report}");
        let what = match report {
            Report::Undecodable { .. } => "undecodable object",
            Report::Rewound { .. } => "rewind recognised",
            Report::FellBack { .. } => "streaming lists given up",
            Report::Failed { error, .. } if error.to_string().contains("event or bookmark") => {
                "reconnected after a silence"
            }
            _ => return,
        };
        chaos.tally(|tally| tally.event(what));
    }
}
