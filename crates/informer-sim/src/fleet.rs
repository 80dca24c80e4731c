//! A factory: informers of many resources that start together, a few at a time, some of which cannot; new ones
//! that start later; waits for all of them; the shutdown.

mod breaker;
mod source;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use informer_shared::{
    InformerFactory, OnStop, QueueOrder, RunError, SharedInformer, StartLimit, WaitError,
};
use informer_testkit::{ApiServer, Fault, ResourceType};
use informer_wire::{Resource, Scope};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

use self::breaker::Breaker;
use self::source::{Source, Starts};
use crate::handlers::{InOrder, Reference};
use crate::object::{Item, is_current};
use crate::plan::draw_order;
use crate::tally::Tally;
use crate::trace::{Trace, holds, note};

/// A turn of a start ends after this.
const PATIENCE: Duration = Duration::from_secs(3);
const JITTER: Duration = Duration::from_millis(50);
/// How long an informer may take once its server responds again: a backoff, and a silence.
const HEALED: Duration = Duration::from_secs(15 * 60);

/// One informer and its events.
struct Member {
    informer: SharedInformer<Item>,
    reference: Reference,
    plural: String,
    /// A handler that can stop the informer.
    breaker: Breaker,
}

/// A factory, its server, and what was asked for.
pub(crate) struct Fleet {
    rng: Rng,
    server: Arc<ApiServer>,
    factory: InformerFactory<Source>,
    members: Vec<Member>,
    starts: Arc<Starts>,
    /// The resources whose requests get no response.
    sick: Arc<Mutex<Vec<String>>>,
    kinds: usize,
    limit: usize,
    drain: Option<Duration>,
    order: QueueOrder,
    written: u64,
    tally: Tally,
    trace: Trace,
}

fn plural(kind: usize) -> String {
    format!("kind{kind}s")
}

impl Fleet {
    pub(crate) fn new(seed: u64, trace: Trace) -> Self {
        let mut rng = Rng::with_seed(seed);
        let kinds = rng.usize(2..12);
        let limit = rng.usize(1..4);
        let drain = rng.bool().then(|| Duration::from_secs(30));
        let order = draw_order(&mut rng);
        note!(
            trace,
            "{kinds} kinds, {limit} at once, {drain:?}, {order:?}"
        );
        let mut builder = ApiServer::builder().seed(seed);
        for kind in 0..kinds {
            let (name, plural) = (format!("Kind{kind}"), plural(kind));
            builder = builder.resource(ResourceType::new("sim.example", "v1", name, plural));
        }
        let server = Arc::new(builder.in_memory());
        let sick = Arc::<Mutex<Vec<String>>>::default();
        let ill = Arc::clone(&sick);
        let mut moods = rng.fork();
        server.fault_source(move |request| {
            let is_ill = ill.lock().contains(&request.resource);
            is_ill.then(|| match moods.bool() {
                true => Fault::HoldOpen,
                false => Fault::Refuse,
            })
        });
        let starts = Arc::new(Starts::new(limit, PATIENCE, trace.clone()));
        let source = Source {
            server: Arc::clone(&server),
            starts: Arc::clone(&starts),
        };
        let factory = InformerFactory::builder(source)
            .start_limit(StartLimit::new(limit).jitter(JITTER).patience(PATIENCE))
            .on_stop(match drain {
                Some(timeout) => OnStop::Drain { timeout },
                None => OnStop::Drop,
            })
            .queue_order(order)
            .build()
            .unwrap_or_else(|error| panic!("the settings are valid: {error}"));
        Self {
            rng,
            server,
            factory,
            members: Vec::new(),
            starts,
            sick,
            kinds,
            limit,
            drain,
            order,
            written: 0,
            tally: Tally::default(),
            trace,
        }
    }

    pub(crate) async fn play(mut self) -> Tally {
        for _ in 0..self.rng.u32(10..60) {
            self.step().await;
            self.look();
            if self.trace.verdict().is_err() {
                return self.tally;
            }
        }
        self.come_to_rest().await;
        self.shut_down().await;
        self.tally
    }

    async fn step(&mut self) {
        match self.rng.u8(0..16) {
            0..3 => self.ask(),
            3..5 => self.start(),
            5 | 6 => {
                let deadline = Duration::from_millis(self.rng.u64(1..20_000));
                self.wait(deadline).await;
            }
            7 => {
                let plural = plural(self.rng.usize(0..self.kinds));
                note!(self.trace, "{plural} fall ill");
                self.sick.lock().push(plural);
            }
            8 => self.sick.lock().clear(),
            9 => self.server.drop_watches(),
            10 if self.rng.u8(0..4) == 0 => self.break_one(),
            _ => self.change(),
        }
        let pause = [1, 20, 500, 5000][self.rng.usize(0..4)];
        sleep(Duration::from_millis(self.rng.u64(0..pause))).await;
    }

    /// Asks for an informer: the one that exists, unless that was stopped (INV-SHARED-15).
    fn ask(&mut self) {
        let kind = self.rng.usize(0..self.kinds);
        let (name, plural) = (format!("Kind{kind}"), plural(kind));
        let resource = Resource::new("sim.example", "v1", name, plural.clone(), Scope::Namespaced);
        let at = self
            .members
            .iter()
            .position(|member| member.plural == plural);
        let existing = at.map(|at| &self.members[at]);
        let made = self
            .factory
            .informer_with::<Item, _>(resource, |builder| builder);
        let (informer, made) =
            made.unwrap_or_else(|error| panic!("the settings are valid: {error}"));
        let fits = match existing {
            None => made,
            // It may be about to stop.
            Some(member) => !made || member.breaker.has_broken(),
        };
        holds!(self.trace, fits, "{plural}: made {made}");
        if !made {
            return;
        }
        if let Some(at) = at {
            self.tally.event("a factory replaced an informer");
            self.members.swap_remove(at);
        }
        let in_order = self.order == QueueOrder::InOrder;
        let in_order = in_order.then(|| InOrder::new(None, self.trace.clone()));
        let joined = Reference::join(&informer, in_order)
            .and_then(|reference| Ok((reference, Breaker::join(&informer)?)));
        match joined {
            Ok((reference, breaker)) => {
                self.starts.expect(&plural, informer.clone());
                self.members.push(Member {
                    informer,
                    reference,
                    plural,
                    breaker,
                });
            }
            Err(stopped) => holds!(self.trace, false, "{stopped}"),
        }
    }

    /// Starts what is new, and nothing twice.
    fn start(&self) {
        let started = self.factory.start();
        holds!(self.trace, started.is_ok(), "{started:?}");
        let all = self.members.iter().all(|m| m.informer.is_started());
        holds!(self.trace, all, "an informer was not started");
    }

    /// Judges the result of a wait for all (INV-SHARED-13).
    async fn wait(&mut self, deadline: Duration) -> bool {
        let (waited_for, start) = (self.members.len(), Instant::now());
        let outcome = self.factory.wait_for_cache_sync().deadline(deadline).await;
        let late = |member: &&Member| !member.informer.has_synced();
        // It fails at once for those that have stopped, and then names no others.
        let is_early = start.elapsed() < deadline;
        let named = |member: &&Member| !is_early || member.informer.is_stopped();
        let late = self.members.iter().filter(late).filter(named).count();
        match outcome {
            Ok(()) => {
                holds!(self.trace, late == 0, "a wait ended well, {late} are late");
                self.tally.event("a factory was in step");
                true
            }
            Err(error) => {
                let fits = matches!(&error, WaitError::Informers { total, failed }
                    if *total == waited_for
                        && failed.len() == late
                        && failed.iter().all(|one| one.not_synced().is_some()));
                holds!(
                    self.trace,
                    fits,
                    "{late} of {waited_for} are late, the error is {error}"
                );
                self.tally.event("a factory waited in vain");
                false
            }
        }
    }

    /// Lets the next event of one informer stop it.
    fn break_one(&mut self) {
        let count = self.members.len();
        if count > 0 {
            let member = &self.members[self.rng.usize(0..count)];
            note!(self.trace, "{} break next", member.plural);
            member.breaker.arm();
        }
    }

    fn change(&mut self) {
        let plural = plural(self.rng.usize(0..self.kinds));
        let name = format!("n{}", self.rng.u8(0..4));
        self.written += 1;
        let object = json!({
            "metadata": {"namespace": "even", "name": name},
            "data": {"value": self.written.to_string()},
        });
        let exists = self.server.get(&plural, "even", &name).is_ok();
        let written = match exists {
            true if self.rng.bool() => self.server.delete(&plural, "even", &name),
            true => self.server.replace(&plural, object),
            false => self.server.create(&plural, object),
        };
        holds!(self.trace, written.is_ok(), "{written:?}");
        note!(self.trace, "write {plural} {name}");
    }

    fn look(&mut self) {
        for member in &mut self.members {
            member.reference.read();
            if member.breaker.has_broken() {
                if member.breaker.judge(&member.informer, &self.trace) {
                    self.tally.event("a factory lost an informer");
                }
                continue;
            }
            let snapshot = member.informer.store().snapshot();
            member.reference.judge(&snapshot, &self.trace);
            note!(self.trace, "{} {}", member.plural, snapshot.len());
        }
    }

    /// All servers respond. All informers must become synced, within the turns of those before them (INV-SHARED-18).
    async fn come_to_rest(&mut self) {
        self.sick.lock().clear();
        self.start();
        let turns = u32::try_from(self.kinds.div_ceil(self.limit)).unwrap_or(u32::MAX);
        let synced = self.wait(HEALED + PATIENCE * turns).await;
        holds!(self.trace, synced, "an informer never synced");
        let start = Instant::now();
        loop {
            self.look();
            match self.members.iter().find(|member| !self.is_true(member)) {
                None => break,
                Some(member) if start.elapsed() > HEALED => {
                    holds!(self.trace, false, "{} never agree", member.plural);
                    break;
                }
                Some(_) => sleep(Duration::from_secs(1)).await,
            }
        }
    }

    /// Whether it has exactly what the server has.
    fn is_true(&self, member: &Member) -> bool {
        if member.breaker.has_broken() {
            return true;
        }
        let cached = member.informer.store().snapshot();
        is_current(&cached, &self.server, &member.plural, "")
    }

    fn broken(&self) -> impl Iterator<Item = &Breaker> {
        let breakers = self.members.iter().map(|member| &member.breaker);
        breakers.filter(|breaker| breaker.has_broken())
    }

    /// INV-SHARED-12: it ends in time, for good, and sends nothing more.
    async fn shut_down(&mut self) {
        let start = Instant::now();
        let had_broken = self.broken().next().is_some();
        let ended = self.factory.shutdown().await;
        // Its error is that of one that had ended by itself.
        let fits = match &ended {
            Ok(()) => !had_broken,
            Err(error) => self.broken().any(|breaker| breaker.is_reason(error)),
        };
        holds!(self.trace, fits, "it did not end well: {ended:?}");
        let limit = self.drain.unwrap_or_default() + Duration::from_secs(1);
        holds!(
            self.trace,
            start.elapsed() <= limit,
            "a shutdown took {:?}",
            start.elapsed()
        );
        self.look();
        let again = self.factory.start();
        holds!(
            self.trace,
            matches!(again, Err(RunError::Stopped)),
            "started after the shutdown: {again:?}"
        );
        let requests = self.starts.requests();
        for _ in 0..3 {
            self.change();
            sleep(Duration::from_secs(60)).await;
        }
        holds!(
            self.trace,
            requests == self.starts.requests(),
            "a request after the shutdown"
        );
        for member in &mut self.members {
            holds!(
                self.trace,
                member.informer.is_stopped(),
                "{} go on",
                member.plural
            );
            let events = member.reference.events().len();
            holds!(
                self.trace,
                member.reference.read() == events,
                "{} send events after the shutdown",
                member.plural
            );
        }
    }
}
