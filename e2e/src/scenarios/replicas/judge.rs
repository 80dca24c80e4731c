//! What must be true of the audit log, whatever was done to the replicas.
//!
//! The moments in it are of one machine, whose clock the replicas share.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{bail, ensure};
use jiff::{SignedDuration, Timestamp};

use crate::audit::Entry;
use crate::provisioning::LEASE;

/// What is allowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// How much later than the end of its lease a request of a replica may be received: the limit of one request.
    pub(crate) request: Duration,
    /// How long it may take from the last renewal to the next leader.
    pub(crate) hand_over: Duration,
}

/// A replica that was frozen, and the moment from which on it was not.
#[derive(Debug, Clone)]
pub(crate) struct Thaw {
    pub(crate) replica: String,
    pub(crate) at: Timestamp,
}

/// What the log shows.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Requests of the work.
    pub(crate) requests: usize,
    /// How often another replica took over.
    pub(crate) hand_overs: usize,
    /// The longest time from the last renewal to the next leader.
    pub(crate) longest: Duration,
    /// Requests that were received after the lease had ended, and for how long it had.
    pub(crate) late: Vec<(String, Duration)>,
}

/// A write of the lease.
struct Hold<'a> {
    replica: &'a str,
    received: Timestamp,
    renewed: Timestamp,
    /// Until when nobody else may take it.
    until: Timestamp,
    is_released: bool,
}

/// Judges the log of all rounds.
pub(crate) fn judge(entries: &[Entry], thaws: &[Thaw], rules: Rules) -> anyhow::Result<Verdict> {
    let holds = holds(entries)?;
    let (hand_overs, longest) = hand_overs(&holds, rules)?;
    let (requests, late) = late_requests(entries, &holds, thaws, rules)?;
    each_volume_was_made_once(entries)?;
    Ok(Verdict {
        requests,
        hand_overs,
        longest,
        late,
    })
}

/// Whether a line says that a request of the work was received, which is made only under the lease: no part of an
/// election, nor of a cache, nor an event.
pub(crate) fn is_work(entry: &Entry) -> bool {
    let is_election = entry.resource == "leases" && entry.namespace == "default";
    let is_cache = matches!(&*entry.verb, "list" | "watch");
    let is_ours = entry.user.starts_with("replica-") && entry.answer.is_none();
    is_ours && !is_election && !is_cache && entry.resource != "events"
}

/// The writes of the lease, in the order in which they happened.
fn holds(entries: &[Entry]) -> anyhow::Result<Vec<Hold<'_>>> {
    let mut holds = Vec::new();
    for entry in entries
        .iter()
        .filter(|entry| entry.is_done() && entry.name == LEASE)
    {
        let lease = entry.answer.as_ref().and_then(|it| it.lease.as_ref());
        let Some(lease) = lease else { continue };
        let is_released = lease.holder.is_empty();
        let is_own = lease.holder.starts_with(&format!("{}_", entry.user));
        ensure!(
            is_own || is_released,
            "{} wrote the lease for {}",
            entry.user,
            lease.holder
        );
        let until = if is_released {
            entry.received
        } else {
            lease.renewed + SignedDuration::try_from(lease.duration)?
        };
        holds.push((
            lease.version,
            Hold {
                replica: &entry.user,
                received: entry.received,
                renewed: lease.renewed,
                until,
                is_released,
            },
        ));
    }
    holds.sort_by_key(|(version, _)| *version);
    Ok(holds.into_iter().map(|(_, hold)| hold).collect())
}

/// No lease begins before the one before has ended; nor much later. How many changes there were, and the longest.
fn hand_overs(holds: &[Hold<'_>], rules: Rules) -> anyhow::Result<(usize, Duration)> {
    let (mut count, mut longest) = (0, Duration::ZERO);
    for pair in holds.windows(2) {
        let [before, after] = pair else { continue };
        if before.replica == after.replica {
            continue;
        }
        let (one, other) = (before.replica, after.replica);
        ensure!(
            before.until <= after.received,
            "{other} took the lease at {} that {one} held until {}",
            after.received,
            before.until
        );
        let took = passed(before.renewed, after.received);
        ensure!(
            before.is_released || took <= rules.hand_over,
            "{other} took over {took:?} after {one} had renewed last, not within {:?}",
            rules.hand_over
        );
        count += 1;
        longest = longest.max(took);
    }
    Ok((count, longest))
}

/// Each request of the work was received under the lease, or at most one request's limit later; after a thaw at most one
/// was late, and that as late as it was frozen. How many there were, and the late ones.
fn late_requests(
    entries: &[Entry],
    holds: &[Hold<'_>],
    thaws: &[Thaw],
    rules: Rules,
) -> anyhow::Result<(usize, Vec<(String, Duration)>)> {
    let (mut requests, mut late) = (0, Vec::new());
    let mut after_thaw: BTreeMap<(&str, Timestamp), Vec<String>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| is_work(entry)) {
        requests += 1;
        let mut own = holds.iter().filter(|hold| hold.replica == entry.user);
        let hold = own.rfind(|hold| hold.received <= entry.received);
        let what = format!(
            "{}: {} {} {:?}",
            entry.user, entry.verb, entry.resource, entry.name
        );
        let Some(hold) = hold else {
            bail!("{what}, and it had never held the lease");
        };
        let by = passed(hold.until, entry.received);
        if by.is_zero() {
            continue;
        }
        let thaw = thaws.iter().rfind(|thaw| {
            thaw.replica == entry.user && hold.renewed < thaw.at && thaw.at <= entry.received
        });
        match thaw {
            Some(thaw) => after_thaw
                .entry((&*thaw.replica, thaw.at))
                .or_default()
                .push(format!("{what}, {by:?} late")),
            None => ensure!(
                by <= rules.request,
                "{what}: received {by:?} after its lease had ended, not within {:?}",
                rules.request
            ),
        }
        late.push((what, by));
    }
    for ((replica, at), requests) in after_thaw {
        ensure!(
            requests.len() <= 1,
            "{replica} was frozen until {at}, its lease had ended, and {} requests were received: {requests:#?}",
            requests.len()
        );
    }
    Ok((requests, late))
}

fn each_volume_was_made_once(entries: &[Entry]) -> anyhow::Result<()> {
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    let creates = entries
        .iter()
        .filter(|entry| entry.verb == "create" && entry.resource == "persistentvolumes");
    for entry in creates.filter(|entry| entry.is_done()) {
        *made.entry(&entry.name).or_default() += 1;
    }
    let twice = made.iter().find(|(_, times)| **times > 1);
    ensure!(twice.is_none(), "a volume was made twice: {twice:?}");
    Ok(())
}

/// The time between two moments; zero if the second was not later.
fn passed(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Answer, Written};

    const RULES: Rules = Rules {
        request: Duration::from_secs(1),
        hand_over: Duration::from_secs(6),
    };

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_millisecond((seconds * 1000.0) as i64).expect("in range")
    }

    fn request(replica: &str, seconds: f64) -> Entry {
        Entry {
            user: replica.to_owned(),
            verb: "patch".to_owned(),
            resource: "persistentvolumes".to_owned(),
            namespace: String::new(),
            name: "pvc".to_owned(),
            received: at(seconds),
            answer: None,
        }
    }

    /// A write of a lease of four seconds, by one that is its holder or releases it.
    fn lease(replica: &str, holder: &str, seconds: f64) -> Entry {
        Entry {
            verb: "update".to_owned(),
            resource: "leases".to_owned(),
            namespace: "default".to_owned(),
            name: LEASE.to_owned(),
            answer: Some(Answer {
                code: 200,
                lease: Some(Written {
                    version: (seconds * 1000.0) as u64,
                    holder: holder.to_owned(),
                    renewed: at(seconds),
                    duration: Duration::from_secs(4),
                }),
            }),
            ..request(replica, seconds)
        }
    }

    fn held(replica: &str, seconds: f64) -> Entry {
        lease(replica, &format!("{replica}_1"), seconds)
    }

    fn verdict(entries: &[Entry], thaws: &[Thaw]) -> Result<Verdict, String> {
        judge(entries, thaws, RULES).map_err(|error| error.to_string())
    }

    #[test]
    fn requests_under_a_lease_are_fine() {
        let log = [
            held("replica-1", 0.0),
            request("replica-1", 1.0),
            held("replica-1", 2.0),
            request("replica-1", 5.9),
            held("replica-2", 6.5),
            request("replica-2", 6.6),
        ];
        let verdict = verdict(&log, &[]).expect("nothing is wrong");
        assert_eq!((verdict.requests, verdict.hand_overs), (3, 1));
        assert_eq!(verdict.longest, Duration::from_millis(4500));
        assert!(verdict.late.is_empty());
    }

    #[test]
    fn request_is_late_by_one_requests_limit_at_most() {
        let log = [held("replica-1", 0.0), request("replica-1", 4.9)];
        assert_eq!(verdict(&log, &[]).expect("just within").late.len(), 1);
        let log = [held("replica-1", 0.0), request("replica-1", 5.1)];
        let error = verdict(&log, &[]).expect_err("too late");
        assert!(error.contains("after its lease had ended"), "{error}");
        let error = verdict(&[request("replica-1", 5.1)], &[]).expect_err("no lease");
        assert!(error.contains("never held"), "{error}");
        let log = [
            held("replica-1", 0.0),
            lease("replica-1", "", 1.0),
            request("replica-1", 2.5),
        ];
        verdict(&log, &[]).expect_err("it was released");
    }

    #[test]
    fn one_request_is_late_after_a_thaw() {
        let thaw = Thaw {
            replica: "replica-1".to_owned(),
            at: at(9.0),
        };
        let mut log = vec![held("replica-1", 0.0), request("replica-1", 9.1)];
        verdict(&log, std::slice::from_ref(&thaw)).expect("one is allowed");
        log.push(request("replica-1", 9.1));
        let error = verdict(&log, &[thaw]).expect_err("two are not");
        assert!(error.contains("2 requests"), "{error}");
    }

    #[test]
    fn leases_do_not_overlap_and_follow_each_other_soon() {
        let overlap = [held("replica-1", 0.0), held("replica-2", 3.9)];
        assert!(verdict(&overlap, &[]).is_err_and(|error| error.contains("took the lease")));
        let slow = [held("replica-1", 0.0), held("replica-2", 6.1)];
        assert!(verdict(&slow, &[]).is_err_and(|error| error.contains("took over")));
        let released = [
            held("replica-1", 0.0),
            lease("replica-1", "", 1.0),
            held("replica-2", 1.1),
        ];
        verdict(&released, &[]).expect("at once");
    }

    #[test]
    fn volume_is_made_once() {
        let made = || Entry {
            verb: "create".to_owned(),
            answer: Some(Answer {
                code: 201,
                lease: None,
            }),
            ..request("replica-1", 1.0)
        };
        let log = [held("replica-1", 0.0), made(), made()];
        assert!(verdict(&log, &[]).is_err_and(|error| error.contains("twice")));
    }
}
