//! Decides what goes wrong: for each request, each reconcile, each call of a source's function.

use std::sync::Arc;
use std::time::Duration;

use informer_testkit::{Answer, Fault, RequestRecord, Status, Verb};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::ledger::Ledger;
use super::plan::{Plan, pick};

#[derive(Clone)]
pub(super) struct Chaos(Arc<Inner>);

struct Inner {
    ledger: Arc<Ledger>,
    plan: Plan,
    state: Mutex<State>,
}

struct State {
    rng: fastrand::Rng,
    is_on: bool,
    outage: Option<Outage>,
    /// When a request for the lease last met a fault, or has to wait no longer for it.
    lease_trouble: Instant,
}

/// Requests of one process fail.
#[derive(Clone)]
pub(super) struct Outage {
    pub(super) process: String,
    pub(super) since: Instant,
    pub(super) until: Instant,
    pub(super) fault: Fault,
    pub(super) lease_only: bool,
}

/// What goes wrong in a reconcile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    None,
    Error,
    Panic,
    Hang(Duration),
    Requeue,
    RequeueAfter(Duration),
}

impl Chaos {
    pub(super) fn new(ledger: Arc<Ledger>, plan: Plan, seed: u64) -> Self {
        Self(Arc::new(Inner {
            ledger,
            plan,
            state: Mutex::new(State {
                rng: fastrand::Rng::with_seed(seed),
                is_on: true,
                outage: None,
                lease_trouble: Instant::now(),
            }),
        }))
    }

    /// Ends all trouble.
    pub(super) fn end(&self) {
        let mut state = self.0.state.lock();
        state.is_on = false;
        state.outage = None;
    }

    pub(super) fn begin_outage(&self, outage: Outage) {
        self.0.state.lock().outage = Some(outage);
    }

    pub(super) fn outage(&self) -> Option<Outage> {
        let outage = self.0.state.lock().outage.clone();
        outage.filter(|outage| Instant::now() < outage.until)
    }

    pub(super) fn since_lease_trouble(&self) -> Duration {
        self.0.state.lock().lease_trouble.elapsed()
    }

    /// Decides the fault of a request.
    pub(super) fn fault(&self, request: &RequestRecord) -> Option<Fault> {
        let (inner, mut state) = (&self.0, self.0.state.lock());
        if !state.is_on {
            return None;
        }
        let is_lease = request.resource == "leases";
        let fault = match &state.outage {
            Some(outage)
                if outage.process == request.client
                    && Instant::now() < outage.until
                    && (is_lease || !outage.lease_only) =>
            {
                inner.ledger.count("outage of one");
                Some(outage.fault.clone())
            }
            _ => {
                let of = if is_lease {
                    inner.plan.lease_faults
                } else {
                    inner.plan.faults
                };
                (of > 0 && state.rng.u32(..of) == 0).then(|| {
                    let (what, fault) = draw(&mut state.rng, request);
                    inner.ledger.count(what);
                    fault
                })
            }
        };
        if fault.is_some() && is_lease {
            // A response may ask the elector to wait.
            let waits = match &fault {
                Some(Fault::Answer(_)) => RETRY_AFTER_LIMIT,
                _ => 0,
            };
            state.lease_trouble = Instant::now() + Duration::from_secs(waits.into());
        }
        fault
    }

    /// Decides what goes wrong in a reconcile.
    pub(super) fn trouble(&self) -> Trouble {
        let (inner, mut state) = (&self.0, self.0.state.lock());
        let of = inner.plan.reconciles;
        if !state.is_on || of == 0 || state.rng.u32(..of) > 0 {
            return Trouble::None;
        }
        let (what, trouble) = match state.rng.u32(..5) {
            0 => ("reconcile fails", Trouble::Error),
            1 => ("reconcile panics", Trouble::Panic),
            2 => (
                "reconcile hangs",
                Trouble::Hang(Duration::from_secs(state.rng.u64(1..60))),
            ),
            3 => ("requeue", Trouble::Requeue),
            _ => {
                let delay = Duration::from_millis(*pick(&mut state.rng, &[0, 150, 3000, 20_000]));
                ("requeue after", Trouble::RequeueAfter(delay))
            }
        };
        inner.ledger.count(what);
        trouble
    }

    /// Decides how long a reconcile thinks before it writes.
    pub(super) fn pause(&self) -> Option<Duration> {
        let mut state = self.0.state.lock();
        let thinks = self.0.plan.freezes && state.is_on && state.rng.bool();
        thinks.then(|| Duration::from_millis(state.rng.u64(1..3000)))
    }

    /// Decides whether a function of a source panics.
    pub(super) fn panics(&self) -> bool {
        let (of, mut state) = (self.0.plan.panics, self.0.state.lock());
        state.is_on && of > 0 && state.rng.u32(..of) == 0
    }

    pub(super) fn bool(&self) -> bool {
        self.0.state.lock().rng.bool()
    }
}

/// The longest `Retry-After`, in seconds.
const RETRY_AFTER_LIMIT: u32 = 5;

fn draw(rng: &mut fastrand::Rng, request: &RequestRecord) -> (&'static str, Fault) {
    let status = |code, reason: &str| Fault::from(Status::failure(code, reason, "on purpose"));
    let is_write = !matches!(request.verb, Verb::Get | Verb::List | Verb::Watch);
    let seconds = |rng: &mut fastrand::Rng| Duration::from_millis(rng.u64(10..8000));
    loop {
        return match rng.u32(..11) {
            0 | 1 => {
                let wait = rng.u32(1..=RETRY_AFTER_LIMIT).to_string();
                let answer = Answer::from(Status::failure(429, "TooManyRequests", "on purpose"));
                (
                    "429 with Retry-After",
                    answer.header("retry-after", wait).into(),
                )
            }
            2 => ("500", status(500, "InternalError")),
            3 => ("503", status(503, "ServiceUnavailable")),
            4 if is_write => ("409", status(409, "Conflict")),
            5 if is_write => ("answer lost", Fault::LoseResponse),
            6 if is_write => ("late effect", Fault::Late(seconds(rng) * 3)),
            7 if request.verb != Verb::Watch => ("held open", Fault::HoldOpen),
            8 => ("delay", Fault::Delay(seconds(rng))),
            9 => ("connection refused", Fault::Refuse),
            10 => ("disconnect", Fault::Disconnect),
            _ => continue,
        };
    }
}
