//! `cargo xtask e2e parity`: random sequences of operations, against the real API server and the test kit's.

mod actors;
mod generate;
mod judge;
mod kinds;
mod odd;
mod play;
mod report;
mod shrink;
mod wish;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use informer_e2e::{RealApiServer, ServerOptions};
use informer_testkit::ApiServer;

use self::generate::generate;
use self::judge::allowed::first_unlisted;
use self::judge::compare::{Difference, compare};
use self::judge::normalise::normalise;
use self::judge::op::Op;
use self::judge::session::Answer;
use self::judge::transcript::Transcript;
use self::play::Player;
use self::report::Report;
use self::wish::Wish;

/// Tries in which one sequence may be made smaller.
const TRIES: usize = 200;

/// Runs what the command line after `parity` asks for.
pub(crate) async fn run(arguments: &[String]) -> anyhow::Result<()> {
    let wish = Wish::read(arguments)?;
    if wish.actors {
        return actors::run(&wish).await;
    }
    let server = RealApiServer::start(ServerOptions::default()).await?;
    let kit = ApiServer::start().await?;
    let mut pair = Pair {
        real: Player::real(&server)?,
        kit: Player::kit(&kit)?,
        runs: 0,
    };
    pair.real.prepare().await?;
    pair.kit.prepare().await?;
    if let Some(folder) = &wish.renew {
        return pair.renew(folder).await;
    }
    let mut report = Report::default();
    let started = Instant::now();
    let mut seed = wish.first;
    while wish.goes_on(seed - wish.first, started.elapsed()) {
        pair.try_seed(seed, &wish, &mut report).await?;
        seed += 1;
    }
    let failures = report.print(seed - wish.first);
    ensure!(
        failures == 0,
        "{failures} differences between the test kit and the real server, or gaps of the run"
    );
    Ok(())
}

/// Both servers.
struct Pair {
    real: Player,
    kit: Player,
    runs: usize,
}

/// Both servers' normalised answers to a sequence.
struct Played {
    real: Vec<Answer>,
    differences: Vec<Difference>,
}

impl Played {
    /// The first difference that the table does not allow. Later ones may be its consequences.
    fn first_unlisted(&self) -> Option<&Difference> {
        first_unlisted(&self.differences)
    }
}

impl Pair {
    async fn play(&mut self, ops: &[Op]) -> anyhow::Result<Played> {
        self.runs += 1;
        // Ends in no digit, so that no run's prefix begins with another's.
        let run = format!("p{}r", self.runs);
        let (real, kit) = tokio::join!(self.real.play(&run, ops), self.kit.play(&run, ops));
        let real = normalise(&run, ops, &real?);
        let kit = normalise(&run, ops, &kit?);
        let differences = compare(ops, &real, &kit);
        Ok(Played { real, differences })
    }

    /// Lets the real server answer to each transcript of a folder, and says where the kit differs.
    async fn renew(&mut self, folder: &Path) -> anyhow::Result<()> {
        for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let mut transcript: Transcript = serde_json::from_slice(&std::fs::read(&path)?)?;
            let ops: Vec<Op> = transcript
                .steps
                .iter()
                .map(|step| step.op.clone())
                .collect();
            let played = self.play(&ops).await?;
            let same = played
                .first_unlisted()
                .map_or_else(|| "as the kit".to_owned(), ToString::to_string);
            println!("{}: {same}", path.display());
            for (step, answer) in transcript.steps.iter_mut().zip(played.real) {
                step.answer = answer;
            }
            std::fs::write(&path, serde_json::to_string_pretty(&transcript)? + "\n")?;
        }
        Ok(())
    }

    async fn try_seed(
        &mut self,
        seed: u64,
        wish: &Wish,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let ops = generate(seed);
        let played = self.play(&ops).await?;
        report.count(&ops, &played.real, &played.differences);
        let Some(found) = played.first_unlisted() else {
            return Ok(());
        };
        // Once more: a cache of the real server may have been slow.
        let again = self.play(&ops).await?;
        let lasts = again.first_unlisted().is_some_and(|one| one.is_like(found));
        if !lasts {
            println!("seed {seed}: not again: {found}");
            report.fleeting += 1;
            return Ok(());
        }
        if report.is_new(seed, found) {
            println!("seed {seed}: {found}");
            let ops = self.shrink(ops[..=found.at].to_vec(), found).await?;
            let played = self.play(&ops).await?;
            report::show(&ops, &played.real, &played.differences);
            if let Some(folder) = &wish.record {
                report::record(folder, seed, &ops, &played.real, played.first_unlisted())?;
            }
        }
        Ok(())
    }

    /// The smallest sequence found that still shows this difference first.
    async fn shrink(&mut self, mut ops: Vec<Op>, found: &Difference) -> anyhow::Result<Vec<Op>> {
        let mut tries = 0;
        let mut at = ops.len();
        while at > 0 && tries < TRIES {
            at -= 1;
            if at < ops.len() {
                let fewer = shrink::without(&ops, at);
                tries += 1;
                if self.shows(&fewer, found).await? {
                    ops = fewer;
                }
            }
        }
        let mut place = 0;
        while tries < TRIES {
            let Some(less) = shrink::smaller(&ops).into_iter().nth(place) else {
                break;
            };
            tries += 1;
            if self.shows(&less, found).await? {
                ops = less;
            } else {
                place += 1;
            }
        }
        Ok(ops)
    }

    async fn shows(&mut self, ops: &[Op], found: &Difference) -> anyhow::Result<bool> {
        let played = self.play(ops).await?;
        Ok(played
            .first_unlisted()
            .is_some_and(|one| one.is_like(found)))
    }
}
