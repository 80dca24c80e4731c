//! Each transition of the election, with a clock that the tests move.

use super::*;

const IDENTITY: &str = "me";

/// A server with one lease, and the machine that asks it.
struct Table {
    machine: Machine,
    lease: Option<Lease>,
    version: u64,
    now: Instant,
    /// What was asked, in short.
    asked: Vec<&'static str>,
    /// Which of the next requests fail.
    failures: Vec<&'static str>,
}

fn config() -> ElectionConfig {
    ElectionConfig::new(IDENTITY).seed(7)
}

fn wall(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
}

impl Table {
    fn with(config: ElectionConfig, record: Option<LeaseRecord>) -> Self {
        let now = Instant::now();
        Self {
            machine: Machine::new(config, now),
            lease: record.map(|record| Lease::new("lease", &record)),
            version: 1,
            now,
            asked: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn holding(record: LeaseRecord) -> Self {
        Self::with(config(), Some(record))
    }

    fn advance(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    /// One attempt to acquire or renew.
    fn attempt(&mut self) -> bool {
        let mut next = Some(self.machine.begin(self.now, wall(0)));
        while let Some(request) = next {
            let answer = self.answer(request);
            next = self.machine.answered(answer, self.now, wall(0));
        }
        self.machine.check_deadline(self.now);
        self.machine.is_leader()
    }

    fn answer(&mut self, request: Request) -> Answer {
        let (verb, written) = match request {
            Request::Get => ("get", None),
            Request::Create(record) => ("create", Some(Lease::new("lease", &record))),
            Request::Update(lease) => ("update", Some(lease)),
        };
        self.asked.push(verb);
        if let Some(at) = self.failures.iter().position(|failure| *failure == verb) {
            self.failures.remove(at);
            return Answer::Failed(None);
        }
        match written {
            None => Answer::Read(self.lease.clone()),
            Some(lease) => {
                self.version += 1;
                self.lease = Some(lease.clone());
                Answer::Written(lease)
            }
        }
    }

    fn record(&self) -> LeaseRecord {
        self.lease.as_ref().expect("there is one").record()
    }

    /// Another replica writes the lease.
    fn write(&mut self, record: &LeaseRecord) {
        self.lease = Some(Lease::new("lease", record));
    }
}

fn held(holder: &str) -> LeaseRecord {
    LeaseRecord {
        acquired: Some(wall(-1000)),
        renewed: Some(wall(-900)),
        transitions: 4,
        ..LeaseRecord::held_by(holder, Duration::from_secs(15))
    }
}

// LE1
#[test]
fn missing_lease_is_created() {
    let mut table = Table::with(config(), None);
    assert!(table.attempt());
    let record = table.record();
    assert_eq!((record.holder.as_str(), record.transitions), (IDENTITY, 0));
    assert_eq!(
        (record.acquired, record.renewed),
        (Some(wall(0)), Some(wall(0)))
    );
}

// LE1
#[test]
fn lease_without_holder_or_spec_is_taken() {
    for record in [held(""), LeaseRecord::default()] {
        let before = record.transitions;
        let mut table = Table::holding(record);
        assert!(table.attempt());
        assert_eq!(table.record().transitions, before + 1);
    }
    let mut table = Table::with(config(), None);
    table.lease = Some(Lease::from_json(
        serde_json::json!({"metadata": {"name": "lease"}}),
    ));
    assert!(table.attempt());
}

// LE1, INV-ELECT-1: what the record says of times is not believed, however old they are.
#[test]
fn new_lease_is_respected_for_its_duration() {
    let mut table = Table::holding(held("other"));
    assert!(!table.attempt());
    table.advance(14);
    assert!(!table.attempt());
    table.advance(1);
    assert!(table.attempt());
    let record = table.record();
    assert_eq!((record.transitions, record.acquired), (5, Some(wall(0))));
}

// LE1, INV-ELECT-1: a holder whose clock is an hour off is alive as long as its record changes.
#[test]
fn changing_lease_is_held_whatever_its_times_say() {
    for skew in [-3600, 3600] {
        let mut table = Table::holding(held("other"));
        for round in 0..10 {
            let renewed = Some(wall(skew + round * 10));
            table.write(&LeaseRecord {
                renewed,
                ..held("other")
            });
            assert!(!table.attempt());
            table.advance(10);
        }
        table.advance(5);
        assert!(table.attempt());
    }
}

// LE1: the duration is the holder's, not ours.
#[test]
fn lease_lasts_for_duration_in_its_record() {
    let mut table = Table::holding(LeaseRecord::held_by("other", Duration::from_secs(60)));
    assert!(!table.attempt());
    table.advance(59);
    assert!(!table.attempt());
    table.advance(1);
    assert!(table.attempt());
}

// LE1
#[test]
fn renewal_keeps_transitions_and_acquire_time() {
    let mut table = Table::holding(held(IDENTITY));
    assert!(table.attempt());
    let record = table.record();
    assert_eq!(
        (record.transitions, record.acquired),
        (4, Some(wall(-1000)))
    );
    assert_eq!(record.renewed, Some(wall(0)));
}

// LE5
#[test]
fn renewal_skips_reading_until_one_fails() {
    let mut table = Table::with(config(), None);
    for _ in 0..3 {
        assert!(table.attempt());
        table.advance(2);
    }
    assert_eq!(table.asked, ["get", "create", "update", "update"]);
    table.asked.clear();
    table.failures = vec!["update"];
    assert!(table.attempt());
    assert_eq!(table.asked, ["update", "get", "update"]);
}

// LE5: a lease that ran out locally is read before it is renewed.
#[test]
fn ended_lease_is_read_before_it_is_taken() {
    let settings = config().renew_deadline(Duration::from_secs(14));
    let mut table = Table::with(settings, None);
    assert!(table.attempt());
    table.machine.config.renew_deadline = Duration::from_secs(100);
    table.advance(15);
    table.asked.clear();
    assert!(table.attempt());
    assert_eq!(table.asked, ["get", "update"]);
}

// INV-ELECT-2
#[test]
fn leader_gives_up_after_deadline_before_lease_ends() {
    let mut table = Table::with(config(), None);
    assert!(table.attempt());
    let (deadline, expiry) = (table.machine.deadline(), table.machine.lease_ends());
    assert_eq!(deadline, Some(table.now + Duration::from_secs(10)));
    assert_eq!(expiry, Some(table.now + Duration::from_secs(15)));
    for _ in 0..4 {
        table.advance(2);
        table.failures = vec!["update", "get"];
        assert!(table.attempt());
    }
    table.advance(2);
    table.failures = vec!["update", "get"];
    assert!(!table.attempt());
    assert_eq!(table.machine.loss(), Some(Loss::Deadline));
}

// INV-ELECT-2
#[test]
fn leader_stops_at_once_when_another_holds_lease() {
    let mut table = Table::with(config(), None);
    assert!(table.attempt());
    table.write(&held("other"));
    table.advance(2);
    table.failures = vec!["update"];
    assert!(!table.attempt());
    assert_eq!(table.machine.loss(), Some(Loss::Taken));
    assert_eq!(table.machine.leader(), Some("other"));
}

// INV-ELECT-1: the lease counts from before the request that renewed it.
#[test]
fn slow_response_does_not_extend_lease() {
    let mut table = Table::with(config(), None);
    let sent = table.now;
    let request = table.machine.begin(table.now, wall(0));
    assert_eq!(request, Request::Get);
    let create = table
        .machine
        .answered(Answer::Read(None), table.now, wall(0));
    table.advance(8);
    let written = match create {
        Some(Request::Create(record)) => Lease::new("lease", &record),
        other => panic!("{other:?}"),
    };
    assert!(table.machine.may_hold(), "it may have been written");
    table
        .machine
        .answered(Answer::Written(written), table.now, wall(0));
    assert_eq!(
        table.machine.deadline(),
        Some(sent + Duration::from_secs(10))
    );
}

// LE2
#[test]
fn coordinated_elector_renews_own_lease_and_takes_no_other() {
    let settings = config().coordinated(true);
    for record in [None, Some(held("")), Some(held("other"))] {
        let mut table = Table::with(settings.clone(), record.clone());
        assert!(!table.attempt());
        table.advance(1000);
        assert!(!table.attempt(), "not even one that has ended: {record:?}");
        assert!(!table.asked.contains(&"update") && !table.asked.contains(&"create"));
    }
    let mut table = Table::with(settings, Some(held(IDENTITY)));
    assert!(table.attempt());
    assert!(table.attempt());
    assert_eq!(table.record().transitions, 4);
}

// LE2
#[test]
fn coordinated_leader_stops_when_another_is_preferred() {
    let mut table = Table::with(config().coordinated(true), Some(held(IDENTITY)));
    assert!(table.attempt());
    let preferred_holder = Some("other".to_owned());
    table.write(&LeaseRecord {
        preferred_holder,
        ..held(IDENTITY)
    });
    table.advance(2);
    table.failures = vec!["update"];
    assert!(!table.attempt());
    assert_eq!(table.machine.loss(), Some(Loss::Unwanted));
    // It has the rest of its lease to stop, and the lease to release.
    let ends = table.now - Duration::from_secs(2) + Duration::from_secs(15);
    assert_eq!(table.machine.lease_ends(), Some(ends));
    assert!(table.machine.may_hold());
}

// LE4
#[test]
fn release_clears_own_lease_only() {
    let table = Table::with(config(), None);
    let other = Lease::new("lease", &held("other"));
    assert_eq!(table.machine.release(&other, wall(5)), None);
    let own = Lease::new("lease", &held(IDENTITY));
    let released = table
        .machine
        .release(&own, wall(5))
        .expect("it is ours")
        .record();
    assert_eq!((released.holder.as_str(), released.transitions), ("", 4));
    assert_eq!(
        (released.duration, released.renewed),
        (Duration::from_secs(1), Some(wall(5)))
    );
}

#[test]
fn acquire_attempts_are_jittered_and_renewals_regular() {
    let mut table = Table::holding(held("other"));
    let mut waits = Vec::new();
    for _ in 0..20 {
        assert!(!table.attempt());
        waits.push(table.machine.next_try() - table.now);
        table.write(&held("other"));
        table.machine.observed = None;
    }
    let period = Duration::from_secs(2);
    assert!(
        waits
            .iter()
            .all(|wait| (period..period.mul_f64(2.2)).contains(wait)),
        "{waits:?}"
    );
    assert!(waits.iter().any(|wait| *wait != waits[0]));
    table.lease = None;
    assert!(table.attempt());
    assert_eq!(table.machine.next_try() - table.now, period);
}

// LE5
#[test]
fn contradicting_settings_are_refused() {
    use crate::config::ConfigError;
    let seconds = Duration::from_secs;
    assert_eq!(config().validate(), Ok(()));
    assert_eq!(
        ElectionConfig::new("").validate(),
        Err(ConfigError::NoIdentity)
    );
    let lease = config().lease_duration(seconds(10)).validate();
    assert!(matches!(lease, Err(ConfigError::LeaseDuration { .. })));
    for period in [10, 9] {
        let retry = config().retry_period(seconds(period)).validate();
        assert!(
            matches!(retry, Err(ConfigError::RenewDeadline { .. })),
            "{period}"
        );
    }
    assert_eq!(config().retry_period(seconds(8)).validate(), Ok(()));
    assert_eq!(
        config().retry_period(seconds(0)).validate(),
        Err(ConfigError::TooShort)
    );
    let longest = Duration::from_secs(i32::MAX as u64);
    assert_eq!(config().lease_duration(longest).validate(), Ok(()));
    let long = config().lease_duration(longest + Duration::from_nanos(1));
    assert_eq!(long.validate(), Err(ConfigError::TooLong));
    let short = config().lease_duration(Duration::from_millis(900));
    assert_eq!(short.validate(), Err(ConfigError::TooShort));
}
