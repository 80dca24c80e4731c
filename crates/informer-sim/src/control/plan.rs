//! What a seed is about: settings and a few kinds of trouble, so that none drowns the others.

use std::time::Duration;

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) replicas: usize,
    pub(super) workers: usize,
    pub(super) names: usize,
    pub(super) steps: usize,
    pub(super) lease: Duration,
    pub(super) renew: Duration,
    pub(super) retry: Duration,
    pub(super) reconcile_timeout: Option<Duration>,
    /// A controller whose caches are later ends.
    pub(super) cache_sync_timeout: Duration,
    pub(super) write_deadline: Duration,
    /// A process keeps its name when it is started again.
    pub(super) same_identity: bool,
    /// Of so many requests one fails; zero is none.
    pub(super) faults: u32,
    pub(super) lease_faults: u32,
    /// Of so many reconciles one goes wrong.
    pub(super) reconciles: u32,
    /// Of so many calls of a predicate or mapping function one panics.
    pub(super) panics: u32,
    pub(super) freezes: bool,
    pub(super) crashes: bool,
    pub(super) tampers: bool,
    pub(super) lags: bool,
    pub(super) outages: bool,
}

impl Plan {
    pub(super) fn draw(rng: &mut fastrand::Rng) -> Self {
        let retry = Duration::from_millis(*pick(rng, &[500, 1000, 2000]));
        let renew = retry * rng.u32(3..6);
        let lease = renew + retry * rng.u32(1..4);
        // A lease is written in whole seconds.
        let lease = Duration::from_secs(lease.as_secs() + 1);
        let mut some = |of: u32| rng.u32(..of) == 0;
        let (freezes, crashes, tampers) = (some(2), some(2), some(3));
        let (lags, outages, same_identity) = (some(3), some(3), some(3));
        Self {
            replicas: rng.usize(1..4),
            workers: rng.usize(1..4),
            names: rng.usize(1..5),
            steps: rng.usize(15..40),
            lease,
            renew,
            retry,
            reconcile_timeout: rng.bool().then(|| Duration::from_secs(rng.u64(3..20))),
            cache_sync_timeout: Duration::from_secs(*pick(rng, &[1, 5, 120])),
            write_deadline: Duration::from_secs(rng.u64(1..10)),
            same_identity,
            faults: *pick(rng, &[0, 0, 4, 10, 30]),
            lease_faults: *pick(rng, &[0, 0, 3, 8, 20]),
            reconciles: *pick(rng, &[0, 0, 3, 8]),
            panics: *pick(rng, &[0, 0, 3, 10]),
            freezes,
            crashes,
            tampers,
            lags,
            outages,
        }
    }
}

pub(super) fn pick<'a, T>(rng: &mut fastrand::Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(..from.len())]
}
