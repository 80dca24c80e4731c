//! Whatever settings are given, they are refused or honoured, without a panic.

mod support;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use informer_leader_election::{ElectionConfig, LeaderElector, LeaseRecord, Renewal};
use proptest::prelude::*;
use support::{Lock, Server};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::from_nanos(1)),
        Just(Duration::from_secs(i32::MAX as u64)),
        Just(Duration::MAX),
        (any::<u64>(), 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        (0..100_000_u64).prop_map(Duration::from_millis),
        (0..i32::MAX as u64).prop_map(Duration::from_secs),
    ]
}

/// Three durations that are often in the order that an election needs.
fn durations() -> impl Strategy<Value = [Duration; 3]> {
    prop_oneof![
        (duration(), duration(), duration())
            .prop_map(|(lease, deadline, retry)| [lease, deadline, retry]),
        (duration(), duration(), duration()).prop_map(|(one, two, three)| {
            let mut all = [one, two, three];
            all.sort_unstable_by(|one, two| two.cmp(one));
            all
        }),
    ]
}

proptest! {
    #[test]
    fn any_settings_are_refused_or_honoured(
        identity in "[a-z]{0,3}",
        [lease, deadline, retry] in durations(),
        (release, coordinated, seed) in (any::<bool>(), any::<bool>(), any::<u64>()),
        renewal in prop::sample::select(vec![Renewal::Thread, Renewal::Task, Renewal::InPlace]),
        tolerance in duration(),
        fails in any::<bool>(),
    ) {
        let config = ElectionConfig::new(&identity)
            .lease_duration(lease)
            .renew_deadline(deadline)
            .retry_period(retry)
            .release_on_stop(release)
            .coordinated(coordinated)
            .renewal(renewal)
            .seed(seed);
        let is_good = config.validate().is_ok();
        let server = Arc::new(Server::default());
        if coordinated {
            server.write(&LeaseRecord::held_by(&identity, Duration::from_secs(15)));
        }
        let elector = LeaderElector::new(Lock(Arc::clone(&server)), config);
        prop_assert_eq!(elector.is_ok(), is_good);
        let Ok(elector) = elector else {
            return Ok(());
        };
        prop_assert!(!identity.is_empty());
        prop_assert!(lease > deadline && deadline > retry && !retry.is_zero());
        prop_assert!(lease <= Duration::from_secs(i32::MAX as u64), "others would take it sooner");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let stop = CancellationToken::new();
            let began = tokio::time::Instant::now();
            let mut run = Box::pin(elector.run(&stop, |_| pending::<()>()));
            // Long enough for a few rounds, and no more of them than can be run.
            let waited = timeout(retry.saturating_mul(20).min(Duration::from_secs(3600)), &mut run).await;
            prop_assert!(waited.is_err(), "{:?} after {:?}", waited, began.elapsed());
            prop_assert!(elector.status().is_leader());
            prop_assert!(elector.health(tolerance).is_well());
            // As many attempts as can be run: a timer has milliseconds.
            let fails = fails && deadline < retry.max(Duration::from_millis(1)).saturating_mul(1000);
            server.is_down.store(fails, Ordering::SeqCst);
            if fails {
                let lost = timeout(Duration::from_secs(4_000_000_000), &mut run).await;
                prop_assert!(lost.is_ok_and(|lost| lost.is_err()));
            } else {
                stop.cancel();
                drop(run);
            }
            prop_assert!(!elector.status().is_leader());
            Ok(())
        })?;
    }
}
