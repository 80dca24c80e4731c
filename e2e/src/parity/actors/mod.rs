//! `cargo xtask e2e parity --actors`: deletions with kube-controller-manager's own controllers beside the real server,
//! and the test kit's actors beside the kit. What is compared is each answer's code, and all objects once both rest.

mod generate;
mod left;

use std::time::Duration;

use anyhow::{Context, ensure};
use informer_e2e::{RealApiServer, ServerOptions};
use informer_testkit::{Actors, ApiServer};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use self::generate::generate;
use self::left::{Left, left};
use super::judge::op::Op;
use super::judge::session::Session;
use super::play::Player;
use super::wish::Wish;

/// Sequences at a time: most of a play is waiting, five seconds alone before the real controller of namespaces begins.
const AT_ONCE: usize = 12;
/// How long both may take to come to the same rest. The real controllers try again after up to some ten seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long both must stay the same at the end of a sequence.
const REST: Duration = Duration::from_secs(3);
/// Plays of a sequence that differs: the real collector works at twenty objects at once, and some outcomes hang on which of
/// them it takes first.
const TRIES: usize = 3;
const POLL: Duration = Duration::from_millis(100);

/// Plays the sequences that are asked for.
pub(crate) async fn run(wish: &Wish) -> anyhow::Result<()> {
    let options = ServerOptions::default().controllers("namespace,garbage-collector");
    let server = RealApiServer::start(options).await?;
    let actors = Actors::none()
        .empty_namespaces()
        .collect_garbage(Duration::ZERO);
    let kit = ApiServer::builder().actors(actors).start().await?;
    let pair = Pair {
        real: Player::real(&server)?,
        kit: Player::kit(&kit)?,
    };
    pair.real.prepare().await?;
    pair.kit.prepare().await?;
    // The real collector looks for new kinds every two seconds.
    sleep(REST).await;
    let started = Instant::now();
    let (mut seed, mut failures) = (wish.first, 0);
    let mut playing = JoinSet::new();
    loop {
        while playing.len() < AT_ONCE && wish.goes_on(seed - wish.first, started.elapsed()) {
            playing.spawn(pair.clone().judge(seed));
            seed += 1;
        }
        let Some(played) = playing.join_next().await else {
            break;
        };
        failures += usize::from(!played??);
    }
    let played = seed - wish.first;
    println!(
        "{played} sequences with actors, {failures} of them differ, {:.0} s",
        started.elapsed().as_secs_f64()
    );
    ensure!(
        failures == 0,
        "{failures} differences between the test kit's actors and the real controllers"
    );
    Ok(())
}

/// Both servers.
#[derive(Clone, Debug)]
struct Pair {
    real: Player,
    kit: Player,
}

impl Pair {
    /// Whether both do the same in a sequence, at the second or third play at the latest.
    async fn judge(self, seed: u64) -> anyhow::Result<bool> {
        for play in 0..TRIES {
            // Ends in no digit, so that no run's prefix begins with another's.
            if self.play(seed, format!("s{seed}-{play}r")).await? {
                if play > 0 {
                    println!("seed {seed}: not again");
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Plays one sequence. Returns whether both did the same; if not, it says what they did.
    async fn play(&self, seed: u64, run: String) -> anyhow::Result<bool> {
        let ops = generate(seed);
        self.real.play(&run, &[]).await?;
        self.kit.play(&run, &[]).await?;
        let (mut real, mut kit) = (Session::new(&run), Session::new(&run));
        for (at, op) in ops.iter().enumerate() {
            let real_code = step(&self.real, &mut real, op).await?;
            let kit_code = step(&self.kit, &mut kit, op).await?;
            let same = real_code == kit_code;
            if !same || !self.come_to_rest(&run).await? {
                println!("seed {seed}: real {real_code}, kit {kit_code}, after");
                for op in &ops[..=at] {
                    println!("  {}", shown(op));
                }
                self.show(&run).await?;
                return Ok(false);
            }
        }
        sleep(REST).await;
        let (real, kit) = self.both(&run).await?;
        if real != kit {
            println!("seed {seed}: did not rest after all of");
            for op in &ops {
                println!("  {}", shown(op));
            }
            self.show(&run).await?;
        }
        Ok(real == kit)
    }

    async fn both(&self, run: &str) -> anyhow::Result<(Left, Left)> {
        let (real, kit) = tokio::join!(left(&self.real, run), left(&self.kit, run));
        Ok((real.context("real")?, kit.context("kit")?))
    }

    async fn come_to_rest(&self, run: &str) -> anyhow::Result<bool> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let (real, kit) = self.both(run).await?;
            if real == kit {
                return Ok(true);
            }
            sleep(POLL).await;
        }
        Ok(false)
    }

    async fn show(&self, run: &str) -> anyhow::Result<()> {
        let (real, kit) = self.both(run).await?;
        for name in real
            .keys()
            .chain(kit.keys().filter(|name| !real.contains_key(*name)))
        {
            let side = |left: &Left| {
                left.get(name)
                    .map_or_else(|| "(absent)".to_owned(), ToString::to_string)
            };
            let (real, kit) = (side(&real), side(&kit));
            if real != kit {
                println!("  => {name}:\n     real {real}\n     kit  {kit}");
            }
        }
        Ok(())
    }
}

async fn step(player: &Player, session: &mut Session, op: &Op) -> anyhow::Result<u16> {
    let request = session.request(op);
    let answer = player.send(&request, false).await;
    let answer = answer.with_context(|| format!("{} {}", op.method, request.target))?;
    let code = answer.code;
    session.answered(op, answer);
    Ok(code)
}

fn shown(op: &Op) -> String {
    let body = op.body.as_ref().map(ToString::to_string);
    format!(
        "{}: {} {} {}",
        op.id,
        op.method,
        op.path,
        body.unwrap_or_default()
    )
}
