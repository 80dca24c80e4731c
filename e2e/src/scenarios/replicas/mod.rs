//! Replicas of the example `provisioner`, each behind a network of its own: the leader is frozen, killed and cut off in
//! the middle of its work. What it asked for, and when, is read from the server's audit log.

mod judge;
mod trouble;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use fastrand::Rng;
use informer_e2e::ServerOptions;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tempfile::TempDir;

use self::judge::{Rules, Thaw, Verdict, is_work, judge};
use self::trouble::{Lasts, Trouble};
use crate::audit::{AuditLog, Entry};
use crate::certificates::Authority;
use crate::network::{BadNetwork, Fault};
use crate::provisioning::{
    self, LEASE, Replica, each_claim_has_one_volume, make_claims, make_classes, volumes,
};
use crate::world::World;

/// Shorter than by default, so that there is time for some rounds.
const LEASE_DURATION: Duration = Duration::from_secs(4);
const RENEW_DEADLINE: Duration = Duration::from_millis(2_500);
const RETRY_PERIOD: Duration = Duration::from_millis(500);
const RULES: Rules = Rules {
    // What an election gives one request.
    request: Duration::from_millis(1_250),
    // A candidate sees the last renewal one try after it, waits for the lease, and takes it with the try after that. A
    // try is up to 2.2 periods after the one before, and may take a request's limit.
    hand_over: Duration::from_millis(4_000 + 2 * 1_100 + 1_250),
};

/// Many, so that many requests are under way when the trouble comes: without a gate several go out after a freeze.
const WORKERS: &str = "16";
/// Claims of a round, so many that work is left when the trouble comes.
const BURST: usize = 60;
/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(60);
/// What counts as right before a freeze.
const JUST_BEFORE: SignedDuration = SignedDuration::from_millis(100);
/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) async fn run(seed: u64) -> anyhow::Result<()> {
    let mut rng = Rng::with_seed(seed);
    let troubles = Trouble::some(&mut rng);
    let mut play = Play::start().await?;
    for trouble in troubles {
        let started = Instant::now();
        let told = play.round(&mut rng, trouble).await;
        let told = told.with_context(|| format!("{trouble:?}"))?;
        println!("{:4.1} s: {told}", started.elapsed().as_secs_f64());
    }
    play.end().await
}

/// A replica and its network.
struct Member {
    replica: Replica,
    network: BadNetwork,
}

/// The cluster, the replicas, and what became known of them.
struct Play {
    // First, so that they end before their server.
    members: Vec<Member>,
    world: World,
    log: AuditLog,
    authority: Authority,
    dir: TempDir,
    started: usize,
    claims: usize,
    thaws: Vec<Thaw>,
    /// How many requests of the work came right before their replica was frozen for long.
    interrupted: usize,
}

impl Play {
    async fn start() -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new().prefix("informer-e2e-").tempdir()?;
        // Each replica is a user of its own, so that the log tells them apart.
        let authority = Authority::new("informer-e2e-replicas")?;
        let bundle = dir.path().join("users.crt");
        std::fs::write(&bundle, authority.pem())?;
        let options = ServerOptions::default().audit();
        let options = options.flag(format!("--client-ca-file={}", bundle.display()));
        let world = World::start_with(options).await?;
        make_classes(&world).await?;
        let mut play = Self {
            members: Vec::new(),
            log: AuditLog::new(world.server.audit_log()),
            world,
            authority,
            dir,
            started: 0,
            claims: 0,
            thaws: Vec::new(),
            interrupted: 0,
        };
        let now = Timestamp::now();
        play.start_one().await?;
        play.start_one().await?;
        play.all_take_part(now).await?;
        Ok(play)
    }

    async fn start_one(&mut self) -> anyhow::Result<()> {
        self.started += 1;
        let name = format!("replica-{}", self.started);
        let network = BadNetwork::start(self.world.port()?).await?;
        let kubeconfig = self.kubeconfig(&name, network.port())?;
        let seconds = |time: Duration| format!("{}ms", time.as_millis());
        let [lease, deadline, retry] = [LEASE_DURATION, RENEW_DEADLINE, RETRY_PERIOD].map(seconds);
        let times = [
            "--workers",
            WORKERS,
            "--lease-duration",
            &lease,
            "--renew-deadline",
            &deadline,
            "--retry-period",
            &retry,
        ];
        let replica = Replica::start(&name, &kubeconfig, self.dir.path(), &times)?;
        self.members.push(Member { replica, network });
        Ok(())
    }

    /// A kubeconfig of a user of this name, through a port.
    fn kubeconfig(&self, name: &str, port: u16) -> anyhow::Result<PathBuf> {
        let dir = self.dir.path();
        let user = self.authority.user(name, "system:masters", false)?;
        user.write(dir, name)?;
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {
                "server": format!("https://127.0.0.1:{port}"),
                "certificate-authority": self.world.server.authority(),
            }}],
            "users": [{"name": "e2e", "user": {
                "client-certificate": dir.join(format!("{name}.crt")),
                "client-key": dir.join(format!("{name}.key")),
            }}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        });
        let kubeconfig = dir.join(format!("{name}.kubeconfig"));
        std::fs::write(&kubeconfig, text.to_string())?;
        Ok(kubeconfig)
    }

    /// Gives the leader work, makes trouble in the middle of it, and waits until all is well again.
    async fn round(&mut self, rng: &mut Rng, trouble: Trouble) -> anyhow::Result<String> {
        let leader = self.leader().await?;
        let name = self.members[leader].replica.name.clone();
        let done = made(self.log.entries()?);
        make_claims(&self.world, self.claims..self.claims + BURST).await?;
        self.claims += BURST;
        let part = done + rng.usize(1..BURST / 3);
        self.until("some volumes of this round", |entries| {
            made(entries) >= part
        })
        .await?;
        let began = Timestamp::now();
        match trouble {
            Trouble::Freeze(lasts) => self.freeze(leader, lasts).await?,
            Trouble::Kill => {
                self.members.remove(leader).replica.kill().await?;
                self.lasts(&name, Lasts::Beyond(Duration::ZERO)).await?;
                self.start_one().await?;
            }
            Trouble::Cut(fault, lasts) => {
                self.members[leader].network.set(fault);
                self.lasts(&name, lasts).await?;
                self.members[leader].network.set(Fault::None);
            }
        }
        let ended = Timestamp::now();
        // What is silent for good is found out later, and it is the last trouble.
        if !matches!(trouble, Trouble::Cut(Fault::Silence, _)) {
            self.all_take_part(ended).await?;
        }
        self.all_volumes().await?;
        let entries = self.log.entries()?;
        let after = holder(entries).unwrap_or_default().to_owned();
        let since = entries
            .iter()
            .filter(|entry| is_work(entry) && entry.received >= began);
        let own = since.filter(|entry| entry.user == name).count();
        Ok(format!(
            "{trouble:?} of {name}, {own} requests from it since; {after} leads"
        ))
    }

    async fn freeze(&mut self, leader: usize, lasts: Lasts) -> anyhow::Result<()> {
        let name = self.members[leader].replica.name.clone();
        self.members[leader].replica.signal("STOP").await?;
        let just_before = Timestamp::now() - JUST_BEFORE;
        self.lasts(&name, lasts).await?;
        let at = Timestamp::now();
        self.members[leader].replica.signal("CONT").await?;
        if matches!(lasts, Lasts::Beyond(_)) {
            let own = self
                .log
                .entries()?
                .iter()
                .filter(|entry| entry.user == name);
            let just_before = own.filter(|entry| (just_before..at).contains(&entry.received));
            self.interrupted += just_before.filter(|entry| is_work(entry)).count();
        }
        self.thaws.push(Thaw { replica: name, at });
        Ok(())
    }

    /// Lets trouble of a leader last.
    async fn lasts(&mut self, leader: &str, lasts: Lasts) -> anyhow::Result<()> {
        let taken = |entries: &[Entry]| {
            let now = holder(entries);
            now.is_some_and(|now| !now.is_empty() && now != leader)
        };
        let time = match lasts {
            Lasts::For(time) => time,
            Lasts::Beyond(time) => {
                self.until("another leader", taken).await?;
                time
            }
        };
        tokio::time::sleep(time).await;
        Ok(())
    }

    /// Waits for a replica that holds the lease.
    async fn leader(&mut self) -> anyhow::Result<usize> {
        let started = Instant::now();
        loop {
            let holder = holder(self.log.entries()?).unwrap_or_default();
            let leader = self
                .members
                .iter()
                .position(|member| member.replica.name == holder);
            if let Some(leader) = leader {
                return Ok(leader);
            }
            ensure!(started.elapsed() < LIMIT, "no replica leads");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until each replica has asked for the lease since then.
    async fn all_take_part(&mut self, since: Timestamp) -> anyhow::Result<()> {
        let names: Vec<String> = self
            .members
            .iter()
            .map(|member| member.replica.name.clone())
            .collect();
        let take_part = |entries: &[Entry]| {
            names.iter().all(|name| {
                entries.iter().rev().any(|entry| {
                    entry.user == *name && entry.name == LEASE && entry.received > since
                })
            })
        };
        self.until("each replica asks for the lease", take_part)
            .await
    }

    /// Waits until there are as many volumes as claims. Read from the server: of a request whose connection was cut the
    /// log does not say what it did.
    async fn all_volumes(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        loop {
            let found = volumes(&self.world).await?.len();
            if found >= self.claims {
                return Ok(());
            }
            ensure!(
                started.elapsed() < LIMIT,
                "{found} volumes for {} claims after {LIMIT:?}",
                self.claims
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn until(&mut self, what: &str, holds: impl Fn(&[Entry]) -> bool) -> anyhow::Result<()> {
        let started = Instant::now();
        while !holds(self.log.entries()?) {
            if started.elapsed() > LIMIT {
                bail!("waited for {what} for {LIMIT:?}");
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// All work is done, all replicas end well, and the log is judged.
    async fn end(mut self) -> anyhow::Result<()> {
        let dir = self.dir.path();
        let directories = || provisioning::directories(dir);
        each_claim_has_one_volume(&self.world, self.claims, LIMIT, directories).await?;
        for member in self.members {
            member.replica.end().await?;
        }
        let entries = self.log.entries()?;
        ensure!(
            holder(entries) == Some(""),
            "{:?} still holds the lease",
            holder(entries)
        );
        let verdict = judge(entries, &self.thaws, RULES)?;
        ensure!(
            self.interrupted > 0,
            "no replica was at work when it was frozen, so nothing is shown"
        );
        let Verdict {
            requests,
            hand_overs,
            longest,
            late,
        } = verdict;
        println!(
            "{requests} requests under the lease, {hand_overs} hand-overs, the longest {longest:.1?} after the last renewal; \
             {} requests in the last 0.1 s before freezes",
            self.interrupted
        );
        for (what, by) in late {
            println!("late, as one may be: {what}, {by:?} after the lease");
        }
        Ok(())
    }
}

/// How many volumes the log says were made.
fn made(entries: &[Entry]) -> usize {
    let creates = entries
        .iter()
        .filter(|entry| entry.verb == "create" && entry.resource == "persistentvolumes");
    creates.filter(|entry| entry.is_done()).count()
}

/// The replica that has written the lease last; empty if it has released it.
fn holder(entries: &[Entry]) -> Option<&str> {
    let writes = entries
        .iter()
        .filter(|entry| entry.is_done() && entry.name == LEASE);
    let writes = writes.filter_map(|entry| {
        let lease = entry.answer.as_ref()?.lease.as_ref()?;
        let holder = if lease.holder.is_empty() {
            ""
        } else {
            &entry.user
        };
        Some((lease.version, holder))
    });
    writes
        .max_by_key(|(version, _)| *version)
        .map(|(_, holder)| holder)
}
