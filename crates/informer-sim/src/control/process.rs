//! A replica of the operator: informers that always run, and a controller while it leads.

use std::sync::Arc;
use std::time::Duration;

use informer_client::Client;
use informer_controller::{Controller, ControllerStatus, EventSource};
use informer_leader_election::{ElectionConfig, HttpLeaseLock, LeaderElector, Leadership, Renewal};
use informer_shared::{InformerFactory, SharedInformer};
use informer_store::ObjectKey;
use informer_testkit::{ApiServer, TestClock};
use informer_workqueue::{ExponentialRateLimiter, WorkQueue, WorkQueueConfig};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::chaos::Chaos;
use super::freeze::Freeze;
use super::ledger::Ledger;
use super::plan::Plan;
use super::work::Desk;
use super::{LEASE, NAMESPACE, net, parts, widgets};
use crate::object::{Item, is_current};
use crate::run::ON_PURPOSE;
use crate::trace::{holds, note};

type Elector = LeaderElector<HttpLeaseLock>;

/// What a process shows to others, as on its pages for health and metrics.
#[derive(Default)]
pub(super) struct Window {
    pub(super) elector: Option<Arc<Elector>>,
    pub(super) controller: Option<watch::Receiver<ControllerStatus>>,
}

/// A process under way.
pub(super) struct Process {
    pub(super) name: String,
    pub(super) freeze: Freeze,
    pub(super) stop: CancellationToken,
    pub(super) window: Arc<Mutex<Window>>,
    /// Since when it runs undisturbed.
    pub(super) since: Instant,
    pub(super) task: JoinHandle<()>,
    /// Of widgets and parts.
    caches: [(&'static str, SharedInformer<Item>); 2],
    factory: InformerFactory<Client>,
}

/// What all processes are made of.
#[derive(Clone)]
pub(super) struct Kit {
    pub(super) server: Arc<ApiServer>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) chaos: Chaos,
    pub(super) plan: Plan,
}

struct Program {
    kit: Kit,
    name: String,
    freeze: Freeze,
    client: Client,
    window: Arc<Mutex<Window>>,
    elector: Arc<Elector>,
    widgets: SharedInformer<Item>,
    parts: SharedInformer<Item>,
    stop: CancellationToken,
}

impl Process {
    pub(super) fn start(kit: &Kit, name: String, clock: &TestClock, seed: u64) -> Self {
        let (freeze, stop) = (Freeze::default(), CancellationToken::new());
        let window = Arc::new(Mutex::new(Window::default()));
        let client = net::client(&kit.server, &name, &freeze, &kit.ledger);
        let factory = InformerFactory::builder(client.clone())
            .namespace(NAMESPACE)
            // An event that a panic skips is made up for; what is lost otherwise is lost for good.
            .resync_period(Duration::from_secs(if kit.plan.panics > 0 {
                60
            } else {
                0
            }))
            .build()
            .expect("good settings");
        let (widgets, parts) = (
            factory.informer_for(widgets()),
            factory.informer_for(parts()),
        );
        factory.start().expect("a runtime");
        let lock = HttpLeaseLock::new(client.clone(), NAMESPACE, LEASE);
        let plan = &kit.plan;
        let config = ElectionConfig::new(&name)
            .lease_duration(plan.lease)
            .renew_deadline(plan.renew)
            .retry_period(plan.retry)
            // A task of its own would not freeze with the process.
            .renewal(if plan.freezes {
                Renewal::InPlace
            } else {
                Renewal::Task
            })
            .seed(seed)
            .clock(clock);
        let elector = Arc::new(LeaderElector::new(lock, config).expect("good settings"));
        window.lock().elector = Some(Arc::clone(&elector));
        let caches = [("widgets", widgets.clone()), ("parts", parts.clone())];
        let program = Program {
            kit: kit.clone(),
            name: name.clone(),
            freeze: freeze.clone(),
            client,
            window: Arc::clone(&window),
            elector,
            widgets,
            parts,
            stop: stop.clone(),
        };
        let task = tokio::spawn(freeze.wrap(program.run()));
        Self {
            name,
            freeze,
            stop,
            window,
            since: Instant::now(),
            task,
            caches,
            factory,
        }
    }

    /// Ends it as a crash does: nothing of it takes another step, and nothing is said to anyone.
    pub(super) fn crash(self, kit: &Kit) {
        self.freeze.freeze();
        kit.server.fence(&self.name);
        kit.ledger.begin_term(&self.name);
        self.task.abort();
        drop(self.factory);
    }

    pub(super) fn is_leader(&self) -> bool {
        let window = self.window.lock();
        window
            .elector
            .as_ref()
            .is_some_and(|elector| elector.status().is_leader())
    }

    /// Says which cache is not what the server has.
    pub(super) fn outdated(&self, server: &ApiServer) -> Option<String> {
        let (plural, _) = self.caches.iter().find(|(plural, informer)| {
            !is_current(&informer.store().snapshot(), server, plural, NAMESPACE)
        })?;
        Some(format!("{} has other {plural} than the server", self.name))
    }
}

impl Program {
    async fn run(self) {
        let trace = self.kit.ledger.trace().clone();
        while !self.stop.is_cancelled() {
            let controller = self.controller();
            let led = self
                .elector
                .run(&self.stop, |lost| self.lead(controller, lost))
                .await;
            note!(trace, "{}: {led:?}", self.name);
            holds!(
                trace,
                !self.elector.status().is_leader(),
                "{}: its run ended, and it is said to lead",
                self.name
            );
            match led {
                Ok(Leadership::Worked(Err(_))) => {
                    self.kit.ledger.count("controller ended");
                    sleep(Duration::from_secs(1)).await;
                }
                Ok(_) => {}
                Err(_) => self.kit.ledger.count("leadership lost"),
            }
            if !self.stop.is_cancelled() {
                // A work that ends at once must not take the lease and give it back without a pause.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }

    fn controller(&self) -> Controller {
        let plan = &self.kit.plan;
        let (least, most) = (Duration::from_millis(50), Duration::from_secs(10));
        let limiter = ExponentialRateLimiter::new(least, most);
        let queue = WorkQueue::with_config(WorkQueueConfig::new().rate_limiter(limiter));
        let mut controller = Controller::with_queue(&self.name, queue)
            .workers(plan.workers)
            .grace(Duration::from_secs(5))
            .cache_sync_timeout(plan.cache_sync_timeout)
            .write_deadline(plan.write_deadline);
        if let Some(limit) = plan.reconcile_timeout {
            controller = controller.reconcile_timeout(limit);
        }
        controller
    }

    async fn lead(
        &self,
        controller: Controller,
        lost: CancellationToken,
    ) -> Result<(), informer_controller::ControllerError> {
        let term = self.kit.ledger.begin_term(&self.name);
        let controller = controller
            .watch(self.source(&self.widgets))
            .and_then(|controller| controller.watch(self.source(&self.parts)))
            .expect("informers run as long as the process");
        self.window.lock().controller = Some(controller.status());
        let desk = Arc::new(Desk {
            process: self.name.clone(),
            term,
            ledger: Arc::clone(&self.kit.ledger),
            chaos: self.kit.chaos.clone(),
            freeze: self.freeze.clone(),
            widgets: self.widgets.clone(),
            parts: self.parts.clone(),
            client: self.client.gated(self.elector.gate()),
            status: controller.status(),
            server: self.kit.server.clone(),
        });
        controller
            .run(&lost, move |request| desk.reconcile(request))
            .await
    }

    /// The names of widgets and parts are the same.
    fn source(&self, informer: &SharedInformer<Item>) -> EventSource<Item> {
        let strike = {
            let (kit, name) = (self.kit.clone(), self.name.clone());
            move || {
                if kit.chaos.panics() {
                    kit.ledger.source_panics(&name);
                    std::panic::panic_any(ON_PURPOSE);
                }
            }
        };
        let (also, ledger, name) = (
            strike.clone(),
            Arc::clone(&self.kit.ledger),
            self.name.clone(),
        );
        EventSource::mapped(informer, move |item: &Item| {
            strike();
            let key = ObjectKey::of(item);
            ledger.event(&name, key.name());
            [key]
        })
        .when(move |_| {
            also();
            true
        })
    }
}
